#include "services/tracker/consumers/sink_breaker.h"

bool sink_breaker_open(const struct sink_breaker *self)
{
    return self->opened > 0;
}

bool sink_breaker_may(const struct sink_breaker *self, size_t under_way, int64_t now_ms)
{
    if (!sink_breaker_open(self))
        return true;
    return now_ms >= self->until_ms && under_way == 0;
}

void sink_breaker_taken(struct sink_breaker *self)
{
    *self = (struct sink_breaker){0};
}

/* Those that were under way when it opened say nothing new. */
void sink_breaker_failed(struct sink_breaker *self, const struct ald_backoff *waits,
                         uint64_t random, int64_t now_ms)
{
    self->failures++;
    if (self->failures < SINK_BREAKER_FAILURES ||
        (sink_breaker_open(self) && now_ms < self->until_ms))
        return;
    self->until_ms = now_ms + ald_backoff_wait(waits, self->opened, random);
    self->opened++;
}
