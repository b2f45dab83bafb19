#include <inttypes.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "services/tracker/consumers/consumers_inside.h"
#include "services/tracker/reader/reader.h"
#include "services/tracker/rest.h"

static struct ald_metric consumers_handed = {.kind = ALD_COUNTER,
                                             .name = "aldaba_consumer_events_total",
                                             .help =
                                                 "Events handed out to consumers, again or not."};
static struct ald_metric consumers_repeats = {.kind = ALD_COUNTER,
                                              .name = "aldaba_consumer_redelivered_total",
                                              .help =
                                                  "Of these, those that were handed out again."};

void consumers_pages_init(void)
{
    ald_metric_register(&consumers_handed);
    ald_metric_register(&consumers_repeats);
}

/* ---- serving ---- */

/* Have a page read for this one, as self->offer says. */
static void consumers_read(consumers_t *self, struct durable *one, struct pull *pull)
{
    const struct consumer_offer *offer = &self->offer;
    struct reader_pick picks[CONSUMER_PAGE_MAX];
    struct reader_pull ask = {.no = one->no,
                              .ticket = ++self->tickets,
                              .lane = self->tracker->vault.lane,
                              .picks = offer->fresh ? 0 : offer->count,
                              .after = offer->after,
                              .limit = offer->fresh ? offer->limit : offer->count,
                              .bytes = pull->bytes};
    for (size_t i = 0; i < ask.picks; i++)
        picks[i] = (struct reader_pick){.seq = offer->picks[i].seq,
                                        .deliveries = offer->picks[i].deliveries};
    memcpy(ask.provider, one->provider, sizeof ask.provider);
    memcpy(ask.state, one->state, sizeof ask.state);
    one->reading = pull;
    one->ticket = ask.ticket;
    reader_ask_page(self->tracker->reader, &ask, picks);
}

void consumers_end_of(consumers_t *self, struct durable *one, int instance)
{
    for (struct pull *pull = one->first; pull; pull = pull->next)
        pull->closed = pull->closed || pull->instance == instance;
    if (one->reading && one->reading->instance == instance)
        one->reading->closed = true; /* when its page is there */
    consumers_serve(self, one);
}

/* Those whose time is up are told that there is nothing. */
static void consumers_end_waits(consumers_t *self, struct durable *one)
{
    int64_t now_ms = ald_clock_now().mono_ms;
    for (struct pull **at = &one->first; *at;) {
        struct pull *pull = *at;
        if (pull->until_ms > now_ms && !pull->closed) {
            at = &pull->next;
            continue;
        }
        *at = pull->next;
        struct consumers_answer answer = {
            .msg = consumers_events(self, &pull->who, pull->req, one, "ok", "")};
        consumers_say(self, &answer, one->settled);
        consumers_pull_free(self, &pull);
    }
}

/* The first who can be handed something; who is next in the list is looked at next. True: a page is
 * being read for that one. */
static bool consumers_serve_one(consumers_t *self, struct durable *one, struct pull ***at)
{
    struct pull *pull = **at;
    struct pull *next = pull->next;
    if (pull->closed) {
        *at = &pull->next;
        return false;
    }
    /* Its own reader is never idle, and posts each event by itself. */
    bool alone = one->owned || consumer_idle(&one->core, pull->instance);
    bool came_back = one->return_count > 0 && alone && consumers_return(self, one, pull);
    if (came_back) {
        **at = next;
        consumers_pull_free(self, &pull);
        return false;
    }
    if (!consumer_offer(&one->core, pull->instance, self->tracker->vault.last_seq, pull->limit,
                        tracker_now(self->tracker).run_ms, &self->offer)) {
        *at = &pull->next;
        return false;
    }
    **at = next;
    consumers_read(self, one, pull);
    return true;
}

void consumers_serve(consumers_t *self, struct durable *one)
{
    if (one->reading || !one->first)
        return;
    struct pull **at = &one->first;
    while (*at)
        if (consumers_serve_one(self, one, &at))
            return;
    if (one->settled && one->first)
        self->owed = true; /* what was settled is not to wait as long as who settled it */
    consumers_end_waits(self, one);
}

/* ---- pages ---- */

/* Mark what is in a page as handed out. Of a page that comes again, what does not wait any more is
 * taken out of it. */
static void consumers_mark(consumers_t *self, struct durable *one, const struct reader_page *page,
                           const uint64_t *seqs, zmsg_t *events, struct consumers_answer *answer)
{
    int64_t now_ms = tracker_now(self->tracker).run_ms;
    size_t count = page->count;
    if (page->picks == 0) {
        consumer_hand_fresh(&one->core, answer->instance, seqs, count, page->looked, now_ms);
    } else {
        zframe_t *frame = zmsg_first(events);
        for (size_t i = 0; i < page->count; i++) {
            zframe_t *next = zmsg_next(events);
            if (!consumer_hand_again(&one->core, answer->instance, seqs[i], now_ms)) {
                zmsg_remove(events, frame);
                zframe_destroy(&frame);
                count--;
            }
            frame = next;
        }
        ald_metric_add(&consumers_repeats, (int64_t)count);
    }
    ald_metric_add(&consumers_handed, (int64_t)count);
    if (count == 0)
        return;
    answer->no = one->no;
    answer->first = seqs[0];
    answer->last = seqs[page->count - 1];
}

