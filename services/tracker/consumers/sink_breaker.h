/* sink_breaker.h - may a sink be posted to? When several posts in a row failed it is left alone for
 * a while, then one post at a time asks whether it is back; each that fails makes the next wait
 * longer, one that is taken ends it. Pure; times are service time. One owner.
 */
#ifndef ALD_TRACKER_SINK_BREAKER_H
#define ALD_TRACKER_SINK_BREAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/backoff.h"

enum { SINK_BREAKER_FAILURES = 5 };

struct sink_breaker {
    unsigned failures; /* in a row */
    unsigned opened;   /* times, since a post was taken last */
    int64_t until_ms;  /* closed again to all until then */
};

/* May one more go, beside those that are under way? */
bool sink_breaker_may(const struct sink_breaker *self, size_t under_way, int64_t now_ms);
/* Is it down, as far as is known? */
bool sink_breaker_open(const struct sink_breaker *self);

/* What became of a post. */
void sink_breaker_taken(struct sink_breaker *self);
void sink_breaker_failed(struct sink_breaker *self, const struct ald_backoff *waits,
                         uint64_t random, int64_t now_ms);

#endif
