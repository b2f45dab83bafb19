#include "services/tracker/feed.h"

#include <inttypes.h>
#include <limits.h>

#include "common/base/clock.h"
#include "common/base/guard.h"
#include "common/base/ident.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "proto/channels.h"
#include "services/tracker/consumers/consumers.h"
#include "services/tracker/consumers/position.h"
#include "services/tracker/consumers/sinks.h"
#include "services/tracker/query.h"
#include "services/tracker/reader/reader.h"

enum {
    FEED_WAITERS_MAX = 1024,
    FEED_TURN = 1000,
    FEED_WAIT_MAX_MS = 60000,
    FEED_TOPIC_MAX = 80,
    FEED_PROVIDER_TOPIC_MAX = 48
};

/* Somebody who waits: for a task's end, or for the next event. */
struct feed_waiter {
    zframe_t *who;
    uint64_t task; /* 0 = a fetch */
    struct msg_get get;
    struct msg_fetch fetch;
    int64_t until_ms; /* monotonic */
};

/* A hint that goes out when the transaction has committed. */
struct feed_hint {
    char topic[FEED_TOPIC_MAX];
    uint64_t task;
    zmsg_t *msg; /* NULL while nobody subscribes */
    enum ald_source source;
    int64_t took_ms; /* -1: of a correction, whose task had ended */
};

struct feed {
    struct tracker *tracker;
    ald_sock_t *pub;
    ald_sock_t *consume;
    size_t subscribers;
    zhashx_t *prev; /* topic -> last seq of it */
    struct feed_hint *hints;
    size_t hint_count, hint_cap;
    struct feed_waiter *waiters;
    size_t waiter_count;
};

static struct ald_metric feed_published = {.kind = ALD_COUNTER,
                                           .name = "aldaba_results_published_total",
                                           .help = "Results committed to the feed."};

/* What ended it is part of how long it took: a callback late, or a poll instead of it. */
static const double FEED_SECONDS[] = {0.1, 0.5, 1,   2.5, 5,    10,    30,
                                      60,  120, 300, 900, 3600, 14400, 86400};
static struct ald_metric feed_task_seconds = {.kind = ALD_HISTOGRAM,
                                              .name = "aldaba_task_seconds",
                                              .help = "From the making of a task to its result.",
                                              .label = {"source"},
                                              .bound = FEED_SECONDS,
                                              .bounds = ALD_COUNT(FEED_SECONDS)};

/* Once it is committed. */
static void feed_took(const struct feed_hint *hint)
{
    if (hint->took_ms >= 0)
        ald_metric_observe(ald_metrics_get("aldaba_task_seconds", ald_source_name(hint->source)),
                           (double)hint->took_ms / 1000);
}

/* The last seq of a topic, and from now on this one. Unknown after a start: then the one before
 * this, so that who had seen another fetches. */
static uint64_t feed_prev(feed_t *self, const char *topic, uint64_t seq)
{
    uint64_t *last = zhashx_lookup(self->prev, topic);
    uint64_t prev = last ? *last : seq - 1;
    if (!last) {
        last = zmalloc(sizeof *last);
        zhashx_update(self->prev, topic, last);
    }
    *last = seq;
    return prev;
}

/* What came before a result, by the three lengths of its topic. */
struct feed_prevs {
    uint64_t topic, provider, all;
};

static zmsg_t *feed_encode(feed_t *self, const char *topic, const struct feed_prevs *prev,
                           const char *provider_id, const struct vault_result *result)
{
    struct msg_event event = {.lane = self->tracker->vault.lane,
                              .seq = result->seq,
                              .prev = prev->topic,
                              .prev_provider = prev->provider,
                              .prev_all = prev->all,
                              .task = result->task,
                              .result = result->result,
                              .received_ms = result->received_ms,
                              .published_ms = result->published_ms};
    struct vault_words words;
    vault_task_words(&self->tracker->vault, result->task, &words);
    memcpy(event.key, words.key, sizeof event.key);
    memcpy(event.meta, words.meta, sizeof event.meta);
    ald_text_cut(event.provider, sizeof event.provider, result->provider);
    ald_text_cut(event.provider_id, sizeof event.provider_id, ald_span_str(provider_id));
    ald_text_cut(event.state, sizeof event.state, ald_span_str(ald_state_name(result->state)));
    ald_text_cut(event.source, sizeof event.source, ald_span_str(ald_source_name(result->source)));
    ald_text_cut(event.code, sizeof event.code, result->code);
    ald_text_cut(event.trace, sizeof event.trace,
                 words.trace[0] != '\0' ? ald_span_str(words.trace) : result->trace);
    if (result->corrects != 0)
        position_write(event.lane, result->corrects, event.corrects);
    ald_text_cut(event.result_type, sizeof event.result_type,
                 ald_span_str(result->result_json ? "json" : "text"));
    position_write(event.lane, event.seq, event.position);
    zmsg_t *msg = zmsg_new();
    (void)zmsg_addstr(msg, topic);
    if (ald_frame_add(msg, &MSG_EVENT, &event) != ALD_OK)
        zmsg_destroy(&msg); /* too big for a hint: it is fetched */
    return msg;
}

