#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/client/turn.h"

enum {
    DURABLE_PULL_MAX = 1000,     /* events of a pull */
    DURABLE_WAIT_MS = 5000,      /* of a pull: a tracker that starts forgets who waits */
    DURABLE_WORDS_MAX = 1000,    /* of a settle request */
    DURABLE_ACK_WAIT_MS = 30000, /* when nobody said otherwise */
    DURABLE_EXTENDS = 3          /* so often in ack_wait what waits is extended */
};

static void durable_open(aldaba_t *self, int64_t now_ms)
{
    struct msg_consumer_open open = {.req = ++self->last_req,
                                     .max_deliver = self->max_deliver,
                                     .ack_wait_ms = self->asked_wait_ms,
                                     .max_ack_pending = self->max_ack_pending};
    memcpy(open.consumer, self->consumer, sizeof open.consumer);
    memcpy(open.provider, self->provider, sizeof open.provider);
    memcpy(open.state, self->state, sizeof open.state);
    memcpy(open.from, self->from, sizeof open.from);
    memcpy(open.mode, self->mode, sizeof open.mode);
    if (handle_send(self, &MSG_CONSUMER_OPEN, &open, false))
        ask_sent(&self->durable.enter, open.req, now_ms, 0);
}

/* The words of a settle request, as frames: one is kept back until it is known that it is the last.
 */
struct durable_words {
    aldaba_t *self;
    struct msg_settle last;
    bool any;
    bool sent;
};

static const char *const durable_verbs[] = {
    [HELD_ACK] = "ack",       [HELD_NACK] = "nack",       [HELD_REJECT] = "reject",
    [HELD_EXTEND] = "extend", [HELD_RELEASE] = "release",
};

static void durable_say(void *arg, const struct held_word *word)
{
    struct durable_words *words = arg;
    if (words->any)
        words->sent = words->sent && handle_send(words->self, &MSG_SETTLE, &words->last, true);
    words->any = true;
    words->last = (struct msg_settle){
        .lane = word->lane, .seq = word->seq, .first = word->first, .delay_ms = word->delay_ms};
    ald_text_cut(words->last.verb, sizeof words->last.verb,
                 ald_span_str(durable_verbs[word->verb]));
    ald_text_cut(words->last.reason, sizeof words->last.reason, ald_span_str(word->reason));
}

static void durable_settle(aldaba_t *self, int64_t now_ms)
{
    struct msg_settles settles = {.req = ++self->last_req};
    memcpy(settles.consumer, self->consumer, sizeof settles.consumer);
    memcpy(settles.instance, self->instance, sizeof settles.instance);
    if (!handle_send(self, &MSG_SETTLES, &settles, true))
        return; /* not connected any more, as the monitor will say */
    struct durable_words words = {.self = self, .sent = true};
    (void)held_say(&self->held, settles.req, DURABLE_WORDS_MAX, durable_say, &words);
    (void)handle_send(self, &MSG_SETTLE, &words.last, false);
    ask_sent(&self->durable.settle, settles.req, now_ms, 0);
}

/* This instance gives back what it holds: at its end, and at its start what an earlier run held. At
 * its end it knows what nobody has seen: that is not counted, and need not be alone. */
static void durable_give_back(aldaba_t *self, int64_t now_ms)
{
    struct msg_consumer_ref close = {.req = ++self->last_req};
    memcpy(close.consumer, self->consumer, sizeof close.consumer);
    memcpy(close.instance, self->instance, sizeof close.instance);
    const bool knows = self->closing && self->held.count > 0;
    if (!handle_send(self, &MSG_CONSUMER_CLOSE, &close, knows))
        return;
    struct durable_words words = {.self = self, .sent = true};
    if (knows) {
        (void)held_say_unseen(&self->held, DURABLE_WORDS_MAX, durable_say, &words);
        (void)handle_send(self, &MSG_SETTLE, &words.last, false);
    }
    ask_sent(&self->durable.enter, close.req, now_ms, 0);
}

/* Few large pulls rather than many small ones, unless the program has nothing to do. */
static bool durable_wants(const aldaba_t *self)
{
    size_t room = self->buffer > self->held.count ? self->buffer - self->held.count : 0;
    if (room == 0 || self->refused || self->closing)
        return false;
    return self->queue.count == 0 || (room >= self->buffer / 4 && handle_is_low(self));
}

