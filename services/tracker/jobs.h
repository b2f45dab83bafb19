/* jobs.h - the channel of the pollers: they tell their credit, get leases, and bring outcomes.
 *
 * Leases live in memory: a tracker that restarts hands the tasks out again. A poller that has not
 * been heard for a while is gone, and its leases with it; what it reports later is applied all the
 * same. One thread, the loop's.
 */
#ifndef ALD_TRACKER_JOBS_H
#define ALD_TRACKER_JOBS_H

#include "services/tracker/tracker.h"

ALD_NODISCARD enum ald_rc jobs_new(struct tracker *tracker, jobs_t **out, struct ald_err *err);
void jobs_destroy(jobs_t **self_p);

void jobs_drain(jobs_t *self);
/* Hand out what is queued, as far as pollers have credit; notice those that are gone. */
void jobs_tick(jobs_t *self);
/* See rest.h. */
int64_t jobs_rest_ms(const jobs_t *self);
/* Memory was thrown away: no lease is under way. */
void jobs_reset(jobs_t *self);

/* Pollers heard lately, for status. */
size_t jobs_pollers(const jobs_t *self);

#endif
