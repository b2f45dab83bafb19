/* Durable consumers over HTTP: make, list, show, delete, pull, settle. */
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/event_json.h"
#include "common/net/sock.h"
#include "services/gateway/api/api_call.h"
#include "services/gateway/api/json_in.h"
#include "services/gateway/api/json_view.h"

enum {
    CONSUMERS_WAIT_MAX_MS = 60000,
    CONSUMERS_GRACE_MS = 5000, /* an answer may come this long after the wait that was asked for */
    CONSUMERS_SETTLES_MAX = 10000
};

static bool consumers_name(struct api_call *call, char out[ALD_CONSUMER_MAX])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    if (strspn(call->argument, letters) == strlen(call->argument)) {
        ald_text_cut(out, ALD_CONSUMER_MAX, ald_span_str(call->argument));
        return true;
    }
    api_problem(call, 400,
                "The name of a consumer has 1 to 64 characters of a-z, 0-9, '.', '_' and '-'.");
    return false;
}

void api_consumer_refused(struct api_call *call, const char *name, const char *word,
                          const char *detail)
{
    char text[256];
    if (strcmp(word, "notfound") != 0) {
        api_refused(call, word, detail);
        return;
    }
    (void)snprintf(
        text, sizeof text,
        "There is no consumer %s; PUT /v1/consumers/%s makes it, and it begins with what "
        "ends from then on.",
        name, name);
    api_problem(call, 404, text);
}

/* Ask what is answered by msg_answer. False: a problem was answered. */
static bool consumers_ask(struct api_call *call, const struct ald_schema *schema, void *msg,
                          zmsg_t **frames, struct msg_answer *head, zmsg_t **answer)
{
    enum ald_rc rc = caller_ask_with(call->api->caller, ALD_CHANNEL_CONSUME, schema, msg, frames,
                                     API_WAIT_MS, answer);
    *head = (struct msg_answer){.rc = "io"};
    if (rc != ALD_OK) {
        api_unasked(call, ALD_CHANNEL_CONSUME, rc);
        return false;
    }
    if (!api_read(zmsg_first(*answer), &MSG_ANSWER, head))
        *head = (struct msg_answer){.rc = "io"};
    if (strcmp(head->rc, "ok") == 0 || strcmp(head->rc, "exists") == 0)
        return true;
    api_consumer_refused(call, call->argument, head->rc, head->detail);
    return false;
}

/* ---- list, show ---- */

static void consumers_put(struct ald_json_out *out, zmsg_t *answer)
{
    struct msg_consumer consumer;
    (void)zmsg_first(answer);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer)) {
        if (!api_read(frame, &MSG_CONSUMER, &consumer))
            continue;
        ald_json_out_object(out, NULL);
        view_consumer(out, &consumer);
        ald_json_out_close_object(out);
    }
}

void api_consumer_list(struct api_call *call)
{
    struct msg_consumer_ref ask = {0};
    struct msg_answer head;
    zmsg_t *none = NULL;
    zmsg_t *answer = NULL;
    if (consumers_ask(call, &MSG_CONSUMER_LIST, &ask, &none, &head, &answer)) {
        struct ald_json_out out = api_json(call);
        ald_json_out_object(&out, NULL);
        ald_json_out_array(&out, "consumers");
        consumers_put(&out, answer);
        ald_json_out_close_array(&out);
        ald_json_out_close_object(&out);
        (void)api_send(call, 200);
    }
    zmsg_destroy(&answer);
}

/* Answer with the one consumer of an answer to consumer.list. */
static void consumers_show(struct api_call *call, const char *name)
{
    struct msg_consumer_ref ask = {0};
    struct msg_answer head;
    zmsg_t *none = NULL;
    zmsg_t *answer = NULL;
    ald_text_cut(ask.consumer, sizeof ask.consumer, ald_span_str(name));
    if (consumers_ask(call, &MSG_CONSUMER_LIST, &ask, &none, &head, &answer)) {
        struct ald_json_out out = api_json(call);
        consumers_put(&out, answer);
        if (out.buf->len == 0)
            api_consumer_refused(call, call->argument, "notfound", "");
        else
            (void)api_send(call, 200);
    }
    zmsg_destroy(&answer);
}

void api_consumer_show(struct api_call *call)
{
    char name[ALD_CONSUMER_MAX];
    if (consumers_name(call, name))
        consumers_show(call, name);
}

/* ---- make, delete ---- */

static bool consumers_read_open(struct api_call *call, struct msg_consumer_open *ask)
{
    const struct json_in_field fields[] = {
        {"provider", JSON_IN_TEXT, ask->provider, sizeof ask->provider},
        {"state", JSON_IN_TEXT, ask->state, sizeof ask->state},
        {"from", JSON_IN_TEXT, ask->from, sizeof ask->from},
        {"mode", JSON_IN_TEXT, ask->mode, sizeof ask->mode},
        {"max_deliver", JSON_IN_NUMBER, &ask->max_deliver, 0},
        {"ack_wait", JSON_IN_DURATION, &ask->ack_wait_ms, 0},
        {"max_ack_pending", JSON_IN_NUMBER, &ask->max_ack_pending, 0},
    };
    struct ald_err err = {0};
    if (!consumers_name(call, ask->consumer) || !api_body(call))
        return false;
    if (json_in_read(ald_buf_span(&call->worker->body), fields, ALD_COUNT(fields), &err) == ALD_OK)
        return true;
    api_problem(call, 400, err.text);
    return false;
}