/* The first one on a connection does not wait, so that it is known that somebody answers. */
static void durable_pull(aldaba_t *self, int64_t now_ms)
{
    int64_t wait_ms = self->connected ? DURABLE_WAIT_MS : 0;
    size_t room = self->buffer - self->held.count;
    struct msg_pull pull = {.req = ++self->last_req,
                            .limit = room < DURABLE_PULL_MAX ? room : DURABLE_PULL_MAX,
                            .bytes = handle_room_bytes(self) + 1,
                            .wait_ms = wait_ms};
    memcpy(pull.consumer, self->consumer, sizeof pull.consumer);
    memcpy(pull.instance, self->instance, sizeof pull.instance);
    memcpy(pull.gap_seen, self->durable.gap_seen, sizeof pull.gap_seen);
    if (handle_send(self, &MSG_PULL, &pull, false))
        ask_sent(&self->durable.pull, pull.req, now_ms, wait_ms);
}

/* What waits here must not come again elsewhere because the program is slow; but a program that
 * stands still does not keep it from others. */
static void durable_extend(aldaba_t *self, int64_t now_ms)
{
    struct durable *durable = &self->durable;
    if (now_ms < durable->extend_at_ms)
        return;
    durable->extend_at_ms = now_ms + self->ack_wait_ms / DURABLE_EXTENDS;
    if (now_ms - self->called_ms < self->ack_wait_ms)
        held_extend_waiting(&self->held, self->ack_wait_ms);
}

static void durable_overdue(aldaba_t *self, int64_t now_ms)
{
    struct durable *durable = &self->durable;
    self->silent += ask_overdue(&durable->enter, now_ms);
    self->silent += ask_overdue(&durable->pull, now_ms);
    if (!ask_overdue(&durable->settle, now_ms))
        return;
    self->silent++;
    held_unheard(&self->held);
}

static void durable_closed(aldaba_t *self)
{
    self->durable.phase = PHASE_CLOSED;
    (void)pthread_cond_broadcast(&self->settled);
}

static void durable_run(aldaba_t *self, int64_t now_ms)
{
    struct durable *durable = &self->durable;
    durable_extend(self, now_ms);
    if (ask_due(&durable->settle, now_ms) && self->held.said > 0)
        durable_settle(self, now_ms);
    if (ask_due(&durable->pull, now_ms) && durable_wants(self))
        durable_pull(self, now_ms);
    if (self->closing && ask_due(&durable->enter, now_ms))
        durable_give_back(self, now_ms);
}

void durable_turn(aldaba_t *self, int64_t now_ms)
{
    struct durable *durable = &self->durable;
    bool runs = durable->phase == PHASE_RUN && !self->refused;
    if (self->closing && durable->phase != PHASE_CLOSED && !(runs && self->bus.consume.up))
        durable_closed(self); /* there is nothing to give back, or nobody to give it to */
    if (!self->bus.consume.up || self->refused)
        return;
    durable_overdue(self, now_ms);
    if (runs)
        durable_run(self, now_ms);
    else if (durable->phase == PHASE_OPEN && ask_due(&durable->enter, now_ms))
        durable_open(self, now_ms);
    else if (durable->phase == PHASE_TAKE_BACK && ask_due(&durable->enter, now_ms))
        durable_give_back(self, now_ms);
}

