/* correction.h - an answer is published in the place of the result that a task has: an event with a
 * number of its own, which names the one that it corrects. The task stays ended, and counts as it
 * ended; what is shown of it is the correction.
 *
 * That it may be is decided elsewhere (arrival.h for what comes by itself, a person otherwise).
 * Within the caller's transaction. One owner.
 */
#ifndef ALD_TRACKER_CORRECTION_H
#define ALD_TRACKER_CORRECTION_H

#include "services/tracker/acts/ending.h"

/* Show its metrics, from the start or the first use on. */
void correction_meters(void);

/* Publish this of a task whose result is `end`. A letter that says that there is no answer is
 * closed. */
void correction_publish(struct tracker *self, uint64_t task, const char *provider,
                        const struct vault_end *end, const struct ending *ending);

/* A provider's own answer to a poll or a submission of a task that has ended. True: it was
 * published, since the task had ended by aldaba's verdict alone. */
bool correction_told(struct tracker *self, const struct msg_outcome *outcome,
                     enum ald_source source);

#endif
