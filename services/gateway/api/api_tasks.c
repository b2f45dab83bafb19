/* Tasks over HTTP: register, reserve, look, wait, list, cancel, attach. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/ident.h"
#include "common/base/text.h"
#include "common/config/extract.h"
#include "proto/words.h"
#include "services/gateway/api/api_submit.h"
#include "services/gateway/api/json_in.h"
#include "services/gateway/api/json_view.h"

enum {
    TASKS_LIMIT = 100,
    TASKS_LIMIT_MAX = 1000,
    TASKS_WAIT_MAX_MS = 60000,
    TASKS_GRACE_MS = 5000, /* an answer may come this long after the wait that was asked for */
    TASKS_KEY_PAUSE_MS = 20,
    TASKS_KEY_PAUSES = 100
};

#define TASKS_TIME_MAX_MS (UINT64_C(1) << 52)

/* The path's id; answers 404 when it is none. */
static bool tasks_id(struct api_call *call, uint64_t *id)
{
    if (ald_task_id_parse(ald_span_str(call->argument), id) == ALD_OK)
        return true;
    api_problem(call, 404, "There is no such task: an id is a decimal number.");
    return false;
}

static bool tasks_view(zmsg_t *answer, struct msg_task_view *view)
{
    (void)zmsg_first(answer); /* the head */
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_TASK_VIEW, view))
            return true;
    return false;
}

static void tasks_timeline(struct ald_json_out *out, zmsg_t *answer)
{
    struct msg_note note;
    ald_json_out_array(out, "timeline");
    (void)zmsg_first(answer);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_NOTE, &note))
            view_note(out, &note);
    ald_json_out_close_array(out);
}

/* A tracker that was started with a new key signs by it before this gateway was told of it: a
 * callback that came right then would be a stranger's. Keys come within a second; what can't be
 * waited for is answered all the same. */
static void tasks_await_key(struct api_call *call, const char *token)
{
    const struct timespec pause = {.tv_nsec = TASKS_KEY_PAUSE_MS * 1000000L};
    struct keyring_copy copy = {0};
    for (unsigned i = 0; i < TASKS_KEY_PAUSES; i++) {
        const struct ald_keys *keys = keyring_keys(call->api->keyring, &copy);
        if (!keys || ald_token_of_keys(keys, token))
            return;
        (void)nanosleep(&pause, NULL);
    }
}

/* Answer with the task that the answer holds. */
static enum ald_rc tasks_send(struct api_call *call, zmsg_t *answer, unsigned status)
{
    struct msg_task_view view;
    if (!tasks_view(answer, &view)) {
        api_problem(call, 500, "The tracker's answer holds no task.");
        return ALD_MISSING;
    }
    tasks_await_key(call, view.token);
    struct ald_json_out out = api_json(call);
    ald_json_out_object(&out, NULL);
    view_task(&out, &view, call->api->base, true);
    if (api_never_polled(call, view.provider))
        ald_json_out_bool(&out, "never_polled", true);
    tasks_timeline(&out, answer);
    ald_json_out_close_object(&out);
    return api_send(call, status);
}

/* A command's answer about a task that was there already knows little of one that has ended: ask
 * for the whole task, and give the little when nobody answers. */
static enum ald_rc tasks_send_whole(struct api_call *call, zmsg_t *answer, unsigned status)
{
    struct msg_task_view view;
    struct msg_get ask = {0};
    zmsg_t *whole = NULL;
    bool asked = false;
    if (tasks_view(answer, &view)) {
        ask.task = view.task;
        asked = caller_ask(call->api->caller, ALD_CHANNEL_QUERY, &MSG_GET, &ask, API_WAIT_MS,
                           &whole) == ALD_OK &&
                tasks_view(whole, &view);
    }
    enum ald_rc rc = tasks_send(call, asked ? whole : answer, status);
    zmsg_destroy(&whole);
    return rc;
}

/* A command did what was asked; a callback that had waited for it may have ended the task at once.
 */
static enum ald_rc tasks_send_done(struct api_call *call, zmsg_t *answer, unsigned status)
{
    struct msg_task_view view;
    enum ald_state state = ALD_STATE_PENDING;
    if (tasks_view(answer, &view) && ald_state_find(view.state, &state) && ald_state_ended(state))
        return tasks_send_whole(call, answer, status);
    return tasks_send(call, answer, status);
}

/* ---- POST /v1/tasks ---- */

static unsigned tasks_keys(const struct http_request *request)
{
    unsigned count = 0;
    for (size_t i = 0; i < request->header_count; i++)
        count += http_header_is(&request->headers[i], "Idempotency-Key");
    return count;
}

