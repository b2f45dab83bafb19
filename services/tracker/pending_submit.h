/* pending_submit.h - the part of pending.h that is about tasks which aldaba submits itself.
 *
 * Such a task has a submission (submission.h) until the provider's id is known. While it waits it
 * is queued in its account as polls are, within the budgets that count submissions; its deadline is
 * that of the submission, and from its start on that of the task. Lost leases of what was not
 * started are handed out again; of what was started pending_due says PENDING_UNSURE.
 */
#ifndef ALD_TRACKER_PENDING_SUBMIT_H
#define ALD_TRACKER_PENDING_SUBMIT_H

#include "proto/words.h"
#include "services/tracker/pending.h"

/* This open task without a provider's id is to be submitted; or was, before a restart. */
void pending_submit(pending_t *self, struct pending_task *task, const struct submission *facts,
                    int64_t now_ms);

/* Is the lease the task's present one? */
bool pending_submit_leased(const struct pending_task *task, uint64_t lease);

/* The attempt of this lease was started: its deadlines begin. */
void pending_submit_started(pending_t *self, struct pending_task *task, uint64_t attempt,
                            uint64_t lease, int64_t now_ms);

/* A start from before a restart is confirmed again: it is sent only now, and counts in its budget
 * from now on. Nothing if its lease is known. */
void pending_submit_resumed(pending_t *self, struct pending_task *task, uint64_t lease,
                            int64_t now_ms);

/* The provider certainly does not have it: once more, after the wait of the decision. lease: the
 * one that was reported; left: of its request. Returns when, in service time. */
int64_t pending_submit_again(pending_t *self, struct pending_task *task,
                             const struct submission_decision *decision, uint64_t lease, bool left,
                             int64_t now_ms);

/* Nobody knows. letter: that says so. */
void pending_submit_unsure(pending_t *self, struct pending_task *task, const char *letter,
                           int64_t now_ms);

/* The provider has it: an ordinary task from now on. */
void pending_submit_settled(pending_t *self, struct pending_task *task, int64_t now_ms);

/* It has just been settled, and the provider said how long to wait before it is asked: then it is
 * polled first, but not after its deadline. */
void pending_submit_told(pending_t *self, struct pending_task *task, int64_t wait_ms,
                         int64_t now_ms);

/* Of an open task; one that is being polled is pending. */
enum ald_state pending_state(const struct pending_task *task);

/* Open tasks whose submission was started and is not settled. */
size_t pending_count_submitting(const pending_t *self);

#endif
