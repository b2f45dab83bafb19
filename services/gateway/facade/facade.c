#include "services/gateway/facade/facade.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/ident.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/config/request.h"
#include "services/gateway/facade/facade_call.h"
#include "services/gateway/facade/facade_say.h"

enum { FACADE_WAIT_MS = 5000, FACADE_WITHDRAW_MS = 2000 };

/* A client's way of saying it: nothing was taken, try again. */
static const char FACADE_LATER[] = "ERROR_NO_SLOT_AVAILABLE";
/* It may have been taken. */
static const char FACADE_UNSURE[] = "ERROR_SERVER_ERROR";

/* One request on its way. */
struct facade {
    struct api_call *call;
    const char *provider;
    struct facade_fields fields;
    struct facade_ask ask;
};

static struct ald_metric facade_total = {
    .kind = ALD_COUNTER,
    .name = "aldaba_gateway_facade_total",
    .help = "Requests of clients of the facade, by what they asked and were answered.",
    .label = {"result"},
};

void facade_register(void)
{
    ald_metric_register(&facade_total);
}

static void facade_count(const char *result)
{
    ald_metric_add(ald_metrics_get("aldaba_gateway_facade_total", result), 1);
}

static const char *facade_provider(const struct api *api, enum facade_protocol protocol)
{
    return protocol == FACADE_PLAIN ? api->settings->facade.in_php
                                    : api->settings->facade.create_task;
}

bool facade_serves(const struct api *api, const char *path)
{
    enum facade_protocol protocol = FACADE_PLAIN;
    return facade_path(path, &protocol) && facade_provider(api, protocol)[0] != '\0';
}

const char *facade_setting(const char *path)
{
    enum facade_protocol protocol = FACADE_PLAIN;
    if (!facade_path(path, &protocol))
        return NULL;
    return protocol == FACADE_PLAIN ? "facade.in_php" : "facade.create_task";
}

static bool facade_allowed(const struct facade *self)
{
    const struct api *api = self->call->api;
    uint8_t digest[32];
    bool found = false;
    ald_sha256(self->ask.key, digest);
    for (size_t i = 0; i < api->facade_key_count; i++)
        found |= ald_equal_ct(digest, api->facade_keys[i], sizeof digest);
    return found;
}

/* ---- answers ---- */

/* Send what was put into worker->out. */
static enum ald_rc facade_send(struct facade *self)
{
    struct ald_buf *out = &self->call->worker->out;
    if (!ald_buf_ok(out)) {
        ald_buf_reset(out);
        facade_say_wrong(&self->ask, FACADE_UNSURE, out);
    }
    return http_answer(self->call->exchange, 200, facade_say_headers(&self->ask),
                       ald_buf_span(out));
}

static struct ald_buf *facade_out(struct facade *self)
{
    ald_buf_reset(&self->call->worker->out);
    return &self->call->worker->out;
}

static void facade_wrong(struct facade *self, const char *word)
{
    facade_count("refused");
    facade_say_wrong(&self->ask, word, facade_out(self));
    (void)facade_send(self);
}

/* ---- submissions ---- */

static uint64_t facade_task(zmsg_t *answer)
{
    struct msg_task_view view;
    zframe_t *frame = answer ? zmsg_next(answer) : NULL;
    return frame && api_read(frame, &MSG_TASK_VIEW, &view) ? view.task : 0;
}

/* Nobody has heard of this task. NULL: it is not bought, and will not be. Else the word for what it
 * may be; *task is its id when the tracker knows it. */
static const char *facade_withdraw(struct facade *self, const char *ticket, uint64_t *task)
{
    struct msg_withdraw ask = {0};
    struct msg_answer head = {0};
    zmsg_t *answer = NULL;
    memcpy(ask.ticket, ticket, sizeof ask.ticket);
    *task = 0;
    bool asked = caller_ask(self->call->api->caller, ALD_CHANNEL_QUERY, &MSG_WITHDRAW, &ask,
                            FACADE_WITHDRAW_MS, &answer) == ALD_OK &&
                 api_read(zmsg_first(answer), &MSG_ANSWER, &head);
    bool gone = asked && (strcmp(head.rc, "ok") == 0 || strcmp(head.rc, "notfound") == 0);
    if (asked && strcmp(head.rc, "exists") == 0)
        *task = facade_task(answer);
    zmsg_destroy(&answer);
    return gone ? NULL : FACADE_UNSURE;
}

