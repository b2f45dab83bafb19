#include <inttypes.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/config/facts.h"
#include "services/tracker/consumers/sinks_inside.h"

enum {
    POSTS_SLACK_MS = 5000,     /* a lease lasts so much longer than its post may */
    POSTS_AGAIN_MS = 1000,     /* after one that a poller could not begin */
    POSTS_UNHEARD_MAX = 3,     /* leases of one event that ended without a word: it was tried */
    POSTS_BYTES_MAX = 1 << 20, /* in a message, and one more */
    POSTS_DELAY_MAX_MS = 86400000
};

static struct ald_metric posts_total = {
    .kind = ALD_COUNTER,
    .name = "aldaba_sink_posts_total",
    .help = "Posts to sinks that ended: taken by a 2xx, failed, gone (410), refused as too large "
            "to be sent, or unheard of, since their poller is gone.",
    .label = {"result"}};

void sinks_posts_init(void)
{
    ald_metric_register(&posts_total);
}

static void posts_count(const char *result)
{
    ald_metric_add(ald_metrics_get(posts_total.name, result), 1);
}

/* ---- leases ---- */

struct posts_lease {
    sinks_t *sinks;
    uint64_t poller;
    uint64_t *lease;
    zmsg_t **msg;
    void (*begin)(void *context, zmsg_t **msg);
    void *context;
    size_t left;  /* of the credit */
    size_t bytes; /* so far */
    struct ald_now now;
};

static void posts_lease_one(struct posts_lease *self, struct sink *sink, struct sink_event *event)
{
    const int64_t lease_ms = sink->is.timeout_ms + POSTS_SLACK_MS;
    event->lease = ++*self->lease;
    event->poller = self->poller;
    event->until_ms = self->now.mono_ms + lease_ms;
    sink->leased++;
    struct msg_lease lease = {.lease = event->lease,
                              .task = event->task,
                              .lease_ms = lease_ms,
                              .push = true,
                              .body = ald_frame_span(event->frame),
                              .lane = event->lane,
                              .seq = event->seq};
    memcpy(lease.provider, event->provider, sizeof lease.provider);
    memcpy(lease.sink, sink->is.name, sizeof lease.sink);
    self->begin(self->context, self->msg);
    ald_frame_put(*self->msg, &MSG_LEASE, &lease);
    self->left--;
    self->bytes += lease.body.len;
}

static void posts_refuse(sinks_t *self, struct sink *sink, struct sink_event *event,
                         const char *why)
{
    struct msg_settle settle = {.lane = event->lane, .seq = event->seq, .verb = "reject"};
    ald_text_cut(settle.reason, sizeof settle.reason, ald_span_str(why));
    sinks_settle(self, sink->is.name, &settle);
    sink_drop(sink, event);
    posts_count("refused");
}

static void posts_lease_sink(struct posts_lease *self, struct sink *sink)
{
    const int64_t run_ms = tracker_now(self->sinks->tracker).run_ms;
    struct sink_event *next = sink->first;
    if (sink->gone || sink->paused)
        return;
    while (next && self->left > 0 && self->bytes < POSTS_BYTES_MAX &&
           sink->leased < (size_t)sink->is.max_in_flight &&
           sink_breaker_may(&sink->breaker, sink->leased, run_ms)) {
        struct sink_event *event = next;
        next = event->next;
        if (event->lease != 0 || event->until_ms > self->now.mono_ms)
            continue;
        if (zframe_size(event->frame) > ALD_PUSHED_MAX)
            posts_refuse(self->sinks, sink, event,
                         "It is larger than what is pushed, 16 MiB; read it over the API.");
        else
            posts_lease_one(self, sink, event);
    }
}

size_t sinks_lease(sinks_t *self, uint64_t poller, uint64_t *lease, size_t credit, zmsg_t **msg,
                   void (*begin)(void *context, zmsg_t **msg), void *context)
{
    struct posts_lease leasing = {.sinks = self,
                                  .poller = poller,
                                  .lease = lease,
                                  .msg = msg,
                                  .begin = begin,
                                  .context = context,
                                  .left = credit,
                                  .now = ald_clock_now()};
    for (size_t i = 0; i < self->count; i++)
        posts_lease_sink(&leasing, self->list[(self->turn + i) % self->count]);
    self->turn++;
    return credit - leasing.left;
}

/* ---- leases that end without a word ---- */

