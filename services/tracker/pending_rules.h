/* pending_rules.h - what pending.c decides about one task or account by looking at it alone. For
 * pending.c; pure.
 */
#ifndef ALD_TRACKER_PENDING_RULES_H
#define ALD_TRACKER_PENDING_RULES_H

#include "services/tracker/pending.h"

/* Do budgets of single tasks let this one be polled once more? gap_ms: and how long after. */
bool pending_task_budget(const struct pending_task *task, int64_t *gap_ms);
bool pending_can_poll(const struct pending_task *task);

/* How long until the next poll of a task whose answer was not the end. */
int64_t pending_wait(const struct pending_task *task, const struct pending_poll *poll,
                     uint64_t random);

bool pending_may_expire(const struct pending_task *task, int64_t grace_ms, int64_t now_ms);

/* The account's next task that its budget lets go now: what callbacks asked for first, since that
 * is bounded by its share. NULL: none. */
struct pending_task *pending_next(const struct pending_account *account, int64_t now_ms);

/* Has the provider nothing that could be polled? */
bool pending_mute(const struct pending_task *task);

/* When an idle task is looked at: when it is due, but before the provider forgets its answer; at
 * its deadline; past that, when its last poll may be tried again. */
int64_t pending_idle_ms(const struct pending_task *task, int64_t at_ms, int64_t now_ms);

#endif
