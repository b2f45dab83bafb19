"""Who speaks to aldaba by hand, so that a test decides what is said and when: a gateway or a poller
(Sender), a subscriber (Listener), a provider that answers when it is told to (HeldProvider)."""
import queue
import time

import zmq

from support import bus
from support.stub import Stub
from support.until import until

SOON_S = 5


class Sender:
    """A gateway or a poller by hand: its numbers, its batches, and what it is told."""

    def __init__(self, channel, sender, floor=1, role="gateway"):
        self.channel = channel
        self.floor = floor
        self.role = role
        self.who = {"sender": sender, "instance": sender[:-1] + "Z"}
        self.batch = 0
        self.welcome = None
        self.joins = False  # a frame holds all items of a batch

    def hello(self):
        self.channel.send(bus.pack("hello", role=self.role, floor=self.floor, **self.who))
        while not self.welcome:
            head = self.channel.receive()[0]
            self.welcome = head if head["k"] == "welcome" else None
        return self

    def batch_of(self, *items):
        """[disposition of each item]"""
        self.batch += 1
        if self.joins:
            items = [bus.joined(*items)]
        self.channel.send(bus.pack("batch", batch=self.batch, floor=self.floor, **self.who), *items)
        while True:
            head, *acks = self.channel.receive()
            if head["k"] == "acks" and head["batch"] == self.batch:
                return [ack["disposition"] for ack in acks]

    def deliver(self, *callbacks):
        """[disposition of each callback (num, provider id, code)]"""
        return self.batch_of(*(
            bus.pack("callback", num=num, provider="sandbox", proof="id", method="GET",
                     path="/callback/sandbox", query=f"id={who}&code={code}".encode(),
                     peer="127.0.0.1", received_at_ms=int(time.time() * 1000))
            for num, who, code in callbacks))

    def lease(self):
        """Ask for one job until there is one."""
        def ask():
            self.channel.send(bus.pack("ready", poller=self.who["sender"], credit=1, busy=0))
            try:
                head, *leases = self.channel.receive(0.2)
            except bus.Silent:
                return None
            return leases[0] if head["k"] == "leases" and leases else None
        return until(ask, SOON_S, "no lease")


class Listener:
    """SUB on one topic and on the head."""

    def __init__(self, run, topic):
        self.topic = topic.encode()
        self.socket = zmq.Context.instance().socket(zmq.SUB)
        self.socket.linger = 0
        self.socket.connect(f"ipc://{run}/feed")
        self.socket.subscribe(b"head.")
        self.hints, self.head = [], None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def listen(self, on):
        (self.socket.subscribe if on else self.socket.unsubscribe)(self.topic)

    def read(self):
        while self.socket.poll(20):
            topic, frame = self.socket.recv_multipart()
            if topic == b"head.":
                self.head = bus.unpack(frame)["position"]
            elif topic == self.topic:
                self.hints.append(bus.unpack(frame))
        return self


class HeldProvider(Stub):
    """A res.php or in.php that keeps each request waiting until the test gives its answer."""

    def __init__(self, port):
        super().__init__(lambda _: self.ask(), port)
        self.asked = []  # a queue for each request, in the order in which they came

    def ask(self):
        mine = queue.Queue()
        self.asked.append(mine)
        return mine.get()

    def __exit__(self, *_):
        for waiting in self.asked:
            waiting.put(b"CAPCHA_NOT_READY")
        super().__exit__()
