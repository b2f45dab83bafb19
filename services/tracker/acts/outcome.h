/* outcome.h - what polls and submissions have in common when they come back: the poller's words as
 * a verdict, what they say of the provider, a line for the task's timeline. One owner.
 */
#ifndef ALD_TRACKER_OUTCOME_H
#define ALD_TRACKER_OUTCOME_H

#include "services/tracker/tracker.h"

/* The verdict that the poller reached, back from its words. Spans are borrowed. */
void outcome_verdict(const struct msg_outcome *outcome, struct ald_verdict *out);

/* What it says of the provider. A new code is a word all the same. */
enum budget_sign outcome_sign(const struct msg_outcome *outcome, const struct ald_verdict *verdict);

/* A line for people; of one that made no sense with the first bytes of the answer. */
void outcome_note(struct tracker *self, const struct msg_outcome *outcome, bool sense,
                  const char *what);

/* Tell the account's breaker, and say it when it moves. */
void outcome_told(struct tracker *self, struct pending_account *account, uint64_t lease,
                  enum budget_sign sign);
/* Say it when the breaker has moved since. */
void outcome_breaker(const struct pending_account *account, enum budget_breaker before);

#endif