static void facade_taken(struct facade *self, uint64_t task, const char *ticket)
{
    uint64_t late = 0;
    facade_count("submitted");
    facade_say_taken(&self->ask, task, facade_out(self));
    if (facade_send(self) == ALD_CLOSED)
        (void)!facade_withdraw(self, ticket, &late);
}

/* The tracker does not say whether it has it. */
static void facade_unanswered(struct facade *self, const char *ticket)
{
    uint64_t task = 0;
    const char *word = facade_withdraw(self, ticket, &task);
    if (task != 0)
        facade_taken(self, task, ticket);
    else
        facade_wrong(self, word ? word : FACADE_LATER);
}

static void facade_register_task(struct facade *self, struct msg_register *ask)
{
    struct msg_answer head = {0};
    zmsg_t *answer = NULL;
    enum ald_rc rc = caller_ask(self->call->api->caller, ALD_CHANNEL_QUERY, &MSG_REGISTER, ask,
                                API_WAIT_MS, &answer);
    uint64_t task = 0;
    if (rc == ALD_OK && api_read(zmsg_first(answer), &MSG_ANSWER, &head) &&
        strcmp(head.rc, "ok") == 0)
        task = facade_task(answer);
    zmsg_destroy(&answer);
    if (task != 0)
        facade_taken(self, task, ask->ticket);
    else if (rc == ALD_TIMEOUT || (rc == ALD_OK && strcmp(head.rc, "ok") == 0))
        facade_unanswered(self, ask->ticket);
    else if (rc == ALD_TOOBIG || rc == ALD_INVALID || strcmp(head.rc, "invalid") == 0)
        facade_wrong(self, "ERROR_BAD_PARAMETERS");
    else
        facade_wrong(self, FACADE_LATER);
}

/* The client's own address, kept with the task. Whether it may be called is seen when it is. What
 * is no address may be anything: a word stands for it, and the tracker notes that it is none. */
static void facade_pingback(const struct facade *self, struct msg_register *ask)
{
    const char *url = self->ask.pingback;
    if (url[0] == '\0')
        return;
    bool may = self->call->api->settings->facade.pingback_allow.count > 0;
    bool good = ald_url_ok(url);
    facade_count(may && good ? "pingback" : "pingback_ignored");
    if (!may)
        return;
    ald_text_cut(ask->pingback, sizeof ask->pingback, ald_span_str(good ? url : "none"));
    ask->pingback_json = self->ask.protocol == FACADE_TASKS;
}

static void facade_submit(struct facade *self)
{
    struct ald_buf submission;
    struct msg_register ask = {0};
    ald_buf_init(&submission, ALD_SUBMISSION_MAX);
    facade_submission(&self->ask, &self->fields, &submission);
    if (ald_buf_ok(&submission)) {
        ask.submission = ald_buf_span(&submission);
        ald_text_cut(ask.provider, sizeof ask.provider, ald_span_str(self->provider));
        ald_text_cut(ask.base, sizeof ask.base, ald_span_str(self->call->api->base));
        ald_ulid_new(ask.ticket);
        api_trace(self->call, ask.trace);
        facade_pingback(self, &ask);
        ask.valid_until_ms = ald_clock_now().wall_ms + API_WAIT_MS; /* a withdrawal may be lost */
        facade_register_task(self, &ask);
    } else {
        facade_wrong(self, "ERROR_TOO_BIG_CAPTCHA_FILESIZE");
    }
    if (submission.data)
        explicit_bzero(submission.data, submission.cap);
    ald_buf_free(&submission);
}

/* ---- polls ---- */

/* What is known of one task. False: nobody can say; *state is "not ready". The answer, which the
 * state borrows from, is the caller's. */
