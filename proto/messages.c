/* What is said on events, letters and jobs, and to every daemon on control. */
#include "proto/messages.h"

#include "proto/fields.h"

/* One field a line, so that a change shows which. */
/* clang-format off */

static const struct ald_field hello_fields[] = {
    TEXT(msg_hello, sender, REQUIRED),
    TEXT(msg_hello, instance, REQUIRED),
    TEXT(msg_hello, role, REQUIRED),
    U64(msg_hello, floor, OPTIONAL),
    I64(msg_hello, spool_oldest_ms, OPTIONAL),
    U64(msg_hello, spool_items, OPTIONAL),
    U64(msg_hello, jwks, OPTIONAL),
    TEXT(msg_hello, lacks, OPTIONAL),
};
const struct ald_schema MSG_HELLO = SCHEMA("hello", 1, msg_hello, hello_fields);

static const struct ald_field welcome_fields[] = {
    TEXT(msg_welcome, instance, REQUIRED),
    U64(msg_welcome, max_item, REQUIRED),
    SPAN(msg_welcome, keys, FIELD_KEYS_MAX, OPTIONAL),
    U64(msg_welcome, jwks, OPTIONAL),
    BOOL(msg_welcome, joined, OPTIONAL),
    U64(msg_welcome, seen, OPTIONAL),
    BOOL(msg_welcome, renumber, OPTIONAL),
};
const struct ald_schema MSG_WELCOME = SCHEMA("welcome", 1, msg_welcome, welcome_fields);

static const struct ald_field jwks_fields[] = {
    TEXT(msg_jwks, provider, REQUIRED),
    TEXT(msg_jwks, url, REQUIRED),
    I64(msg_jwks, fetched_at_ms, REQUIRED),
    SPAN(msg_jwks, keys, FIELD_JWKS_MAX, REQUIRED),
};
const struct ald_schema MSG_JWKS = SCHEMA("jwks", 1, msg_jwks, jwks_fields);

static const struct ald_field batch_fields[] = {
    TEXT(msg_batch, sender, REQUIRED),
    TEXT(msg_batch, instance, REQUIRED),
    U64(msg_batch, batch, REQUIRED),
    U64(msg_batch, floor, OPTIONAL),
    I64(msg_batch, spool_oldest_ms, OPTIONAL),
    U64(msg_batch, spool_items, OPTIONAL),
    U64(msg_batch, answered, OPTIONAL),
    U64(msg_batch, acknowledged, OPTIONAL),
    U64(msg_batch, spooled, OPTIONAL),
    U64(msg_batch, unanswered, OPTIONAL),
    U64(msg_batch, refused, OPTIONAL),
    U64(msg_batch, jwks, OPTIONAL),
    TEXT(msg_batch, lacks, OPTIONAL),
};
const struct ald_schema MSG_BATCH = SCHEMA("batch", 1, msg_batch, batch_fields);

static const struct ald_field acks_fields[] = {
    TEXT(msg_acks, instance, REQUIRED),
    U64(msg_acks, batch, REQUIRED),
};
const struct ald_schema MSG_ACKS = SCHEMA("acks", 1, msg_acks, acks_fields);

static const struct ald_field ack_fields[] = {
    U64(msg_ack, num, REQUIRED),
    TEXT(msg_ack, disposition, REQUIRED),
    TEXT(msg_ack, reason, OPTIONAL),
    U64(msg_ack, count, OPTIONAL),
    ID(msg_ack, task, OPTIONAL),
    TEXT(msg_ack, cause, OPTIONAL),
};
const struct ald_schema MSG_ACK = SCHEMA("ack", 1, msg_ack, ack_fields);

