#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/client/handle.h"

static bool client_forked(const aldaba_t *self)
{
    return self->pid != getpid();
}

/* The next one to give: what was settled by its name while it waited is passed over. */
static struct item *client_pop(aldaba_t *self)
{
    struct item *item = item_pop(&self->queue);
    while (item && handle_is_durable(self) && item->gap_before[0] == '\0' &&
           !held_give(&self->held, item->event.lane, item->event.seq)) {
        item_free(item);
        item = item_pop(&self->queue);
    }
    return item;
}

/* News, an event, or nothing; under lock. */
static enum aldaba_rc client_take(aldaba_t *self, const struct aldaba_event **event)
{
    item_free(self->current);
    self->current = NULL;
    if (self->changed) {
        self->changed = false;
        return ALDABA_CHANGED;
    }
    bool was_low = handle_is_low(self);
    struct item *item = client_pop(self);
    if (!item)
        return self->refused ? ALDABA_REFUSED : ALDABA_NONE;
    if (self->queue.count == 0 || was_low != handle_is_low(self))
        handle_wake(self);
    self->current = item;
    if (item->gap_before[0] != '\0') {
        memcpy(self->gap_before, item->gap_before, sizeof self->gap_before);
        memcpy(self->gap_why, item->gap_why, sizeof self->gap_why);
        memcpy(self->durable.gap_seen, item->gap_before, sizeof self->durable.gap_seen);
        return ALDABA_GAP;
    }
    if (!handle_is_durable(self))
        memcpy(self->live.given, item->position, sizeof self->live.given);
    *event = &item->event;
    return ALDABA_OK;
}

static enum aldaba_rc client_try(aldaba_t *self, int64_t now_ms, const struct aldaba_event **event)
{
    (void)pthread_mutex_lock(&self->lock);
    self->called_ms = now_ms;
    enum aldaba_rc rc = client_take(self, event);
    handle_ready(self);
    (void)pthread_mutex_unlock(&self->lock);
    return rc;
}

enum aldaba_rc aldaba_next(aldaba_t *self, int wait_ms, const struct aldaba_event **event)
{
    if (!event)
        return ALDABA_INVALID;
    *event = NULL;
    if (!self)
        return ALDABA_INVALID;
    if (client_forked(self))
        return ALDABA_FORKED;
    int64_t now_ms = ald_clock_now().mono_ms;
    int64_t end_ms = now_ms + wait_ms;
    for (;;) {
        enum aldaba_rc rc = client_try(self, now_ms, event);
        if (rc != ALDABA_NONE || (wait_ms >= 0 && now_ms >= end_ms))
            return rc;
        struct pollfd ready = {.fd = self->ready_fd, .events = POLLIN};
        if (poll(&ready, 1, wait_ms < 0 ? -1 : (int)(end_ms - now_ms)) < 0)
            return ALDABA_NONE;
        now_ms = ald_clock_now().mono_ms;
    }
}

int aldaba_fd(const aldaba_t *self)
{
    return self && !client_forked(self) ? self->ready_fd : -1;
}

struct aldaba_event *aldaba_event_copy(const struct aldaba_event *event)
{
    struct item *item = event ? item_copy(event) : NULL;
    return item ? &item->event : NULL;
}

void aldaba_event_free(struct aldaba_event *event)
{
    item_free((struct item *)(void *)event); /* an item begins with its event */
}

/* May this handle settle? */
static enum aldaba_rc client_settles(const aldaba_t *self)
{
    if (!self || !handle_is_durable(self))
        return ALDABA_INVALID;
    return client_forked(self) ? ALDABA_FORKED : ALDABA_OK;
}

/* And note that the program is at work. */
static void client_lock(aldaba_t *self)
{
    int64_t now_ms = ald_clock_now().mono_ms;
    (void)pthread_mutex_lock(&self->lock);
    self->called_ms = now_ms;
}

