#include <string.h>

#include "services/tracker/consumers/consumer_inside.h"

static void consumer_end(struct consumer *self, struct consumer_entry *entry)
{
    consumer_move(self, entry, CONSUMER_SETTLED, CONSUMER_NOBODY);
}

static void consumer_reject(struct consumer *self, struct consumer_entry *entry, const char *why,
                            const struct consumer_rejects *rejects)
{
    consumer_end(self, entry);
    self->rejected++;
    rejects->fn(rejects->context, entry->seq, entry->count, why);
}

/* A lease is over without a word. */
static void consumer_lapse(struct consumer *self, struct consumer_entry *entry, uint8_t holder,
                           int64_t now_ms, const struct consumer_rejects *rejects)
{
    if (entry->count >= self->rules.max_deliver) {
        consumer_reject(self, entry, "", rejects);
        return;
    }
    consumer_wait(self, entry, holder, now_ms);
    entry->suspect = true;
}

/* ---- settling ---- */

/* Had the instance it last? Nobody else's is its to say of but that it was dealt with. */
static bool consumer_own(const struct consumer_entry *entry, int instance)
{
    return entry->holder == instance;
}

static void consumer_nack(struct consumer *self, struct consumer_entry *entry,
                          const struct consumer_settle *settle, int64_t now_ms,
                          const struct consumer_rejects *rejects)
{
    if (entry->count >= self->rules.max_deliver) {
        consumer_reject(self, entry, settle->why, rejects);
        return;
    }
    consumer_wait(self, entry, CONSUMER_NOBODY, now_ms + settle->delay_ms);
    entry->suspect = false; /* who says so is alive */
    entry->free = false;
}

static void consumer_extend(struct consumer *self, struct consumer_entry *entry, int64_t due_ms)
{
    entry->due_ms = due_ms;
    consumer_next(self, due_ms);
}

static bool consumer_settle_one(struct consumer *self, int instance, struct consumer_entry *entry,
                                const struct consumer_settle *settle, int64_t now_ms,
                                const struct consumer_rejects *rejects)
{
    int64_t more_ms = settle->delay_ms > 0 ? settle->delay_ms : self->rules.ack_wait_ms;
    switch (settle->verb) {
    case CONSUMER_ACK:
        consumer_end(self, entry);
        return true;
    case CONSUMER_REJECT:
        consumer_reject(self, entry, settle->why, rejects);
        return true;
    case CONSUMER_NACK:
        if (!consumer_own(entry, instance))
            return false;
        consumer_nack(self, entry, settle, now_ms, rejects);
        return true;
    case CONSUMER_EXTEND:
        if (entry->state == CONSUMER_LEASED && entry->holder == instance)
            consumer_extend(self, entry, now_ms + more_ms);
        return false; /* leases are not written */
    case CONSUMER_RELEASE:
        if (entry->state != CONSUMER_LEASED || entry->holder != instance)
            return false;
        consumer_wait(self, entry, CONSUMER_NOBODY, now_ms);
        entry->free = true;
        return true;
    }
    return false;
}

/* In order, what was handed out is one whole: it comes back as one, and lasts as one. */
static void consumer_rest(struct consumer *self, enum consumer_verb verb, int64_t now_ms,
                          int64_t more_ms)
{
    for (size_t i = self->first; i < self->end; i++) {
        struct consumer_entry *entry = &self->flight[i];
        if (entry->state != CONSUMER_LEASED)
            continue;
        if (verb == CONSUMER_EXTEND) {
            consumer_extend(self, entry, now_ms + more_ms);
        } else {
            consumer_wait(self, entry, CONSUMER_NOBODY, now_ms);
            entry->free = true; /* nobody has said that it failed */
        }
    }
}

static bool consumer_has(const struct consumer *self, uint64_t first, uint64_t last, int instance)
{
    for (size_t i = consumer_find(self, first); i < self->end && self->flight[i].seq <= last; i++)
        if (self->flight[i].state == CONSUMER_LEASED && self->flight[i].holder == instance)
            return true;
    return false;
}

