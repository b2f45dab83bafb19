/* pending_again.h - the part of pending.h that is about tasks which are submitted again
 * (resubmission.h).
 *
 * Such a task keeps its provider's id until the next attempt has one, and is found under every id
 * that it has had. While its submission is under way it is not polled, and no poll that was under
 * way before counts as one of the new attempt.
 */
#ifndef ALD_TRACKER_PENDING_AGAIN_H
#define ALD_TRACKER_PENDING_AGAIN_H

#include "common/config/ruled.h"
#include "services/tracker/pending.h"

/* An id that it had before. */
struct pending_old {
    struct pending_task *task;
    char *ref;
    const char *provider_id; /* in ref */
    uint64_t attempt;
};

struct pending_again {
    uint32_t count;    /* how often it was decided */
    bool failed;       /* the provider said that `attempt` has failed */
    uint64_t attempt;  /* the one that the task's provider_id is of */
    uint64_t lease;    /* it was started under: a poll of a lower one is of an attempt before */
    uint32_t polls;    /* before it */
    uint32_t requests; /* of those, the ones that count */
    unsigned old_count;
    struct pending_old old[ALD_RESUBMITS_MAX];
};

/* Submit this task again. facts: a submission that waits, with resubmit, taken and until_ms.
 * failed: why, else it is late. */
void pending_resubmit(pending_t *self, struct pending_task *task, const struct submission *facts,
                      bool failed, int64_t now_ms);

/* One that was decided before the start, oldest first; before what is under way is put back. */
struct pending_again_row {
    uint32_t no;             /* which one, from 1 on */
    uint64_t attempt;        /* that it follows */
    const char *provider_id; /* of that */
    bool failed;
    uint64_t lease; /* of the last attempt, if that was taken; else 0 */
    uint64_t last;  /* the last attempt, if it was taken; else 0 */
    uint32_t polls, requests;
    int64_t give_up_at_ms; /* of the task */
};
void pending_again_back(pending_t *self, struct pending_task *task,
                        const struct pending_again_row *row);

/* Its resubmission is not made: what was taken before is all that there is. */
void pending_again_stop(pending_t *self, struct pending_task *task, int64_t now_ms);

/* That it is late is not settled: look again then. */
void pending_late_again(pending_t *self, struct pending_task *task, int64_t at_ms, int64_t now_ms);

/* The attempt of a task with `again` that this is said of: attempt (0 = not told) is its address's,
 * provider_id may be "". */
uint64_t pending_attempt(const struct pending_task *task, uint64_t attempt,
                         const char *provider_id);

/* Is what is said of this attempt (0 = not told) and this id ("" = not told) about an attempt that
 * another follows? */
bool pending_followed(const struct pending_task *task, uint64_t attempt, const char *provider_id);

/* The same of a poll's outcome. */
bool pending_poll_followed(const struct pending_task *task, uint64_t lease);

/* Which of the task's ids a message means that names this attempt and id: the same if it is one of
 * them, "" if none of that attempt is known; else the task's. */
const char *pending_own_id(const struct pending_task *task, uint64_t attempt,
                           const char *provider_id);

#endif
