#include "services/tracker/consumers/sinks.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "services/tracker/consumers/consumers.h"
#include "services/tracker/consumers/sinks_inside.h"
#include "services/tracker/rest.h"

enum {
    SINKS_WAIT_MS = 5000,  /* of one question for events */
    SINKS_AGAIN_MS = 1000, /* after one that was refused */
    SINKS_PAGE = 1000,
    SINKS_BYTES = 1 << 20,     /* of a page, and one event more */
    SINKS_HELD_BYTES = 8 << 20 /* no page is asked for beyond that */
};

static const uint8_t SINKS_WHO[] = {0}; /* no routing id of a socket is this one */
static const char SINKS_INSTANCE[] = "aldaba";

static struct ald_metric sinks_gauge = {
    .kind = ALD_GAUGE,
    .name = "aldaba_sinks",
    .help = "Sinks of the settings: delivering, down after failures in a row, or paused by a 410.",
    .label = {"state"}};

/* ---- what a sink holds ---- */

bool sink_hold(struct sink *self, zframe_t *frame)
{
    struct msg_event event;
    if (ald_wire_decode(&MSG_EVENT, &event, ald_frame_span(frame)) != ALD_OK)
        return false;
    struct sink_event **at = &self->first;
    while (*at)
        at = &(*at)->next;
    struct sink_event *held = zmalloc(sizeof *held);
    *held = (struct sink_event){.lane = event.lane,
                                .seq = event.seq,
                                .task = event.task,
                                .deliveries = event.deliveries,
                                .frame = frame};
    memcpy(held->provider, event.provider, sizeof held->provider);
    *at = held;
    self->held++;
    self->bytes += zframe_size(frame);
    return true;
}

struct sink_event *sink_held(const struct sink *self, uint64_t lane, uint64_t seq)
{
    for (struct sink_event *event = self->first; event; event = event->next)
        if (event->lane == lane && event->seq == seq)
            return event;
    return NULL;
}

void sink_unlease(struct sink *self, struct sink_event *event)
{
    if (event->lease != 0)
        self->leased--;
    event->lease = 0;
    event->until_ms = 0;
}

void sink_drop(struct sink *self, struct sink_event *event)
{
    struct sink_event **at = &self->first;
    while (*at != event)
        at = &(*at)->next;
    *at = event->next;
    sink_unlease(self, event);
    self->held--;
    self->bytes -= zframe_size(event->frame);
    zframe_destroy(&event->frame);
    free(event);
}

static void sink_empty(struct sink *self)
{
    while (self->first)
        sink_drop(self, self->first);
    self->asking = 0;
    self->ask_ms = 0;
}

/* ---- questions, as any consumer asks them ---- */

bool sinks_ask(zframe_t *who)
{
    return zframe_size(who) == sizeof SINKS_WHO &&
           memcmp(zframe_data(who), SINKS_WHO, sizeof SINKS_WHO) == 0;
}

static void sinks_say(sinks_t *self, zmsg_t **msg_p)
{
    zframe_t *who = ald_frame_new(SINKS_WHO, sizeof SINKS_WHO);
    (void)consumers_message(self->tracker->consumers, &who, *msg_p);
    zframe_destroy(&who);
    zmsg_destroy(msg_p);
}

void sinks_settle(sinks_t *self, const char *name, const struct msg_settle *settle)
{
    struct msg_settles ask = {.req = ++self->last_req};
    zmsg_t *msg = zmsg_new();
    ald_text_cut(ask.consumer, sizeof ask.consumer, ald_span_str(name));
    ald_text_cut(ask.instance, sizeof ask.instance, ald_span_str(SINKS_INSTANCE));
    ald_frame_put(msg, &MSG_SETTLES, &ask);
    ald_frame_put(msg, &MSG_SETTLE, settle);
    sinks_say(self, &msg);
}