static bool tasks_key(struct api_call *call, struct msg_register *ask)
{
    const char *key = http_header(call->request, "Idempotency-Key");
    if (!key)
        return true;
    if (tasks_keys(call->request) > 1) {
        api_problem(call, 400, "There are two Idempotency-Keys; which of them counts?");
        return false;
    }
    for (const char *at = key; *at != '\0'; at++) {
        if (*at < 0x21 || *at > 0x7e) {
            api_problem(call, 400, "The Idempotency-Key must be printable ASCII without spaces.");
            return false;
        }
    }
    if (key[0] == '\0' || ald_text_copy(ask->key, sizeof ask->key, ald_span_str(key)) != ALD_OK) {
        api_problem(call, 400, "The Idempotency-Key must have 1 to 128 characters.");
        return false;
    }
    ald_sha256_hex(ald_buf_span(&call->worker->body), ask->digest);
    return true;
}

/* What is known to the provider already is not submitted: its parameters may serve polls. */
static bool tasks_parts(struct api_call *call, const struct api_submit *parts,
                        struct msg_register *ask)
{
    struct ald_json given;
    if (parts->submission.len == 0)
        return true;
    if (ask->provider_id[0] == '\0') {
        ask->submission = ald_buf_span(&parts->submission);
        return true;
    }
    bool read = ald_json_scan(ald_buf_span(&parts->submission), &given, NULL) == ALD_OK;
    if (!read || ald_json_find(given, "/files").kind != ALD_JSON_NONE) {
        api_problem(call, 400,
                    "A task with a provider_id has been submitted already: files do "
                    "not go with it.");
        return false;
    }
    ask->params = ald_json_find(given, "/params").raw;
    return true;
}

static bool tasks_read(struct api_call *call, struct api_submit *parts, struct msg_register *ask)
{
    const struct json_in_field fields[] = {
        {"provider", JSON_IN_TEXT, ask->provider, sizeof ask->provider},
        {"provider_id", JSON_IN_TEXT, ask->provider_id, sizeof ask->provider_id},
        {"poll_url", JSON_IN_TEXT, ask->poll_url, sizeof ask->poll_url},
        {"result_url", JSON_IN_TEXT, ask->result_url, sizeof ask->result_url},
        {"meta", JSON_IN_TEXT, ask->meta, sizeof ask->meta},
        {"stale_after", JSON_IN_DURATION, &ask->stale_after_ms, 0},
        {"give_up_after", JSON_IN_DURATION, &ask->give_up_after_ms, 0},
        {"submit_within", JSON_IN_DURATION, &ask->submit_within_ms, 0},
    };
    struct ald_err err = {0};
    if (!api_submit_read(call, parts))
        return false;
    if (json_in_read(ald_buf_span(&parts->rest), fields, ALD_COUNT(fields), &err) != ALD_OK) {
        api_problem(call, 400, err.text);
        return false;
    }
    if (!tasks_parts(call, parts, ask))
        return false;
    ald_text_cut(ask->base, sizeof ask->base, ald_span_str(call->api->base));
    ald_ulid_new(ask->ticket);
    if (ask->provider[0] == '\0') {
        api_problem(call, 400, "The member provider is missing.");
        return false;
    }
    return true;
}

static bool tasks_withdraws(const struct msg_register *ask)
{
    return ask->submission.len > 0 && ask->key[0] == '\0';
}

/* Without a key who asks again buys again: what nobody hears of is taken back. With one it stays,
 * and who asks again gets it. */
static void tasks_make(struct api_call *call, struct msg_register *ask)
{
    zmsg_t *answer = NULL;
    if (tasks_withdraws(ask)) /* a tracker that stood still must not make it when we are gone */
        ask->valid_until_ms = ald_clock_now().wall_ms + API_WAIT_MS;
    enum ald_rc rc =
        caller_ask(call->api->caller, ALD_CHANNEL_QUERY, &MSG_REGISTER, ask, API_WAIT_MS, &answer);
    struct msg_answer head;
    bool withdraws = tasks_withdraws(ask);
    if (rc == ALD_TIMEOUT && withdraws) {
        api_problem(call, 504, api_submit_withdraw(call, ask->ticket));
    } else if (rc != ALD_OK) {
        api_unasked(call, ALD_CHANNEL_QUERY, rc);
    } else if (!api_read(zmsg_first(answer), &MSG_ANSWER, &head)) {
        api_refused(call, "io", "");
    } else if (strcmp(head.rc, "ok") == 0) {
        if (tasks_send_done(call, answer, 202) == ALD_CLOSED && withdraws)
            (void)api_submit_withdraw(call, ask->ticket);
    } else if (strcmp(head.rc, "exists") == 0) {
        (void)tasks_send_whole(call, answer, 200);
    } else if (strcmp(head.rc, "conflict") == 0) {
        api_problem(call, 422,
                    head.detail[0] ? head.detail
                                   : "This Idempotency-Key was used for another request.");
    } else if (strcmp(head.rc, "notfound") == 0) { /* the provider; not what the path names */
        api_refused(call, "invalid", head.detail);
    } else {
        api_refused(call, head.rc, head.detail);
    }
    zmsg_destroy(&answer);
}

