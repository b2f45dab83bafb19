"""What people write first, for gunicorn: tasks that wait are in a dict, and a callback ends the one
that it names. One process, or each would have a dict of its own."""
import time

from flask import Flask, jsonify, request

app = Flask(__name__)
pending = {}
counts = {"kept": 0}


@app.post("/callback/<provider>")
def callback(provider):
    task = pending.pop(request.form["id"], None)
    if task is not None:
        task["result"] = (provider, request.form["code"])
        counts["kept"] += 1
    return "OK", 200, {"Content-Type": "text/plain"}


@app.get("/_kept")
def kept():
    return jsonify(counts)


@app.post("/_expect")
def expect():
    first, count = int(request.args["first"]), int(request.args["count"])
    pending.clear()
    for number in range(first, first + count):
        pending[str(number)] = {"since": time.time()}
    return "OK"
