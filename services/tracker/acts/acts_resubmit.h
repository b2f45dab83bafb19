/* acts_resubmit.h - what is done about tasks that are submitted again: resubmission.h decides, and
 * what it decided is written, within the caller's transaction. One owner.
 */
#ifndef ALD_TRACKER_ACTS_RESUBMIT_H
#define ALD_TRACKER_ACTS_RESUBMIT_H

#include "services/tracker/resubmission.h"
#include "services/tracker/tracker.h"

/* Show its metrics, from the start or the first use on. */
void resubmit_meters(void);

/* May this open task be submitted again? known: as if its submission were settled, by an id that a
 * message brings. */
bool resubmit_may(struct tracker *self, const struct pending_task *task, enum resubmission_why why,
                  bool known);

/* It is. code: with RESUBMISSION_CODE. */
void resubmit(struct tracker *self, struct pending_task *task, enum resubmission_why why,
              const char *code);

/* Its submission is settled: keep what was sent, if it may be needed again. Before pending.h hears
 * of it. */
void resubmit_keep(struct tracker *self, struct pending_task *task);

/* The attempt that its resubmission follows has failed, too, by this code. */
void resubmit_heard(struct tracker *self, struct pending_task *task, const char *code);

/* Is its resubmission, which is about to start, still wanted? */
bool resubmit_wanted(struct tracker *self, const struct pending_task *task);

/* Its resubmission is not made. If what it follows has failed that is the task's end, and *task_p
 * is NULL after; else the task waits for its answer. why: a sentence. */
void resubmit_stop(struct tracker *self, struct pending_task **task_p, const char *why);

#endif
