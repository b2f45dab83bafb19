#include "common/base/backoff.h"

int64_t ald_backoff_wait(const struct ald_backoff *self, unsigned attempt, uint64_t random)
{
    int64_t max = self->max_ms > 0 ? self->max_ms : INT64_MAX / 1000;
    int64_t wait = self->first_ms < max ? self->first_ms : max;
    for (unsigned i = 0; i < attempt && wait < max && self->percent > 100; i++)
        wait = wait > max / self->percent * 100 ? max : wait * self->percent / 100;
    int64_t swing = wait / 100 * self->jitter_percent + wait % 100 * self->jitter_percent / 100;
    if (swing > 0)
        wait += (int64_t)(random % (uint64_t)(2 * swing + 1)) - swing;
    return wait < max ? wait : max;
}