void feed_add(feed_t *self, const char *provider_id, const struct vault_result *result)
{
    if (self->hint_count == self->hint_cap) {
        self->hint_cap = self->hint_cap ? self->hint_cap * 2 : 64;
        self->hints = realloc(self->hints, self->hint_cap * sizeof *self->hints);
        ALD_ASSERT(self->hints);
    }
    struct feed_hint *hint = &self->hints[self->hint_count++];
    int64_t took_ms = result->published_ms - ald_task_id_wall_ms(result->task);
    *hint = (struct feed_hint){
        .task = result->task,
        .source = result->source,
        .took_ms = result->corrects != 0 ? -1
                   : took_ms > 0         ? took_ms
                                         : 0,
    };
    char name[ALD_PROVIDER_MAX];
    ald_text_cut(name, sizeof name, result->provider);
    const char *const of_provider[] = {ALD_TOPIC_RESULT, name, "."};
    char provider[FEED_PROVIDER_TOPIC_MAX];
    ALD_ASSERT(ald_text_join(provider, sizeof provider, of_provider, ALD_COUNT(of_provider)) ==
               ALD_OK);
    const char *const topic[] = {provider, ald_state_name(result->state), "."};
    ALD_ASSERT(ald_text_join(hint->topic, sizeof hint->topic, topic, ALD_COUNT(topic)) == ALD_OK);
    /* Kept also while nobody subscribes: who comes back must see what was missed. */
    const struct feed_prevs prev = {.topic = feed_prev(self, hint->topic, result->seq),
                                    .provider = feed_prev(self, provider, result->seq),
                                    .all = feed_prev(self, ALD_TOPIC_RESULT, result->seq)};
    if (self->subscribers > 0)
        hint->msg = feed_encode(self, hint->topic, &prev, provider_id, result);
}

static void feed_answer_task(feed_t *self, struct feed_waiter *waiter)
{
    query_ask_task(self->tracker->query, &waiter->who, &waiter->get);
}

static void feed_answer_fetch(feed_t *self, struct feed_waiter *waiter)
{
    struct ald_buf bytes;
    ald_buf_init(&bytes, 4096);
    waiter->fetch.wait_ms = 0;
    if (ald_wire_encode(&MSG_FETCH, &waiter->fetch, &bytes) == ALD_OK)
        reader_ask(self->tracker->reader, READER_CONSUME, &waiter->who, ald_buf_span(&bytes), NULL);
    ald_buf_free(&bytes);
}

static void feed_wake(feed_t *self, size_t index)
{
    struct feed_waiter waiter = self->waiters[index];
    self->waiters[index] = self->waiters[--self->waiter_count];
    if (waiter.task != 0)
        feed_answer_task(self, &waiter);
    else
        feed_answer_fetch(self, &waiter);
    zframe_destroy(&waiter.who);
}

static bool feed_ended(const feed_t *self, uint64_t task)
{
    for (size_t i = 0; i < self->hint_count; i++)
        if (self->hints[i].task == task)
            return true;
    return false;
}

void feed_tell(feed_t *self)
{
    if (self->hint_count == 0)
        return;
    ald_metric_add(&feed_published, (int64_t)self->hint_count);
    for (size_t i = 0; i < self->hint_count; i++) {
        feed_took(&self->hints[i]);
        if (self->hints[i].msg &&
            ALD_SOCK_SEND("feed.publish", self->pub, &self->hints[i].msg) != ALD_OK)
            zmsg_destroy(&self->hints[i].msg);
    }
    for (size_t i = self->waiter_count; i-- > 0;) {
        uint64_t task = self->waiters[i].task;
        if (task == 0 || feed_ended(self, task))
            feed_wake(self, i);
    }
    self->hint_count = 0;
}

void feed_forget(feed_t *self)
{
    for (size_t i = 0; i < self->hint_count; i++)
        zmsg_destroy(&self->hints[i].msg);
    self->hint_count = 0;
    zhashx_purge(self->prev); /* it may name numbers that were not committed */
}

