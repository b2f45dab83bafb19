"""A program that is a durable consumer, to be killed: it writes down what it was handed, and what
it knows to be settled, one line each, and acknowledges.

    eater.py RUN CONSUMER INSTANCE JOURNAL [LIMIT [KILLER]]

A line `+ LANE SEQ DELIVERIES REDELIVERED TASK` is an event that was worked off; `= LANE SEQ` one
whose acknowledgement was answered. The event of the task KILLER ends it on the spot."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.consume import Consumer  # noqa: E402


def eat(consumer, journal, limit, killer):
    settling = []
    while True:
        events = consumer.pull(limit=limit, wait_ms=1000)
        for event in settling:
            os.write(journal, f"= {event['lane']} {event['seq']}\n".encode())
        for event in events:
            if event["task"] == killer:
                os.kill(os.getpid(), signal.SIGKILL)
            os.write(journal, (f"+ {event['lane']} {event['seq']} {event['deliveries']} "
                               f"{int(event.get('redelivered', False))} {event['task']}\n").encode())
        consumer.ack_all(events)
        settling = events


def main(run, name, instance, path, limit="50", killer=""):
    journal = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with Consumer(run, name, instance) as consumer:
        print("ready", flush=True)
        eat(consumer, journal, int(limit), killer)


if __name__ == "__main__":
    main(*sys.argv[1:])
