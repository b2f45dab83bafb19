/* The desk of dead letters over HTTP: groups, edits, bulk replays. */
#include <string.h>

#include "common/base/ident.h"
#include "common/base/text.h"
#include "services/gateway/api/api_letters.h"
#include "services/gateway/api/json_view.h"

enum { DESK_LIMIT_MAX = 200, DESK_OUTBOX_MS = 3000, DESK_MESSAGE_MAX = 1 << 20 };

/* ---- groups ---- */

/* Do letters wait for the dlq, which counts those that it has? */
static const char *desk_groups_note(struct api_call *call, const struct msg_letters *query)
{
    struct msg_letters ask = *query;
    struct msg_answer head;
    zmsg_t *answer = NULL;
    ask.limit = 1;
    ask.cursor[0] = '\0';
    enum ald_rc rc = caller_ask(call->api->caller, ALD_CHANNEL_QUERY, &MSG_LETTERS, &ask,
                                DESK_OUTBOX_MS, &answer);
    bool told = rc == ALD_OK && api_read(zmsg_first(answer), &MSG_ANSWER, &head) &&
                strcmp(head.rc, "ok") == 0;
    bool waits = told && (zmsg_size(answer) > 1 || head.more);
    zmsg_destroy(&answer);
    if (!told)
        return "The tracker does not answer: whether letters wait for the dlq is not known.";
    return waits ? "Letters that wait for the dlq are not counted." : NULL;
}

static void desk_groups_send(struct api_call *call, zmsg_t *answer, const char *cursor,
                             const char *note)
{
    struct ald_json_out out = api_json(call);
    struct msg_letter_group group;
    ald_json_out_object(&out, NULL);
    ald_json_out_array(&out, "groups");
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_LETTER_GROUP, &group))
            view_letter_group(&out, &group);
    ald_json_out_close_array(&out);
    ald_json_out_text(&out, "cursor", cursor);
    if (note)
        ald_json_out_text(&out, "note", note);
    ald_json_out_close_object(&out);
    api_send(call, 200);
}

void letters_groups(struct api_call *call, const struct msg_letters *query)
{
    struct msg_letter_groups ask = {.limit = query->limit};
    struct msg_answer head;
    zmsg_t *answer = NULL;
    if (query->state[0] != '\0' || query->task != 0 || query->since_ms != 0 ||
        query->until_ms != 0 || query->q[0] != '\0' || query->consumer[0] != '\0') {
        api_problem(call, 400,
                    "Groups are of all open and held letters: with group, only reason "
                    "and provider filter.");
        return;
    }
    memcpy(ask.reason, query->reason, sizeof ask.reason);
    memcpy(ask.provider, query->provider, sizeof ask.provider);
    memcpy(ask.cursor, query->cursor, sizeof ask.cursor);
    if (api_ask(call, ALD_CHANNEL_LETTERS, &MSG_LETTER_GROUPS, &ask, API_WAIT_MS, &head, &answer))
        desk_groups_send(call, answer, head.cursor, desk_groups_note(call, query));
    zmsg_destroy(&answer);
}

/* ---- edits ---- */

/* What a PATCH sets. */
struct desk_edit {
    struct json_in_bytes query, body, content_type, headers;
};

static void desk_edit_init(struct desk_edit *self)
{
    *self = (struct desk_edit){0};
    ald_buf_init(&self->query.bytes, ALD_QUERY_MAX);
    ald_buf_init(&self->body.bytes, DESK_MESSAGE_MAX);
    ald_buf_init(&self->content_type.bytes, ALD_TEXT_MAX - 1);
    ald_buf_init(&self->headers.bytes, DESK_MESSAGE_MAX);
}

static void desk_edit_free(struct desk_edit *self)
{
    ald_buf_free(&self->query.bytes);
    ald_buf_free(&self->body.bytes);
    ald_buf_free(&self->content_type.bytes);
    ald_buf_free(&self->headers.bytes);
}

static void desk_edit_fill(struct desk_edit *self, struct msg_letter_edit *ask)
{
    ask->set_query = self->query.set;
    ask->set_body = self->body.set;
    ask->set_content_type = self->content_type.set;
    ask->set_headers = self->headers.set;
    ask->query = ald_buf_span(&self->query.bytes);
    ask->body = ald_buf_span(&self->body.bytes);
    ask->headers = ald_buf_span(&self->headers.bytes);
    ald_text_cut(ask->content_type, sizeof ask->content_type,
                 ald_buf_span(&self->content_type.bytes));
}

void api_letter_edit(struct api_call *call)
{
    struct msg_letter_edit ask = {0};
    struct desk_edit edit;
    desk_edit_init(&edit);
    const struct json_in_field fields[] = {
        {"revision", JSON_IN_NUMBER, &ask.revision, 0},
        {"by", JSON_IN_TEXT, ask.by, sizeof ask.by},
        {"query", JSON_IN_BYTES, &edit.query, 0},
        {"query_base64", JSON_IN_BASE64, &edit.query, 0},
        {"body", JSON_IN_BYTES, &edit.body, 0},
        {"body_base64", JSON_IN_BASE64, &edit.body, 0},
        {"content_type", JSON_IN_BYTES, &edit.content_type, 0},
        {"headers", JSON_IN_BYTES, &edit.headers, 0},
    };
    bool read = api_members(call, fields, ALD_COUNT(fields));
    desk_edit_fill(&edit, &ask);
    if (read && ask.revision == 0)
        api_problem(call, 400,
                    "Say which revision you looked at: `revision`, as the letter shows "
                    "it.");
    else if (read)
        letters_command(call, &MSG_LETTER_EDIT, &ask, ask.letter);
    desk_edit_free(&edit);
}

/* ---- bulk replays ---- */

