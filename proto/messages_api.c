/* What is said on query, consume and feed, and at the desk of the letters. */
#include "proto/messages.h"

#include "proto/fields.h"

/* One field a line, so that a change shows which. */
/* clang-format off */

static const struct ald_field register_fields[] = {
    U64(msg_register, req, REQUIRED),
    TEXT(msg_register, provider, REQUIRED),
    TEXT(msg_register, provider_id, OPTIONAL),
    TEXT(msg_register, key, OPTIONAL),
    TEXT(msg_register, digest, OPTIONAL),
    TEXT(msg_register, meta, OPTIONAL),
    I64(msg_register, stale_after_ms, OPTIONAL),
    I64(msg_register, give_up_after_ms, OPTIONAL),
    TEXT(msg_register, poll_url, OPTIONAL),
    TEXT(msg_register, result_url, OPTIONAL),
    SPAN(msg_register, params, FIELD_BLOB_MAX, OPTIONAL),
    SPAN(msg_register, submission, FIELD_SUBMISSION_MAX, OPTIONAL),
    TEXT(msg_register, base, OPTIONAL),
    TEXT(msg_register, ticket, OPTIONAL),
    I64(msg_register, submit_within_ms, OPTIONAL),
    I64(msg_register, valid_until_ms, OPTIONAL),
    TEXT(msg_register, pingback, OPTIONAL),
    BOOL(msg_register, pingback_json, OPTIONAL),
    TEXT(msg_register, trace, OPTIONAL),
};
const struct ald_schema MSG_REGISTER = SCHEMA("register", 1, msg_register, register_fields);

static const struct ald_field withdraw_fields[] = {
    U64(msg_withdraw, req, REQUIRED),
    TEXT(msg_withdraw, ticket, REQUIRED),
};
const struct ald_schema MSG_WITHDRAW = SCHEMA("withdraw", 1, msg_withdraw, withdraw_fields);

static const struct ald_field call_fields[] = {
    U64(msg_call, req, REQUIRED),
    TEXT(msg_call, provider, REQUIRED),
    TEXT(msg_call, path, OPTIONAL),
    SPAN(msg_call, params, ALD_KEPT_PARAMS_MAX, OPTIONAL),
    ID(msg_call, task, OPTIONAL),
    TEXT(msg_call, verb, OPTIONAL),
    I64(msg_call, wait_ms, OPTIONAL),
};
const struct ald_schema MSG_CALL = SCHEMA("call", 1, msg_call, call_fields);

static const struct ald_field reply_fields[] = {
    U64(msg_reply, http, REQUIRED),
    BOOL(msg_reply, block, OPTIONAL),
    SPAN(msg_reply, body, FIELD_BLOB_MAX, OPTIONAL),
};
const struct ald_schema MSG_REPLY = SCHEMA("reply", 1, msg_reply, reply_fields);

static const struct ald_field attach_fields[] = {
    U64(msg_attach, req, REQUIRED),
    ID(msg_attach, task, REQUIRED),
    TEXT(msg_attach, provider_id, REQUIRED),
    TEXT(msg_attach, poll_url, OPTIONAL),
    TEXT(msg_attach, result_url, OPTIONAL),
    SPAN(msg_attach, params, FIELD_BLOB_MAX, OPTIONAL),
};
const struct ald_schema MSG_ATTACH = SCHEMA("attach", 1, msg_attach, attach_fields);

static const struct ald_field cancel_fields[] = {
    U64(msg_cancel, req, REQUIRED),
    ID(msg_cancel, task, REQUIRED),
};
const struct ald_schema MSG_CANCEL = SCHEMA("cancel", 1, msg_cancel, cancel_fields);

static const struct ald_field get_fields[] = {
    U64(msg_get, req, REQUIRED),
    ID(msg_get, task, REQUIRED),
    I64(msg_get, wait_ms, OPTIONAL),
};
const struct ald_schema MSG_GET = SCHEMA("get", 1, msg_get, get_fields);

static const struct ald_field list_fields[] = {
    U64(msg_list, req, REQUIRED),
    TEXT(msg_list, state, OPTIONAL),
    TEXT(msg_list, provider, OPTIONAL),
    TEXT(msg_list, q, OPTIONAL),
    I64(msg_list, since_ms, OPTIONAL),
    I64(msg_list, until_ms, OPTIONAL),
    U64(msg_list, limit, OPTIONAL),
    TEXT(msg_list, cursor, OPTIONAL),
};
const struct ald_schema MSG_LIST = SCHEMA("list", 1, msg_list, list_fields);