static const struct ald_field callback_fields[] = {
    U64(msg_callback, num, REQUIRED),
    TEXT(msg_callback, provider, REQUIRED),
    ID(msg_callback, task, OPTIONAL),
    U64(msg_callback, attempt, OPTIONAL),
    TEXT(msg_callback, proof, REQUIRED),
    TEXT(msg_callback, fault, OPTIONAL),
    TEXT(msg_callback, detail, OPTIONAL),
    TEXT(msg_callback, method, REQUIRED),
    TEXT(msg_callback, path, OPTIONAL),
    SPAN(msg_callback, query, ALD_QUERY_MAX, OPTIONAL),
    TEXT(msg_callback, content_type, OPTIONAL),
    SPAN(msg_callback, headers, FIELD_HEADERS_MAX, OPTIONAL),
    SPAN(msg_callback, body, FIELD_BODY_MAX, OPTIONAL),
    TEXT(msg_callback, peer, OPTIONAL),
    I64(msg_callback, received_at_ms, REQUIRED),
    BOOL(msg_callback, spooled, OPTIONAL),
    TEXT(msg_callback, trace, OPTIONAL),
};
const struct ald_schema MSG_CALLBACK = SCHEMA("callback", 1, msg_callback, callback_fields);

static const struct ald_field reinject_fields[] = {
    U64(msg_reinject, num, REQUIRED),
    TEXT(msg_reinject, letter, REQUIRED),
    U64(msg_reinject, attempt, REQUIRED),
    U64(msg_reinject, revision, OPTIONAL),
    TEXT(msg_reinject, reason, REQUIRED),
    BOOL(msg_reinject, by_person, OPTIONAL),
    BOOL(msg_reinject, believe, OPTIONAL),
    SPAN(msg_reinject, original, FIELD_ORIGINAL_MAX, REQUIRED),
    BOOL(msg_reinject, buy, OPTIONAL),
    BOOL(msg_reinject, publish, OPTIONAL),
    I64(msg_reinject, asked_at_ms, OPTIONAL),
};
const struct ald_schema MSG_REINJECT = SCHEMA("reinject", 1, msg_reinject, reinject_fields);

static const struct ald_field closing_fields[] = {
    U64(msg_closing, num, REQUIRED),
    TEXT(msg_closing, letter, REQUIRED),
    TEXT(msg_closing, state, REQUIRED),
    I64(msg_closing, at_ms, REQUIRED),
};
const struct ald_schema MSG_CLOSING = SCHEMA("closing", 1, msg_closing, closing_fields);

static const struct ald_field letter_fields[] = {
    U64(msg_letter, num, REQUIRED),
    TEXT(msg_letter, letter, REQUIRED),
    TEXT(msg_letter, reason, REQUIRED),
    TEXT(msg_letter, cause, OPTIONAL),
    TEXT(msg_letter, provider, REQUIRED),
    ID(msg_letter, task, OPTIONAL),
    TEXT(msg_letter, provider_id, OPTIONAL),
    TEXT(msg_letter, proof, OPTIONAL),
    I64(msg_letter, made_at_ms, REQUIRED),
    SPAN(msg_letter, original, FIELD_ORIGINAL_MAX, OPTIONAL),
    TEXT(msg_letter, consumer, OPTIONAL),
};
const struct ald_schema MSG_LETTER = SCHEMA("letter", 1, msg_letter, letter_fields);

static const struct ald_field ready_fields[] = {
    TEXT(msg_ready, poller, REQUIRED),
    U64(msg_ready, credit, REQUIRED),
    U64(msg_ready, busy, OPTIONAL),
    BOOL(msg_ready, stopping, OPTIONAL),
    BOOL(msg_ready, batches, OPTIONAL),
    BOOL(msg_ready, jwks, OPTIONAL),
    BOOL(msg_ready, sinks, OPTIONAL),
};
const struct ald_schema MSG_READY = SCHEMA("ready", 1, msg_ready, ready_fields);

static const struct ald_field leases_fields[] = {
    TEXT(msg_leases, instance, REQUIRED),
};
const struct ald_schema MSG_LEASES = SCHEMA("leases", 1, msg_leases, leases_fields);