bool consumer_settle(struct consumer *self, int instance, const struct consumer_settle *settle,
                     int64_t now_ms, const struct consumer_rejects *rejects)
{
    if (settle->lane != self->lane)
        return false; /* of a history that this store does not go on with */
    bool changed = false;
    bool range = settle->first != 0;
    uint64_t first = range ? settle->first : settle->seq;
    bool when = settle->verb != CONSUMER_ACK && settle->verb != CONSUMER_REJECT;
    bool whole = self->rules.ordered && when && consumer_has(self, first, settle->seq, instance);
    for (size_t i = consumer_find(self, first); i < self->end && self->flight[i].seq <= settle->seq;
         i++) {
        struct consumer_entry *entry = &self->flight[i];
        if (entry->state == CONSUMER_SETTLED || (range && !consumer_own(entry, instance)))
            continue;
        changed |= consumer_settle_one(self, instance, entry, settle, now_ms, rejects);
    }
    if (whole)
        consumer_rest(self, settle->verb, now_ms,
                      settle->delay_ms > 0 ? settle->delay_ms : self->rules.ack_wait_ms);
    consumer_trim(self);
    return changed;
}

/* ---- ends of leases ---- */

void consumer_release(struct consumer *self, int64_t now_ms)
{
    for (size_t i = self->first; i < self->end; i++) {
        if (self->flight[i].state != CONSUMER_LEASED)
            continue;
        consumer_wait(self, &self->flight[i], CONSUMER_NOBODY, now_ms);
        self->flight[i].free = true;
    }
}

/* Of one instance (or -1: of all) the leases that are over by now_ms, or all of them. */
static bool consumer_take_back(struct consumer *self, int instance, bool all, int64_t now_ms,
                               const struct consumer_rejects *rejects)
{
    bool changed = false;
    for (size_t i = self->first; i < self->end; i++) {
        struct consumer_entry *entry = &self->flight[i];
        bool his = instance < 0 || entry->holder == instance;
        if (entry->state != CONSUMER_LEASED || !his || (!all && entry->due_ms > now_ms))
            continue;
        consumer_lapse(self, entry, instance < 0 ? entry->holder : CONSUMER_NOBODY, now_ms,
                       rejects);
        changed = true;
    }
    consumer_trim(self);
    return changed;
}

/* When something will be due: what is due already waits for who asks. */
static void consumer_look_ahead(struct consumer *self, int64_t now_ms)
{
    self->next_ms = INT64_MAX;
    for (size_t i = self->first; i < self->end; i++) {
        const struct consumer_entry *entry = &self->flight[i];
        if (entry->state == CONSUMER_LEASED ||
            (entry->state == CONSUMER_WAITING && entry->due_ms > now_ms))
            consumer_next(self, entry->due_ms);
    }
}

bool consumer_due(struct consumer *self, int64_t now_ms, const struct consumer_rejects *rejects)
{
    if (self->next_ms > now_ms)
        return false;
    bool over = false;
    for (size_t i = self->first; i < self->end && self->rules.ordered && !over; i++)
        over = self->flight[i].state == CONSUMER_LEASED && self->flight[i].due_ms <= now_ms;
    bool changed = consumer_take_back(self, -1, over, now_ms, rejects);
    consumer_look_ahead(self, now_ms);
    return changed;
}

bool consumer_close(struct consumer *self, int instance, int64_t now_ms,
                    const struct consumer_rejects *rejects)
{
    bool changed = consumer_take_back(self, instance, true, now_ms, rejects);
    self->instances[instance].asked_ms =
        INT64_MIN / 2; /* its place is free when nothing names it */
    return changed;
}

/* ---- the feed itself ---- */

bool consumer_purged(struct consumer *self, uint64_t upto)
{
    if (consumer_floor(self) >= upto)
        return false;
    for (size_t i = self->first; i < self->end && self->flight[i].seq <= upto; i++)
        consumer_end(self, &self->flight[i]);
    consumer_trim(self);
    if (self->handed < upto)
        self->handed = upto;
    self->gap = upto + 1;
    self->gap_why = CONSUMER_GAP_RETENTION;
    return true;
}

void consumer_lane(struct consumer *self, uint64_t lane, uint64_t head)
{
    self->lane = lane;
    self->gap = head + 1;
    self->gap_why = CONSUMER_GAP_LANE;
}

void consumer_gap_seen(struct consumer *self)
{
    self->gap = 0;
    self->gap_why = CONSUMER_GAP_NONE;
}
