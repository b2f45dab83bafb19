/* What repairs at the desk of the letters: edits, groups, dry runs and bulk replays. */
#include "proto/fields.h"

/* One field a line, so that a change shows which. */
/* clang-format off */

static const struct ald_field letter_edit_fields[] = {
    U64(msg_letter_edit, req, REQUIRED),
    TEXT(msg_letter_edit, letter, REQUIRED),
    U64(msg_letter_edit, revision, REQUIRED),
    TEXT(msg_letter_edit, by, REQUIRED),
    BOOL(msg_letter_edit, set_query, OPTIONAL),
    BOOL(msg_letter_edit, set_body, OPTIONAL),
    BOOL(msg_letter_edit, set_content_type, OPTIONAL),
    BOOL(msg_letter_edit, set_headers, OPTIONAL),
    SPAN(msg_letter_edit, query, ALD_QUERY_MAX, OPTIONAL),
    SPAN(msg_letter_edit, body, FIELD_BODY_MAX, OPTIONAL),
    TEXT(msg_letter_edit, content_type, OPTIONAL),
    SPAN(msg_letter_edit, headers, FIELD_HEADERS_MAX, OPTIONAL),
};
const struct ald_schema MSG_LETTER_EDIT =
    SCHEMA("letter.edit", 1, msg_letter_edit, letter_edit_fields);

static const struct ald_field letter_groups_fields[] = {
    U64(msg_letter_groups, req, REQUIRED),
    TEXT(msg_letter_groups, reason, OPTIONAL),
    TEXT(msg_letter_groups, provider, OPTIONAL),
    U64(msg_letter_groups, limit, OPTIONAL),
    TEXT(msg_letter_groups, cursor, OPTIONAL),
};
const struct ald_schema MSG_LETTER_GROUPS =
    SCHEMA("letter.groups", 1, msg_letter_groups, letter_groups_fields);

static const struct ald_field letter_group_fields[] = {
    TEXT(msg_letter_group, reason, REQUIRED),
    TEXT(msg_letter_group, cause, OPTIONAL),
    TEXT(msg_letter_group, provider, REQUIRED),
    U64(msg_letter_group, count, REQUIRED),
    I64(msg_letter_group, oldest_at_ms, OPTIONAL),
    I64(msg_letter_group, newest_at_ms, OPTIONAL),
    TEXT(msg_letter_group, example, OPTIONAL),
};
const struct ald_schema MSG_LETTER_GROUP =
    SCHEMA("letter.group", 1, msg_letter_group, letter_group_fields);

static const struct ald_field judge_fields[] = {
    U64(msg_judge, req, REQUIRED),
    TEXT(msg_judge, letter, REQUIRED),
    U64(msg_judge, revision, OPTIONAL),
    TEXT(msg_judge, reason, REQUIRED),
    BOOL(msg_judge, believe, OPTIONAL),
    SPAN(msg_judge, original, FIELD_ORIGINAL_MAX, REQUIRED),
    BOOL(msg_judge, buy, OPTIONAL),
    BOOL(msg_judge, publish, OPTIONAL),
};
const struct ald_schema MSG_JUDGE = SCHEMA("judge", 1, msg_judge, judge_fields);

static const struct ald_field judged_fields[] = {
    TEXT(msg_judged, letter, REQUIRED),
    TEXT(msg_judged, disposition, OPTIONAL),
    TEXT(msg_judged, reason, OPTIONAL),
    TEXT(msg_judged, why, OPTIONAL),
    ID(msg_judged, task, OPTIONAL),
    TEXT(msg_judged, task_state, OPTIONAL),
    TEXT(msg_judged, state, OPTIONAL),
    TEXT(msg_judged, provider_id, OPTIONAL),
    TEXT(msg_judged, then, OPTIONAL),
    TEXT(msg_judged, rule, OPTIONAL),
    TEXT(msg_judged, code, OPTIONAL),
    TEXT(msg_judged, code_row, OPTIONAL),
    TEXT(msg_judged, code_class, OPTIONAL),
};
const struct ald_schema MSG_JUDGED = SCHEMA("judged", 1, msg_judged, judged_fields);

/* ---- bulk replays ---- */

