#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/client/turn.h"

enum {
    LIVE_FETCH_MAX = 500, /* events of a fetch */
    LIVE_HINTS_MAX = 500, /* kept while a fetch is under way */
    LIVE_HINT_BYTES = 1024 * 1024,
    LIVE_SILENT_MS = 3000, /* heads come each second: without them the feed is fetched */
    LIVE_ASK_MS = 1000
};

static size_t live_room(const aldaba_t *self)
{
    return self->buffer > self->queue.count ? self->buffer - self->queue.count : 0;
}

static bool live_is_full(const aldaba_t *self)
{
    return live_room(self) == 0 || handle_room_bytes(self) == 0;
}

static void live_fetch(aldaba_t *self, int64_t now_ms)
{
    size_t room = live_room(self);
    struct msg_fetch fetch = {.req = ++self->last_req,
                              .limit = room < LIVE_FETCH_MAX ? room : LIVE_FETCH_MAX,
                              .bytes = handle_room_bytes(self)};
    memcpy(fetch.after, self->live.chain.position, sizeof fetch.after);
    memcpy(fetch.provider, self->provider, sizeof fetch.provider);
    memcpy(fetch.state, self->state, sizeof fetch.state);
    if (handle_send(self, &MSG_FETCH, &fetch, false))
        ask_sent(&self->live.fetch, fetch.req, now_ms, 0);
}

void live_turn(aldaba_t *self, int64_t now_ms)
{
    struct live *live = &self->live;
    if (live->paused && handle_is_low(self)) {
        live->paused = false;
        live->behind = true;
    }
    if (!self->bus.consume.up || self->refused)
        return;
    if (ask_overdue(&live->fetch, now_ms)) {
        self->silent++;
        live->behind = true;
    }
    if (now_ms - live->heard_ms >= LIVE_SILENT_MS) {
        live->heard_ms = now_ms - LIVE_SILENT_MS + LIVE_ASK_MS;
        live->behind = true;
    }
    if (live->behind && !live->paused && ask_due(&live->fetch, now_ms))
        live_fetch(self, now_ms);
}

int64_t live_wakes_ms(const aldaba_t *self)
{
    if (!self->bus.consume.up || self->refused)
        return INT64_MAX;
    int64_t wakes_ms = ask_wakes_ms(&self->live.fetch);
    int64_t silent_ms = self->live.heard_ms + LIVE_SILENT_MS;
    return wakes_ms < silent_ms ? wakes_ms : silent_ms;
}

void live_lost(aldaba_t *self)
{
    ask_reset(&self->live.fetch);
    self->live.behind = true;
}

void live_feed_changed(aldaba_t *self)
{
    self->live.behind = true;
}

void live_head(aldaba_t *self, const struct msg_head *head)
{
    self->live.heard_ms = ald_clock_now().mono_ms;
    if (chain_head(&self->live.chain, head->position))
        self->live.behind = true;
}

/* Which event came before it, among those that this subscription hears. */
static uint64_t live_prev(const aldaba_t *self, const struct msg_event *event)
{
    if (self->provider[0] == '\0')
        return event->prev_all;
    return self->state[0] == '\0' ? event->prev_provider : event->prev;
}

/* A state without a provider is no topic: all is heard, and what is not wanted moves the place. */
static bool live_wants(const aldaba_t *self, const struct msg_event *event)
{
    return (self->provider[0] == '\0' || strcmp(self->provider, event->provider) == 0) &&
           (self->state[0] == '\0' || strcmp(self->state, event->state) == 0);
}

static void live_keep(struct live *live, struct item *item)
{
    bool room = live->hints.count < LIVE_HINTS_MAX &&
                live->hints.bytes + item->event.result_bytes <= LIVE_HINT_BYTES;
    if (room)
        item_push(&live->hints, item);
    else
        item_free(item); /* the page does not reach so far: the next head tells */
}

void live_hint(aldaba_t *self, struct item *item)
{
    struct live *live = &self->live;
    const struct msg_event *event = &item->message;
    live->heard_ms = ald_clock_now().mono_ms;
    if (live->behind || live->fetch.req != 0) {
        live_keep(live, item);
        return;
    }
    enum chain_verdict verdict = live->paused ? CHAIN_KNOWN
                                              : chain_hint(&live->chain, event->lane, event->seq,
                                                           live_prev(self, event), event->position);
    if (verdict == CHAIN_FETCH) {
        live->behind = true;
        live_keep(live, item);
    } else if (verdict == CHAIN_GIVE && live_wants(self, event)) {
        item_place(item, event->position);
        handle_queue(self, item);
        live->paused = live_is_full(self);
    } else {
        item_free(item);
    }
}

/* Hints that came meanwhile: most are in the page, and the others follow it. */
static void live_hints(aldaba_t *self)
{
    struct item_list hints = self->live.hints;
    self->live.hints = (struct item_list){0};
    for (struct item *item = item_pop(&hints); item; item = item_pop(&hints))
        live_hint(self, item);
}

static void live_gap(aldaba_t *self, const struct msg_events *events)
{
    struct item *item = events->gap ? item_gap(self->live.chain.position, events->gap_why) : NULL;
    if (item)
        handle_queue(self, item);
}

/* An event has the place that is safe to begin at again once it has been given: the last one of the
 * page that of its end, those before it that of its beginning. */
static void live_events(aldaba_t *self, struct page *page)
{
    struct live *live = &self->live;
    const struct msg_events *events = &page->events;
    live_gap(self, events);
    for (struct item *item = item_pop(&page->items); item; item = item_pop(&page->items)) {
        if (chain_event(&live->chain, item->event.lane, item->event.seq)) {
            item_place(item, page->items.count == 0 ? events->position : live->chain.position);
            handle_queue(self, item);
        } else {
            item_free(item);
        }
    }
    bool moved = chain_head(&live->chain, events->position);
    chain_page(&live->chain, events->position);
    live->behind = moved && events->head[0] != '\0' && chain_head(&live->chain, events->head);
    live->paused = live_is_full(self);
    live_hints(self);
}

void live_page(aldaba_t *self, struct page *page, int64_t now_ms)
{
    struct live *live = &self->live;
    if (page->is_answer || page->events.req != live->fetch.req)
        return;
    const char *rc = page->events.rc;
    if (strcmp(rc, "ok") == 0 && !page->spoilt) {
        ask_done(&live->fetch);
        handle_connected(self, true, "");
        live_events(self, page);
        return;
    }
    ask_busy(&live->fetch, now_ms);
    live->behind = true;
    if (page->spoilt)
        handle_connected(self, false,
                         "An event could not be read: is the tracker newer than libaldaba?");
    else if (strcmp(rc, "invalid") == 0)
        handle_refuse(self, page->events.detail[0] ? page->events.detail : "no such position");
}
