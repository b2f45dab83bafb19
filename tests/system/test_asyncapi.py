"""docs/asyncapi.yaml against a running tracker: every question is asked as the document says, and every
frame that comes, of an answer or of the feed, is one that it promises."""
import msgpack
import pytest
import zmq
from support.asyncapi import Document
from support.house import House
from support.until import until

DOCUMENT = Document()
SOON_S = 15


@pytest.fixture(scope="module", name="house")
def a_house():
    with House() as one:
        yield one.start()


class Reader:
    """A DEALER on `consume`. seen: the kinds of all frames, in and out."""

    seen = set()

    def __init__(self, house):
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.connect(f"ipc://{house.run}/consume")
        self.number = 0

    def ask(self, kind, *frames, rc="ok", **fields):
        """The frames behind the head of the answer."""
        self.number += 1
        question = [{"k": kind, "v": 1, "req": self.number, **fields}, *frames]
        self.seen |= {DOCUMENT.check(frame) for frame in question}
        self.socket.send_multipart([msgpack.packb(frame) for frame in question])
        assert self.socket.poll(SOON_S * 1000), f"{kind} is not answered"
        head, *rest = [msgpack.unpackb(frame) for frame in self.socket.recv_multipart()]
        answer, behind = DOCUMENT.operation(kind)
        assert DOCUMENT.check(head) == answer and head["req"] == self.number and head["rc"] == rc, head
        kinds = {DOCUMENT.check(frame) for frame in rest}
        assert kinds <= behind, (kind, kinds)
        self.seen |= kinds | {answer}
        return rest


@pytest.fixture(name="reader")
def a_reader(house):
    one = Reader(house)
    yield one
    one.socket.close()


def end_one(house, code="abc"):
    """A task that has ended."""
    provider_id = house.submit(1, fate="never")[0]
    task = house.register(provider_id, meta="page 3")
    assert house.public.request("GET", f"/callback/sandbox?id={provider_id}&code={code}").status == 200
    return house.ended(task["id"])


def settle(event, verb="ack", **more):
    return {"k": "settle", "v": 1, "lane": event["lane"], "seq": event["seq"], "verb": verb, **more}


def test_example(house, reader):
    task = end_one(house)
    events = reader.ask("fetch", after="all", limit=1000)
    assert [event["result"] for event in events if event["task"] == task["id"]] == [b"abc"]


def test_a_result_that_is_no_text(house, reader):
    task = end_one(house, "%ff%fe")
    events = reader.ask("fetch", after="all")
    assert [event["result"] for event in events if event["task"] == task["id"]] == [b"\xff\xfe"]


def test_durable_consumers(house, reader):
    end_one(house)
    end_one(house)
    who = {"consumer": "billing", "instance": "a"}
    opened = {"from": "all", "mode": "shared", "max_deliver": 3, "ack_wait_ms": 30000}
    reader.ask("consumer.open", consumer="billing", **opened)
    reader.ask("consumer.open", consumer="billing", rc="exists", **opened)
    reader.ask("consumer.open", consumer="billing", rc="conflict", **{**opened, "max_deliver": 4})
    events = reader.ask("consumer.pull", **who, limit=2, wait_ms=5000)
    assert len(events) == 2
    more = settle(events[1], "nack", delay_ms=1, reason="not now")
    reader.ask("consumer.settle", settle(events[0], first=events[0]["seq"]), more, **who)

    def again():
        return [event for event in reader.ask("consumer.pull", **who, wait_ms=1000)
                if event.get("redelivered")]
    (event,) = until(again, SOON_S, "it does not come again")
    assert (event["seq"], event["deliveries"]) == (events[1]["seq"], 2)
    reader.ask("consumer.pull", settle(event), **who)
    (view,) = reader.ask("consumer.list", consumer="billing")
    assert view["instances"] == 1 and view["max_deliver"] == 3
    reader.ask("consumer.close", **who)
    reader.ask("consumer.delete", consumer="billing")
    reader.ask("consumer.pull", **who, rc="notfound")
    reader.ask("fetch", after="never", rc="invalid")


def test_the_feed(house):
    """A topic, then a frame; the topic is an address of the document."""
    socket = zmq.Context.instance().socket(zmq.SUB)
    socket.linger = 0
    socket.connect(f"ipc://{house.run}/feed")
    socket.subscribe(b"")
    found = {}

    def hear():
        while socket.poll(0):
            topic, frame = socket.recv_multipart()
            found[topic.decode()] = msgpack.unpackb(frame)
            Reader.seen.add(DOCUMENT.check(msgpack.unpackb(frame)))
        return found

    until(lambda: "head." in hear(), SOON_S, "no head")
    task = end_one(house)
    event = until(lambda: hear().get("result.sandbox.done."), SOON_S, lambda: f"{found}")
    socket.close()
    assert event["task"] == task["id"]
    channels = DOCUMENT.tree["channels"]
    address = channels["results"]["address"]
    for topic, frame in found.items():
        if frame["k"] == "head":
            assert topic == channels["heads"]["address"]
        else:
            assert topic == address.format(provider=frame["provider"], state=frame["state"])
            assert frame["state"] in channels["results"]["parameters"]["state"]["enum"]


def test_every_message_of_the_document_was_said():
    """Last in this file, and only when all of it runs."""
    if "consumer.delete" not in Reader.seen or "head" not in Reader.seen:
        pytest.skip("only a part of this file was run")
    assert Reader.seen == set(DOCUMENT.messages)
