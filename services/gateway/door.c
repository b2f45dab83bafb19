#include "services/gateway/door.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "proto/words.h"
#include "services/gateway/ledger.h"

enum {
    DOOR_KEPT = 256 * 1024,         /* a thread's buffers are given back beyond this */
    DOOR_ENVELOPE_MAX = 512 * 1024, /* of a message, besides its body */
    DOOR_TOLD_MS = 60000
};

static const char DOOR_TEXT[] = "Content-Type: text/plain; charset=utf-8\r\n";

struct door_worker {
    struct intake_rules rules; /* of this request */
    struct ald_buf body;
    struct ald_buf message;
    struct intake_work work;
    struct keyring_copy keys;
    struct keychain_found found;
    struct msg_callback callback;
    struct item item;
    size_t held; /* bytes of the body that the post counts */
    post_t *post;
};

void *door_worker_new(void *arg)
{
    const struct door *self = arg;
    struct door_worker *worker = calloc(1, sizeof *worker);
    ALD_ASSERT(worker);
    ald_buf_init(&worker->body, (size_t)self->rules.max_item);
    ald_buf_init(&worker->message, (size_t)self->rules.max_item + DOOR_ENVELOPE_MAX);
    intake_work_init(&worker->work);
    worker->post = self->post;
    return worker;
}

void door_worker_free(void *self, void *arg)
{
    (void)self;
    struct door_worker *worker = arg;
    ald_buf_free(&worker->body);
    ald_buf_free(&worker->message);
    intake_work_free(&worker->work);
    free(worker);
}

static void door_renew(struct ald_buf *buf)
{
    ald_buf_reset(buf);
    if (buf->cap <= DOOR_KEPT)
        return;
    size_t max = buf->max;
    ald_buf_free(buf);
    ald_buf_init(buf, max);
}

static void door_clear(struct door_worker *worker)
{
    door_renew(&worker->body);
    door_renew(&worker->message);
    door_renew(&worker->work.scratch);
    if (worker->held > 0)
        post_drop(worker->post, worker->held);
    worker->held = 0;
}

static bool door_hold(void *arg, size_t bytes)
{
    struct door_worker *worker = arg;
    if (!post_hold(worker->post, bytes))
        return false;
    worker->held += bytes;
    return true;
}

static enum ald_rc door_say(http_exchange_t *exchange, unsigned status, const char *extra,
                            const char *text)
{
    return http_answer(exchange, status, extra, ald_span_str(text));
}

static void door_unavailable(const struct door *self, http_exchange_t *exchange)
{
    ledger_add(LEDGER_REFUSED);
    (void)door_say(exchange, 503, self->retry, "try again later\n");
}

static void door_too_large(http_exchange_t *exchange)
{
    ledger_add(LEDGER_OVERSIZED);
    (void)door_say(exchange, 413, DOOR_TEXT, "the body is too large\n");
}

/* Put the worker's callback on a disk. ITEM_REFUSED also when it could not be handed over. */
static enum item_end door_store(const struct door *self, struct door_worker *worker)
{
    struct msg_callback *callback = &worker->callback;
    callback->num = post_number(self->post);
    if (callback->num == 0)
        return ITEM_REFUSED;
    struct item *item = &worker->item;
    item->num = callback->num;
    item->provider = ald_span_str(callback->provider);
    item->proof = ald_span_str(callback->proof);
    item->peer = ald_span_str(callback->peer);
    item->proven = strcmp(callback->proof, ald_proof_name(ALD_PROOF_NONE)) != 0;
    item->bytes = ald_span_of(NULL, 0);
    enum ald_rc rc = ald_wire_encode(&MSG_CALLBACK, callback, &worker->message);
    if (rc == ALD_OK)
        item->bytes = ald_buf_span(&worker->message);
    int64_t began_ms = ald_clock_now().mono_ms;
    enum item_end end = post_deliver(self->post, item);
    if (rc != ALD_OK)
        return ITEM_TOOBIG;
    ledger_took(ald_clock_now().mono_ms - began_ms);
    return end;
}

/* The one place where a 2xx for a callback is written. */
static void door_stored(http_exchange_t *exchange, enum ledger_count where)
{
    enum ald_rc rc = door_say(exchange, 200, DOOR_TEXT, "OK");
    ledger_add(where);
    ledger_add(rc == ALD_OK ? LEDGER_ANSWERED : LEDGER_UNANSWERED);
}

/* The provider may not call again: what we know of it is the task, and that must be asked about. */
static void door_turned_away(const struct door *self, const struct intake_route *route)
{
    if (route->genuine)
        post_hint(self->post, route->provider, route->task, route->attempt);
}

static void door_answer(const struct door *self, const struct intake_route *route,
                        http_exchange_t *exchange, enum item_end end)
{
    if (end == ITEM_ACKNOWLEDGED || end == ITEM_SPOOLED)
        ledger_store(route->profile ? route->provider : NULL);
    switch (end) {
    case ITEM_ACKNOWLEDGED:
        door_stored(exchange, LEDGER_ACKNOWLEDGED);
        return;
    case ITEM_SPOOLED:
        door_stored(exchange, LEDGER_SPOOLED);
        return;
    case ITEM_TOOBIG:
        door_turned_away(self, route);
        door_too_large(exchange);
        return;
    case ITEM_WAITS:
    case ITEM_REFUSED:
    case ITEM_FORGOTTEN:
        door_turned_away(self, route);
        door_unavailable(self, exchange);
        return;
    }
}