static void posts_failed(sinks_t *self, struct sink *sink, struct sink_event *event,
                         int64_t least_ms, const char *why)
{
    const struct ald_backoff waits = {.first_ms = sink->is.first_after_ms,
                                      .percent = 200,
                                      .max_ms = sink->is.max_after_ms,
                                      .jitter_percent = 20};
    const unsigned tries = event->deliveries > 0 ? (unsigned)event->deliveries - 1 : 0;
    uint64_t random[2];
    bool was = sink_breaker_open(&sink->breaker);
    struct msg_settle settle = {.lane = event->lane, .seq = event->seq, .verb = "nack"};
    ald_random(random, sizeof random);
    settle.delay_ms = ald_backoff_wait(&waits, tries, random[0]);
    if (settle.delay_ms < least_ms)
        settle.delay_ms = least_ms < POSTS_DELAY_MAX_MS ? least_ms : POSTS_DELAY_MAX_MS;
    ald_text_cut(settle.reason, sizeof settle.reason, ald_span_str(why));
    sinks_settle(self, sink->is.name, &settle);
    sink_breaker_failed(&sink->breaker, &waits, random[1], tracker_now(self->tracker).run_ms);
    if (!was && sink_breaker_open(&sink->breaker))
        ald_log(ALD_WARN, "sink.down", "sink=%s text=%s", sink->is.name, ALD_Q(why));
    sink_drop(sink, event);
}

void sinks_unheard(sinks_t *self, struct sink *sink)
{
    const int64_t now_ms = ald_clock_now().mono_ms;
    struct sink_event *next = sink->first;
    while (next) {
        struct sink_event *event = next;
        next = event->next;
        if (event->lease == 0 || event->until_ms > now_ms)
            continue;
        sink_unlease(sink, event);
        posts_count("unheard");
        if (++event->unheard >= POSTS_UNHEARD_MAX)
            posts_failed(self, sink, event, 0, "Pollers that had it said nothing of it.");
    }
}

void sinks_poller_gone(sinks_t *self, uint64_t poller)
{
    for (size_t i = 0; i < self->count; i++) {
        for (struct sink_event *event = self->list[i]->first; event; event = event->next)
            if (event->lease != 0 && event->poller == poller)
                event->until_ms = 0; /* the next tick sees it */
    }
}

/* ---- outcomes ---- */

/* A fact, whoever has it by now, and whether or not there is such a sink still. */
static const char *posts_taken(sinks_t *self, struct sink *sink, struct sink_event *event,
                               const struct msg_outcome *outcome)
{
    const struct msg_settle settle = {.lane = outcome->lane, .seq = outcome->seq, .verb = "ack"};
    sinks_settle(self, outcome->sink, &settle);
    posts_count("taken");
    if (!sink)
        return "applied";
    if (sink_breaker_open(&sink->breaker))
        ald_log(ALD_INFO, "sink.back", "sink=%s", sink->is.name);
    sink_breaker_taken(&sink->breaker);
    if (event)
        sink_drop(sink, event);
    return "applied";
}

static void posts_not_taken(sinks_t *self, struct sink *sink, struct sink_event *event,
                            const struct msg_outcome *outcome)
{
    char why[ALD_TEXT_MAX];
    if (strcmp(outcome->class_, ald_class_name(ALD_CLASS_PERMANENT)) == 0) {
        posts_refuse(self, sink, event, outcome->error);
    } else if (strcmp(outcome->class_, ald_class_name(ALD_CLASS_NONE)) == 0) {
        event->until_ms = ald_clock_now().mono_ms + POSTS_AGAIN_MS; /* it was not tried */
    } else if (outcome->http == 410) {
        posts_count("gone");
        sink->paused = true;
        ald_log(ALD_WARN, "sink.paused", "sink=%s text=%s", sink->is.name,
                ALD_Q("It answered 410: it is left alone until the settings are read again."));
    } else {
        posts_count("failed");
        if (outcome->http != 0)
            (void)snprintf(why, sizeof why, "It answered %" PRIu64 ".", outcome->http);
        else
            (void)snprintf(why, sizeof why, "No answer: %.200s", outcome->error);
        posts_failed(self, sink, event, outcome->wait_ms, why);
    }
}

const char *sinks_outcome(sinks_t *self, const struct msg_outcome *outcome)
{
    struct sink *sink = sinks_find(self, outcome->sink);
    struct sink_event *event = sink ? sink_held(sink, outcome->lane, outcome->seq) : NULL;
    if (outcome->answered && outcome->http >= 200 && outcome->http < 300)
        return posts_taken(self, sink, event, outcome);
    if (!event || event->lease != outcome->lease)
        return "duplicate"; /* another has it by now, or it is settled */
    sink_unlease(sink, event);
    posts_not_taken(self, sink, event, outcome);
    return "progress";
}
