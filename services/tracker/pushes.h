/* pushes.h - callers' own pingbacks: each task's end is told to the address that came with it, by a
 * poller, until the caller has taken it with a 2xx or it has been tried often enough. Then it is a
 * letter (consumer_rejected), by which it is sent again, on the dlq's schedule or by a person.
 *
 * What is due is on disk, written in the transaction of the end; in memory is what pollers have
 * now. A pingback may come twice. They belong to no account: no budget or block holds them back.
 * One thread, the loop's.
 */
#ifndef ALD_TRACKER_PUSHES_H
#define ALD_TRACKER_PUSHES_H

#include "services/tracker/acts/ending.h"
#include "services/tracker/tracker.h"

enum {
    PUSHES_MAX = 64,
    PUSHES_TRIES_MAX = 12,
    PUSHES_FIRST_MS = 2000,
    PUSHES_WAIT_MAX_MS = 600000
};

pushes_t *pushes_new(struct tracker *tracker);
void pushes_destroy(pushes_t **self_p);

/* Within a transaction: a new task has one. */
void pushes_add(struct tracker *tracker, struct pending_task *task, const struct msg_register *ask);

/* Within a transaction: the task, which has one, ends. */
void pushes_ended(pushes_t *self, uint64_t task, const struct ald_profile *profile,
                  const struct ending *ending);

/* Read back: which open tasks have one. */
void pushes_back(struct tracker *tracker);

/* Put those that may go now into msg, as leases from *lease + 1 on; at most credit. How many. */
size_t pushes_lease(pushes_t *self, uint64_t *lease, size_t credit, zmsg_t **msg,
                    void (*begin)(void *context, zmsg_t **msg), void *context);

/* See rest.h; where a poller takes such leases. */
int64_t pushes_rest_ms(const pushes_t *self);
/* Within a transaction: what a poller says of one. The word of its acknowledgement. */
const char *pushes_outcome(pushes_t *self, const struct msg_outcome *outcome);

/* Within a transaction: the letter of one that was given up is re-injected, original is its
 * message. One more try, with its words. What the dlq is told: `still`, and when the caller has
 * taken it the letter is closed; or why it closes now. */
enum ald_disposition pushes_again(struct tracker *tracker, uint64_t task, struct ald_span original);
/* Within a transaction: the letter is dropped, and with it what it was about. */
void pushes_drop(struct tracker *tracker, uint64_t task);

/* Memory was thrown away: none is under way. NULL is allowed. */
void pushes_forget(pushes_t *self);

#endif
