"""The relay of netlab.py: every frame of one device goes out at the other, or what becomes of it.
python3 relay.py DEVICE DEVICE ORDERS SEED: the first device is at our side, ORDERS a file of JSON that is
read again whenever it changes; what was done is told in ORDERS.done."""
import heapq
import json
import os
import random
import select
import socket
import struct
import sys
import time

ALL = socket.htons(3)
OUTGOING = 4
TURN_S = 0.02
QUEUE_BYTES = 200_000  # of a thin link
IP, TCP, RST, ACK = 0x0800, 6, 4, 16


def open_on(device):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, ALL)
    sock.bind((device, 0))
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    return sock


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def reset_of(frame):
    """The frame that resets the connection of this one, to its sender; None if it has none."""
    if len(frame) < 54 or struct.unpack("!H", frame[12:14])[0] != IP or frame[23] != TCP:
        return None
    at = 14 + (frame[14] & 15) * 4
    sport, dport, seq, ack = struct.unpack("!HHII", frame[at:at + 12])
    flags = frame[at + 13]
    if flags & RST:
        return None
    length = struct.unpack("!H", frame[16:18])[0] - (at - 14) - (frame[at + 12] >> 4) * 4
    end = (seq + length + bool(flags & 2) + bool(flags & 1)) & 0xFFFFFFFF
    tcp = struct.pack("!HHIIBBHHH", dport, sport, ack if flags & ACK else 0, end, 0x50, RST | ACK, 0, 0, 0)
    source, goal = frame[30:34], frame[26:30]
    total = checksum(source + goal + struct.pack("!BBH", 0, TCP, len(tcp)) + tcp)
    tcp = tcp[:16] + struct.pack("!H", total) + tcp[18:]
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, TCP, 0) + source + goal
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return frame[6:12] + frame[0:6] + frame[12:14] + head + tcp


class Relay:
    def __init__(self, near, far, path, seed):
        self.near, self.far = open_on(near), open_on(far)
        self.path = path
        self.luck = random.Random(int(seed))
        self.orders, self.stamp = {}, None
        self.done = dict(passed=0, lost=0, doubled=0, reordered=0, cut=0, reset=0, full=0)
        self.queue, self.count = [], 0
        self.free_at = {self.near: 0.0, self.far: 0.0}

    def look(self):
        stamp = os.stat(self.path).st_ino
        if stamp != self.stamp:
            with open(self.path, encoding="ascii") as file:
                self.orders = json.load(file)
            self.stamp = stamp
        with open(f"{self.path}.done.new", "w", encoding="ascii") as file:
            json.dump({"orders": self.orders, **self.done}, file)
        os.rename(f"{self.path}.done.new", f"{self.path}.done")

    def percent(self, name):
        return self.luck.random() * 100 < self.orders.get(name, 0)

    def take(self, source, frame):
        up = source is self.near
        goal = self.far if up else self.near
        is_ip = len(frame) > 14 and struct.unpack("!H", frame[12:14])[0] == IP
        if is_ip and self.orders.get("cut") in ("both", "up" if up else "down"):
            self.done["cut"] += 1
        elif is_ip and self.orders.get("reset") and (back := reset_of(frame)):
            self.done["reset"] += 1
            self.send(source, back)
        elif is_ip and self.percent("loss"):
            self.done["lost"] += 1
        else:
            self.plan(goal, frame)
            if is_ip and self.percent("dup"):
                self.done["doubled"] += 1
                self.plan(goal, frame)

    def plan(self, goal, frame):
        now = time.monotonic()
        delay_s = self.orders.get("delay_ms", 0) / 1000
        delay_s += self.luck.uniform(0, self.orders.get("jitter_ms", 0)) / 1000
        if self.percent("reorder"):
            self.done["reordered"] += 1
            delay_s = 0
        rate = self.orders.get("rate")
        if rate:
            begin = max(now, self.free_at[goal])
            if (begin - now) * rate > QUEUE_BYTES:
                self.done["full"] += 1
                return
            self.free_at[goal] = begin + len(frame) / rate
            delay_s += self.free_at[goal] - now
        self.count += 1
        heapq.heappush(self.queue, (now + delay_s, self.count, goal, frame))

    def send(self, goal, frame):
        try:
            goal.send(frame)
            self.done["passed"] += 1
        except OSError:
            self.done["full"] += 1

    def turn(self):
        wait_s = TURN_S
        if self.queue:
            wait_s = max(0.0, min(wait_s, self.queue[0][0] - time.monotonic()))
        for source in select.select([self.near, self.far], [], [], wait_s)[0]:
            for _ in range(128):
                try:
                    frame, address = source.recvfrom(65600)
                except BlockingIOError:
                    break
                if address[2] != OUTGOING:
                    self.take(source, frame)
        while self.queue and self.queue[0][0] <= time.monotonic():
            _, _, goal, frame = heapq.heappop(self.queue)
            self.send(goal, frame)

    def run(self):
        print("ready", file=sys.stderr, flush=True)
        next_look = 0.0
        while True:
            if time.monotonic() >= next_look:
                self.look()
                next_look = time.monotonic() + 0.05
            self.turn()


if __name__ == "__main__":
    Relay(*sys.argv[1:]).run()