static void desk_replay_send(struct api_call *call, zmsg_t *answer, unsigned status)
{
    struct ald_json_out out = api_json(call);
    struct msg_replay replay;
    struct msg_replay_count count;
    ald_json_out_object(&out, NULL);
    zframe_t *frame = zmsg_next(answer);
    if (frame && api_read(frame, &MSG_REPLAY, &replay))
        view_replay(&out, &replay);
    ald_json_out_array(&out, "counts");
    for (frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_REPLAY_COUNT, &count))
            view_replay_count(&out, &count);
    ald_json_out_close_array(&out);
    ald_json_out_close_object(&out);
    api_send(call, status);
}

static bool desk_replay_read(struct api_call *call, struct msg_replay_start *ask)
{
    char task[ALD_TASK_ID_TEXT] = "";
    uint64_t since_ms = 0;
    uint64_t until_ms = 0;
    const struct json_in_field fields[] = {
        {"reason", JSON_IN_TEXT, ask->reason, sizeof ask->reason},
        {"provider", JSON_IN_TEXT, ask->provider, sizeof ask->provider},
        {"state", JSON_IN_TEXT, ask->letter_state, sizeof ask->letter_state},
        {"task", JSON_IN_TEXT, task, sizeof task},
        {"since", JSON_IN_NUMBER, &since_ms, 0},
        {"until", JSON_IN_NUMBER, &until_ms, 0},
        {"q", JSON_IN_TEXT, ask->q, sizeof ask->q},
        {"consumer", JSON_IN_TEXT, ask->consumer, sizeof ask->consumer},
        {"rate", JSON_IN_NUMBER, &ask->rate, 0},
        {"believe", JSON_IN_BOOL, &ask->believe, 0},
        {"buy", JSON_IN_BOOL, &ask->buy, 0},
        {"publish", JSON_IN_BOOL, &ask->publish, 0},
        {"dry_run", JSON_IN_BOOL, &ask->dry_run, 0},
        {"by", JSON_IN_TEXT, ask->by, sizeof ask->by},
    };
    if (!api_members(call, fields, ALD_COUNT(fields)))
        return false;
    ask->since_ms = (int64_t)since_ms;
    ask->until_ms = (int64_t)until_ms;
    if (task[0] == '\0' || ald_task_id_parse(ald_span_str(task), &ask->task) == ALD_OK)
        return true;
    api_problem(call, 400, "task must be the id of a task, a decimal number.");
    return false;
}

void api_replay_start(struct api_call *call)
{
    struct msg_replay_start ask = {.by = "api"};
    struct msg_answer head;
    zmsg_t *answer = NULL;
    if (!desk_replay_read(call, &ask))
        return;
    if (api_ask(call, ALD_CHANNEL_LETTERS, &MSG_REPLAY_START, &ask, API_WAIT_MS, &head, &answer))
        desk_replay_send(call, answer, 202);
    zmsg_destroy(&answer);
}

void api_replay_list(struct api_call *call)
{
    struct msg_replay_list ask = {0};
    struct msg_replay replay;
    struct msg_answer head;
    zmsg_t *answer = NULL;
    const struct api_query_field fields[] = {
        {.name = "limit", .kind = API_QUERY_NUMBER, .out = &ask.limit, .max = DESK_LIMIT_MAX},
        {.name = "cursor", .kind = API_QUERY_TEXT, .out = ask.cursor, .cap = sizeof ask.cursor},
    };
    if (!api_query(call, fields, ALD_COUNT(fields)))
        return;
    if (!api_ask(call, ALD_CHANNEL_LETTERS, &MSG_REPLAY_LIST, &ask, API_WAIT_MS, &head, &answer))
        return;
    struct ald_json_out out = api_json(call);
    ald_json_out_object(&out, NULL);
    ald_json_out_array(&out, "replays");
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer)) {
        if (!api_read(frame, &MSG_REPLAY, &replay))
            continue;
        ald_json_out_object(&out, NULL);
        view_replay(&out, &replay);
        ald_json_out_close_object(&out);
    }
    ald_json_out_close_array(&out);
    ald_json_out_text(&out, "cursor", head.cursor);
    ald_json_out_close_object(&out);
    api_send(call, 200);
    zmsg_destroy(&answer);
}

static void desk_replay(struct api_call *call, const struct ald_schema *schema,
                        struct msg_replay_ref *ask)
{
    struct msg_answer head;
    zmsg_t *answer = NULL;
    if (ald_text_copy(ask->replay, sizeof ask->replay, ald_span_str(call->argument)) != ALD_OK)
        api_problem(call, 404, "There is no such bulk replay.");
    else if (api_ask(call, ALD_CHANNEL_LETTERS, schema, ask, API_WAIT_MS, &head, &answer))
        desk_replay_send(call, answer, 200);
    zmsg_destroy(&answer);
}

void api_replay_show(struct api_call *call)
{
    struct msg_replay_ref ask = {0};
    desk_replay(call, &MSG_REPLAY_SHOW, &ask);
}

static void desk_replay_command(struct api_call *call, const struct ald_schema *schema)
{
    struct msg_replay_ref ask = {.by = "api"};
    const struct json_in_field fields[] = {{"by", JSON_IN_TEXT, ask.by, sizeof ask.by}};
    if (api_members(call, fields, ALD_COUNT(fields)))
        desk_replay(call, schema, &ask);
}

void api_replay_pause(struct api_call *call)
{
    desk_replay_command(call, &MSG_REPLAY_PAUSE);
}

void api_replay_resume(struct api_call *call)
{
    desk_replay_command(call, &MSG_REPLAY_RESUME);
}

void api_replay_cancel(struct api_call *call)
{
    desk_replay_command(call, &MSG_REPLAY_CANCEL);
}
