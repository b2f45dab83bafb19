/* backoff.h - how long to wait before the next try.
 *
 * Pure arithmetic: the caller counts the tries and brings the chance. Any thread.
 */
#ifndef ALD_BASE_BACKOFF_H
#define ALD_BASE_BACKOFF_H

#include <stdint.h>

struct ald_backoff {
    int64_t first_ms;
    unsigned percent; /* each wait is this share of the one before; up to 100 = always the same */
    int64_t max_ms;   /* 0 = none */
    unsigned jitter_percent; /* up to so much less or more; the cap holds */
};

/* The wait in ms after `attempt` tries (0 = before the second); never negative, whatever the
 * numbers. random: any 64 random bits; the wait is spread by them evenly over what jitter and cap
 * allow, so that at the cap it only gets shorter. Without a maximum it ends at a year. */
int64_t ald_backoff_wait(const struct ald_backoff *self, unsigned attempt, uint64_t random);

#endif