static enum aldaba_rc client_settle(aldaba_t *self, uint64_t lane, uint64_t seq,
                                    enum held_verb verb, int64_t delay_ms, const char *reason)
{
    enum aldaba_rc may = client_settles(self);
    if (may != ALDABA_OK)
        return may;
    if (delay_ms < 0 || seq == 0 || ((lane | seq) >> 53) != 0)
        return ALDABA_INVALID;
    client_lock(self);
    enum ald_rc rc = held_settle(&self->held, lane, seq, verb, delay_ms, reason);
    if (rc == ALD_OK && verb == HELD_NACK && self->durable.ordered) {
        item_drop_behind(&self->queue, lane, seq);
        held_drop_behind(&self->held, lane, seq);
        handle_ready(self);
    }
    handle_wake(self);
    (void)pthread_mutex_unlock(&self->lock);
    return rc == ALD_OK ? ALDABA_OK : ALDABA_FULL;
}

enum aldaba_rc aldaba_ack(aldaba_t *self, uint64_t lane, uint64_t seq)
{
    return client_settle(self, lane, seq, HELD_ACK, 0, NULL);
}

enum aldaba_rc aldaba_nack(aldaba_t *self, uint64_t lane, uint64_t seq, int64_t delay_ms,
                           const char *reason)
{
    return client_settle(self, lane, seq, HELD_NACK, delay_ms, reason);
}

enum aldaba_rc aldaba_reject(aldaba_t *self, uint64_t lane, uint64_t seq, const char *reason)
{
    return client_settle(self, lane, seq, HELD_REJECT, 0, reason);
}

enum aldaba_rc aldaba_ack_to(aldaba_t *self, uint64_t lane, uint64_t seq)
{
    enum aldaba_rc may = client_settles(self);
    if (may != ALDABA_OK)
        return may;
    client_lock(self);
    held_ack_to(&self->held, lane, seq);
    handle_wake(self);
    (void)pthread_mutex_unlock(&self->lock);
    return ALDABA_OK;
}

enum aldaba_rc aldaba_extend(aldaba_t *self, uint64_t lane, uint64_t seq, int64_t for_ms)
{
    enum aldaba_rc may = client_settles(self);
    if (may != ALDABA_OK)
        return may;
    client_lock(self);
    enum ald_rc rc =
        for_ms < 0 ? ALD_INVALID
                   : held_extend(&self->held, lane, seq, for_ms > 0 ? for_ms : self->ack_wait_ms);
    handle_wake(self);
    (void)pthread_mutex_unlock(&self->lock);
    return rc == ALD_OK ? ALDABA_OK : ALDABA_INVALID;
}

/* As many fields as the caller knows: later versions append. */
static void client_fill(struct aldaba_status *status, const struct aldaba_status *full)
{
    size_t size = status->size < sizeof *full ? status->size : sizeof *full;
    memcpy((char *)status + sizeof status->size, (const char *)full + sizeof status->size,
           size - sizeof status->size);
}

enum aldaba_rc aldaba_status(const aldaba_t *self, struct aldaba_status *status)
{
    if (!self || !status || status->size < sizeof status->size)
        return ALDABA_INVALID;
    if (client_forked(self))
        return ALDABA_FORKED;
    struct aldaba_status full = {0};
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&self->lock;
    (void)pthread_mutex_lock(lock);
    full.connected = self->connected;
    full.refused = self->refused;
    full.waiting = self->queue.count;
    full.given = self->held.given;
    full.unsettled = self->held.words;
    if (!handle_is_durable(self))
        memcpy(full.position, self->queue.count == 0 ? self->live.chain.position : self->live.given,
               sizeof full.position);
    memcpy(full.gap_before, self->gap_before, sizeof full.gap_before);
    memcpy(full.gap_why, self->gap_why, sizeof full.gap_why);
    memcpy(full.text, self->text, sizeof full.text);
    (void)pthread_mutex_unlock(lock);
    client_fill(status, &full);
    return ALDABA_OK;
}

const char *aldaba_rc_name(enum aldaba_rc rc)
{
    switch (rc) {
    case ALDABA_OK:
        return "ok";
    case ALDABA_NONE:
        return "none";
    case ALDABA_GAP:
        return "gap";
    case ALDABA_CHANGED:
        return "changed";
    case ALDABA_LATE:
        return "late";
    case ALDABA_INVALID:
        return "invalid";
    case ALDABA_REFUSED:
        return "refused";
    case ALDABA_SYSTEM:
        return "system";
    case ALDABA_FULL:
        return "full";
    case ALDABA_FORKED:
        return "forked";
    }
    return "?";
}

const char *aldaba_version(void)
{
    return ALDABA_VERSION;
}