void api_consumer_open(struct api_call *call)
{
    struct msg_consumer_open ask = {0};
    struct msg_answer head;
    zmsg_t *none = NULL;
    zmsg_t *answer = NULL;
    if (consumers_read_open(call, &ask) &&
        consumers_ask(call, &MSG_CONSUMER_OPEN, &ask, &none, &head, &answer))
        consumers_show(call, ask.consumer);
    zmsg_destroy(&answer);
}

void api_consumer_delete(struct api_call *call)
{
    struct msg_consumer_ref ask = {0};
    struct msg_answer head;
    char by[ALD_WORD_MAX] = "";
    const struct json_in_field fields[] = {{"by", JSON_IN_TEXT, by, sizeof by}};
    zmsg_t *none = NULL;
    zmsg_t *answer = NULL;
    if (consumers_name(call, ask.consumer) && api_members(call, fields, ALD_COUNT(fields)) &&
        consumers_ask(call, &MSG_CONSUMER_DELETE, &ask, &none, &head, &answer))
        api_done(call);
    zmsg_destroy(&answer);
}

/* ---- settle ---- */

/* One object of `settle`, into the frames behind the question. */
static enum ald_rc consumers_settle_one(void *arg, const struct json_in_object *object,
                                        struct ald_err *err)
{
    static const char *const verbs[] = {"ack", "nack", "reject", "extend", "release"};
    struct msg_settle settle = {.verb = "ack"};
    const struct json_in_field fields[] = {
        {"verb", JSON_IN_TEXT, settle.verb, sizeof settle.verb},
        {"lane", JSON_IN_NUMBER, &settle.lane, 0},
        {"seq", JSON_IN_NUMBER, &settle.seq, 0},
        {"first", JSON_IN_NUMBER, &settle.first, 0},
        {"delay", JSON_IN_DURATION, &settle.delay_ms, 0},
        {"reason", JSON_IN_TEXT, settle.reason, sizeof settle.reason},
    };
    bool known = false;
    enum ald_rc rc = json_in_inside(object, fields, ALD_COUNT(fields), err);
    if (rc != ALD_OK)
        return rc;
    for (size_t i = 0; i < ALD_COUNT(verbs); i++)
        known = known || strcmp(settle.verb, verbs[i]) == 0;
    if (!known)
        return ald_err_set(err, ALD_INVALID, "verb is one of: ack, nack, reject, extend, release");
    if (settle.seq == 0 || settle.first > settle.seq)
        return ald_err_set(err, ALD_INVALID,
                           "an event is settled by its lane and seq; first, if it is there, is a "
                           "seq before or the same");
    rc = ald_frame_add(arg, &MSG_SETTLE, &settle);
    return rc == ALD_OK ? ALD_OK : ald_err_set(err, rc, "what is settled can't be passed on");
}

/* What a pull and a settling have in common. False: a problem was answered. */
static bool consumers_read(struct api_call *call, struct msg_pull *ask, zmsg_t *frames, bool pulls)
{
    struct json_in_list list = {
        .max = CONSUMERS_SETTLES_MAX, .take = consumers_settle_one, .arg = frames};
    const struct json_in_field fields[] = {
        {"instance", JSON_IN_TEXT, ask->instance, sizeof ask->instance},
        {"settle", JSON_IN_LIST, &list, 0},
        {"limit", JSON_IN_NUMBER, &ask->limit, 0}, /* from here on only of a pull */
        {"bytes", JSON_IN_NUMBER, &ask->bytes, 0},
        {"wait", JSON_IN_DURATION, &ask->wait_ms, 0},
        {"gap_seen", JSON_IN_TEXT, ask->gap_seen, sizeof ask->gap_seen},
    };
    struct ald_err err = {0};
    if (!consumers_name(call, ask->consumer) || !api_body(call))
        return false;
    enum ald_rc rc = json_in_read(ald_buf_span(&call->worker->body), fields,
                                  pulls ? ALD_COUNT(fields) : 2, &err);
    if (rc == ALD_OK && (ask->limit > ALD_PAGE_EVENTS_MAX || ask->bytes > ALD_PAGE_BYTES_MAX))
        rc = ald_err_set(&err, ALD_INVALID, "limit is at most %d, bytes at most %d",
                         ALD_PAGE_EVENTS_MAX, ALD_PAGE_BYTES_MAX);
    if (ask->wait_ms > CONSUMERS_WAIT_MAX_MS)
        ask->wait_ms = CONSUMERS_WAIT_MAX_MS;
    if (rc != ALD_OK)
        api_problem(call, 400, err.text);
    return rc == ALD_OK;
}

