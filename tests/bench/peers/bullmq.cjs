// Each callback is a job in a BullMQ queue, by its id, so that one that comes twice is one job. No
// worker takes them meanwhile: that would cost more.
"use strict";
const { Queue } = require("bullmq");
const { serve, port } = require("./server.cjs");

const queue = new Queue("callbacks", { connection: { host: "127.0.0.1", port } });

serve({
  keep: (provider, body) => queue.add(provider, body, { jobId: `${provider}-${body.id}` }),
  kept: () => queue.getJobCountByTypes("waiting"),
});
