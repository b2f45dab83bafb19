/* sinks.h - sinks of the settings: each is a durable consumer of the tracker's own, which is read
 * by nobody else while it is there. What it is handed out is leased to pollers, who post it; a 2xx
 * settles it, anything else hands it out again after a wait, until it becomes a letter.
 *
 * A sink asks as every consumer does, by messages (consumers.h), so counts and places are on disk
 * as for all; here is only what it holds. A post may come twice, when a poller or the tracker dies
 * with it, and is never lost. Failures of our own parts, a poller that is gone or does not know the
 * sink yet, count as no try.
 * One thread, the loop's. NULL is allowed for sinks_has, _forget and _answer.
 */
#ifndef ALD_TRACKER_SINKS_H
#define ALD_TRACKER_SINKS_H

#include "services/tracker/tracker.h"

sinks_t *sinks_new(struct tracker *tracker);
void sinks_destroy(sinks_t **self_p);

/* Memory was thrown away: nothing is held. */
void sinks_forget(sinks_t *self);
/* The settings were read, at the start or again: sinks that are new begin, others go on by what is
 * written now, paused ones too; those that are gone become consumers as all others. */
void sinks_renew(sinks_t *self);

/* The store was read back: their consumers have the rules of the settings again. */
void sinks_back(sinks_t *self);

/* Is this consumer a sink? What it does, as a word: delivering, down or paused; NULL: it is none.
 */
const char *sinks_state(const sinks_t *self, const char *consumer);

/* Is it ourselves who ask? The frame stands where others have their routing id. */
bool sinks_ask(zframe_t *who);
/* An answer of consumers.c: taken if it is for us. Asks nothing. */
bool sinks_answer(sinks_t *self, zmsg_t **msg_p);

/* Ask for events, and see which leases are over. */
void sinks_tick(sinks_t *self);
/* See rest.h. */
int64_t sinks_rest_ms(const sinks_t *self);

/* Put posts that may go now into msg, as leases from *lease + 1 on, for this poller; at most
 * credit. How many. */
size_t sinks_lease(sinks_t *self, uint64_t poller, uint64_t *lease, size_t credit, zmsg_t **msg,
                   void (*begin)(void *context, zmsg_t **msg), void *context);
void sinks_poller_gone(sinks_t *self, uint64_t poller);

/* Within a transaction: what a poller says of one. The word of its acknowledgement. */
const char *sinks_outcome(sinks_t *self, const struct msg_outcome *outcome);

#endif
