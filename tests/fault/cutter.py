"""What stands between two daemons on the bus: it passes bytes on, until it is told to cut, to reset, to
swallow, to take its time. A TCP relay in a thread of the test's."""
import asyncio
import contextlib
import random
import socket
import struct
import threading

from support.settings import free_port

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with RST
CHUNK = 16384


class Cutter:
    """Use as a context manager. port: where clients connect; goal: the port that they mean."""

    def __init__(self, goal, seed=1):
        self.goal = goal
        self.port = free_port()
        self.luck = random.Random(seed)
        self.rate = None  # bytes a second
        self.delay_s = 0.0
        self.hears = {"up": asyncio.Event(), "down": asyncio.Event()}  # else bytes of this direction wait
        self.hear(*self.hears)
        self.links = set()
        self.made = 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.ready = threading.Event()

    def __enter__(self):
        self.thread.start()
        assert self.ready.wait(5), "the relay does not listen"
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)

    def run(self):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(
            asyncio.start_server(self.serve, "127.0.0.1", self.port))
        self.ready.set()
        self.loop.run_forever()
        server.close()
        for writer in list(self.links):
            writer.transport.abort()

    async def serve(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.goal)
        except OSError:
            writer.transport.abort()
            return
        self.made += 1
        self.links |= {writer, far_writer}
        await asyncio.gather(self.pump(reader, far_writer, "up"),
                             self.pump(far_reader, writer, "down"))
        self.links -= {writer, far_writer}

    async def pump(self, reader, writer, way):
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                await self.hears[way].wait()
                wait_s = self.delay_s * self.luck.uniform(0.5, 1.5)
                if self.rate:
                    wait_s += len(data) / self.rate
                if wait_s:
                    await asyncio.sleep(wait_s)
                writer.write(data)
                await writer.drain()
        writer.close()

    # ---- from the test's thread ----

    def cut(self, reset=True):
        """Every connection ends now."""
        self.loop.call_soon_threadsafe(self.end_all, reset)

    def end_all(self, reset):
        for writer in list(self.links):
            if reset:
                with contextlib.suppress(OSError):
                    writer.get_extra_info("socket").setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()

    def swallow(self, *ways):
        """Connections stay, and nothing comes through: () is all well."""
        self.loop.call_soon_threadsafe(self.hear, *(way for way in self.hears if way not in ways))

    def hear(self, *ways):
        for way, event in self.hears.items():
            if way in ways:
                event.set()
            else:
                event.clear()
