#include "services/tracker/rest.h"

#include "common/base/clock.h"
#include "services/tracker/calls.h"
#include "services/tracker/consumers/consumers.h"
#include "services/tracker/consumers/sinks.h"
#include "services/tracker/jobs.h"
#include "services/tracker/keep.h"
#include "services/tracker/outbox.h"
#include "services/tracker/query.h"

/* What tasks and parked callbacks wait for is in service time. */
static int64_t rest_clocks(const struct tracker *self)
{
    const int64_t now_ms = tracker_now(self).run_ms;
    return rest_less(rest_until(pending_next_ms(self->pending), now_ms),
                     rest_until(park_next_ms(self->park), now_ms));
}

static int64_t rest_parts(const struct tracker *self)
{
    if (!self->open)
        return rest_until(self->retry_ms, ald_clock_now().mono_ms);
    int64_t least_ms = rest_less(rest_clocks(self), keep_rest_ms(self));
    least_ms = rest_less(least_ms, sinks_rest_ms(self->sinks));
    least_ms = rest_less(least_ms, consumers_rest_ms(self->consumers));
    least_ms = rest_less(least_ms, calls_rest_ms(self->calls));
    least_ms = rest_less(least_ms, jobs_rest_ms(self->jobs));
    least_ms = rest_less(least_ms, outbox_rest_ms(self->outbox));
    return rest_less(least_ms, query_rest_ms(self->query));
}

int64_t rest_ms(const struct tracker *self)
{
    int64_t least_ms = rest_parts(self);
    if (least_ms < REST_LEAST_MS)
        return REST_LEAST_MS;
    return least_ms < REST_MOST_MS ? least_ms : REST_MOST_MS;
}
