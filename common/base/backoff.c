#include "common/base/backoff.h"

/* Without a maximum a year: longer is never, and every product below stays within 64 bits. */
static const int64_t BACKOFF_LONGEST_MS = INT64_C(365) * 24 * 3600 * 1000;

/* share percent of value, for 0 <= value <= BACKOFF_LONGEST_MS. */
static int64_t backoff_share(int64_t value, unsigned percent)
{
    return value / 100 * (int64_t)percent + value % 100 * (int64_t)percent / 100;
}

int64_t ald_backoff_wait(const struct ald_backoff *self, unsigned attempt, uint64_t random)
{
    int64_t max = BACKOFF_LONGEST_MS;
    if (self->max_ms > 0 && self->max_ms < max)
        max = self->max_ms;
    int64_t wait = self->first_ms > 0 ? self->first_ms : 0;
    if (wait > max)
        wait = max;
    for (unsigned i = 0; i < attempt && wait < max && self->percent > 100; i++) {
        int64_t longer = backoff_share(wait, self->percent);
        if (longer == wait)
            break; /* too short to grow by this share, however many attempts there are */
        wait = longer < max ? longer : max;
    }
    int64_t swing = backoff_share(wait, self->jitter_percent < 100 ? self->jitter_percent : 100);
    int64_t most = wait < max - swing ? wait + swing : max;
    return wait - swing + (int64_t)(random % (uint64_t)(most - wait + swing + 1));
}