static const struct ald_field status_fields[] = {
    U64(msg_status, req, REQUIRED),
};
const struct ald_schema MSG_STATUS = SCHEMA("status", 1, msg_status, status_fields);

static const struct ald_field audit_fields[] = {
    U64(msg_audit, req, REQUIRED),
    BOOL(msg_audit, deep, OPTIONAL),
};
const struct ald_schema MSG_AUDIT = SCHEMA("audit", 1, msg_audit, audit_fields);

static const struct ald_field backup_fields[] = {
    U64(msg_backup, req, REQUIRED),
    TEXT(msg_backup, dir, REQUIRED),
    I64(msg_backup, hold_ms, OPTIONAL),
    BOOL(msg_backup, release, OPTIONAL),
    TEXT(msg_backup, hold, OPTIONAL),
    BOOL(msg_backup, again, OPTIONAL),
};
const struct ald_schema MSG_BACKUP = SCHEMA("backup", 1, msg_backup, backup_fields);

static const struct ald_field answer_fields[] = {
    U64(msg_answer, req, REQUIRED),
    TEXT(msg_answer, rc, REQUIRED),
    TEXT(msg_answer, detail, OPTIONAL),
    TEXT(msg_answer, cursor, OPTIONAL),
    BOOL(msg_answer, more, OPTIONAL),
};
const struct ald_schema MSG_ANSWER = SCHEMA("answer", 1, msg_answer, answer_fields);

static const struct ald_field task_view_fields[] = {
    ID(msg_task_view, task, REQUIRED),
    TEXT(msg_task_view, provider, REQUIRED),
    TEXT(msg_task_view, provider_id, OPTIONAL),
    TEXT(msg_task_view, key, OPTIONAL),
    TEXT(msg_task_view, meta, OPTIONAL),
    TEXT(msg_task_view, state, REQUIRED),
    TEXT(msg_task_view, source, OPTIONAL),
    SPAN(msg_task_view, result, FIELD_BODY_MAX, OPTIONAL),
    BOOL(msg_task_view, result_json, OPTIONAL),
    TEXT(msg_task_view, code, OPTIONAL),
    I64(msg_task_view, created_at_ms, REQUIRED),
    I64(msg_task_view, ended_at_ms, OPTIONAL),
    I64(msg_task_view, stale_at_ms, OPTIONAL),
    I64(msg_task_view, give_up_at_ms, OPTIONAL),
    U64(msg_task_view, polls, OPTIONAL),
    TEXT(msg_task_view, token, OPTIONAL),
    TEXT(msg_task_view, position, OPTIONAL),
    U64(msg_task_view, attempts, OPTIONAL),
    U64(msg_task_view, resubmits, OPTIONAL),
    ID(msg_task_view, replaces, OPTIONAL),
    ID(msg_task_view, replaced_by, OPTIONAL),
    TEXT(msg_task_view, corrects, OPTIONAL),
    TEXT(msg_task_view, trace, OPTIONAL),
};
const struct ald_schema MSG_TASK_VIEW = SCHEMA("task", 1, msg_task_view, task_view_fields);

static const struct ald_field note_fields[] = {
    I64(msg_note, at_ms, REQUIRED),
    TEXT(msg_note, what, REQUIRED),
    TEXT(msg_note, text, OPTIONAL),
};
const struct ald_schema MSG_NOTE = SCHEMA("note", 1, msg_note, note_fields);

static const struct ald_field figure_fields[] = {
    TEXT(msg_figure, group, REQUIRED),
    TEXT(msg_figure, name, REQUIRED),
    I64(msg_figure, value, OPTIONAL),
    TEXT(msg_figure, text, OPTIONAL),
};
const struct ald_schema MSG_FIGURE = SCHEMA("figure", 1, msg_figure, figure_fields);

static const struct ald_field providers_fields[] = {
    U64(msg_providers, req, REQUIRED),
    TEXT(msg_providers, provider, OPTIONAL),
};
const struct ald_schema MSG_PROVIDERS = SCHEMA("providers", 1, msg_providers, providers_fields);

static const struct ald_field provider_ref_fields[] = {
    U64(msg_provider_ref, req, REQUIRED),
    TEXT(msg_provider_ref, provider, REQUIRED),
    TEXT(msg_provider_ref, by, OPTIONAL),
};
const struct ald_schema MSG_PROVIDER_PAUSE =
    SCHEMA("provider.pause", 1, msg_provider_ref, provider_ref_fields);

const struct ald_schema MSG_PROVIDER_RESUME =
    SCHEMA("provider.resume", 1, msg_provider_ref, provider_ref_fields);