/* Told for the sake of the task's next poll: the sender gets its 413 anyhow. */
static void door_oversized(const struct door *self, struct door_worker *worker,
                           const struct intake_route *route, http_exchange_t *exchange)
{
    enum item_end end = door_store(self, worker);
    if (end != ITEM_ACKNOWLEDGED && end != ITEM_SPOOLED)
        door_turned_away(self, route);
    door_too_large(exchange);
}

/* Not stored, on purpose: its sender is not who the profile asks for. */
static void door_rejected(const struct intake_route *route, http_exchange_t *exchange)
{
    const char *text;
    unsigned status = ald_auth_rejected(route->profile->auth, &text);
    ledger_add(LEDGER_REJECTED);
    (void)door_say(exchange, status, DOOR_TEXT, text);
}

/* The provider's keys, where such are fetched. */
static void door_look(const struct door *self, struct door_worker *worker,
                      const struct intake_route *route)
{
    const char *url = route->profile ? ald_auth_jwks(route->profile->auth, NULL) : "";
    worker->rules.found = NULL;
    if (url[0] == '\0')
        return;
    keychain_look(self->keychain, route->provider, url, ald_clock_now().mono_ms, &worker->found);
    worker->rules.found = &worker->found;
}

/* What was found out about its sender. */
static void door_proved(const struct door *self, const struct intake_route *route,
                        const struct proof *proof)
{
    if (proof->looked)
        ledger_proof(route->provider, ald_auth_why_name(proof->result.why));
    if (proof->missed)
        keychain_miss(self->keychain, route->provider, ald_auth_jwks(route->profile->auth, NULL),
                      ald_clock_now().mono_ms);
}

static void door_judge(const struct door *self, struct door_worker *worker,
                       const struct intake_route *route, http_exchange_t *exchange, bool whole)
{
    const struct http_request *request = http_request(exchange);
    struct ald_span body = ald_buf_span(&worker->body);
    door_look(self, worker, route);
    enum intake_fate fate =
        intake_message(&worker->rules, route, request, whole ? &body : NULL,
                       ald_clock_now().wall_ms, &worker->work, &worker->callback);
    door_proved(self, route, &worker->work.proof);
    if (fate == INTAKE_LATER) {
        door_turned_away(self, route);
        door_unavailable(self, exchange);
    } else if (fate == INTAKE_REJECT) {
        door_rejected(route, exchange);
    } else if (!whole && fate == INTAKE_STORE) {
        door_oversized(self, worker, route, exchange);
    } else if (!whole) {
        door_too_large(exchange);
    } else if (fate == INTAKE_REFUSE) {
        ledger_add(LEDGER_UNREADABLE);
        (void)door_say(exchange, 400, DOOR_TEXT, "the message can't be read\n");
    } else {
        enum item_end end = door_store(self, worker);
        door_clear(worker); /* before the answer, which may bring the next body at once */
        door_answer(self, route, exchange, end);
    }
}

static void door_callback(const struct door *self, struct door_worker *worker,
                          const struct intake_route *route, http_exchange_t *exchange)
{
    const struct http_sink sink = {
        .body = &worker->body, .max = route->max_body, .self = worker, .hold = door_hold};
    enum ald_rc rc = http_read(exchange, &sink);
    if (rc == ALD_CLOSED) {
        ledger_add(LEDGER_CUT);
        return;
    }
    if (rc == ALD_FULL) {
        door_turned_away(self, route);
        door_unavailable(self, exchange);
        return;
    }
    const struct http_request *request = http_request(exchange);
    bool whole = rc == ALD_OK && request->query.len <= ALD_QUERY_MAX;
    door_judge(self, worker, route, exchange, whole);
}

/* A provider that calls by a name that nobody knows would go on for ever, and so would its owner.
 */
static void door_nobody(struct door *self, const struct intake_route *route)
{
    const long long now_ms = ald_clock_now().mono_ms;
    long long before_ms = atomic_load(&self->nobody_told_ms);
    ledger_add(LEDGER_NOBODY);
    if ((before_ms == 0 || now_ms - before_ms >= DOOR_TOLD_MS) &&
        atomic_compare_exchange_strong(&self->nobody_told_ms, &before_ms, now_ms))
        ald_log(ALD_WARN, "callback.no_profile",
                "provider=%s text=\"a callback is answered 404: no provider of this name is in the "
                "settings; put it there, or have it call under the name that it has there\"",
                route->provider);
}

void door_handle(void *arg, void *arg_worker, http_exchange_t *exchange)
{
    struct door *self = arg;
    struct door_worker *worker = arg_worker;
    struct intake_route route;
    ald_profiles_t *profiles = current_take(self->current); /* until the answer is out */
    worker->rules = self->rules;
    worker->rules.profiles = profiles;
    intake_route(&worker->rules, keyring_keys(self->keyring, &worker->keys), http_request(exchange),
                 &route);
    switch (route.next) {
    case INTAKE_NOT_FOUND:
        ledger_add(LEDGER_FORGED);
        (void)door_say(exchange, 404, DOOR_TEXT, "not found\n");
        break;
    case INTAKE_NOBODY:
        door_nobody(self, &route);
        (void)door_say(exchange, 404, DOOR_TEXT, "not found\n");
        break;
    case INTAKE_METHOD:
        (void)door_say(exchange, 405, "Allow: GET, POST, PUT\r\n", "");
        break;
    case INTAKE_NO_KEYS:
        door_unavailable(self, exchange);
        break;
    case INTAKE_FILE:
        (void)door_say(exchange, 200, DOOR_TEXT, route.content);
        break;
    case INTAKE_CALLBACK:
        door_callback(self, worker, &route, exchange);
        break;
    }
    door_clear(worker);
    ald_profiles_destroy(&profiles);
}
