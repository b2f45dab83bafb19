/* jwks_plan.h - when a provider's public keys are fetched again.
 *
 * At the start, before what was fetched is older than the profile allows, and at once when somebody
 * met a callback that no key was good for: strangers can bring that about, so not more than once a
 * minute. What goes wrong is tried again, less and less often. All times are monotonic. Pure; any
 * thread.
 */
#ifndef ALD_TRACKER_JWKS_PLAN_H
#define ALD_TRACKER_JWKS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    JWKS_GAP_MS = 60000,    /* between two fetches that strangers can bring about */
    JWKS_BACKOFF_MS = 5000, /* after a failure; then twice as long */
    JWKS_BACKOFF_MAX_MS = 600000,
    JWKS_JITTER_PERCENT = 10 /* of the time that they are kept, so that not all ask at once */
};

struct jwks_plan {
    int64_t cache_ms;
    int64_t first_ms;   /* the first fetch of this run */
    int64_t asked_ms;   /* the last one; 0 = none in this run */
    int64_t hurried_ms; /* the last one that was for a missing key; 0 = none in this run */
    unsigned failures;  /* of the last ones, in a row */
    bool missed;        /* a key is missing */
};

/* When a run that begins now is to fetch keys that it has from before, fetched at this wall time;
 * 0: it has none. A tracker that is started again and again asks once a minute. */
int64_t jwks_plan_first(int64_t mono_ms, int64_t wall_ms, int64_t fetched_at_ms);

/* When the next fetch is due; random moves it a little, and is the same until the next. */
int64_t jwks_plan_due(const struct jwks_plan *self, uint64_t random);

/* A fetch begins. */
void jwks_plan_asked(struct jwks_plan *self, int64_t mono_ms);

/* It has ended. */
void jwks_plan_ended(struct jwks_plan *self, bool good);

#endif
