#include "common/client/held.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/guard.h"

enum { HELD_REASON_MAX = 256 };

void held_init(struct held *self)
{
    *self = (struct held){0};
}

void held_free(struct held *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->entries[i].reason);
    free(self->entries);
    held_init(self);
}

static bool held_before(const struct held_entry *entry, uint64_t lane, uint64_t seq)
{
    return entry->lane < lane || (entry->lane == lane && entry->seq < seq);
}

/* Where (lane, seq) is, or would be. Most come at the end. */
static size_t held_find(const struct held *self, uint64_t lane, uint64_t seq, bool *found)
{
    size_t low = 0;
    size_t high = self->count;
    if (high > 0 && held_before(&self->entries[high - 1], lane, seq))
        low = high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (held_before(&self->entries[middle], lane, seq))
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < self->count && self->entries[low].lane == lane && self->entries[low].seq == seq;
    return low;
}

static struct held_entry *held_get(const struct held *self, uint64_t lane, uint64_t seq)
{
    bool found = false;
    size_t at = held_find(self, lane, seq, &found);
    return found ? &self->entries[at] : NULL;
}

static bool held_has_word(const struct held_entry *entry)
{
    return entry->state == HELD_SAID || entry->state == HELD_SENT;
}

/* Has it something that waits to be sent? */
static bool held_speaks(const struct held_entry *entry)
{
    return entry->state == HELD_SAID || (entry->for_ms != 0 && entry->req == 0);
}

/* All counts follow from the entries: take one out before it is changed, and put it back after. */
static void held_uncount(struct held *self, const struct held_entry *entry)
{
    self->said -= held_speaks(entry);
    self->words -= held_has_word(entry);
    self->given -= entry->state == HELD_GIVEN;
}

static void held_count(struct held *self, const struct held_entry *entry)
{
    self->said += held_speaks(entry);
    self->words += held_has_word(entry);
    self->given += entry->state == HELD_GIVEN;
}

/* NULL: no room. */
static struct held_entry *held_insert(struct held *self, uint64_t lane, uint64_t seq)
{
    bool found = false;
    size_t at = held_find(self, lane, seq, &found);
    if (self->count == HELD_MAX)
        return NULL;
    if (self->count == self->cap) {
        size_t cap = self->cap ? self->cap * 2 : 64;
        struct held_entry *entries = realloc(self->entries, cap * sizeof *entries);
        if (!entries)
            return NULL;
        self->entries = entries;
        self->cap = cap;
    }
    memmove(&self->entries[at + 1], &self->entries[at], (self->count - at) * sizeof *self->entries);
    self->count++;
    self->entries[at] = (struct held_entry){.lane = lane, .seq = seq, .state = HELD_WAITS};
    return &self->entries[at];
}

/* Back to what it was when it came. */
static void held_clear(struct held_entry *entry)
{
    free(entry->reason);
    *entry = (struct held_entry){.lane = entry->lane, .seq = entry->seq, .state = HELD_WAITS};
}

bool held_arrived(struct held *self, uint64_t lane, uint64_t seq)
{
    struct held_entry *entry = held_get(self, lane, seq);
    if (!entry)
        return held_insert(self, lane, seq) != NULL;
    if (entry->state != HELD_SENT || entry->verb != HELD_NACK)
        return false;
    held_uncount(self, entry);
    held_clear(entry);
    held_count(self, entry);
    return true;
}

bool held_give(struct held *self, uint64_t lane, uint64_t seq)
{
    struct held_entry *entry = held_get(self, lane, seq);
    if (!entry || entry->state != HELD_WAITS)
        return false;
    held_uncount(self, entry);
    entry->state = HELD_GIVEN;
    held_count(self, entry);
    return true;
}

static char *held_reason(const char *reason)
{
    size_t len = reason ? strlen(reason) : 0;
    if (len == 0)
        return NULL;
    return strndup(reason, len < HELD_REASON_MAX ? len : HELD_REASON_MAX);
}

enum ald_rc held_settle(struct held *self, uint64_t lane, uint64_t seq, enum held_verb verb,
                        int64_t delay_ms, const char *reason)
{
    struct held_entry *entry = held_get(self, lane, seq);
    if (!entry)
        entry = held_insert(self, lane, seq);
    if (!entry)
        return ALD_FULL;
    held_uncount(self, entry);
    held_clear(entry);
    entry->state = HELD_SAID;
    entry->verb = verb;
    entry->delay_ms = delay_ms;
    entry->reason = held_reason(reason);
    held_count(self, entry);
    return ALD_OK;
}

void held_ack_to(struct held *self, uint64_t lane, uint64_t seq)
{
    for (size_t i = 0; i < self->count; i++) {
        struct held_entry *entry = &self->entries[i];
        if (entry->lane > lane || (entry->lane == lane && entry->seq > seq))
            break;
        if (entry->state != HELD_GIVEN)
            continue;
        held_uncount(self, entry);
        held_clear(entry);
        entry->state = HELD_SAID;
        held_count(self, entry);
    }
}