static void feed_head(feed_t *self)
{
    struct msg_head head = {.at_ms = ald_clock_now().wall_ms};
    position_write(self->tracker->vault.lane, self->tracker->vault.last_seq, head.position);
    zmsg_t *msg = zmsg_new();
    (void)zmsg_addstr(msg, "head.");
    ald_frame_put(msg, &MSG_HEAD, &head);
    if (ALD_SOCK_SEND("feed.head", self->pub, &msg) != ALD_OK)
        zmsg_destroy(&msg);
}

void feed_tick(feed_t *self)
{
    int64_t now_ms = ald_clock_now().mono_ms;
    if (self->tracker->open && self->subscribers > 0)
        feed_head(self);
    for (size_t i = self->waiter_count; i-- > 0 && self->tracker->open;)
        if (self->waiters[i].until_ms <= now_ms)
            feed_wake(self, i);
}

static struct feed_waiter *feed_wait(feed_t *self, zframe_t **who_p, int64_t wait_ms)
{
    if (self->waiter_count == FEED_WAITERS_MAX)
        return NULL;
    if (wait_ms > FEED_WAIT_MAX_MS)
        wait_ms = FEED_WAIT_MAX_MS;
    struct feed_waiter *waiter = &self->waiters[self->waiter_count++];
    *waiter = (struct feed_waiter){.who = *who_p, .until_ms = ald_clock_now().mono_ms + wait_ms};
    *who_p = NULL;
    return waiter;
}

bool feed_wait_task(feed_t *self, zframe_t **who_p, const struct msg_get *get)
{
    struct feed_waiter *waiter = feed_wait(self, who_p, get->wait_ms);
    if (!waiter)
        return false;
    waiter->task = get->task;
    waiter->get = *get;
    return true;
}

static void feed_busy(feed_t *self, zframe_t **who_p, uint64_t req)
{
    struct msg_events head = {.req = req,
                              .rc = "busy",
                              .detail = "The store cannot be read now, or too many questions are "
                                        "under way; ask again."};
    zmsg_t *msg = zmsg_new();
    zmsg_append(msg, who_p);
    ald_frame_put(msg, &MSG_EVENTS, &head);
    feed_send(self, &msg);
}

/* The number of a question that can't be read as a whole, of whatever kind and version. */
static bool feed_number(struct ald_span bytes, uint64_t *req)
{
    static const struct ald_field fields[] = {
        {.key = "req", .key_len = sizeof "req" - 1, .kind = ALD_FIELD_U64, .required = true}};
    char kind[ALD_WORD_MAX];
    const struct ald_schema schema = {.kind = kind,
                                      .version = UINT_MAX,
                                      .size = sizeof *req,
                                      .fields = fields,
                                      .count = ALD_COUNT(fields)};
    return ald_wire_kind(bytes, kind, sizeof kind) == ALD_OK &&
           ald_wire_decode(&schema, req, bytes) == ALD_OK;
}

/* Who asks would wait for his time limit, and never know why. */
static void feed_unread(feed_t *self, zframe_t **who_p, struct ald_span bytes)
{
    static const char detail[] =
        "The question can't be read: a field is missing, too long or of another type, or its kind "
        "or version is not known here.";
    struct msg_events events = {.rc = "invalid"};
    struct msg_answer answer = {.rc = "invalid"};
    if (!feed_number(bytes, &answer.req))
        return;
    events.req = answer.req;
    ald_text_cut(answer.detail, sizeof answer.detail, ald_span_str(detail));
    ald_text_cut(events.detail, sizeof events.detail, ald_span_str(detail));
    zmsg_t *msg = zmsg_new();
    zmsg_append(msg, who_p);
    if (ald_wire_is(&MSG_FETCH, bytes) || ald_wire_is(&MSG_PULL, bytes))
        ald_frame_put(msg, &MSG_EVENTS, &events);
    else
        ald_frame_put(msg, &MSG_ANSWER, &answer);
    feed_send(self, &msg);
}

static void feed_question(feed_t *self, zframe_t **who_p, struct ald_span bytes)
{
    struct msg_fetch fetch;
    uint64_t after = 0;
    if (ald_wire_decode(&MSG_FETCH, &fetch, bytes) != ALD_OK) {
        feed_unread(self, who_p, bytes);
        return;
    }
    if (!self->tracker->open || reader_full(self->tracker->reader)) {
        feed_busy(self, who_p, fetch.req);
        return;
    }
    const struct vault *vault = &self->tracker->vault;
    enum position_kind kind = position_read(fetch.after, vault->lane, &after);
    if (kind == POSITION_NEW) {
        after = vault->last_seq;
        position_write(vault->lane, after, fetch.after); /* "new" is now, not when it wakes */
    }
    bool waits = fetch.wait_ms > 0 &&
                 (kind == POSITION_NEW || kind == POSITION_AFTER ||
                  (kind == POSITION_ALL && vault->last_seq == 0)) &&
                 after == vault->last_seq; /* beyond it: refused at once, by the reader */
    struct feed_waiter *waiter = waits ? feed_wait(self, who_p, fetch.wait_ms) : NULL;
    if (waiter)
        waiter->fetch = fetch;
    else
        reader_ask(self->tracker->reader, READER_CONSUME, who_p, bytes, NULL);
}

