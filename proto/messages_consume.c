/* The tables of msg_consume.h. */
#include "proto/fields.h"

static const struct ald_field consumer_open_fields[] = {
    U64(msg_consumer_open, req, REQUIRED),
    TEXT(msg_consumer_open, consumer, REQUIRED),
    TEXT(msg_consumer_open, provider, OPTIONAL),
    TEXT(msg_consumer_open, state, OPTIONAL),
    TEXT(msg_consumer_open, from, OPTIONAL),
    TEXT(msg_consumer_open, mode, OPTIONAL),
    U64(msg_consumer_open, max_deliver, OPTIONAL),
    I64(msg_consumer_open, ack_wait_ms, OPTIONAL),
    U64(msg_consumer_open, max_ack_pending, OPTIONAL),
};
const struct ald_schema MSG_CONSUMER_OPEN =
    SCHEMA("consumer.open", 1, msg_consumer_open, consumer_open_fields);

static const struct ald_field pull_fields[] = {
    U64(msg_pull, req, REQUIRED),       TEXT(msg_pull, consumer, REQUIRED),
    TEXT(msg_pull, instance, OPTIONAL), U64(msg_pull, limit, OPTIONAL),
    U64(msg_pull, bytes, OPTIONAL),     I64(msg_pull, wait_ms, OPTIONAL),
    TEXT(msg_pull, gap_seen, OPTIONAL),
};
const struct ald_schema MSG_PULL = SCHEMA("consumer.pull", 1, msg_pull, pull_fields);

static const struct ald_field settles_fields[] = {
    U64(msg_settles, req, REQUIRED),
    TEXT(msg_settles, consumer, REQUIRED),
    TEXT(msg_settles, instance, OPTIONAL),
};
const struct ald_schema MSG_SETTLES = SCHEMA("consumer.settle", 1, msg_settles, settles_fields);

static const struct ald_field settle_fields[] = {
    U64(msg_settle, lane, REQUIRED),     U64(msg_settle, seq, REQUIRED),
    U64(msg_settle, first, OPTIONAL),    TEXT(msg_settle, verb, REQUIRED),
    I64(msg_settle, delay_ms, OPTIONAL), TEXT(msg_settle, reason, OPTIONAL),
};
const struct ald_schema MSG_SETTLE = SCHEMA("settle", 1, msg_settle, settle_fields);

static const struct ald_field consumer_ref_fields[] = {
    U64(msg_consumer_ref, req, REQUIRED),
    TEXT(msg_consumer_ref, consumer, OPTIONAL),
    TEXT(msg_consumer_ref, instance, OPTIONAL),
};
const struct ald_schema MSG_CONSUMER_CLOSE =
    SCHEMA("consumer.close", 1, msg_consumer_ref, consumer_ref_fields);
const struct ald_schema MSG_CONSUMER_LIST =
    SCHEMA("consumer.list", 1, msg_consumer_ref, consumer_ref_fields);
const struct ald_schema MSG_CONSUMER_DELETE =
    SCHEMA("consumer.delete", 1, msg_consumer_ref, consumer_ref_fields);

static const struct ald_field consumer_fields[] = {
    TEXT(msg_consumer, consumer, REQUIRED),   TEXT(msg_consumer, provider, OPTIONAL),
    TEXT(msg_consumer, state, OPTIONAL),      TEXT(msg_consumer, mode, REQUIRED),
    TEXT(msg_consumer, position, REQUIRED),   TEXT(msg_consumer, handed, OPTIONAL),
    U64(msg_consumer, lag, OPTIONAL),         U64(msg_consumer, pending, OPTIONAL),
    U64(msg_consumer, instances, OPTIONAL),   U64(msg_consumer, max_deliver, OPTIONAL),
    I64(msg_consumer, ack_wait_ms, OPTIONAL), U64(msg_consumer, max_ack_pending, OPTIONAL),
    U64(msg_consumer, rejected, OPTIONAL),    I64(msg_consumer, made_at_ms, OPTIONAL),
    I64(msg_consumer, asked_at_ms, OPTIONAL), I64(msg_consumer, oldest_at_ms, OPTIONAL),
    BOOL(msg_consumer, sink, OPTIONAL),       TEXT(msg_consumer, sink_state, OPTIONAL),
};
const struct ald_schema MSG_CONSUMER = SCHEMA("consumer", 1, msg_consumer, consumer_fields);