void api_consumer_settle(struct api_call *call)
{
    struct msg_pull asked = {0};
    struct msg_settles ask = {0};
    struct msg_answer head;
    zmsg_t *frames = zmsg_new();
    zmsg_t *answer = NULL;
    if (consumers_read(call, &asked, frames, false)) {
        memcpy(ask.consumer, asked.consumer, sizeof ask.consumer);
        memcpy(ask.instance, asked.instance, sizeof ask.instance);
        if (consumers_ask(call, &MSG_SETTLES, &ask, &frames, &head, &answer))
            api_done(call);
    }
    zmsg_destroy(&frames);
    zmsg_destroy(&answer);
}

/* ---- pull ---- */

static void consumers_put_events(struct ald_json_out *out, zmsg_t *answer)
{
    struct msg_event event;
    ald_json_out_array(out, "events");
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer)) {
        if (!api_read(frame, &MSG_EVENT, &event))
            continue;
        ald_json_out_object(out, NULL);
        ald_event_json(out, &event);
        ald_json_out_close_object(out);
    }
    ald_json_out_close_array(out);
}

static enum ald_rc consumers_send_page(struct api_call *call, const struct msg_events *head,
                                       zmsg_t *answer)
{
    struct ald_json_out out = api_json(call);
    ald_json_out_object(&out, NULL);
    consumers_put_events(&out, answer);
    ald_json_out_text(&out, "position", head->position);
    ald_json_out_text(&out, "head", head->head);
    if (head->gap_before[0] != '\0') {
        ald_json_out_object(&out, "gap");
        ald_json_out_text(&out, "before", head->gap_before);
        ald_json_out_text(&out, "why", head->gap_why);
        ald_json_out_close_object(&out);
    } else {
        ald_json_out_null(&out, "gap");
    }
    ald_json_out_close_object(&out);
    return api_send(call, 200);
}

/* The client did not get the page: its events need not wait for the end of their leases. */
static void consumers_take_back(struct api_call *call, const struct msg_pull *pulled, zmsg_t *page)
{
    struct msg_settles ask = {0};
    struct msg_event event;
    zmsg_t *frames = zmsg_new();
    zmsg_t *answer = NULL;
    memcpy(ask.consumer, pulled->consumer, sizeof ask.consumer);
    memcpy(ask.instance, pulled->instance, sizeof ask.instance);
    (void)zmsg_first(page);
    for (zframe_t *frame = zmsg_next(page); frame; frame = zmsg_next(page)) {
        if (!api_read(frame, &MSG_EVENT, &event))
            continue;
        const struct msg_settle settle = {.lane = event.lane, .seq = event.seq, .verb = "nack"};
        ald_frame_put(frames, &MSG_SETTLE, &settle);
    }
    if (zmsg_size(frames) > 0)
        (void)!caller_ask_with(call->api->caller, ALD_CHANNEL_CONSUME, &MSG_SETTLES, &ask, &frames,
                               API_WAIT_MS, &answer);
    zmsg_destroy(&frames);
    zmsg_destroy(&answer);
}

/* full: it was to wait, and there was no place to. */
static void consumers_answer_pull(struct api_call *call, const struct msg_pull *ask, zmsg_t *answer,
                                  bool full)
{
    struct msg_events head;
    if (!api_read(zmsg_first(answer), &MSG_EVENTS, &head))
        head = (struct msg_events){.rc = "io"};
    if (strcmp(head.rc, "ok") != 0)
        api_consumer_refused(call, call->argument, head.rc, head.detail);
    else if (full && zmsg_size(answer) == 1 && head.gap_before[0] == '\0')
        api_wait_full(call); /* what it settled is settled */
    else if (consumers_send_page(call, &head, answer) != ALD_OK)
        consumers_take_back(call, ask, answer);
}

void api_consumer_pull(struct api_call *call)
{
    struct msg_pull ask = {0};
    zmsg_t *frames = zmsg_new();
    zmsg_t *answer = NULL;
    if (consumers_read(call, &ask, frames, true)) {
        const bool wants = ask.wait_ms > 0;
        const bool waits = wants && api_wait_enter(call->api);
        ask.wait_ms = waits ? ask.wait_ms : 0;
        enum ald_rc rc =
            caller_ask_with(call->api->caller, ALD_CHANNEL_CONSUME, &MSG_PULL, &ask, &frames,
                            waits ? ask.wait_ms + CONSUMERS_GRACE_MS : API_WAIT_MS, &answer);
        if (waits)
            api_wait_leave(call->api);
        if (rc == ALD_OK)
            consumers_answer_pull(call, &ask, answer, wants && !waits);
        else
            api_unasked(call, ALD_CHANNEL_CONSUME, rc);
    }
    zmsg_destroy(&frames);
    zmsg_destroy(&answer);
}
