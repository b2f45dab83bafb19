/* calls.h - requests of clients that the provider alone can answer (a balance, a report): each
 * waits here for the account's budget and a poller, and then for its answer, which goes to who
 * asked.
 *
 * They are in memory alone and few. Who asked waits: when its time is up it is told so, and a
 * tracker that restarts forgets it. They count in the account's budgets that name them (`report`;
 * all others are `balance`), a block or an open breaker holds them back. A report is kept in its
 * task's timeline. One thread, the loop's.
 */
#ifndef ALD_TRACKER_CALLS_H
#define ALD_TRACKER_CALLS_H

#include "services/tracker/tracker.h"

enum { CALLS_MAX = 64, CALLS_WAIT_MAX_MS = 60000 };

calls_t *calls_new(struct tracker *tracker);
void calls_destroy(calls_t **self_p);

/* Take a question, and *who_p with it. False: *answer says why not. */
ALD_NODISCARD bool calls_ask(calls_t *self, zframe_t **who_p, const struct msg_call *ask,
                             struct msg_answer *answer);

/* The next that may go now, under this number: fill its lease, borrowed until it ends. */
ALD_NODISCARD bool calls_lease(calls_t *self, uint64_t lease, struct msg_lease *out);

/* Within a transaction: what a poller brought back of one. The word of its acknowledgement. */
const char *calls_outcome(calls_t *self, const struct msg_outcome *outcome);

/* Tell those whose time is up. */
void calls_tick(calls_t *self);
/* See rest.h. */
int64_t calls_rest_ms(const calls_t *self);

/* The accounts' budgets were renewed: count those again that are under way. NULL is allowed. */
void calls_recount(const calls_t *self);

/* Memory was thrown away: nobody is told anything. NULL is allowed. */
void calls_forget(calls_t *self);

#endif