static int64_t durable_sooner(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

int64_t durable_wakes_ms(const aldaba_t *self)
{
    const struct durable *durable = &self->durable;
    if (!self->bus.consume.up || self->refused)
        return INT64_MAX;
    int64_t wakes_ms = ask_wakes_ms(&durable->enter);
    wakes_ms = durable_sooner(wakes_ms, ask_wakes_ms(&durable->settle));
    wakes_ms = durable_sooner(wakes_ms, ask_wakes_ms(&durable->pull));
    if (durable->phase == PHASE_RUN && self->held.count > self->held.words)
        wakes_ms = durable_sooner(wakes_ms, durable->extend_at_ms);
    return wakes_ms;
}

void durable_lost(aldaba_t *self)
{
    ask_reset(&self->durable.enter);
    ask_reset(&self->durable.settle);
    ask_reset(&self->durable.pull);
    held_unheard(&self->held);
}

static void durable_refused(aldaba_t *self, const char *rc, const char *detail)
{
    char text[ALD_TEXT_MAX];
    (void)snprintf(text, sizeof text, "consumer %.64s: %.32s%s%.120s", self->consumer, rc,
                   detail[0] ? ": " : "", detail);
    handle_refuse(self, text);
}

/* For good? Words that are not known are taken for "not now", since asking again harms nothing.
 * There may be too many instances now, but too many consumers stay too many. */
static bool durable_is_final(const aldaba_t *self, const char *rc)
{
    static const char *const final[] = {"conflict", "invalid", "notfound"};
    for (size_t i = 0; i < ALD_COUNT(final); i++)
        if (strcmp(rc, final[i]) == 0)
            return true;
    return strcmp(rc, "full") == 0 && self->durable.phase == PHASE_OPEN;
}

static bool durable_ok(aldaba_t *self, struct ask *ask, const char *rc, const char *detail,
                       int64_t now_ms)
{
    if (strcmp(rc, "ok") == 0 || strcmp(rc, "exists") == 0) {
        ask_done(ask);
        handle_connected(self, true, "");
        return true;
    }
    ask_busy(ask, now_ms);
    if (durable_is_final(self, rc))
        durable_refused(self, rc, detail);
    else
        handle_connected(self, self->connected, detail[0] ? detail : rc);
    return false;
}

static void durable_opened(aldaba_t *self, const struct msg_consumer *consumer, int64_t now_ms)
{
    struct durable *durable = &self->durable;
    const char *mode = consumer->mode[0] ? consumer->mode : self->mode;
    durable->ordered = strcmp(mode, "ordered") == 0;
    self->ack_wait_ms = consumer->ack_wait_ms > 0 ? consumer->ack_wait_ms
                        : self->asked_wait_ms > 0 ? self->asked_wait_ms
                                                  : DURABLE_ACK_WAIT_MS;
    durable->extend_at_ms = now_ms + self->ack_wait_ms / DURABLE_EXTENDS;
    durable->phase = self->comes_again ? PHASE_TAKE_BACK : PHASE_RUN;
}

static void durable_entered(aldaba_t *self, const struct page *page, int64_t now_ms)
{
    struct durable *durable = &self->durable;
    if (!durable_ok(self, &durable->enter, page->answer.rc, page->answer.detail, now_ms))
        return;
    if (self->closing)
        durable_closed(self);
    else if (durable->phase == PHASE_OPEN)
        durable_opened(self, &page->consumer, now_ms);
    else
        durable->phase = PHASE_RUN;
}

static void durable_settled(aldaba_t *self, const struct page *page, int64_t now_ms)
{
    if (durable_ok(self, &self->durable.settle, page->answer.rc, page->answer.detail, now_ms))
        held_confirmed(&self->held, page->answer.req);
    else
        held_unheard(&self->held);
    (void)pthread_cond_broadcast(&self->settled);
}

static void durable_gap(aldaba_t *self, const struct msg_events *events)
{
    struct durable *durable = &self->durable;
    if (events->gap_before[0] == '\0' || strcmp(events->gap_before, durable->gap_told) == 0)
        return;
    struct item *item = item_gap(events->gap_before, events->gap_why);
    if (!item)
        return; /* it is said again */
    memcpy(durable->gap_told, events->gap_before, sizeof durable->gap_told);
    handle_queue(self, item);
}

/* Events are taken from whichever pull they answer: they are handed out to this instance, and a
 * late answer brings them no second time. */
static void durable_events(aldaba_t *self, struct page *page)
{
    durable_gap(self, &page->events);
    for (struct item *item = item_pop(&page->items); item; item = item_pop(&page->items)) {
        bool room = self->held.count < 2 * self->buffer && !self->closing;
        if (room && held_arrived(&self->held, item->event.lane, item->event.seq))
            handle_queue(self, item);
        else
            item_free(item);
    }
    if (page->spoilt)
        handle_log(self, 0, "an event could not be read: is the tracker newer than libaldaba %s?",
                   ALDABA_VERSION);
}

void durable_page(aldaba_t *self, struct page *page, int64_t now_ms)
{
    struct durable *durable = &self->durable;
    if (page->is_answer) {
        if (page->answer.req == durable->enter.req)
            durable_entered(self, page, now_ms);
        else if (page->answer.req == durable->settle.req)
            durable_settled(self, page, now_ms);
        return;
    }
    bool asked = page->events.req == durable->pull.req;
    if (asked && !durable_ok(self, &durable->pull, page->events.rc, page->events.detail, now_ms))
        return;
    if (durable->phase == PHASE_RUN)
        durable_events(self, page);
}