static const struct ald_field provider_view_fields[] = {
    TEXT(msg_provider_view, provider, REQUIRED),
    BOOL(msg_provider_view, paused, OPTIONAL),
    TEXT(msg_provider_view, breaker, OPTIONAL),
    I64(msg_provider_view, open_until_at_ms, OPTIONAL),
    U64(msg_provider_view, troubles, OPTIONAL),
    I64(msg_provider_view, blocked_until_at_ms, OPTIONAL),
    TEXT(msg_provider_view, blocked_why, OPTIONAL),
    U64(msg_provider_view, open, OPTIONAL),
    U64(msg_provider_view, queued, OPTIONAL),
    U64(msg_provider_view, polling, OPTIONAL),
    I64(msg_provider_view, oldest_due_at_ms, OPTIONAL),
    U64(msg_provider_view, late, OPTIONAL),
    I64(msg_provider_view, stale_after_ms, OPTIONAL),
    BOOL(msg_provider_view, stale_auto, OPTIONAL),
    U64(msg_provider_view, callbacks, OPTIONAL),
    I64(msg_provider_view, callback_p50_ms, OPTIONAL),
    I64(msg_provider_view, callback_p95_ms, OPTIONAL),
    BOOL(msg_provider_view, jwks, OPTIONAL),
    U64(msg_provider_view, keys, OPTIONAL),
    I64(msg_provider_view, keys_fetched_at_ms, OPTIONAL),
    TEXT(msg_provider_view, keys_error, OPTIONAL),
};
const struct ald_schema MSG_PROVIDER_VIEW =
    SCHEMA("provider", 1, msg_provider_view, provider_view_fields);

static const struct ald_field budget_fields[] = {
    TEXT(msg_budget, provider, REQUIRED),
    TEXT(msg_budget, name, REQUIRED),
    I64(msg_budget, used, OPTIONAL),
    I64(msg_budget, limit, OPTIONAL),
    I64(msg_budget, hinted, OPTIONAL),
    I64(msg_budget, hinted_limit, OPTIONAL),
    I64(msg_budget, per_ms, OPTIONAL),
    I64(msg_budget, min_gap_ms, OPTIONAL),
};
const struct ald_schema MSG_BUDGET = SCHEMA("budget", 1, msg_budget, budget_fields);

static const struct ald_field fetch_fields[] = {
    U64(msg_fetch, req, REQUIRED),
    TEXT(msg_fetch, after, OPTIONAL),
    TEXT(msg_fetch, provider, OPTIONAL),
    TEXT(msg_fetch, state, OPTIONAL),
    U64(msg_fetch, limit, OPTIONAL),
    U64(msg_fetch, bytes, OPTIONAL),
    I64(msg_fetch, wait_ms, OPTIONAL),
};
const struct ald_schema MSG_FETCH = SCHEMA("fetch", 1, msg_fetch, fetch_fields);

static const struct ald_field events_fields[] = {
    U64(msg_events, req, REQUIRED),
    TEXT(msg_events, rc, REQUIRED),
    TEXT(msg_events, detail, OPTIONAL),
    TEXT(msg_events, position, OPTIONAL),
    TEXT(msg_events, head, OPTIONAL),
    BOOL(msg_events, gap, OPTIONAL),
    TEXT(msg_events, gap_before, OPTIONAL),
    TEXT(msg_events, gap_why, OPTIONAL),
};
const struct ald_schema MSG_EVENTS = SCHEMA("events", 1, msg_events, events_fields);

static const struct ald_field event_fields[] = {
    U64(msg_event, lane, REQUIRED),
    U64(msg_event, seq, REQUIRED),
    U64(msg_event, prev, OPTIONAL),
    ID(msg_event, task, REQUIRED),
    TEXT(msg_event, provider, REQUIRED),
    TEXT(msg_event, provider_id, OPTIONAL),
    TEXT(msg_event, key, OPTIONAL),
    TEXT(msg_event, state, REQUIRED),
    SPAN(msg_event, result, FIELD_BODY_MAX, OPTIONAL),
    TEXT(msg_event, result_type, OPTIONAL),
    TEXT(msg_event, code, OPTIONAL),
    TEXT(msg_event, source, REQUIRED),
    I64(msg_event, received_ms, OPTIONAL),
    I64(msg_event, published_ms, REQUIRED),
    TEXT(msg_event, trace, OPTIONAL),
    TEXT(msg_event, meta, OPTIONAL),
    U64(msg_event, deliveries, OPTIONAL),
    BOOL(msg_event, redelivered, OPTIONAL),
    TEXT(msg_event, corrects, OPTIONAL),
    TEXT(msg_event, consumer, OPTIONAL),
    U64(msg_event, prev_all, OPTIONAL),
    U64(msg_event, prev_provider, OPTIONAL),
    TEXT(msg_event, position, OPTIONAL),
};
const struct ald_schema MSG_EVENT = SCHEMA("event", 1, msg_event, event_fields);

