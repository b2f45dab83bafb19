#include "services/gateway/api/api_call.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/trace.h"
#include "common/net/sock.h"

static const char API_JSON[] = "Content-Type: application/json\r\nCache-Control: no-store\r\n";

struct ald_json_out api_json(struct api_call *call)
{
    ald_buf_reset(&call->worker->out);
    return ald_json_out_begin(&call->worker->out);
}

enum ald_rc api_send(struct api_call *call, unsigned status)
{
    struct ald_buf *out = &call->worker->out;
    if (!ald_buf_ok(out)) {
        api_problem(call, 500, "The answer is too large; ask for less.");
        return ALD_TOOBIG;
    }
    ald_buf_put_byte(out, '\n');
    call->status = status;
    return http_answer(call->exchange, status, API_JSON, ald_buf_span(out));
}

void api_done(struct api_call *call)
{
    call->status = 204;
    (void)http_answer(call->exchange, 204, "", ald_span_of(NULL, 0));
}

static const char *api_title(unsigned status)
{
    static const struct {
        unsigned status;
        const char *title;
    } titles[] = {
        {400, "Bad request"},    {401, "Unauthorized"}, {403, "Forbidden"},   {404, "Not found"},
        {405, "No such method"}, {409, "Conflict"},     {410, "Gone"},        {413, "Too large"},
        {422, "Unprocessable"},  {500, "Failed"},       {503, "Unavailable"}, {504, "No answer"},
    };
    for (size_t i = 0; i < ALD_COUNT(titles); i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Error";
}

void api_problem_with(struct api_call *call, unsigned status, const char *headers,
                      const char *detail)
{
    struct ald_json_out out = api_json(call);
    ald_json_out_object(&out, NULL);
    ald_json_out_text(&out, "type", "about:blank");
    ald_json_out_text(&out, "title", api_title(status));
    ald_json_out_int(&out, "status", status);
    ald_json_out_text(&out, "detail", detail);
    ald_json_out_close_object(&out);
    ald_buf_put_byte(out.buf, '\n');
    char extra[192];
    call->status = status;
    (void)snprintf(extra, sizeof extra, "Content-Type: application/problem+json\r\n%s", headers);
    (void)http_answer(call->exchange, status, extra, ald_buf_span(out.buf));
}

void api_problem(struct api_call *call, unsigned status, const char *detail)
{
    api_problem_with(call, status, status == 503 ? call->api->retry : "", detail);
}

bool api_body(struct api_call *call)
{
    const struct http_sink sink = {.body = &call->worker->body, .max = API_BODY_MAX};
    ald_buf_reset(&call->worker->body);
    enum ald_rc rc = http_read(call->exchange, &sink);
    if (rc == ALD_TOOBIG)
        api_problem(call, 413, "The body is larger than 1 MiB.");
    return rc == ALD_OK;
}

bool api_members(struct api_call *call, const struct json_in_field *fields, size_t count)
{
    struct ald_err err = {0};
    if (!api_body(call))
        return false;
    if (json_in_read(ald_buf_span(&call->worker->body), fields, count, &err) == ALD_OK)
        return true;
    api_problem(call, 400, err.text);
    return false;
}

bool api_query(struct api_call *call, const struct api_query_field *fields, size_t count)
{
    struct ald_err err = {0};
    if (api_query_read(call->request->query, fields, count, &err) == ALD_OK)
        return true;
    api_problem(call, 400, err.text);
    return false;
}

void api_trace(const struct api_call *call, char out[ALD_TRACE_MAX])
{
    const char *trace = http_header(call->request, "traceparent");
    bool good = trace && ald_trace_ok(ald_span_str(trace));
    ald_text_cut(out, ALD_TRACE_MAX, ald_span_str(good ? trace : ""));
}

void api_refused(struct api_call *call, const char *word, const char *detail)
{
    static const struct {
        const char *word;
        unsigned status;
        const char *sentence;
    } words[] = {
        {"notfound", 404, "There is no such thing."},
        {"exists", 409, "There is one already."},
        {"invalid", 400, "That is not allowed."},
        {"conflict", 409, "That does not go with what is known."},
        {"busy", 503, "Not now; try again."},
        {"gone", 410, "It is gone."},
        {"full", 503, "There is no room; try again later."},
        {"io", 503, "The disk failed; try again later."},
    };
    for (size_t i = 0; i < ALD_COUNT(words); i++) {
        if (strcmp(words[i].word, word) == 0) {
            api_problem(call, words[i].status, detail[0] ? detail : words[i].sentence);
            return;
        }
    }
    api_problem(call, 500, detail[0] ? detail : "The daemon gave an answer that is not known.");
}

void api_unasked(struct api_call *call, const char *channel, enum ald_rc rc)
{
    char detail[128];
    const char *who = strcmp(channel, ALD_CHANNEL_LETTERS) == 0 ? "dlq" : "tracker";
    if (rc == ALD_TIMEOUT) {
        (void)snprintf(detail, sizeof detail,
                       "The %s was asked and has not answered; it may have done it.", who);
        api_problem(call, 504, detail);
    } else if (rc == ALD_TOOBIG || rc == ALD_INVALID) {
        api_problem(call, 400, "A value is too long or not allowed.");
    } else {
        (void)snprintf(detail, sizeof detail, "The %s is away; nothing was done.", who);
        api_problem(call, 503, rc == ALD_FULL ? "Too many questions at once; try again." : detail);
    }
}

bool api_ask(struct api_call *call, const char *channel, const struct ald_schema *schema, void *msg,
             int64_t wait_ms, struct msg_answer *head, zmsg_t **answer)
{
    enum ald_rc rc = caller_ask(call->api->caller, channel, schema, msg, wait_ms, answer);
    if (rc != ALD_OK) {
        api_unasked(call, channel, rc);
        return false;
    }
    zframe_t *frame = zmsg_first(*answer);
    if (ald_wire_decode(&MSG_ANSWER, head, ald_frame_span(frame)) != ALD_OK)
        *head = (struct msg_answer){.rc = "io"};
    if (strcmp(head->rc, "ok") == 0 || strcmp(head->rc, "exists") == 0)
        return true;
    api_refused(call, head->rc, head->detail);
    zmsg_destroy(answer);
    return false;
}

bool api_read(zframe_t *frame, const struct ald_schema *schema, void *msg)
{
    struct ald_span bytes = ald_frame_span(frame);
    return ald_wire_is(schema, bytes) && ald_wire_decode(schema, msg, bytes) == ALD_OK;
}

bool api_wait_enter(struct api *api)
{
    if (atomic_load(&api->stopping))
        return false;
    if (atomic_fetch_add(&api->waiters, 1) < (int)api->settings->gateway.api_waiters)
        return true;
    (void)atomic_fetch_sub(&api->waiters, 1);
    return false;
}

void api_wait_leave(struct api *api)
{
    (void)atomic_fetch_sub(&api->waiters, 1);
}

void api_wait_full(struct api_call *call)
{
    api_problem(call, 503,
                "There are too many waits and streams: try again later, or raise "
                "gateway.api_waiters.");
}

bool api_never_polled(const struct api_call *call, const char *provider)
{
    ald_profiles_t *profiles = call->api->current ? current_take(call->api->current) : NULL;
    const struct ald_profile *profile = profiles ? ald_profiles_find(profiles, provider) : NULL;
    bool never = profile && profile->poll_url[0] == '\0' && !profile->poll_url_told;
    if (profiles)
        ald_profiles_destroy(&profiles);
    return never;
}
