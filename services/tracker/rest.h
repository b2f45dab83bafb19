/* rest.h - for how long the tracker's tick may rest: until the first moment at which any part has
 * something to do by the clock, if nothing is said to the tracker meanwhile.
 *
 * Each part says that for itself, in a function of its own that ends in _rest_ms: milliseconds from
 * now, REST_NOTHING when the clock has nothing to say there, 0 also while something is under way
 * that is looked at again and again. Whatever comes in from outside wakes the tick anyway
 * (tracker_stir). One thread, the loop's.
 */
#ifndef ALD_TRACKER_REST_H
#define ALD_TRACKER_REST_H

#include "services/tracker/tracker.h"

enum {
    REST_LEAST_MS = 20, /* the tick, while something is under way */
    REST_MOST_MS = 250 /* else: often enough for service time to see that the process stood still */
};

#define REST_NOTHING INT64_MAX

/* From now until a time of the same clock; that may be past, or INT64_MAX. */
static inline int64_t rest_until(int64_t at_ms, int64_t now_ms)
{
    if (at_ms <= now_ms)
        return 0;
    return at_ms == INT64_MAX ? REST_NOTHING : at_ms - now_ms;
}

static inline int64_t rest_less(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

/* Of the whole tracker, within the bounds above. */
int64_t rest_ms(const struct tracker *self);

#endif
