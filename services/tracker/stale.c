#include "services/tracker/stale.h"

enum {
    STALE_OCTAVE_FIRST = 6, /* 64 ms */
    STALE_MARGIN = 25,      /* percent on top of what was seen */
    STALE_SPARE = 10,       /* percent of a result's lifetime that is left when we ask */
    STALE_PACK = 4          /* counts in a number */
};

/* Four buckets an octave: of the bits below the first, two say which. */
static unsigned stale_bucket(int64_t ms)
{
    if (ms < (INT64_C(1) << STALE_OCTAVE_FIRST))
        return 0;
    unsigned octave = 63 - (unsigned)__builtin_clzll((unsigned long long)ms);
    unsigned quarter = (unsigned)((uint64_t)ms >> (octave - 2)) & 3u;
    unsigned bucket = (octave - STALE_OCTAVE_FIRST) * 4 + quarter;
    return bucket < STALE_BUCKETS ? bucket : STALE_BUCKETS - 1;
}

/* Where a bucket ends. */
static int64_t stale_bound_ms(unsigned bucket)
{
    unsigned octave = bucket / 4 + STALE_OCTAVE_FIRST;
    return (int64_t)(4 + bucket % 4 + 1) << (octave - 2);
}

static void stale_fade(struct stale *self)
{
    self->total = 0;
    for (unsigned i = 0; i < STALE_BUCKETS; i++) {
        self->count[i] /= 2;
        self->total += self->count[i];
    }
}

void stale_heard(struct stale *self, uint64_t task, int64_t took_ms)
{
    for (unsigned i = 0; i < STALE_RECENT; i++)
        if (self->recent[i] == task)
            return;
    self->recent[self->recent_next] = task;
    self->recent_next = (self->recent_next + 1) % STALE_RECENT;
    self->count[stale_bucket(took_ms)]++;
    self->total++;
    self->changed = true;
    if (self->total >= STALE_MOST)
        stale_fade(self);
}

int64_t stale_share_ms(const struct stale *self, unsigned percent)
{
    const uint64_t want = ((uint64_t)self->total * percent + 99) / 100;
    uint64_t sum = 0;
    if (self->total == 0)
        return 0;
    for (unsigned i = 0; i < STALE_BUCKETS; i++) {
        sum += self->count[i];
        if (sum >= want && sum > 0)
            return stale_bound_ms(i);
    }
    return stale_bound_ms(STALE_BUCKETS - 1);
}

int64_t stale_last_look_ms(const struct ald_profile *profile)
{
    const int64_t ttl_ms = profile->result_ttl_ms;
    return ttl_ms > 0 ? ttl_ms - ttl_ms * STALE_SPARE / 100 : INT64_MAX;
}

int64_t stale_after_ms(const struct stale *self, const struct ald_profile *profile)
{
    const struct ald_stale *rule = &profile->stale;
    int64_t after_ms = profile->stale_after_ms;
    if (rule->learned && self->total >= STALE_ENOUGH) {
        int64_t seen_ms = stale_share_ms(self, STALE_SHARE);
        after_ms = seen_ms + seen_ms * STALE_MARGIN / 100;
        after_ms = after_ms > rule->ceiling_ms ? rule->ceiling_ms : after_ms;
        after_ms = after_ms < rule->floor_ms ? rule->floor_ms : after_ms;
    }
    int64_t look_ms = stale_last_look_ms(profile);
    return after_ms < look_ms ? after_ms : look_ms;
}

bool stale_pack(const struct stale *self, unsigned index, int64_t *out)
{
    uint64_t packed = 0;
    if (index >= STALE_BUCKETS / STALE_PACK)
        return false;
    for (unsigned i = STALE_PACK; i-- > 0;)
        packed = packed << 12 | (self->count[index * STALE_PACK + i] & 0xFFFu);
    *out = (int64_t)packed;
    return true;
}

void stale_unpack(struct stale *self, unsigned index, int64_t packed)
{
    uint64_t rest = (uint64_t)packed;
    if (index >= STALE_BUCKETS / STALE_PACK || packed < 0)
        return;
    for (unsigned i = 0; i < STALE_PACK; i++, rest >>= 12) {
        uint32_t count = (uint32_t)(rest & 0xFFFu);
        if (count >= STALE_MOST || self->total + count >= 2 * STALE_MOST)
            continue;
        self->count[index * STALE_PACK + i] = (uint16_t)count;
        self->total += count;
    }
}
