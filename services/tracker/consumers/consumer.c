#include "services/tracker/consumers/consumer.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "services/tracker/consumers/consumer_inside.h"

enum { CONSUMER_FIRST_CAP = 64 };

static int64_t consumer_between(int64_t value, int64_t least, int64_t most)
{
    if (value < least)
        return least;
    return value > most ? most : value;
}

bool consumer_rules_bound(bool ordered, int64_t max_deliver, int64_t ack_wait_ms,
                          int64_t max_pending, struct consumer_rules *out)
{
    const int64_t deliver = consumer_between(max_deliver, 1, CONSUMER_DELIVER_MAX);
    const int64_t wait_ms =
        consumer_between(ack_wait_ms, CONSUMER_WAIT_MIN_MS, CONSUMER_WAIT_MAX_MS);
    const int64_t pending = consumer_between(max_pending, 1, CONSUMER_PENDING_MAX);
    *out = (struct consumer_rules){.ordered = ordered,
                                   .max_deliver = (uint32_t)deliver,
                                   .ack_wait_ms = wait_ms,
                                   .max_pending = (size_t)pending};
    return deliver == max_deliver && wait_ms == ack_wait_ms && pending == max_pending;
}

void consumer_init(struct consumer *self, const struct consumer_rules *rules, uint64_t lane,
                   uint64_t handed)
{
    *self =
        (struct consumer){.rules = *rules, .lane = lane, .handed = handed, .next_ms = INT64_MAX};
}

void consumer_free(struct consumer *self)
{
    free(self->flight);
    *self = (struct consumer){0};
}

uint64_t consumer_floor(const struct consumer *self)
{
    return self->pending > 0 ? self->flight[self->first].seq - 1 : self->handed;
}

/* ---- the flight ---- */

