// Each callback is published to a JetStream stream on files, with an id of its own, and the answer
// waits for the stream's acknowledgement. That comes before the server's fsync.
"use strict";
const { connect, StringCodec, StorageType } = require("nats");
const { serve, port } = require("./server.cjs");

async function main() {
  const codec = StringCodec();
  const link = await connect({ servers: `127.0.0.1:${port}` });
  const manager = await link.jetstreamManager();
  await manager.streams.add({ name: "callbacks", subjects: ["callbacks.>"], storage: StorageType.File });
  const stream = link.jetstream();
  serve({
    keep: (provider, body) => stream.publish(`callbacks.${provider}`, codec.encode(JSON.stringify(body)),
      { msgID: `${provider}-${body.id}` }),
    kept: async () => (await manager.streams.info("callbacks")).state.messages,
  });
}

main();