static const struct ald_field head_fields[] = {
    TEXT(msg_head, position, REQUIRED),
    I64(msg_head, at_ms, REQUIRED),
};
const struct ald_schema MSG_HEAD = SCHEMA("head", 1, msg_head, head_fields);

static const struct ald_field letters_fields[] = {
    U64(msg_letters, req, REQUIRED),
    TEXT(msg_letters, reason, OPTIONAL),
    TEXT(msg_letters, provider, OPTIONAL),
    TEXT(msg_letters, state, OPTIONAL),
    ID(msg_letters, task, OPTIONAL),
    U64(msg_letters, limit, OPTIONAL),
    TEXT(msg_letters, cursor, OPTIONAL),
    I64(msg_letters, since_ms, OPTIONAL),
    I64(msg_letters, until_ms, OPTIONAL),
    TEXT(msg_letters, q, OPTIONAL),
    TEXT(msg_letters, consumer, OPTIONAL),
};
const struct ald_schema MSG_LETTERS = SCHEMA("letters", 1, msg_letters, letters_fields);

static const struct ald_field letter_ref_fields[] = {
    U64(msg_letter_ref, req, REQUIRED),
    TEXT(msg_letter_ref, letter, REQUIRED),
    BOOL(msg_letter_ref, believe, OPTIONAL),
    TEXT(msg_letter_ref, by, OPTIONAL),
    U64(msg_letter_ref, revision, OPTIONAL),
    BOOL(msg_letter_ref, buy, OPTIONAL),
    BOOL(msg_letter_ref, publish, OPTIONAL),
};
const struct ald_schema MSG_LETTER_SHOW =
    SCHEMA("letter.show", 1, msg_letter_ref, letter_ref_fields);

const struct ald_schema MSG_LETTER_REPLAY =
    SCHEMA("letter.replay", 1, msg_letter_ref, letter_ref_fields);

const struct ald_schema MSG_LETTER_DROP =
    SCHEMA("letter.drop", 1, msg_letter_ref, letter_ref_fields);

const struct ald_schema MSG_LETTER_JUDGE =
    SCHEMA("letter.judge", 1, msg_letter_ref, letter_ref_fields);

static const struct ald_field letter_view_fields[] = {
    TEXT(msg_letter_view, letter, REQUIRED),
    TEXT(msg_letter_view, reason, REQUIRED),
    TEXT(msg_letter_view, cause, OPTIONAL),
    TEXT(msg_letter_view, state, REQUIRED),
    TEXT(msg_letter_view, outcome, OPTIONAL),
    TEXT(msg_letter_view, provider, REQUIRED),
    ID(msg_letter_view, task, OPTIONAL),
    TEXT(msg_letter_view, provider_id, OPTIONAL),
    TEXT(msg_letter_view, proof, OPTIONAL),
    I64(msg_letter_view, made_at_ms, REQUIRED),
    I64(msg_letter_view, due_at_ms, OPTIONAL),
    I64(msg_letter_view, closed_at_ms, OPTIONAL),
    U64(msg_letter_view, attempts, OPTIONAL),
    U64(msg_letter_view, revision, OPTIONAL),
    SPAN(msg_letter_view, original, FIELD_ORIGINAL_MAX, OPTIONAL),
    TEXT(msg_letter_view, consumer, OPTIONAL),
    U64(msg_letter_view, shown, OPTIONAL),
};
const struct ald_schema MSG_LETTER_VIEW =
    SCHEMA("letter.view", 1, msg_letter_view, letter_view_fields);

static const struct ald_field attempt_fields[] = {
    U64(msg_attempt, attempt, REQUIRED),
    U64(msg_attempt, revision, OPTIONAL),
    I64(msg_attempt, at_ms, REQUIRED),
    TEXT(msg_attempt, by, OPTIONAL),
    TEXT(msg_attempt, outcome, OPTIONAL),
    TEXT(msg_attempt, detail, OPTIONAL),
    TEXT(msg_attempt, what, OPTIONAL),
    TEXT(msg_attempt, replay, OPTIONAL),
};
const struct ald_schema MSG_ATTEMPT = SCHEMA("attempt", 1, msg_attempt, attempt_fields);