static void held_extend_entry(struct held *self, struct held_entry *entry, int64_t for_ms)
{
    held_uncount(self, entry);
    entry->for_ms = for_ms;
    entry->req = 0;
    held_count(self, entry);
}

enum ald_rc held_extend(struct held *self, uint64_t lane, uint64_t seq, int64_t for_ms)
{
    struct held_entry *entry = held_get(self, lane, seq);
    if (!entry || held_has_word(entry))
        return ALD_NOTFOUND;
    held_extend_entry(self, entry, for_ms);
    return ALD_OK;
}

void held_extend_waiting(struct held *self, int64_t for_ms)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->entries[i].state == HELD_WAITS)
            held_extend_entry(self, &self->entries[i], for_ms);
}

/* Keep the entries for which keep() holds. */
static void held_sweep(struct held *self, bool keep(const struct held_entry *, const void *),
                       const void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->count; i++) {
        struct held_entry *entry = &self->entries[i];
        if (keep(entry, arg)) {
            self->entries[kept++] = *entry;
            continue;
        }
        held_uncount(self, entry);
        free(entry->reason);
    }
    self->count = kept;
}

static bool held_not_waiting_behind(const struct held_entry *entry, const void *arg)
{
    const struct held_entry *place = arg;
    return entry->state != HELD_WAITS || !held_before(place, entry->lane, entry->seq);
}

void held_drop_behind(struct held *self, uint64_t lane, uint64_t seq)
{
    const struct held_entry place = {.lane = lane, .seq = seq};
    held_sweep(self, held_not_waiting_behind, &place);
}

/* May the entry ride in a word that ends at `last`? Only when no number lies between: one that does
 * may be held by another instance, or be one that was not acknowledged. */
static bool held_joins(const struct held_word *word, const struct held_entry *entry)
{
    return word->verb == HELD_ACK && entry->state == HELD_SAID && entry->verb == HELD_ACK &&
           entry->lane == word->lane && entry->seq == word->seq + 1;
}

static struct held_word held_word_of(const struct held_entry *entry)
{
    struct held_word word = {.lane = entry->lane, .seq = entry->seq, .reason = ""};
    if (entry->state == HELD_SAID) {
        word.verb = entry->verb;
        word.delay_ms = entry->delay_ms;
        word.reason = entry->reason ? entry->reason : "";
    } else {
        word.verb = HELD_EXTEND;
        word.delay_ms = entry->for_ms;
    }
    return word;
}

static void held_carry(struct held *self, struct held_entry *entry, uint64_t req)
{
    held_uncount(self, entry);
    if (entry->state == HELD_SAID)
        entry->state = HELD_SENT;
    entry->req = req;
    held_count(self, entry);
}

size_t held_say(struct held *self, uint64_t req, size_t most, held_say_fn *say, void *arg)
{
    size_t said = 0;
    for (size_t i = 0; i < self->count && self->said > 0 && said < most; i++) {
        if (!held_speaks(&self->entries[i]))
            continue;
        struct held_word word = held_word_of(&self->entries[i]);
        held_carry(self, &self->entries[i], req);
        while (i + 1 < self->count && held_joins(&word, &self->entries[i + 1])) {
            if (word.first == 0)
                word.first = word.seq;
            word.seq++;
            held_carry(self, &self->entries[++i], req);
        }
        say(arg, &word);
        said++;
    }
    return said;
}

static bool held_unseen(const struct held *self, size_t i)
{
    return i < self->count && self->entries[i].state == HELD_WAITS;
}

size_t held_say_unseen(const struct held *self, size_t most, held_say_fn *say, void *arg)
{
    size_t said = 0;
    for (size_t i = 0; i < self->count && said < most; i++) {
        const struct held_entry *entry = &self->entries[i];
        const bool last = i + 1 == self->count;
        if (entry->state != HELD_WAITS && !last)
            continue;
        struct held_word word = {.lane = entry->lane, .verb = HELD_RELEASE, .reason = ""};
        word.first = entry->state == HELD_WAITS ? entry->seq : entry->seq + 1;
        while (held_unseen(self, i + 1) && self->entries[i + 1].lane == word.lane)
            i++;
        word.seq = i + 1 == self->count ? HELD_SEQ_MAX : self->entries[i].seq;
        say(arg, &word);
        said++;
    }
    return said;
}

static bool held_not_carried(const struct held_entry *entry, const void *arg)
{
    const uint64_t *req = arg;
    return entry->state != HELD_SENT || entry->req != *req;
}

void held_confirmed(struct held *self, uint64_t req)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->entries[i].state < HELD_SAID && self->entries[i].req == req) {
            self->entries[i].for_ms = 0; /* an extension was said; the event stays in hand */
            self->entries[i].req = 0;
        }
    held_sweep(self, held_not_carried, &req);
}

void held_unheard(struct held *self)
{
    for (size_t i = 0; i < self->count; i++) {
        struct held_entry *entry = &self->entries[i];
        held_uncount(self, entry);
        if (entry->state == HELD_SENT)
            entry->state = HELD_SAID;
        entry->req = 0;
        held_count(self, entry);
    }
}