static const struct ald_field lease_fields[] = {
    U64(msg_lease, lease, REQUIRED),
    ID(msg_lease, task, REQUIRED),
    TEXT(msg_lease, provider, REQUIRED),
    TEXT(msg_lease, provider_id, REQUIRED),
    I64(msg_lease, lease_ms, REQUIRED),
    SPAN(msg_lease, poll_url, ALD_URL_MAX, OPTIONAL),
    SPAN(msg_lease, result_url, ALD_URL_MAX, OPTIONAL),
    SPAN(msg_lease, params, ALD_KEPT_PARAMS_MAX, OPTIONAL),
    U64(msg_lease, batch, OPTIONAL),
    BOOL(msg_lease, call, OPTIONAL),
    TEXT(msg_lease, path, OPTIONAL),
    BOOL(msg_lease, push, OPTIONAL),
    SPAN(msg_lease, body, FIELD_PUSHED_MAX, OPTIONAL),
    BOOL(msg_lease, jwks, OPTIONAL),
    TEXT(msg_lease, sink, OPTIONAL),
    U64(msg_lease, lane, OPTIONAL),
    U64(msg_lease, seq, OPTIONAL),
    TEXT(msg_lease, trace, OPTIONAL),
};
const struct ald_schema MSG_LEASE = SCHEMA("lease", 1, msg_lease, lease_fields);

static const struct ald_field submit_fields[] = {
    U64(msg_submit, lease, REQUIRED),
    ID(msg_submit, task, REQUIRED),
    U64(msg_submit, attempt, REQUIRED),
    TEXT(msg_submit, provider, REQUIRED),
    I64(msg_submit, lease_ms, REQUIRED),
    TEXT(msg_submit, callback_url, OPTIONAL),
    SPAN(msg_submit, submission, FIELD_SUBMISSION_MAX, OPTIONAL),
};
const struct ald_schema MSG_SUBMIT = SCHEMA("submit", 1, msg_submit, submit_fields);

static const struct ald_field started_fields[] = {
    U64(msg_started, num, REQUIRED),
    U64(msg_started, lease, REQUIRED),
    ID(msg_started, task, REQUIRED),
    U64(msg_started, attempt, REQUIRED),
};
const struct ald_schema MSG_STARTED = SCHEMA("started", 1, msg_started, started_fields);

static const struct ald_field outcome_fields[] = {
    U64(msg_outcome, num, REQUIRED),
    U64(msg_outcome, lease, REQUIRED),
    ID(msg_outcome, task, REQUIRED),
    TEXT(msg_outcome, provider, REQUIRED),
    BOOL(msg_outcome, left, OPTIONAL),
    BOOL(msg_outcome, answered, OPTIONAL),
    TEXT(msg_outcome, then, REQUIRED),
    TEXT_AS(msg_outcome, "class", class_, OPTIONAL),
    TEXT(msg_outcome, scope, OPTIONAL),
    BOOL(msg_outcome, block, OPTIONAL),
    TEXT(msg_outcome, code, OPTIONAL),
    I64(msg_outcome, wait_ms, OPTIONAL),
    I64(msg_outcome, grace_ms, OPTIONAL),
    SPAN(msg_outcome, result, FIELD_BODY_MAX, OPTIONAL),
    BOOL(msg_outcome, result_json, OPTIONAL),
    U64(msg_outcome, http, OPTIONAL),
    TEXT(msg_outcome, error, OPTIONAL),
    SPAN(msg_outcome, evidence, FIELD_EVIDENCE_MAX, OPTIONAL),
    I64(msg_outcome, took_ms, OPTIONAL),
    I64(msg_outcome, at_ms, REQUIRED),
    SPAN(msg_outcome, poll_url, ALD_URL_MAX, OPTIONAL),
    SPAN(msg_outcome, result_url, ALD_URL_MAX, OPTIONAL),
    U64(msg_outcome, attempt, OPTIONAL),
    TEXT(msg_outcome, provider_id, OPTIONAL),
    TEXT(msg_outcome, detail, OPTIONAL),
    BOOL(msg_outcome, call, OPTIONAL),
    BOOL(msg_outcome, alone, OPTIONAL),
    BOOL(msg_outcome, push, OPTIONAL),
    BOOL(msg_outcome, jwks, OPTIONAL),
    BOOL(msg_outcome, fetched, OPTIONAL),
    BOOL(msg_outcome, resubmit, OPTIONAL),
    TEXT(msg_outcome, sink, OPTIONAL),
    U64(msg_outcome, lane, OPTIONAL),
    U64(msg_outcome, seq, OPTIONAL),
};
const struct ald_schema MSG_OUTCOME = SCHEMA("outcome", 1, msg_outcome, outcome_fields);

