#!/usr/bin/env python3
"""A provider whose every answer takes its time: `OK|id` after --wait seconds, by a raw asyncio
protocol, since the benchmark shares its processors with it. Ends when its standard input does.

It prints `ready port=N`; a line on its standard input is answered by `answered N open N most N`.
"""
import argparse
import asyncio
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nOK|%b"


class Slow(asyncio.Protocol):
    wait_s = 2.0
    answered = open = most = 0
    loop = None

    def connection_made(self, transport):
        self.transport = transport
        self.rest = b""

    def data_received(self, data):
        *heads, self.rest = (self.rest + data).split(b"\r\n\r\n")
        for head in heads:
            word = head.partition(b"id=")[2].split(b"&", 1)[0].split(b" ", 1)[0]
            Slow.open += 1
            Slow.most = max(Slow.most, Slow.open)
            self.loop.call_later(self.wait_s, self.answer, word)

    def answer(self, word):
        Slow.open -= 1
        if not self.transport.is_closing():
            Slow.answered += 1
            self.transport.write(ANSWER % (len(word) + 3, word))


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wait", type=float, default=2.0)
    Slow.wait_s = parser.parse_args().wait
    Slow.loop = asyncio.get_running_loop()
    server = await Slow.loop.create_server(Slow, "127.0.0.1", 0, backlog=4096)
    print(f"ready port={server.sockets[0].getsockname()[1]}", flush=True)
    reader = asyncio.StreamReader()
    await Slow.loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.readline():
        print(f"answered {Slow.answered} open {Slow.open} most {Slow.most}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