/* What was to come again and is not there: nobody will ever have it. */
static void consumers_missing(struct durable *one, const uint64_t *seqs, size_t count)
{
    const struct consumer_rejects none = {0};
    for (size_t i = 0; i < count; i++) {
        const struct consumer_settle gone = {
            .verb = CONSUMER_ACK, .lane = one->core.lane, .seq = seqs[i], .why = ""};
        ald_log(ALD_ERROR, "consumer.event_gone", "consumer=%s seq=%" PRIu64, one->name, seqs[i]);
        (void)consumer_settle(&one->core, -1, &gone, 0, &none);
    }
}

/* A page for whoever it was read for: into an answer, or, if nothing is in it, back to waiting. */
static void consumers_page_of(consumers_t *self, struct durable *one,
                              const struct reader_page *page, const uint64_t *seqs, zmsg_t **msg_p)
{
    struct pull *pull = one->reading;
    struct consumers_answer answer = {.instance = pull->instance};
    one->reading = NULL;
    bool purged = page->picks == 0 && page->after != one->core.handed;
    bool stale = purged || pull->closed;
    if (!stale) {
        consumers_mark(self, one, page, seqs, *msg_p, &answer);
        consumers_missing(one, seqs + page->count, page->missing);
        consumers_touch(self, one);
    }
    if (zmsg_size(*msg_p) == 0 || stale) {
        pull->next = one->first;
        one->first = pull;
        return;
    }
    zmsg_t *head = consumers_events(self, &pull->who, pull->req, one, "ok", "");
    zframe_t *frame = zmsg_last(head);
    zmsg_remove(head, frame);
    zmsg_prepend(*msg_p, &frame);
    frame = zmsg_pop(head);
    zmsg_prepend(*msg_p, &frame);
    zmsg_destroy(&head);
    answer.msg = *msg_p;
    *msg_p = NULL;
    consumers_say(self, &answer, true);
    consumers_pull_free(self, &pull);
}

void consumers_page(consumers_t *self, zmsg_t **msg_p)
{
    struct reader_page page;
    zframe_t *who = zmsg_pop(*msg_p); /* empty */
    zframe_t *head = zmsg_pop(*msg_p);
    zframe_t *seqs = zmsg_pop(*msg_p);
    uint64_t numbers[2 * CONSUMER_PAGE_MAX];
    ALD_ASSERT(seqs && zframe_size(head) == sizeof page && zframe_size(seqs) <= sizeof numbers);
    memcpy(&page, zframe_data(head), sizeof page);
    memcpy(numbers, zframe_data(seqs), zframe_size(seqs));
    struct durable *one = consumers_of(self, page.no);
    bool ours = one && one->reading && one->ticket == page.ticket;
    if (ours && page.rc != ALD_OK)
        consumers_turn_away(self, one, "busy", "The store cannot be read now; ask again.");
    else if (ours)
        consumers_page_of(self, one, &page, numbers, msg_p);
    if (ours)
        consumers_serve(self, one);
    zframe_destroy(&who);
    zframe_destroy(&head);
    zframe_destroy(&seqs);
    zmsg_destroy(msg_p);
}

/* ---- time ---- */

void consumers_tick(consumers_t *self)
{
    int64_t now_ms = tracker_now(self->tracker).run_ms;
    for (size_t i = 0; i < self->count; i++) {
        struct durable *one = self->list[i];
        struct consumers_rejecting rejecting = {self, one};
        const struct consumer_rejects rejects = {consumers_reject, &rejecting};
        if (consumer_due(&one->core, now_ms, &rejects))
            consumers_touch(self, one);
        consumers_return_due(self, one, -1, now_ms);
        consumers_serve(self, one);
    }
}

/* Of one: its leases and delays, its returns, and who waits for it. */
static int64_t consumers_rest_of(const consumers_t *self, const struct durable *one,
                                 int64_t mono_ms)
{
    const int64_t now_ms = tracker_now(self->tracker).run_ms;
    int64_t least_ms = rest_until(one->core.next_ms, now_ms);
    for (size_t i = 0; i < one->return_count; i++)
        if (one->returns[i].instance >= 0)
            least_ms = rest_less(least_ms, rest_until(one->returns[i].due_ms, now_ms));
    for (const struct pull *pull = one->first; pull && !one->reading; pull = pull->next)
        least_ms = rest_less(least_ms, pull->closed ? 0 : rest_until(pull->until_ms, mono_ms));
    return least_ms;
}

int64_t consumers_rest_ms(const consumers_t *self)
{
    const int64_t mono_ms = ald_clock_now().mono_ms;
    int64_t least_ms = self->dirty || self->owed || self->woken ? 0 : REST_NOTHING;
    for (size_t i = 0; i < self->count && least_ms > 0; i++)
        least_ms = rest_less(least_ms, consumers_rest_of(self, self->list[i], mono_ms));
    return least_ms;
}
