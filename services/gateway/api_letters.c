/* Dead letters over HTTP: list, show, replay one, drop. */
#include <string.h>

#include "common/base/ident.h"
#include "common/base/text.h"
#include "services/gateway/api_call.h"
#include "services/gateway/json_in.h"
#include "services/gateway/json_view.h"

enum { LETTERS_LIMIT = 100, LETTERS_LIMIT_MAX = 1000 };

void api_letter_list(struct api_call *call)
{
    struct msg_letters ask = {0};
    struct msg_answer head;
    char task[24];
    zmsg_t *answer = NULL;
    (void)api_argument(call, "reason", ask.reason, sizeof ask.reason);
    (void)api_argument(call, "provider", ask.provider, sizeof ask.provider);
    (void)api_argument(call, "state", ask.state, sizeof ask.state);
    (void)api_argument(call, "cursor", ask.cursor, sizeof ask.cursor);
    if (api_argument(call, "task", task, sizeof task) &&
        ald_task_id_parse(ald_span_str(task), &ask.task) != ALD_OK) {
        api_problem(call, 400, "The argument task is not an id.");
        return;
    }
    ask.limit = api_number(call, "limit", LETTERS_LIMIT, LETTERS_LIMIT_MAX);
    if (!api_ask(call, ALD_CHANNEL_LETTERS, &MSG_LETTERS, &ask, API_WAIT_MS, &head, &answer))
        return;
    struct json_out out = api_json(call);
    struct msg_letter_view view;
    json_out_object(&out, NULL);
    json_out_array(&out, "letters");
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer)) {
        if (!api_read(frame, &MSG_LETTER_VIEW, &view))
            continue;
        json_out_object(&out, NULL);
        view_letter(&out, &view);
        json_out_close_object(&out);
    }
    json_out_close_array(&out);
    json_out_text(&out, "cursor", head.cursor);
    json_out_close_object(&out);
    api_send(call, 200);
    zmsg_destroy(&answer);
}

static void letters_history(struct json_out *out, zmsg_t *answer)
{
    struct msg_attempt attempt;
    json_out_array(out, "history");
    (void)zmsg_first(answer);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_ATTEMPT, &attempt))
            view_attempt(out, &attempt);
    json_out_close_array(out);
}

static void letters_send(struct api_call *call, zmsg_t *answer, const struct msg_answer *head,
                         bool history)
{
    struct json_out out = api_json(call);
    struct msg_letter_view view;
    json_out_object(&out, NULL);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer)) {
        if (api_read(frame, &MSG_LETTER_VIEW, &view)) {
            view_letter(&out, &view);
            break;
        }
    }
    if (head->detail[0] != '\0')
        json_out_text(&out, "note", head->detail);
    if (history)
        letters_history(&out, answer);
    json_out_close_object(&out);
    api_send(call, 200);
}

/* Ask about one letter and answer with it. */
static void letters_one(struct api_call *call, const struct ald_schema *schema,
                        struct msg_letter_ref *ask, bool history)
{
    struct msg_answer head;
    zmsg_t *answer = NULL;
    if (ald_text_copy(ask->letter, sizeof ask->letter, ald_span_str(call->argument)) != ALD_OK) {
        api_problem(call, 404, "There is no such letter.");
        return;
    }
    if (api_ask(call, ALD_CHANNEL_LETTERS, schema, ask, API_WAIT_MS, &head, &answer))
        letters_send(call, answer, &head, history);
    zmsg_destroy(&answer);
}

void api_letter_show(struct api_call *call)
{
    struct msg_letter_ref ask = {0};
    letters_one(call, &MSG_LETTER_SHOW, &ask, true);
}

static bool letters_read(struct api_call *call, struct msg_letter_ref *ask)
{
    const struct json_in_field fields[] = {
        {"believe", JSON_IN_BOOL, &ask->believe, 0},
        {"by", JSON_IN_TEXT, ask->by, sizeof ask->by},
    };
    struct ald_err err = {0};
    if (!api_body(call))
        return false;
    if (json_in_read(ald_buf_span(&call->worker->body), fields, ALD_COUNT(fields), &err) == ALD_OK)
        return true;
    api_problem(call, 400, err.text);
    return false;
}

void api_letter_replay(struct api_call *call)
{
    struct msg_letter_ref ask = {.by = "api"};
    if (letters_read(call, &ask))
        letters_one(call, &MSG_LETTER_REPLAY, &ask, false);
}

void api_letter_drop(struct api_call *call)
{
    struct msg_letter_ref ask = {.by = "api"};
    if (letters_read(call, &ask))
        letters_one(call, &MSG_LETTER_DROP, &ask, false);
}