static const struct ald_field control_fields[] = {
    U64(msg_control, req, REQUIRED),
    TEXT(msg_control, what, REQUIRED),
};
const struct ald_schema MSG_CONTROL = SCHEMA("control", 1, msg_control, control_fields);

static const struct ald_field blob_fields[] = {
    SPAN(msg_blob, bytes, FIELD_BLOB_MAX, REQUIRED),
};
const struct ald_schema MSG_BLOB = SCHEMA("blob", 1, msg_blob, blob_fields);

const struct ald_schema *const ALD_SCHEMAS[] = {
    &MSG_HELLO,       &MSG_WELCOME,
    &MSG_BATCH,       &MSG_ACKS,
    &MSG_ACK,         &MSG_CALLBACK,
    &MSG_REINJECT,    &MSG_CLOSING,
    &MSG_LETTER,      &MSG_READY,
    &MSG_LEASES,      &MSG_LEASE,
    &MSG_OUTCOME,     &MSG_REGISTER,    &MSG_CALL,        &MSG_REPLY,
    &MSG_ATTACH,      &MSG_CANCEL,
    &MSG_GET,         &MSG_LIST,
    &MSG_STATUS,      &MSG_AUDIT,
    &MSG_BACKUP,      &MSG_ANSWER,
    &MSG_TASK_VIEW,   &MSG_NOTE,
    &MSG_FIGURE,      &MSG_FETCH,
    &MSG_EVENTS,      &MSG_EVENT,
    &MSG_HEAD,        &MSG_LETTERS,
    &MSG_LETTER_SHOW, &MSG_LETTER_REPLAY,
    &MSG_LETTER_DROP, &MSG_LETTER_VIEW,
    &MSG_ATTEMPT,     &MSG_CONTROL,
    &MSG_BLOB,        &MSG_PROVIDERS,
    &MSG_PROVIDER_PAUSE, &MSG_PROVIDER_RESUME,
    &MSG_PROVIDER_VIEW, &MSG_BUDGET,
    &MSG_SUBMIT,      &MSG_STARTED,
    &MSG_WITHDRAW,    &MSG_JWKS,
    &MSG_CONSUMER_OPEN, &MSG_PULL,
    &MSG_SETTLES,     &MSG_SETTLE,
    &MSG_CONSUMER_CLOSE, &MSG_CONSUMER_LIST,
    &MSG_CONSUMER_DELETE, &MSG_CONSUMER,
    &MSG_LETTER_EDIT, &MSG_LETTER_JUDGE,
    &MSG_LETTER_GROUPS, &MSG_LETTER_GROUP,
    &MSG_JUDGE,       &MSG_JUDGED,
    &MSG_REPLAY_START, &MSG_REPLAY_SHOW,
    &MSG_REPLAY_LIST, &MSG_REPLAY_PAUSE,
    &MSG_REPLAY_RESUME, &MSG_REPLAY_CANCEL,
    &MSG_REPLAY,      &MSG_REPLAY_COUNT,
    NULL,
};