void api_task_make(struct api_call *call)
{
    struct msg_register ask = {0};
    struct api_submit parts;
    api_submit_init(&parts);
    if (api_body(call) && tasks_read(call, &parts, &ask) && tasks_key(call, &ask)) {
        api_trace(call, ask.trace);
        tasks_make(call, &ask);
    }
    api_submit_free(&parts);
}

/* ---- one task ---- */

/* False: a problem was answered. */
static bool tasks_wait(struct api_call *call, int64_t *wait_ms)
{
    const struct api_query_field fields[] = {
        {.name = "wait", .kind = API_QUERY_WAIT, .out = wait_ms, .max = TASKS_WAIT_MAX_MS}};
    return api_query(call, fields, ALD_COUNT(fields));
}

/* Ask for the task; without a place to wait its present state is given at once. */
static bool tasks_get(struct api_call *call, zmsg_t **answer)
{
    struct msg_get ask = {0};
    struct msg_answer head;
    int64_t wait_ms = 0;
    if (!tasks_id(call, &ask.task) || !tasks_wait(call, &wait_ms))
        return false;
    bool waits = wait_ms > 0 && api_wait_enter(call->api);
    ask.wait_ms = waits ? wait_ms : 0;
    int64_t limit_ms = waits ? wait_ms + TASKS_GRACE_MS : API_WAIT_MS;
    bool ok = api_ask(call, ALD_CHANNEL_QUERY, &MSG_GET, &ask, limit_ms, &head, answer);
    if (waits)
        api_wait_leave(call->api);
    return ok;
}

void api_task_show(struct api_call *call)
{
    zmsg_t *answer = NULL;
    if (tasks_get(call, &answer))
        (void)tasks_send(call, answer, 200);
    zmsg_destroy(&answer);
}

static void tasks_send_result(struct api_call *call, const struct msg_task_view *view)
{
    char extra[256];
    if (strcmp(view->state, "done") != 0 && view->result.len == 0) {
        api_problem(call, 404, "The task has no result.");
        return;
    }
    (void)snprintf(
        extra, sizeof extra,
        "Content-Type: %s\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
        view->result_json ? "application/json" : "application/octet-stream");
    (void)http_answer(call->exchange, 200, extra, view->result);
}

void api_task_result(struct api_call *call)
{
    zmsg_t *answer = NULL;
    struct msg_task_view view;
    if (!tasks_get(call, &answer))
        return;
    if (tasks_view(answer, &view))
        tasks_send_result(call, &view);
    else
        api_problem(call, 500, "The tracker's answer holds no task.");
    zmsg_destroy(&answer);
}

void api_task_cancel(struct api_call *call)
{
    struct msg_cancel ask = {0};
    char by[ALD_WORD_MAX] = ""; /* for the record */
    const struct json_in_field fields[] = {{"by", JSON_IN_TEXT, by, sizeof by}};
    struct msg_answer head;
    zmsg_t *answer = NULL;
    if (api_members(call, fields, ALD_COUNT(fields)) && tasks_id(call, &ask.task) &&
        api_ask(call, ALD_CHANNEL_QUERY, &MSG_CANCEL, &ask, API_WAIT_MS, &head, &answer))
        (void)tasks_send_whole(call, answer, 200); /* also when it had ended before */
    zmsg_destroy(&answer);
}

/* A callback may have ended the task and told its id before us: then all is as was asked. */
static void tasks_send_attached(struct api_call *call, zmsg_t *answer,
                                const struct msg_answer *head, const char *provider_id)
{
    struct msg_task_view view;
    bool ended = strcmp(head->rc, "exists") == 0;
    if (!ended)
        (void)tasks_send_whole(call, answer, 200);
    else if (tasks_view(answer, &view) && strcmp(view.provider_id, provider_id) == 0)
        (void)tasks_send_whole(call, answer, 200);
    else
        api_refused(call, head->rc, head->detail);
}