static const struct ald_field replay_start_fields[] = {
    U64(msg_replay_start, req, REQUIRED),
    TEXT(msg_replay_start, reason, OPTIONAL),
    TEXT(msg_replay_start, provider, OPTIONAL),
    TEXT(msg_replay_start, letter_state, OPTIONAL),
    ID(msg_replay_start, task, OPTIONAL),
    I64(msg_replay_start, since_ms, OPTIONAL),
    I64(msg_replay_start, until_ms, OPTIONAL),
    TEXT(msg_replay_start, q, OPTIONAL),
    TEXT(msg_replay_start, consumer, OPTIONAL),
    U64(msg_replay_start, rate, OPTIONAL),
    BOOL(msg_replay_start, believe, OPTIONAL),
    BOOL(msg_replay_start, dry_run, OPTIONAL),
    TEXT(msg_replay_start, by, OPTIONAL),
    BOOL(msg_replay_start, buy, OPTIONAL),
    BOOL(msg_replay_start, publish, OPTIONAL),
};
const struct ald_schema MSG_REPLAY_START =
    SCHEMA("replay.start", 1, msg_replay_start, replay_start_fields);

static const struct ald_field replay_ref_fields[] = {
    U64(msg_replay_ref, req, REQUIRED),
    TEXT(msg_replay_ref, replay, REQUIRED),
    TEXT(msg_replay_ref, by, OPTIONAL),
};
const struct ald_schema MSG_REPLAY_SHOW =
    SCHEMA("replay.show", 1, msg_replay_ref, replay_ref_fields);
const struct ald_schema MSG_REPLAY_PAUSE =
    SCHEMA("replay.pause", 1, msg_replay_ref, replay_ref_fields);
const struct ald_schema MSG_REPLAY_RESUME =
    SCHEMA("replay.resume", 1, msg_replay_ref, replay_ref_fields);
const struct ald_schema MSG_REPLAY_CANCEL =
    SCHEMA("replay.cancel", 1, msg_replay_ref, replay_ref_fields);

static const struct ald_field replay_list_fields[] = {
    U64(msg_replay_list, req, REQUIRED),
    U64(msg_replay_list, limit, OPTIONAL),
    TEXT(msg_replay_list, cursor, OPTIONAL),
};
const struct ald_schema MSG_REPLAY_LIST =
    SCHEMA("replay.list", 1, msg_replay_list, replay_list_fields);

static const struct ald_field replay_fields[] = {
    TEXT(msg_replay, replay, REQUIRED),
    TEXT(msg_replay, state, REQUIRED),
    TEXT(msg_replay, reason, OPTIONAL),
    TEXT(msg_replay, provider, OPTIONAL),
    TEXT(msg_replay, letter_state, OPTIONAL),
    ID(msg_replay, task, OPTIONAL),
    I64(msg_replay, since_ms, OPTIONAL),
    I64(msg_replay, until_ms, OPTIONAL),
    TEXT(msg_replay, q, OPTIONAL),
    TEXT(msg_replay, consumer, OPTIONAL),
    U64(msg_replay, rate, OPTIONAL),
    BOOL(msg_replay, believe, OPTIONAL),
    BOOL(msg_replay, dry_run, OPTIONAL),
    TEXT(msg_replay, by, OPTIONAL),
    I64(msg_replay, made_at_ms, REQUIRED),
    I64(msg_replay, begun_at_ms, OPTIONAL),
    I64(msg_replay, ended_at_ms, OPTIONAL),
    TEXT(msg_replay, bound, OPTIONAL),
    TEXT(msg_replay, cursor, OPTIONAL),
    U64(msg_replay, total, OPTIONAL),
    U64(msg_replay, scanned, OPTIONAL),
    U64(msg_replay, seen, OPTIONAL),
    U64(msg_replay, replayed, OPTIONAL),
    U64(msg_replay, answered, OPTIONAL),
    U64(msg_replay, skipped, OPTIONAL),
    TEXT(msg_replay, note, OPTIONAL),
    BOOL(msg_replay, buy, OPTIONAL),
    BOOL(msg_replay, publish, OPTIONAL),
};
const struct ald_schema MSG_REPLAY = SCHEMA("replay", 1, msg_replay, replay_fields);

static const struct ald_field replay_count_fields[] = {
    TEXT(msg_replay_count, replay, REQUIRED),
    TEXT(msg_replay_count, result, REQUIRED),
    TEXT(msg_replay_count, reason, REQUIRED),
    TEXT(msg_replay_count, why, OPTIONAL),
    U64(msg_replay_count, count, REQUIRED),
};
const struct ald_schema MSG_REPLAY_COUNT =
    SCHEMA("replay.count", 1, msg_replay_count, replay_count_fields);
