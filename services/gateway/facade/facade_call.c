#include "services/gateway/facade/facade_call.h"

#include <string.h>

#include "common/base/text.h"

enum { CALL_WAIT_MS = 15000, CALL_GRACE_MS = 2000 };

static const char CALL_UNSURE[] = "ERROR_SERVER_ERROR";

static const char *call_unknown(const struct facade_ask *ask)
{
    return ask->protocol == FACADE_PLAIN ? "ERROR_WRONG_CAPTCHA_ID" : "ERROR_NO_SUCH_CAPCHA_ID";
}

/* Was it said before? */
static bool call_noted(zmsg_t *answer, const char *verb)
{
    struct msg_note note;
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_NOTE, &note) && strcmp(note.what, verb) == 0)
            return true;
    return false;
}

/* The provider's id of the task that a report is about. NULL: it is in out. */
static const char *call_task(struct api_call *call, const char *provider,
                             const struct facade_ask *ask, char out[ALD_PROVIDER_ID_MAX])
{
    struct msg_get get = {.task = ask->ids[0]};
    struct msg_answer head = {0};
    struct msg_task_view view;
    zmsg_t *answer = NULL;
    const char *word = NULL;
    enum ald_rc rc = get.task == 0 ? ALD_NOTFOUND
                                   : caller_ask(call->api->caller, ALD_CHANNEL_QUERY, &MSG_GET,
                                                &get, API_WAIT_MS, &answer);
    bool said = rc == ALD_OK && api_read(zmsg_first(answer), &MSG_ANSWER, &head);
    zframe_t *frame = said && strcmp(head.rc, "ok") == 0 ? zmsg_next(answer) : NULL;
    bool found = frame && api_read(frame, &MSG_TASK_VIEW, &view);
    if (!found)
        word = get.task == 0 || strcmp(head.rc, "notfound") == 0 ? call_unknown(ask) : CALL_UNSURE;
    else if (strcmp(view.provider, provider) != 0)
        word = call_unknown(ask);
    else if (view.provider_id[0] == '\0')
        word = "REPORT_NOT_RECORDED"; /* the provider does not know it yet */
    else if (call_noted(answer, ask->verb))
        word = "ERROR_DUPLICATE_REPORT";
    else
        memcpy(out, view.provider_id, ALD_PROVIDER_ID_MAX);
    zmsg_destroy(&answer);
    return word;
}

/* Words of the protocol, and not a page of somebody in between, or of a ban. */
static bool call_usable(const struct msg_reply *reply)
{
    struct ald_span body = ald_span_trim(reply->body);
    return reply->http == 200 && !reply->block && body.len > 0 && body.data[0] != '<';
}

static const char *call_ask(struct api_call *call, struct msg_call *ask, struct ald_buf *out)
{
    struct msg_answer head = {0};
    struct msg_reply reply = {0};
    zmsg_t *answer = NULL;
    const char *word = CALL_UNSURE;
    bool said = caller_ask(call->api->caller, ALD_CHANNEL_QUERY, &MSG_CALL, ask,
                           ask->wait_ms + CALL_GRACE_MS, &answer) == ALD_OK &&
                api_read(zmsg_first(answer), &MSG_ANSWER, &head);
    if (said && strcmp(head.rc, "exists") == 0)
        word = "ERROR_DUPLICATE_REPORT";
    zframe_t *frame = said && strcmp(head.rc, "ok") == 0 ? zmsg_next(answer) : NULL;
    if (frame && api_read(frame, &MSG_REPLY, &reply) && call_usable(&reply)) {
        ald_buf_put_span(out, reply.body);
        word = NULL;
    }
    zmsg_destroy(&answer);
    return word;
}

const char *facade_call(struct api_call *call, const char *provider, const struct facade_ask *ask,
                        const struct facade_fields *fields, struct ald_buf *out)
{
    struct msg_call question = {.wait_ms = CALL_WAIT_MS};
    struct ald_buf params;
    char id[ALD_PROVIDER_ID_MAX] = "";
    bool report = ask->what == FACADE_REPORT;
    const char *word = report ? call_task(call, provider, ask, id) : NULL;
    if (word)
        return word;
    if (!api_wait_enter(call->api))
        return CALL_UNSURE;
    ald_buf_init(&params, ALD_KEPT_PARAMS_MAX);
    facade_call_params(ask, fields, report ? id : NULL, &params);
    question.params = ald_buf_span(&params);
    ald_text_cut(question.provider, sizeof question.provider, ald_span_str(provider));
    if (ask->protocol == FACADE_TASKS)
        ald_text_cut(question.path, sizeof question.path, ald_span_str(ask->verb));
    if (report) {
        question.task = ask->ids[0];
        ald_text_cut(question.verb, sizeof question.verb, ald_span_str(ask->verb));
    }
    word = ald_buf_ok(&params) ? call_ask(call, &question, out) : "ERROR_BAD_PARAMETERS";
    ald_buf_free(&params);
    api_wait_leave(call->api);
    return word;
}
