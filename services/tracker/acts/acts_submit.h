/* acts_submit.h - what is done about submissions: submission.h decides, and what it decided is
 * written, within the caller's transaction. One owner.
 */
#ifndef ALD_TRACKER_ACTS_SUBMIT_H
#define ALD_TRACKER_ACTS_SUBMIT_H

#include "services/tracker/tracker.h"

/* May a poller send? `applied`: once this is on disk. */
void act_started(struct tracker *self, const struct msg_started *started, struct msg_ack *ack);

/* What a submission said; a disposition. */
const char *submit_outcome(struct tracker *self, const struct msg_outcome *outcome);

/* The provider's id became known, whoever told it: before memory forgets the submission. */
void submit_known(struct tracker *self, struct pending_task *task);

/* The task has ended: the same. answered: an answer came, or a person gave it up; else its letter
 * stays. */
void submit_over(struct tracker *self, const struct pending_task *task, bool answered,
                 bool dropped);

/* The lease of a started submission is over. */
void submit_unsure(struct tracker *self, struct pending_task *task);

/* It waits in a store that may be an older copy: it may have been submitted since. */
void submit_doubt(struct tracker *self, struct pending_task *task);

/* The deadline of its task is over. */
void submit_expire(struct tracker *self, struct pending_task *task);

#endif