/* As they stand in the body, which is known to be JSON. */
static struct ald_span tasks_params(const struct api_call *call)
{
    struct ald_json whole;
    if (ald_json_scan(ald_buf_span(&call->worker->body), &whole, NULL) != ALD_OK)
        return ald_span_of(NULL, 0);
    return ald_json_find(whole, "/params").raw;
}

static bool tasks_read_attach(struct api_call *call, struct msg_attach *ask)
{
    bool params = false;
    struct ald_err err = {0};
    const struct json_in_field fields[] = {
        {"provider_id", JSON_IN_TEXT, ask->provider_id, sizeof ask->provider_id},
        {"poll_url", JSON_IN_TEXT, ask->poll_url, sizeof ask->poll_url},
        {"result_url", JSON_IN_TEXT, ask->result_url, sizeof ask->result_url},
        {"params", JSON_IN_SEEN, &params, 0}};
    if (!api_body(call) || !tasks_id(call, &ask->task))
        return false;
    bool good =
        json_in_read(ald_buf_span(&call->worker->body), fields, ALD_COUNT(fields), &err) == ALD_OK;
    if (!good)
        api_problem(call, 400, err.text);
    else if (ask->provider_id[0] == '\0')
        api_problem(call, 400, "The member provider_id is missing.");
    if (good && params)
        ask->params = tasks_params(call);
    return good && ask->provider_id[0] != '\0';
}

void api_task_attach(struct api_call *call)
{
    struct msg_attach ask = {0};
    struct msg_answer head;
    zmsg_t *answer = NULL;
    if (!tasks_read_attach(call, &ask) ||
        !api_ask(call, ALD_CHANNEL_QUERY, &MSG_ATTACH, &ask, API_WAIT_MS, &head, &answer))
        return;
    tasks_send_attached(call, answer, &head, ask.provider_id);
    zmsg_destroy(&answer);
}

/* ---- GET /v1/tasks ---- */

/* False: a problem was answered. In lists a task that is being polled is pending: who asks for
 * those would see an empty list for ever. */
static bool tasks_filters(struct api_call *call, struct msg_list *ask)
{
    uint64_t since_ms = 0;
    uint64_t until_ms = 0;
    const struct api_query_field fields[] = {
        {.name = "state",
         .kind = API_QUERY_WORD,
         .out = ask->state,
         .cap = sizeof ask->state,
         .words = "accepted, submitting, pending, done, failed, lost, expired, cancelled"},
        {.name = "provider",
         .kind = API_QUERY_TEXT,
         .out = ask->provider,
         .cap = sizeof ask->provider},
        {.name = "q", .kind = API_QUERY_TEXT, .out = ask->q, .cap = sizeof ask->q},
        {.name = "since", .kind = API_QUERY_NUMBER, .out = &since_ms, .max = TASKS_TIME_MAX_MS},
        {.name = "until", .kind = API_QUERY_NUMBER, .out = &until_ms, .max = TASKS_TIME_MAX_MS},
        {.name = "limit", .kind = API_QUERY_NUMBER, .out = &ask->limit, .max = TASKS_LIMIT_MAX},
        {.name = "cursor", .kind = API_QUERY_TEXT, .out = ask->cursor, .cap = sizeof ask->cursor},
    };
    ask->limit = TASKS_LIMIT;
    if (!api_query(call, fields, ALD_COUNT(fields)))
        return false;
    ask->since_ms = (int64_t)since_ms;
    ask->until_ms = (int64_t)until_ms;
    return true;
}

void api_task_list(struct api_call *call)
{
    struct msg_list ask = {0};
    struct msg_answer head;
    zmsg_t *answer = NULL;
    if (!tasks_filters(call, &ask) ||
        !api_ask(call, ALD_CHANNEL_QUERY, &MSG_LIST, &ask, API_WAIT_MS, &head, &answer))
        return;
    struct ald_json_out out = api_json(call);
    struct msg_task_view view;
    ald_json_out_object(&out, NULL);
    ald_json_out_array(&out, "tasks");
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer)) {
        if (!api_read(frame, &MSG_TASK_VIEW, &view))
            continue;
        ald_json_out_object(&out, NULL);
        view_task(&out, &view, call->api->base, false);
        ald_json_out_close_object(&out);
    }
    ald_json_out_close_array(&out);
    ald_json_out_text(&out, "cursor", head.cursor);
    ald_json_out_close_object(&out);
    api_send(call, 200);
    zmsg_destroy(&answer);
}