static int feed_read_consume(zloop_t *loop, zsock_t *sock, void *arg)
{
    (void)loop;
    (void)sock;
    feed_t *self = arg;
    (void)tracker_awake(self->tracker);
    for (unsigned i = 0; i < FEED_TURN; i++) { /* the rest in the loop's next turn */
        zmsg_t *msg = ald_sock_recv(self->consume);
        if (!msg)
            break;
        zframe_t *who = zmsg_pop(msg);
        zframe_t *frame = zmsg_first(msg);
        if (who && frame && !consumers_message(self->tracker->consumers, &who, msg))
            feed_question(self, &who, ald_frame_span(frame));
        zframe_destroy(&who);
        zmsg_destroy(&msg);
    }
    consumers_turn(self->tracker->consumers);
    return 0;
}

/* Subscriptions come as a frame of 1 (or 0, an end) and a topic. */
static int feed_read_pub(zloop_t *loop, zsock_t *sock, void *arg)
{
    (void)loop;
    (void)sock;
    feed_t *self = arg;
    zmsg_t *msg = ald_sock_recv(self->pub);
    for (; msg; msg = ald_sock_recv(self->pub)) {
        zframe_t *frame = zmsg_first(msg);
        bool begins = frame && zframe_size(frame) > 0 && zframe_data(frame)[0] == 1;
        bool ends = frame && zframe_size(frame) > 0 && zframe_data(frame)[0] == 0;
        if (begins)
            self->subscribers++;
        else if (ends && self->subscribers > 0)
            self->subscribers--;
        zmsg_destroy(&msg);
    }
    return 0;
}

/* Who is gone misses it. */
static void feed_sent(void *arg, bool sent)
{
    (void)arg, (void)sent;
}

void feed_send(feed_t *self, zmsg_t **msg_p)
{
    feed_send_then(self, msg_p, feed_sent, NULL);
}

void feed_send_then(feed_t *self, zmsg_t **msg_p, ald_sent_fn *then, void *arg)
{
    if (sinks_answer(self->tracker->sinks, msg_p))
        then(arg, true);
    else
        ALD_SOCK_SEND_THEN("feed.answer", self->consume, msg_p, then, arg);
}

enum ald_rc feed_new(struct tracker *tracker, feed_t **out, struct ald_err *err)
{
    feed_t *self = zmalloc(sizeof *self);
    self->tracker = tracker;
    self->prev = zhashx_new();
    zhashx_set_destructor(self->prev, ald_item_free);
    self->waiters = calloc(FEED_WAITERS_MAX, sizeof *self->waiters);
    ALD_ASSERT(self->waiters);
    ald_metric_register(&feed_published);
    ald_metric_register(&feed_task_seconds);
    zloop_t *loop = ald_service_loop(tracker->service);
    enum ald_rc rc =
        ald_sock_serve(tracker->settings, ALD_CHANNEL_FEED, ZMQ_XPUB, 0, &self->pub, err);
    if (rc == ALD_OK) {
        ald_sock_watch(self->pub, loop, feed_read_pub, self);
        rc = ald_sock_serve(tracker->settings, ALD_CHANNEL_CONSUME, ZMQ_ROUTER, 0, &self->consume,
                            err);
    }
    if (rc != ALD_OK) {
        feed_destroy(&self);
        return rc;
    }
    ald_sock_gate(self->pub, tracker->gate);
    ald_sock_gate(self->consume, tracker->gate);
    ald_sock_watch(self->consume, loop, feed_read_consume, self);
    *out = self;
    return ALD_OK;
}

void feed_destroy(feed_t **self_p)
{
    feed_t *self = *self_p;
    if (!self)
        return;
    feed_forget(self);
    for (size_t i = 0; i < self->waiter_count; i++)
        zframe_destroy(&self->waiters[i].who);
    zhashx_destroy(&self->prev);
    ald_sock_destroy(&self->consume);
    ald_sock_destroy(&self->pub);
    free(self->hints);
    free(self->waiters);
    free(self);
    *self_p = NULL;
}

size_t feed_waiters(const feed_t *self)
{
    return self->waiter_count;
}
