#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/client/turn.h"

enum { LOOP_IDLE_MS = 10000, LOOP_SILENT_MAX = 2 };

static void loop_turn(aldaba_t *self, int64_t now_ms)
{
    if (handle_is_durable(self))
        durable_turn(self, now_ms);
    else
        live_turn(self, now_ms);
}

static void loop_lost(aldaba_t *self)
{
    if (handle_is_durable(self))
        durable_lost(self);
    else
        live_lost(self);
}

/* A live connection that does not answer is left: what was asked there is not to be waited for, and
 * answers that are later still can't come any more. */
static void loop_renew(aldaba_t *self)
{
    if (self->silent < LOOP_SILENT_MAX && self->bus.consume.socket)
        return;
    self->silent = 0;
    loop_lost(self);
    handle_connected(self, false, "The tracker does not answer.");
    if (bus_renew(&self->bus, &self->bus.consume) != ALD_OK)
        handle_log(self, 0, "no socket can be made; it is tried again");
}

static long loop_wait_ms(const aldaba_t *self, int64_t now_ms)
{
    int64_t wakes_ms = handle_is_durable(self) ? durable_wakes_ms(self) : live_wakes_ms(self);
    int64_t wait_ms = wakes_ms - now_ms;
    if (wakes_ms == INT64_MAX || wait_ms > LOOP_IDLE_MS)
        return LOOP_IDLE_MS;
    return wait_ms > 0 ? (long)wait_ms : 0;
}

static void loop_look(aldaba_t *self)
{
    uint64_t epoch = self->bus.consume.epoch;
    if (bus_look(&self->bus.consume)) {
        loop_lost(self);
        self->silent = 0;
        if (!self->bus.consume.up)
            handle_connected(self, false, "The tracker is not there.");
        if (self->bus.consume.epoch != epoch)
            handle_log(self, 1, "connected to %s", self->bus.consume.endpoint);
    }
    if (bus_look(&self->bus.feed) && self->bus.feed.up)
        live_feed_changed(self);
}

/* Decode a message of `consume`. False: it is none that is known. */
static bool loop_read(struct bus_message *message, struct page *page)
{
    struct ald_span head = bus_frame_span(&message->frames[0]);
    page->is_answer = ald_wire_is(&MSG_ANSWER, head);
    page->spoilt = false;
    page->items = (struct item_list){0};
    if (page->is_answer) {
        if (message->count < 2 || ald_wire_decode(&MSG_CONSUMER, &page->consumer,
                                                  bus_frame_span(&message->frames[1])) != ALD_OK)
            page->consumer = (struct msg_consumer){0};
        return ald_wire_decode(&MSG_ANSWER, &page->answer, head) == ALD_OK;
    }
    if (ald_wire_decode(&MSG_EVENTS, &page->events, head) != ALD_OK)
        return false;
    for (size_t i = 1; i < message->count; i++) {
        struct item *item = item_of(&message->frames[i]);
        if (item)
            item_push(&page->items, item);
        page->spoilt = page->spoilt || !item;
    }
    return true;
}

static void loop_consume(aldaba_t *self, struct page *page)
{
    struct bus_message message;
    while (self->bus.consume.socket && bus_receive(&self->bus.consume, &message)) {
        if (loop_read(&message, page)) {
            (void)pthread_mutex_lock(&self->lock);
            self->silent = 0;
            int64_t now_ms = ald_clock_now().mono_ms;
            if (handle_is_durable(self))
                durable_page(self, page, now_ms);
            else
                live_page(self, page, now_ms);
            handle_ready(self);
            (void)pthread_mutex_unlock(&self->lock);
            item_list_free(&page->items);
        } else {
            handle_log(self, 0, "a message of the tracker could not be read");
        }
        bus_message_free(&message);
    }
}

/* A topic, then a head or an event. */
static void loop_hear(aldaba_t *self, struct bus_message *message)
{
    struct msg_head head;
    struct ald_span bytes = bus_frame_span(&message->frames[1]);
    bool is_head = ald_wire_is(&MSG_HEAD, bytes);
    struct item *item = is_head ? NULL : item_of(&message->frames[1]);
    (void)pthread_mutex_lock(&self->lock);
    if (item)
        live_hint(self, item);
    else if (is_head && ald_wire_decode(&MSG_HEAD, &head, bytes) == ALD_OK)
        live_head(self, &head);
    else
        self->live.behind = true; /* whatever it was: the feed itself is asked */
    handle_ready(self);
    (void)pthread_mutex_unlock(&self->lock);
}

static void loop_feed(aldaba_t *self)
{
    struct bus_message message;
    while (self->bus.feed.socket && bus_receive(&self->bus.feed, &message)) {
        if (message.count >= 2)
            loop_hear(self, &message);
        bus_message_free(&message);
    }
}

/* What the program did meanwhile is seen in the turn that follows. */
static void loop_woken(aldaba_t *self)
{
    uint64_t count;
    (void)pthread_mutex_lock(&self->lock);
    if (self->woken && read(self->wake_fd, &count, sizeof count) == (ssize_t)sizeof count)
        self->woken = false;
    (void)pthread_mutex_unlock(&self->lock);
}

void *loop_run(void *arg)
{
    aldaba_t *self = arg;
    struct page page;
    for (;;) {
        (void)pthread_mutex_lock(&self->lock);
        loop_look(self);
        loop_turn(self, ald_clock_now().mono_ms);
        loop_renew(self);
        handle_ready(self);
        long wait_ms = loop_wait_ms(self, ald_clock_now().mono_ms);
        bool ends = self->ending;
        (void)pthread_mutex_unlock(&self->lock);
        if (ends)
            return NULL;
        bus_wait(&self->bus, self->wake_fd, wait_ms);
        loop_woken(self);
        loop_consume(self, &page);
        loop_feed(self);
    }
}
