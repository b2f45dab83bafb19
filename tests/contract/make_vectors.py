#!/usr/bin/python3
"""Write the golden vectors of proto/vectors: one file a kind and version.

An independent writer: it knows the messages from docs and headers, not from the tables, and encodes
with python3-msgpack. A vector is the contract with programs that are already in use, so a file that
exists is never written again: a new field or version gets a new file.

A file holds {"kind", "version", "fields", "hex", "required": {"fields", "hex"}}: the message with
every field set, and with only those that it is meaningless without. Bytes are hex in "fields".
"""
import hashlib
import hmac
import base64
import json
import pathlib
import sys

import msgpack

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent.parent / "proto" / "vectors"

ULID_A = "01JD0000000000000000000001"
ULID_B = "01JD7Z5V9QK3M8R2T6W4XYZABC"
TASK = "1234567890123456"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WHEN = 1795953600123
EXACT = 2**53 - 1

REQUIRED = True


def message(kind, *fields):
    """fields: (key, value) or (key, value, REQUIRED), in the order in which they are written."""
    return kind, [(f[0], f[1], len(f) == 3) for f in fields]


MESSAGES = [
    message("hello", ("sender", ULID_A, REQUIRED), ("instance", ULID_B, REQUIRED),
            ("role", "gateway", REQUIRED), ("floor", 127), ("spool_oldest_ms", 86400000),
            ("spool_items", 128), ("jwks", 2**47), ("lacks", "fal")),
    message("welcome", ("instance", ULID_B, REQUIRED), ("max_item", 64 * 2**20, REQUIRED),
            ("keys", bytes(range(66))), ("jwks", 2**47 + 1), ("joined", True),
            ("seen", 2**48 + 1), ("renumber", True)),
    message("jwks", ("provider", "fal", REQUIRED), ("url", "https://h.example/jwks.json", REQUIRED),
            ("fetched_at_ms", WHEN, REQUIRED), ("keys", bytes(range(64)), REQUIRED)),
    message("batch", ("sender", ULID_A, REQUIRED), ("instance", ULID_B, REQUIRED),
            ("batch", 255, REQUIRED), ("floor", 256), ("spool_oldest_ms", 1), ("spool_items", 65535),
            ("answered", 65536), ("acknowledged", 2**32 - 1), ("spooled", 2**32),
            ("unanswered", EXACT), ("refused", 3), ("jwks", 1), ("lacks", "fal")),
    message("acks", ("instance", ULID_B, REQUIRED), ("batch", 255, REQUIRED)),
    message("ack", ("num", 70000, REQUIRED), ("disposition", "dead", REQUIRED),
            ("reason", "unknown_task"), ("count", 3), ("task", TASK),
            ("cause", "Another answer than the one that was published.")),
    message("callback", ("num", 41, REQUIRED), ("provider", "captcha-solver-0123456789abcdefg", REQUIRED),
            ("task", TASK), ("attempt", 1), ("proof", "token", REQUIRED), ("fault", "oversized"),
            ("detail", "The body is longer than 256 KiB."), ("method", "POST", REQUIRED),
            ("path", "/cb/captcha-solver-0123456789abcdefg/{token}"), ("query", b"id=7&code=a%20b\xff"),
            ("content_type", "application/json"), ("headers", b"X-Id: 7\nX-Note: caf\xe9\n"),
            ("body", bytes(i * 7 % 256 for i in range(300))), ("peer", "2001:db8::1"),
            ("received_at_ms", WHEN, REQUIRED), ("spooled", True),
            ("trace", TRACE)),
    message("reinject", ("num", 9, REQUIRED), ("letter", ULID_B, REQUIRED), ("attempt", 2, REQUIRED),
            ("revision", 1), ("reason", "unmapped_status", REQUIRED), ("by_person", True),
            ("believe", True), ("original", b"\x82\xa1k\xa8callback\xa1v\x01", REQUIRED),
            ("buy", True), ("publish", True), ("asked_at_ms", WHEN)),
    message("closing", ("num", 10, REQUIRED), ("letter", ULID_B, REQUIRED),
            ("state", "dropped", REQUIRED), ("at_ms", WHEN, REQUIRED)),
    message("letter", ("num", 11, REQUIRED), ("letter", ULID_B, REQUIRED),
            ("reason", "conflict", REQUIRED), ("cause", "The task is done with another answer."),
            ("provider", "transcriber", REQUIRED), ("task", TASK), ("provider_id", "tr_0001/ü"),
            ("proof", "id"), ("made_at_ms", WHEN, REQUIRED), ("original", b"\x00\x01\xfe\xff"),
            ("consumer", "mailer")),
    message("ready", ("poller", ULID_A, REQUIRED), ("credit", 100, REQUIRED), ("busy", 12),
            ("stopping", True), ("batches", True), ("jwks", True), ("sinks", True)),
    message("leases", ("instance", ULID_B, REQUIRED)),
    message("lease", ("lease", 4096, REQUIRED), ("task", TASK, REQUIRED),
            ("provider", "sandbox", REQUIRED), ("provider_id", "77", REQUIRED),
            ("lease_ms", 30000, REQUIRED), ("poll_url", b"https://h.example/op/77?v=1"),
            ("result_url", b"https://h.example/result/77"), ("params", b'{"model":"m/1"}'),
            ("batch", 4095), ("call", True), ("path", "getBalance"), ("push", True),
            ("body", b"id=77&code=OK"), ("jwks", True), ("sink", "orders"), ("lane", 1),
            ("seq", 4096), ("trace", TRACE)),
    message("outcome", ("num", 12, REQUIRED), ("lease", 4096, REQUIRED), ("task", TASK, REQUIRED),
            ("provider", "sandbox", REQUIRED), ("left", True), ("answered", True),
            ("then", "code", REQUIRED), ("class", "transient"), ("scope", "account"), ("block", True),
            ("code", "ERROR: 1005"), ("wait_ms", 300000), ("grace_ms", 60000),
            ("result", b'{"text":"caf\xc3\xa9"}'), ("result_json", True), ("http", 503),
            ("error", "The answer ended early."), ("evidence", b"<html>\x00"), ("took_ms", 250),
            ("at_ms", WHEN, REQUIRED), ("poll_url", b"https://h.example/op/78"),
            ("result_url", b"https://h.example/result/78"), ("attempt", 2), ("provider_id", "77"),
            ("detail", "The queue is full."), ("call", True), ("alone", True), ("push", True),
            ("jwks", True), ("fetched", True), ("resubmit", True), ("sink", "orders"), ("lane", 1),
            ("seq", 4096)),
    message("submit", ("lease", 4097, REQUIRED), ("task", TASK, REQUIRED), ("attempt", 2, REQUIRED),
            ("provider", "sandbox", REQUIRED), ("lease_ms", 30000, REQUIRED),
            ("callback_url", "https://cb.example/cb/sandbox/" + "A" * 34),
            ("submission", b'{"params":{"price":0.00085,"note":"na\xc3\xafve"}}')),
    message("started", ("num", 13, REQUIRED), ("lease", 4097, REQUIRED), ("task", TASK, REQUIRED),
            ("attempt", 2, REQUIRED)),
    message("withdraw", ("req", 18, REQUIRED), ("ticket", ULID_A, REQUIRED)),
    message("register", ("req", 1, REQUIRED), ("provider", "sandbox", REQUIRED),
            ("provider_id", "77"), ("key", "order-1842"), ("digest", hashlib.sha256(b"x").hexdigest()),
            ("meta", '{"user":"naïve €"}'), ("stale_after_ms", 45000), ("give_up_after_ms", 900000),
            ("poll_url", "https://h.example/op/77?v=1"), ("result_url", "https://h.example/result/77"),
            ("params", b'{"model":"m/1","seed":7}'),
            ("submission", b'{"params":{"price":0.00085,"note":"na\xc3\xafve"}}'),
            ("base", "https://cb.example"), ("ticket", ULID_A), ("submit_within_ms", 86400000),
            ("valid_until_ms", WHEN + 10000),
            ("pingback", "https://client.example/done?a=1"), ("pingback_json", True),
            ("trace", TRACE)),
    message("attach", ("req", 2, REQUIRED), ("task", TASK, REQUIRED), ("provider_id", "78", REQUIRED),
            ("poll_url", "https://h.example/op/78"), ("result_url", "https://h.example/result/78"),
            ("params", b'{"model":"m/1"}')),
    message("cancel", ("req", 3, REQUIRED), ("task", TASK, REQUIRED)),
    message("get", ("req", 4, REQUIRED), ("task", TASK, REQUIRED), ("wait_ms", 30000)),
    message("list", ("req", 5, REQUIRED), ("state", "pending"), ("provider", "sandbox"),
            ("q", "order-1842"), ("since_ms", WHEN), ("until_ms", WHEN + 1), ("limit", 50),
            ("cursor", "0:99")),
    message("status", ("req", 6, REQUIRED)),
    message("audit", ("req", 7, REQUIRED), ("deep", True)),
    message("backup", ("req", 8, REQUIRED), ("dir", "/srv/backup/today", REQUIRED),
            ("hold_ms", 10000), ("release", True), ("hold", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
            ("again", True)),
    message("answer", ("req", EXACT, REQUIRED), ("rc", "conflict", REQUIRED),
            ("detail", "The key was used for another request."), ("cursor", "0:100"), ("more", True)),
    message("task", ("task", str(2**53 - 1), REQUIRED), ("provider", "sandbox", REQUIRED),
            ("provider_id", "77"), ("key", "order-1842"), ("meta", "m" * 1024),
            ("state", "done", REQUIRED), ("source", "late"), ("result", b"OK|\x80\x81"),
            ("result_json", True), ("code", "OK"), ("created_at_ms", WHEN, REQUIRED),
            ("ended_at_ms", WHEN + 5000), ("stale_at_ms", WHEN + 45000),
            ("give_up_at_ms", WHEN + 900000), ("polls", 2),
            ("token", "AQAEYxF3-OugAf__________________AA"), ("position", "0:101"),
            ("attempts", 3), ("resubmits", 2), ("replaces", TASK),
            ("replaced_by", str(2**53 - 2)), ("corrects", "0:100"), ("trace", TRACE)),
    message("note", ("at_ms", WHEN, REQUIRED), ("what", "callback", REQUIRED),
            ("text", "A callback came: applied.")),
    message("figure", ("group", "tasks", REQUIRED), ("name", "sandbox.pending", REQUIRED),
            ("value", -(2**53)), ("text", "balanced")),
    message("fetch", ("req", 9, REQUIRED), ("after", "0:101"), ("provider", "sandbox"),
            ("state", "failed"), ("limit", 1000), ("bytes", 2**20), ("wait_ms", 25000)),
    message("events", ("req", 9, REQUIRED), ("rc", "ok", REQUIRED), ("detail", "Scanned to the head."),
            ("position", "0:200"), ("head", "0:200"), ("gap", True), ("gap_before", "0:150"),
            ("gap_why", "retention")),
    message("event", ("lane", 0, REQUIRED), ("seq", 200, REQUIRED), ("prev", 198),
            ("task", TASK, REQUIRED), ("provider", "sandbox", REQUIRED), ("provider_id", "77"),
            ("key", "order-1842"), ("state", "done", REQUIRED), ("result", b"line\r\n\x00\xff"),
            ("result_type", "text"), ("code", "OK"), ("source", "callback", REQUIRED),
            ("received_ms", WHEN), ("published_ms", WHEN + 3, REQUIRED), ("trace", "00-ab-cd-01"),
            ("meta", "shelf 9"), ("deliveries", 2), ("redelivered", True), ("corrects", "0:150"),
            ("consumer", "mailer"), ("prev_all", 199), ("prev_provider", 197), ("position", "0:200")),
    message("consumer.open", ("req", 20, REQUIRED), ("consumer", "mailer", REQUIRED),
            ("provider", "sandbox"), ("state", "done"), ("from", "@1795953600123"),
            ("mode", "ordered"), ("max_deliver", 7), ("ack_wait_ms", 60000), ("max_ack_pending", 500)),
    message("consumer.pull", ("req", 21, REQUIRED), ("consumer", "mailer", REQUIRED),
            ("instance", "mailer-1"), ("limit", 100), ("bytes", 2**20), ("wait_ms", 25000),
            ("gap_seen", "0:150")),
    message("consumer.settle", ("req", 22, REQUIRED), ("consumer", "mailer", REQUIRED),
            ("instance", "mailer-1")),
    message("settle", ("lane", 0, REQUIRED), ("seq", 200, REQUIRED), ("first", 190),
            ("verb", "nack", REQUIRED), ("delay_ms", 5000), ("reason", "The mailbox is full.")),
    message("consumer.close", ("req", 23, REQUIRED), ("consumer", "mailer"), ("instance", "mailer-1")),
    message("consumer.list", ("req", 24, REQUIRED), ("consumer", "mailer"), ("instance", "mailer-1")),
    message("consumer.delete", ("req", 25, REQUIRED), ("consumer", "mailer"),
            ("instance", "mailer-1")),
    message("consumer", ("consumer", "mailer", REQUIRED), ("provider", "sandbox"), ("state", "done"),
            ("mode", "shared", REQUIRED), ("position", "0:150", REQUIRED), ("handed", "0:200"),
            ("lag", 70), ("pending", 12), ("instances", 2), ("max_deliver", 5),
            ("ack_wait_ms", 30000), ("max_ack_pending", 1000), ("rejected", 3), ("made_at_ms", WHEN),
            ("asked_at_ms", WHEN + 5), ("oldest_at_ms", WHEN + 1), ("sink", True), ("sink_state", "paused")),
    message("head", ("position", "0:200", REQUIRED), ("at_ms", WHEN, REQUIRED)),
    message("letters", ("req", 10, REQUIRED), ("reason", "malformed"), ("provider", "sandbox"),
            ("state", "held"), ("task", TASK), ("limit", 20), ("cursor", ULID_A),
            ("since_ms", WHEN), ("until_ms", WHEN + 3600000), ("q", "a=1"), ("consumer", "mailer")),
    message("letter.show", ("req", 11, REQUIRED), ("letter", ULID_B, REQUIRED), ("believe", True),
            ("by", "cli"), ("revision", 2), ("buy", True), ("publish", True)),
    message("letter.replay", ("req", 12, REQUIRED), ("letter", ULID_B, REQUIRED), ("believe", True),
            ("by", "cli"), ("revision", 2), ("buy", True), ("publish", True)),
    message("letter.drop", ("req", 13, REQUIRED), ("letter", ULID_B, REQUIRED), ("believe", True),
            ("by", "cli"), ("revision", 2), ("buy", True), ("publish", True)),
    message("letter.judge", ("req", 26, REQUIRED), ("letter", ULID_B, REQUIRED), ("believe", True),
            ("by", "cli"), ("revision", 2), ("buy", True), ("publish", True)),
    message("letter.view", ("letter", ULID_B, REQUIRED), ("reason", "conflict", REQUIRED),
            ("cause", "The task is done with another answer."), ("state", "open", REQUIRED),
            ("outcome", "still"), ("provider", "sandbox", REQUIRED), ("task", TASK),
            ("provider_id", "77"), ("proof", "auth"), ("made_at_ms", WHEN, REQUIRED),
            ("due_at_ms", WHEN + 300000), ("closed_at_ms", WHEN + 600000), ("attempts", 3),
            ("revision", 2), ("original", b"\x00\x01\xfe\xff"), ("consumer", "mailer"),
            ("shown", 1)),
    message("attempt", ("attempt", 3, REQUIRED), ("revision", 2), ("at_ms", WHEN, REQUIRED),
            ("by", "schedule"), ("outcome", "still"), ("detail", "The task is not known yet."),
            ("what", "edited"), ("replay", ULID_A)),
    message("letter.edit", ("req", 27, REQUIRED), ("letter", ULID_B, REQUIRED),
            ("revision", 1, REQUIRED), ("by", "ana", REQUIRED), ("set_query", True),
            ("set_body", True), ("set_content_type", True), ("set_headers", True),
            ("query", b"id=7&code=a%20b"), ("body", b"\x00\xff"), ("content_type", "text/plain"),
            ("headers", b"X-Id: 7\n")),
    message("letter.groups", ("req", 28, REQUIRED), ("reason", "malformed"), ("provider", "sandbox"),
            ("limit", 20), ("cursor", "12")),
    message("letter.group", ("reason", "malformed", REQUIRED), ("cause", "The message can't be read."),
            ("provider", "sandbox", REQUIRED), ("count", 10000, REQUIRED), ("oldest_at_ms", WHEN),
            ("newest_at_ms", WHEN + 5), ("example", ULID_B)),
    message("judge", ("req", 29, REQUIRED), ("letter", ULID_B, REQUIRED), ("revision", 2),
            ("reason", "malformed", REQUIRED), ("believe", True),
            ("original", b"\x00\x01\xfe\xff", REQUIRED), ("buy", True), ("publish", True)),
    message("judged", ("letter", ULID_B, REQUIRED), ("disposition", "applied"),
            ("reason", "unmapped_status"), ("why", "No rule of the profile reads this message."),
            ("task", TASK), ("task_state", "pending"), ("state", "done"), ("provider_id", "77"),
            ("then", "done"), ("rule", "answer"), ("code", "ERROR_X"), ("code_row", "ERROR_X"),
            ("code_class", "failed")),
    message("replay.start", ("req", 30, REQUIRED), ("reason", "malformed"), ("provider", "sandbox"),
            ("letter_state", "held"), ("task", TASK), ("since_ms", WHEN), ("until_ms", WHEN + 1),
            ("q", "a=1"), ("consumer", "mailer"), ("rate", 50), ("believe", True), ("dry_run", True),
            ("by", "ana"), ("buy", True), ("publish", True)),
    message("replay.show", ("req", 31, REQUIRED), ("replay", ULID_A, REQUIRED), ("by", "ana")),
    message("replay.pause", ("req", 32, REQUIRED), ("replay", ULID_A, REQUIRED), ("by", "ana")),
    message("replay.resume", ("req", 33, REQUIRED), ("replay", ULID_A, REQUIRED), ("by", "ana")),
    message("replay.cancel", ("req", 34, REQUIRED), ("replay", ULID_A, REQUIRED), ("by", "ana")),
    message("replay.list", ("req", 35, REQUIRED), ("limit", 20), ("cursor", ULID_A)),
    message("replay", ("replay", ULID_A, REQUIRED), ("state", "running", REQUIRED),
            ("reason", "malformed"), ("provider", "sandbox"), ("letter_state", "held"),
            ("task", TASK), ("since_ms", WHEN), ("until_ms", WHEN + 1), ("q", "a=1"),
            ("consumer", "mailer"), ("rate", 50), ("believe", True), ("dry_run", True),
            ("by", "ana"), ("made_at_ms", WHEN, REQUIRED), ("begun_at_ms", WHEN + 1),
            ("ended_at_ms", WHEN + 2), ("bound", ULID_B), ("cursor", ULID_A), ("total", 2000),
            ("scanned", 1500), ("seen", 1400), ("replayed", 1300), ("answered", 1200),
            ("skipped", 100), ("note", "The tracker does not answer."), ("buy", True), ("publish", True)),
    message("replay.count", ("replay", ULID_A, REQUIRED), ("result", "skipped", REQUIRED),
            ("reason", "expired", REQUIRED), ("why", "not_allowed"), ("count", 100, REQUIRED)),
    message("control", ("req", 14, REQUIRED), ("what", "metrics", REQUIRED)),
    message("blob", ("bytes", b"aldaba_up 1\n", REQUIRED)),
    message("providers", ("req", 15, REQUIRED), ("provider", "sandbox")),
    message("provider.pause", ("req", 16, REQUIRED), ("provider", "sandbox", REQUIRED),
            ("by", "cli")),
    message("provider.resume", ("req", 17, REQUIRED), ("provider", "sandbox", REQUIRED),
            ("by", "cli")),
    message("provider", ("provider", "sandbox", REQUIRED), ("paused", True), ("breaker", "open"),
            ("open_until_at_ms", WHEN + 5000), ("troubles", 12),
            ("blocked_until_at_ms", WHEN + 300000), ("blocked_why", "ERROR: 1005"), ("open", 4096),
            ("queued", 127), ("polling", 3), ("oldest_due_at_ms", WHEN - 1000),
            ("late", 2), ("stale_after_ms", 12500), ("stale_auto", True), ("callbacks", 800),
            ("callback_p50_ms", 6144), ("callback_p95_ms", 10240), ("jwks", True), ("keys", 2),
            ("keys_fetched_at_ms", WHEN - 60000), ("keys_error", "The server said 500.")),
    message("budget", ("provider", "sandbox", REQUIRED), ("name", "res.php", REQUIRED),
            ("used", 1080), ("limit", 1080), ("hinted", 7), ("hinted_limit", 120),
            ("per_ms", 3000), ("min_gap_ms", 100)),
]


def encode(kind, pairs):
    body = {"k": kind, "v": 1}
    body.update(pairs)
    return msgpack.packb(body, use_bin_type=True).hex()


def shown(pairs):
    return {k: v.hex() if isinstance(v, bytes) else v for k, v in pairs}


def vector(kind, fields):
    every = [(key, value) for key, value, _ in fields]
    needed = [(key, value) for key, value, required in fields if required]
    return {"kind": kind, "version": 1, "fields": shown(every), "hex": encode(kind, every),
            "required": {"fields": shown(needed), "hex": encode(kind, needed)}}


def token(provider, key_id, key, task, attempt):
    facts = bytes([key_id]) + task.to_bytes(7, "big") + bytes([attempt])
    mac = hmac.new(key, provider.encode() + b"\0" + facts, hashlib.sha256).digest()[:16]
    text = base64.urlsafe_b64encode(facts + mac).rstrip(b"=").decode()
    return {"provider": provider, "key_id": key_id, "key": key.hex(), "task": str(task),
            "attempt": attempt, "token": text}


def tokens():
    low, high = bytes(range(32)), bytes(range(255, 223, -1))
    return [token("sandbox", 1, low, 1234567890123456, 0),
            token("sandbox", 1, low, 1234567890123456, 1),
            token("sandbox", 2, high, 1234567890123456, 1),
            token("transcriber", 1, low, 1234567890123456, 1),
            token("a", 0, high, 0, 0),
            token("captcha-solver-0123456789abcdefg", 255, high, 2**56 - 1, 255)]


def write_once(name, content):
    path = OUT / name
    if path.exists():
        return False
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return True


def main():
    OUT.mkdir(exist_ok=True)
    written = write_once("token.json", tokens())
    for kind, fields in MESSAGES:
        written += write_once(f"{kind}.v1.json", vector(kind, fields))
    print(f"{written} written, {len(MESSAGES) + 1 - written} there already", file=sys.stderr)


if __name__ == "__main__":
    main()
