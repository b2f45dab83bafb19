#include "services/tracker/jwks_plan.h"

#include <limits.h>

#include "common/base/backoff.h"

int64_t jwks_plan_first(int64_t mono_ms, int64_t wall_ms, int64_t fetched_at_ms)
{
    int64_t age_ms = wall_ms - fetched_at_ms;
    bool young = fetched_at_ms != 0 && age_ms >= 0 && age_ms < JWKS_GAP_MS;
    return young ? mono_ms + JWKS_GAP_MS - age_ms : mono_ms;
}

/* When it would be, if no key was missing. */
static int64_t jwks_plan_usual(const struct jwks_plan *self, uint64_t random)
{
    static const struct ald_backoff backoff = {.first_ms = JWKS_BACKOFF_MS,
                                               .percent = 200,
                                               .max_ms = JWKS_BACKOFF_MAX_MS,
                                               .jitter_percent = 20};
    if (self->asked_ms == 0)
        return self->first_ms;
    if (self->failures > 0)
        return self->asked_ms + ald_backoff_wait(&backoff, self->failures - 1, random);
    int64_t less = (int64_t)(random % (JWKS_JITTER_PERCENT + 1));
    return self->asked_ms + self->cache_ms - self->cache_ms / 100 * less;
}

int64_t jwks_plan_due(const struct jwks_plan *self, uint64_t random)
{
    int64_t usual_ms = jwks_plan_usual(self, random);
    int64_t hurried_ms = self->hurried_ms == 0 ? 0 : self->hurried_ms + JWKS_GAP_MS;
    return self->missed && hurried_ms < usual_ms ? hurried_ms : usual_ms;
}

void jwks_plan_asked(struct jwks_plan *self, int64_t mono_ms)
{
    self->asked_ms = mono_ms;
    if (self->missed)
        self->hurried_ms = mono_ms;
}

void jwks_plan_ended(struct jwks_plan *self, bool good)
{
    if (good)
        self->missed = false;
    if (good)
        self->failures = 0;
    else if (self->failures < UINT_MAX)
        self->failures++;
}