size_t consumer_find(const struct consumer *self, uint64_t seq)
{
    size_t low = self->first;
    size_t high = self->end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (self->flight[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void consumer_trim(struct consumer *self)
{
    while (self->first < self->end && self->flight[self->first].state == CONSUMER_SETTLED)
        self->first++;
    if (self->first == self->end)
        self->first = self->end = 0;
}

/* Room for one more: what is settled goes first. */
static void consumer_room(struct consumer *self)
{
    if (self->end < self->cap)
        return;
    size_t end = 0;
    for (size_t i = self->first; i < self->end; i++)
        if (self->flight[i].state != CONSUMER_SETTLED)
            self->flight[end++] = self->flight[i];
    self->first = 0;
    self->end = end;
    if (end * 2 <= self->cap && self->cap > 0)
        return;
    self->cap = self->cap ? self->cap * 2 : CONSUMER_FIRST_CAP;
    self->flight = realloc(self->flight, self->cap * sizeof *self->flight);
    ALD_ASSERT(self->flight);
}

void consumer_append(struct consumer *self, const struct consumer_entry *entry)
{
    consumer_room(self);
    struct consumer_entry *place = &self->flight[self->end++];
    *place = *entry;
    place->state = CONSUMER_SETTLED;
    place->holder = CONSUMER_NOBODY;
    consumer_move(self, place, (enum consumer_state)entry->state, entry->holder);
}

static void consumer_count(struct consumer *self, const struct consumer_entry *entry, bool in)
{
    bool leased = entry->state == CONSUMER_LEASED;
    struct consumer_instance *holder =
        entry->holder < CONSUMER_INSTANCES_MAX ? &self->instances[entry->holder] : NULL;
    if (entry->state == CONSUMER_SETTLED)
        return;
    const size_t one = in ? 1 : (size_t)-1;
    self->pending += one;
    self->leased += leased ? one : 0;
    self->waiting += leased ? 0 : one;
    if (!holder)
        return;
    holder->named += (uint32_t)one;
    holder->leased += leased ? (uint32_t)one : 0;
    holder->alone += leased && entry->suspect ? (uint32_t)one : 0;
}

void consumer_move(struct consumer *self, struct consumer_entry *entry, enum consumer_state state,
                   uint8_t holder)
{
    consumer_count(self, entry, false);
    entry->state = (uint8_t)state;
    entry->holder = holder;
    consumer_count(self, entry, true);
}

void consumer_next(struct consumer *self, int64_t due_ms)
{
    if (due_ms < self->next_ms)
        self->next_ms = due_ms;
}

void consumer_wait(struct consumer *self, struct consumer_entry *entry, uint8_t holder,
                   int64_t due_ms)
{
    consumer_move(self, entry, CONSUMER_WAITING, holder);
    entry->due_ms = due_ms;
    consumer_next(self, due_ms);
}

/* ---- instances ---- */

int consumer_instance(struct consumer *self, const char *name, int64_t now_ms)
{
    int at = -1;
    for (int i = 0; i < CONSUMER_INSTANCES_MAX; i++) {
        struct consumer_instance *one = &self->instances[i];
        if (one->used && strcmp(one->name, name) == 0) {
            one->asked_ms = now_ms;
            return i;
        }
        bool idle = !one->used || (one->named == 0 && now_ms - one->asked_ms > CONSUMER_SILENT_MS);
        if (idle && at < 0)
            at = i;
    }
    if (at < 0)
        return -1;
    self->instances[at] = (struct consumer_instance){.used = true, .asked_ms = now_ms};
    ald_text_cut(self->instances[at].name, sizeof self->instances[at].name, ald_span_str(name));
    return at;
}

bool consumer_idle(const struct consumer *self, int instance)
{
    return self->instances[instance].leased == 0 && self->instances[instance].alone == 0;
}

void consumer_alone(struct consumer *self, int instance, bool has)
{
    self->instances[instance].alone += has ? 1 : UINT32_MAX;
    self->instances[instance].named += has ? 1 : UINT32_MAX;
}

size_t consumer_instances(const struct consumer *self, int64_t within_ms, int64_t now_ms)
{
    size_t count = 0;
    for (size_t i = 0; i < CONSUMER_INSTANCES_MAX; i++)
        count += self->instances[i].used && now_ms - self->instances[i].asked_ms <= within_ms;
    return count;
}

/* ---- what may go out ---- */

static bool consumer_is_due(const struct consumer_entry *entry, int64_t now_ms)
{
    return entry->state == CONSUMER_WAITING && entry->due_ms <= now_ms;
}

/* The first that waits and may go: a suspect before others. NULL: there is none. In order, only the
 * first of all may. */
static const struct consumer_entry *consumer_first_due(const struct consumer *self, int64_t now_ms)
{
    const struct consumer_entry *found = NULL;
    for (size_t i = self->first; i < self->end && self->waiting > 0; i++) {
        const struct consumer_entry *entry = &self->flight[i];
        if (entry->state == CONSUMER_SETTLED)
            continue;
        if (consumer_is_due(entry, now_ms) && (!found || entry->suspect))
            found = entry;
        if (self->rules.ordered || (found && found->suspect))
            break;
    }
    return found;
}

static void consumer_add_pick(struct consumer_offer *out, const struct consumer_entry *entry)
{
    out->picks[out->count++] = (struct consumer_pick){
        .seq = entry->seq, .deliveries = entry->count + !entry->free, .redelivered = true};
}

/* From this entry on, up to the first that may not go with it. */
static void consumer_pick_run(const struct consumer *self, const struct consumer_entry *from,
                              size_t limit, int64_t now_ms, struct consumer_offer *out)
{
    const struct consumer_entry *end = self->flight + self->end;
    for (const struct consumer_entry *entry = from; entry < end && out->count < limit; entry++) {
        if (entry->state == CONSUMER_SETTLED)
            continue;
        if (!consumer_is_due(entry, now_ms) || entry->suspect)
            return;
        consumer_add_pick(out, entry);
    }
}

/* In order: one hand-out at a time. Beside a suspect: nothing. */
static bool consumer_holds_back(const struct consumer *self, const struct consumer_instance *who)
{
    return who->alone > 0 || (self->rules.ordered && self->leased > 0);
}

bool consumer_offer(struct consumer *self, int instance, uint64_t head, size_t limit,
                    int64_t now_ms, struct consumer_offer *out)
{
    const struct consumer_instance *who = &self->instances[instance];
    out->fresh = false;
    out->count = 0;
    if (limit > CONSUMER_PAGE_MAX)
        limit = CONSUMER_PAGE_MAX;
    if (limit == 0 || consumer_holds_back(self, who))
        return false;
    const struct consumer_entry *due = consumer_first_due(self, now_ms);
    if (due && due->suspect && who->leased > 0)
        return false; /* it is next, when this instance has finished what it has */
    if (due && due->suspect)
        consumer_add_pick(out, due);
    else if (due)
        consumer_pick_run(self, due, limit, now_ms, out);
    if (due)
        return true;
    if ((self->rules.ordered && self->pending > 0) || self->pending >= self->rules.max_pending ||
        self->handed >= head)
        return false;
    size_t room = self->rules.max_pending - self->pending;
    out->fresh = true;
    out->after = self->handed;
    out->limit = limit < room ? limit : room;
    return true;
}

/* ---- handing out ---- */

void consumer_hand_fresh(struct consumer *self, int instance, const uint64_t *seqs, size_t count,
                         uint64_t looked, int64_t now_ms)
{
    const int64_t due_ms = now_ms + self->rules.ack_wait_ms;
    for (size_t i = 0; i < count; i++) {
        ALD_ASSERT(seqs[i] > self->handed && seqs[i] <= looked);
        self->handed = seqs[i];
        const struct consumer_entry entry = {.seq = seqs[i],
                                             .due_ms = due_ms,
                                             .count = 1,
                                             .state = CONSUMER_LEASED,
                                             .holder = (uint8_t)instance};
        consumer_append(self, &entry);
    }
    if (count > 0)
        consumer_next(self, due_ms);
    if (looked > self->handed)
        self->handed = looked;
}

bool consumer_hand_again(struct consumer *self, int instance, uint64_t seq, int64_t now_ms)
{
    size_t at = consumer_find(self, seq);
    struct consumer_entry *entry = &self->flight[at];
    if (at == self->end || entry->seq != seq || !consumer_is_due(entry, now_ms))
        return false;
    entry->count += !entry->free;
    entry->free = false;
    entry->due_ms = now_ms + self->rules.ack_wait_ms;
    consumer_move(self, entry, CONSUMER_LEASED, (uint8_t)instance);
    consumer_next(self, entry->due_ms);
    return true;
}

void consumer_unsent(struct consumer *self, int instance, uint64_t first, uint64_t last,
                     int64_t now_ms)
{
    for (size_t i = consumer_find(self, first); i < self->end && self->flight[i].seq <= last; i++) {
        struct consumer_entry *entry = &self->flight[i];
        if (entry->state != CONSUMER_LEASED || entry->holder != instance)
            continue;
        consumer_wait(self, entry, CONSUMER_NOBODY, now_ms);
        entry->free = true;
    }
}
