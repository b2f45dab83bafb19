/* keep_budgets.h - what is on disk of the accounts: blocks, pauses, counts of budgets, and how long
 * callbacks take, as facts of the vault. budget.h says what a restart may forget. One thread, the
 * loop's.
 */
#ifndef ALD_TRACKER_KEEP_BUDGETS_H
#define ALD_TRACKER_KEEP_BUDGETS_H

#include "services/tracker/tracker.h"

/* At the start: an account for each profile, with what was written. */
void keep_budgets_back(struct tracker *self);

/* The account of one profile, with what was written. */
void keep_budget_back(struct tracker *self, const struct ald_profile *profile);
/* What was written of its budgets but for the known ones, a bit (1 << index) each. */
void keep_budget_list(struct tracker *self, struct budget *budget, unsigned known);

/* Within a transaction: write the marks that leases to come have nearly reached. */
void keep_budgets(struct tracker *self);
/* Within a transaction: what callbacks have taught since. A kill forgets what came after the last.
 */
void keep_stale(struct tracker *self);
/* Before a clean stop, in a transaction of its own: the counts as they are. */
void keep_budgets_last(struct tracker *self);

/* Within a transaction: the provider of this profile was given one more task. */
void keep_given(struct tracker *self, const struct ald_profile *profile);
/* Within a transaction: this profile's tasks may be asked for again, and have last_poll_grace. */
void keep_resumed(struct tracker *self, const struct ald_profile *profile);
/* Within a transaction: a person pauses or resumes. */
void keep_pause(struct tracker *self, const struct ald_profile *profile, bool paused);

#endif