/* Twice as many as may be under way, so that a page is there when posts end. */
static void sinks_pull(sinks_t *self, struct sink *sink)
{
    const size_t most = 2 * (size_t)sink->is.max_in_flight;
    const int64_t now_ms = ald_clock_now().mono_ms;
    if (sink->asking != 0 || sink->paused || now_ms < sink->ask_ms || sink->held >= most ||
        sink->bytes >= SINKS_HELD_BYTES || (sink_breaker_open(&sink->breaker) && sink->held > 0))
        return;
    struct msg_pull ask = {.req = ++self->last_req,
                           .limit = most - sink->held < SINKS_PAGE ? most - sink->held : SINKS_PAGE,
                           .bytes = SINKS_BYTES,
                           .wait_ms = SINKS_WAIT_MS};
    zmsg_t *msg = zmsg_new();
    memcpy(ask.consumer, sink->is.name, sizeof ask.consumer);
    memcpy(ask.gap_seen, sink->gap, sizeof ask.gap_seen);
    ald_text_cut(ask.instance, sizeof ask.instance, ald_span_str(SINKS_INSTANCE));
    ald_frame_put(msg, &MSG_PULL, &ask);
    sink->asking = ask.req;
    sinks_say(self, &msg);
}

static void sinks_page(struct sink *sink, const struct msg_events *head, zmsg_t *msg)
{
    sink->asking = 0;
    if (strcmp(head->rc, "ok") != 0) {
        ald_log(ALD_WARN, "sink.refused", "sink=%s rc=%s text=%s", sink->is.name, head->rc,
                ALD_Q(head->detail));
        sink->ask_ms = ald_clock_now().mono_ms + SINKS_AGAIN_MS;
        return;
    }
    if (head->gap_before[0] != '\0' && strcmp(head->gap_before, sink->gap) != 0)
        ald_log(ALD_WARN, "sink.gap", "sink=%s before=%s why=%s", sink->is.name, head->gap_before,
                head->gap_why);
    memcpy(sink->gap, head->gap_before, sizeof sink->gap);
    for (zframe_t *frame = zmsg_pop(msg); frame; frame = zmsg_pop(msg))
        if (!sink_hold(sink, frame))
            zframe_destroy(&frame);
}

bool sinks_answer(sinks_t *self, zmsg_t **msg_p)
{
    struct msg_events head;
    zframe_t *who = zmsg_first(*msg_p);
    if (!self || !who || !sinks_ask(who))
        return false;
    who = zmsg_pop(*msg_p);
    zframe_destroy(&who);
    zframe_t *frame = zmsg_pop(*msg_p);
    bool page = frame && ald_wire_is(&MSG_EVENTS, ald_frame_span(frame)) &&
                ald_wire_decode(&MSG_EVENTS, &head, ald_frame_span(frame)) == ALD_OK;
    zframe_destroy(&frame);
    for (size_t i = 0; page && i < self->count; i++)
        if (head.req != 0 && self->list[i]->asking == head.req)
            sinks_page(self->list[i], &head, *msg_p);
    zmsg_destroy(msg_p);
    return true;
}

/* ---- which there are ---- */

struct sink *sinks_find(const sinks_t *self, const char *name)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->list[i]->is.name, name) == 0)
            return self->list[i];
    return NULL;
}

const char *sinks_state(const sinks_t *self, const char *consumer)
{
    const struct sink *sink = self ? sinks_find(self, consumer) : NULL;
    if (!sink || sink->gone)
        return NULL;
    return sink->paused ? "paused" : sink_breaker_open(&sink->breaker) ? "down" : "delivering";
}

/* The consumer of a sink, with the rules of its settings. */
static void sinks_own(sinks_t *self, const struct sink *sink)
{
    const struct ald_sink *is = &sink->is;
    struct msg_consumer_open ask = {.max_deliver = (uint64_t)is->max_deliver};
    memcpy(ask.consumer, is->name, sizeof ask.consumer);
    memcpy(ask.provider, is->provider, sizeof ask.provider);
    memcpy(ask.state, is->state, sizeof ask.state);
    memcpy(ask.from, is->from, sizeof ask.from);
    if (!consumers_own(self->tracker->consumers, &ask, !sink->gone))
        ald_log(ALD_ERROR, "sink.full", "sink=%s text=%s", is->name,
                ALD_Q("There are as many consumers as tracker.max_consumers allows: delete one, "
                      "or raise it."));
}

static void sinks_free(sinks_t *self, size_t at)
{
    sink_empty(self->list[at]);
    free(self->list[at]);
    memmove(&self->list[at], &self->list[at + 1], (self->count - at - 1) * sizeof(struct sink *));
    self->count--;
}

/* It is out of the settings: what it holds is handed out to whoever asks. */
static void sinks_release(sinks_t *self, size_t at)
{
    struct sink *sink = self->list[at];
    for (const struct sink_event *event = sink->first; event; event = event->next) {
        const struct msg_settle settle = {
            .lane = event->lane, .seq = event->seq, .verb = "release"};
        sinks_settle(self, sink->is.name, &settle);
    }
    sinks_own(self, sink);
    ald_log(ALD_INFO, "sink.gone", "sink=%s", sink->is.name);
    sinks_free(self, at);
}

