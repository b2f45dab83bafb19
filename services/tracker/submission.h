/* submission.h - a task that aldaba submits itself: may this attempt go, and what does a report of
 * it mean. The decisions, and nothing else.
 *
 * A submission is paid for and not idempotent. So it has two steps: a lease, which may be lost and
 * handed out again, and a start, which is on disk before a byte leaves and is never taken back by a
 * lost lease. What is not known for certain is uncertain and is not sent again:
 *
 *     waiting ──started──▶ started ──accepted──▶ settled
 *        ▲                   │  lease over, or an answer that says nothing
 *        │                   ▼
 *        └─not taken──── uncertain ──accepted, callback, attach──▶ settled
 *
 * A report is a fact about (task, attempt) and counts however late it comes, and once.
 *
 * A settled one may be kept, to be submitted again (resubmission.h): then it waits anew, with the
 * next attempt, and all of the above holds again. Pure; one owner.
 */
#ifndef ALD_TRACKER_SUBMISSION_H
#define ALD_TRACKER_SUBMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config/profile.h"
#include "proto/msg_limits.h"

/* On disk as numbers: none is reused. */
enum submission_stage {
    SUBMISSION_WAITING,   /* state accepted: the provider certainly does not have it */
    SUBMISSION_STARTED,   /* state submitting: a poller may be at it */
    SUBMISSION_UNCERTAIN, /* state submitting: nobody is at it, and nobody knows */
    SUBMISSION_SETTLED,   /* the provider has it, or the task has ended */
    SUBMISSION_KEPT       /* the provider has it, and it may be submitted again */
};

enum { SUBMISSION_STRANGE_MAX = 3 /* refusals by codes that nobody knows */ };

struct submission {
    enum submission_stage stage;
    uint64_t attempt; /* the last one that was started; 0 = none */
    uint64_t lease;   /* it was started under */
    uint32_t tries;   /* attempts that came to nothing */
    uint32_t strange; /* of those, by a code that nobody knows */
    int64_t made_ms;  /* service times: the task was made */
    int64_t next_ms;  /* not before */
    int64_t within_ms;
    int64_t stale_after_ms; /* after the start */
    int64_t give_up_after_ms;
    char letter[ALD_ULID_MAX]; /* submit_uncertain; "" = none yet (vault_submit_doubt) */
    uint32_t resubmit;         /* which one it is, after the first submission; 0 = that one */
    uint64_t taken;            /* of a resubmission: the attempt that it follows */
    int64_t until_ms;          /* of a resubmission: the task's deadline */
};

/* May the attempt of this lease be sent? leased: the lease is the task's present one. True: note
 * it on disk, then say so. The same question may be asked again. */
bool submission_start(const struct submission *self, uint64_t attempt, uint64_t lease, bool leased);

/* It was noted. */
void submission_started(struct submission *self, uint64_t attempt, uint64_t lease);

struct submission_report {
    uint64_t attempt;
    uint64_t lease; /* attempts of leases that were never started have the same number */
    bool leased;    /* it is the task's present lease */
    bool left;      /* bytes may have reached the provider */
    bool answered;  /* a whole answer came */
    const struct ald_verdict *verdict;
    uint64_t http; /* status of the answer */
};

enum submission_end {
    SUBMISSION_NOTHING, /* told before, or about an attempt that no longer matters */
    SUBMISSION_TAKEN,   /* the provider has it, under the verdict's id */
    SUBMISSION_DONE,    /* and the answer is the result */
    SUBMISSION_AGAIN,   /* certainly not taken: wait_ms, then once more */
    SUBMISSION_FAILED,  /* certainly not taken, and never will be */
    SUBMISSION_UNSURE
};

struct submission_decision {
    enum submission_end end;
    int64_t wait_ms;   /* with AGAIN; 0 = as the schedule's backoff says */
    bool block;        /* the account waits so long, too */
    bool strange;      /* by a code that nobody knows */
    bool unasked;      /* with AGAIN: it was handed back, nobody tried */
    const char *cause; /* a sentence; static */
};

void submission_decide(const struct submission *self, const struct submission_report *report,
                       struct submission_decision *out);

/* The wait before the next attempt. */
int64_t submission_wait(const struct submission *self, const struct ald_schedule *schedule,
                        int64_t wait_ms, uint64_t random);

/* The last moment for a start. */
static inline int64_t submission_until(const struct submission *self)
{
    return self->resubmit > 0 ? self->until_ms : self->made_ms + self->within_ms;
}

/* Is its task in the state submitting? One that is submitted again stays pending: what was taken
 * before may be answered. */
static inline bool submission_counts(const struct submission *self)
{
    return self->resubmit == 0 && self->stage != SUBMISSION_WAITING;
}

#endif