static bool facade_look(struct facade *self, uint64_t task, struct msg_task_view *view,
                        zmsg_t **answer, struct facade_state *state)
{
    struct msg_get ask = {.task = task};
    struct msg_answer head = {0};
    *state = facade_state_of(self->ask.protocol, NULL);
    if (task == 0)
        return true;
    bool said = caller_ask(self->call->api->caller, ALD_CHANNEL_QUERY, &MSG_GET, &ask,
                           FACADE_WAIT_MS, answer) == ALD_OK &&
                api_read(zmsg_first(*answer), &MSG_ANSWER, &head);
    if (said && strcmp(head.rc, "notfound") == 0)
        return true;
    zframe_t *frame = said && strcmp(head.rc, "ok") == 0 ? zmsg_next(*answer) : NULL;
    if (!frame || !api_read(frame, &MSG_TASK_VIEW, view)) {
        *state = facade_state_unknown();
        return false;
    }
    if (strcmp(view->provider, self->provider) == 0)
        *state = facade_state_of(self->ask.protocol, view);
    return true;
}

static void facade_get(struct facade *self)
{
    size_t count = self->ask.id_count;
    struct msg_task_view *views = calloc(count, sizeof *views);
    struct facade_state *states = calloc(count, sizeof *states);
    zmsg_t **answers = calloc(count, sizeof *answers);
    ALD_ASSERT(views && states && answers);
    bool known = true;
    for (size_t i = 0; i < count; i++) {
        if (known)
            known = facade_look(self, self->ask.ids[i], &views[i], &answers[i], &states[i]);
        else /* one wait is enough */
            states[i] = facade_state_unknown();
    }
    facade_count(known ? "answered" : "unknown");
    facade_say_states(&self->ask, states, count, facade_out(self));
    (void)facade_send(self);
    for (size_t i = 0; i < count; i++)
        zmsg_destroy(&answers[i]);
    free(answers);
    free(states);
    free(views);
}

/* ---- what the provider alone can answer ---- */

static void facade_pass(struct facade *self)
{
    struct ald_buf *out = facade_out(self);
    const char *word = facade_call(self->call, self->provider, &self->ask, &self->fields, out);
    if (word) {
        facade_wrong(self, word);
        return;
    }
    facade_count("passed");
    (void)facade_send(self);
}

/* ---- all ---- */

static void facade_answer(struct facade *self)
{
    bool keyed = self->ask.key.len > 0;
    if (keyed && !facade_allowed(self)) {
        facade_wrong(self, "ERROR_KEY_DOES_NOT_EXIST");
        return;
    }
    switch (self->ask.what) {
    case FACADE_SUBMIT:
        facade_submit(self);
        break;
    case FACADE_GET:
        facade_get(self);
        break;
    case FACADE_REPORT:
    case FACADE_PASS:
        facade_pass(self);
        break;
    case FACADE_WRONG:
        facade_wrong(self, self->ask.wrong);
        break;
    }
}

/* The body, in worker->body. False: it was refused, or did not come. */
static bool facade_body(struct facade *self)
{
    struct ald_buf *body = &self->call->worker->body;
    const struct http_sink sink = {.body = body, .max = API_BODY_MAX};
    ald_buf_reset(body);
    enum ald_rc rc = http_read(self->call->exchange, &sink);
    if (rc == ALD_TOOBIG) {
        const struct http_request *request = self->call->request;
        (void)!facade_fields_read(&self->fields, request->query, NULL, ald_span_str(""));
        facade_ask_read(request->path, &self->fields, true, &self->ask);
        facade_wrong(self, "ERROR_TOO_BIG_CAPTCHA_FILESIZE");
    }
    return rc == ALD_OK;
}

void facade_handle(struct api_call *call)
{
    const struct http_request *request = call->request;
    enum facade_protocol protocol = FACADE_PLAIN;
    struct facade self = {.call = call};
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "POST") != 0) {
        (void)http_answer(call->exchange, 405, "Allow: GET, POST\r\n", ald_span_str(""));
        return;
    }
    bool ours = facade_path(request->path, &protocol);
    ALD_ASSERT(ours);
    self.provider = facade_provider(call->api, protocol);
    facade_fields_init(&self.fields);
    if (facade_body(&self)) {
        bool read =
            facade_fields_read(&self.fields, request->query, http_header(request, "Content-Type"),
                               ald_buf_span(&call->worker->body));
        facade_ask_read(request->path, &self.fields, read, &self.ask);
        facade_answer(&self);
    }
    facade_fields_free(&self.fields);
}
