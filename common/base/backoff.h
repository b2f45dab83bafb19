/* backoff.h - how long to wait before the next try. Pure. */
#ifndef ALD_BASE_BACKOFF_H
#define ALD_BASE_BACKOFF_H

#include <stdint.h>

struct ald_backoff {
    int64_t first_ms;
    unsigned percent;        /* each wait is this share of the one before; 100 = always the same */
    int64_t max_ms;          /* 0 = none */
    unsigned jitter_percent; /* up to so much less or more; the cap holds */
};

/* The wait after `attempt` tries (0 = before the second). random: any 64 random bits. */
int64_t ald_backoff_wait(const struct ald_backoff *self, unsigned attempt, uint64_t random);

#endif