static struct sink *sinks_add(sinks_t *self, const struct ald_sink *is)
{
    struct sink *sink = sinks_find(self, is->name);
    if (!sink) {
        ALD_ASSERT(self->count < ALD_SINKS_MAX);
        sink = self->list[self->count++] = zmalloc(sizeof *sink);
    }
    sink->is = *is;
    sink->gone = sink->paused = false;
    sink_breaker_taken(&sink->breaker);
    return sink;
}

/* Those that leave are let go by the tick, once they have the answer that they wait for. */
static void sinks_take(sinks_t *self)
{
    const ald_sinks_t *wanted = self->tracker->settings->sinks;
    for (size_t i = 0; i < self->count; i++)
        self->list[i]->gone = !ald_sinks_find(wanted, self->list[i]->is.name);
    for (size_t i = self->count; i-- > 0;)
        if (self->list[i]->gone && self->list[i]->asking == 0)
            sinks_release(self, i);
    self->queued = false;
    for (size_t i = 0; i < ald_sinks_count(wanted); i++) {
        if (sinks_find(self, ald_sinks_at(wanted, i)->name) || self->count < ALD_SINKS_MAX)
            sinks_own(self, sinks_add(self, ald_sinks_at(wanted, i)));
        else
            self->queued = true;
    }
}

void sinks_renew(sinks_t *self)
{
    if (self->tracker->open)
        sinks_take(self);
    else
        self->stale = true;
}

void sinks_back(sinks_t *self)
{
    if (self->count == 0 || self->stale)
        sinks_take(self);
    self->stale = false;
    for (size_t i = 0; i < self->count; i++)
        sinks_own(self, self->list[i]);
}

sinks_t *sinks_new(struct tracker *tracker)
{
    sinks_t *self = zmalloc(sizeof *self);
    self->tracker = tracker;
    ald_metric_register(&sinks_gauge);
    sinks_posts_init();
    return self;
}

void sinks_forget(sinks_t *self)
{
    for (size_t i = 0; self && i < self->count; i++)
        sink_empty(self->list[i]);
}

void sinks_destroy(sinks_t **self_p)
{
    sinks_t *self = *self_p;
    if (!self)
        return;
    while (self->count > 0)
        sinks_free(self, 0);
    free(self);
    *self_p = NULL;
}

/* ---- time ---- */

static void sinks_measure(const sinks_t *self)
{
    static const char *const states[] = {"delivering", "down", "paused"};
    for (size_t s = 0; s < ALD_COUNT(states); s++) {
        int64_t count = 0;
        for (size_t i = 0; i < self->count; i++) {
            const char *state = sinks_state(self, self->list[i]->is.name);
            count += state && strcmp(state, states[s]) == 0;
        }
        ald_metric_set(ald_metrics_get(sinks_gauge.name, states[s]), count);
    }
}

void sinks_tick(sinks_t *self)
{
    for (size_t i = self->count; i-- > 0;) {
        struct sink *sink = self->list[i];
        if (sink->gone && sink->asking == 0)
            sinks_release(self, i);
        else if (!sink->gone)
            sinks_unheard(self, sink);
    }
    if (self->queued && self->count < ALD_SINKS_MAX)
        sinks_take(self);
    for (size_t i = 0; i < self->count; i++)
        if (!self->list[i]->gone)
            sinks_pull(self, self->list[i]);
    if (self->count > 0)
        sinks_measure(self);
}

/* One that holds events is looked at all the time: its pollers, its breaker. One that waits for
 * events is told when they come. */
int64_t sinks_rest_ms(const sinks_t *self)
{
    const int64_t now_ms = ald_clock_now().mono_ms;
    int64_t least_ms = REST_NOTHING;
    for (size_t i = 0; i < self->count; i++) {
        const struct sink *sink = self->list[i];
        bool busy = sink->leased > 0 || (sink->held > 0 && !sink->paused);
        if (busy || (sink->gone && sink->asking == 0))
            return 0;
        if (sink->asking == 0 && !sink->paused)
            least_ms = rest_less(least_ms, rest_until(sink->ask_ms, now_ms));
    }
    return least_ms;
}
