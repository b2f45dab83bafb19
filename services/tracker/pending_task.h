/* pending_task.h - an open task and its account as pending.h holds them: plain values to be read.
 * Only pending.h changes them, but for what the acts note in a task: pushes, kept, spare, replaced,
 * arrivals. One thread.
 */
#ifndef ALD_TRACKER_PENDING_TASK_H
#define ALD_TRACKER_PENDING_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/heap.h"
#include "common/config/profile.h"
#include "services/tracker/budget.h"
#include "services/tracker/stale.h"
#include "services/tracker/submission.h"

enum pending_phase { PENDING_IDLE, PENDING_QUEUED, PENDING_LEASED };

/* Oldest first. */
struct pending_queue {
    struct pending_task *first, *last;
};

struct pending_batch; /* pending_batch.h */
struct pending_again; /* pending_again.h */

/* What all tasks of one provider account share. */
struct pending_account {
    const struct ald_profile *profile;
    struct budget budget;
    struct stale stale; /* changed by who hears the callbacks */
    uint64_t open;      /* tasks here */
    uint64_t queued;
    uint64_t leased;
    uint64_t leased_submits; /* of those, submissions */
    uint64_t late;           /* tasks that were said to be (PENDING_LATE) */
    bool seen;               /* it has had a task in this run */
    bool submitted;          /* the last lease was a submission's */
    struct pending_queue queue[BUDGET_QUEUES];
};

/* What a task has besides when it was asked for, or is to be: queued, leased, polled, hinted. Most
 * tasks end without any of it. */
struct pending_look {
    uint64_t lease; /* while leased */
    uint64_t poller;
    int64_t told_ms[2]; /* of the last polls that were counted: pending_poll's at_ms */
    int64_t queued_at_ms;
    int64_t polled_at_ms;             /* the last lease */
    int64_t hinted_at_ms;             /* last hint that was heeded */
    int64_t ordinary_at_ms;           /* when it is due without its hint */
    uint32_t polls;                   /* that left for the provider */
    uint32_t requests;                /* of those, the ones that count in max_requests */
    uint32_t failures;                /* polls in a row that said nothing */
    enum budget_use use;              /* the queue it is in, or its lease counts in */
    bool hinted;                      /* the next poll, or the one under way, was asked for */
    bool unfetched;                   /* the lease's outcome is here: nothing was fetched */
    bool deadline_polled;             /* a poll was answered after give_up_at */
    bool alone;                       /* asked for with others, it could not be told from them */
    struct pending_batch *batch;      /* that its lease is one of; NULL: its own debit */
    struct pending_task *prev, *next; /* in the account's queue */
};

/* Readable by the tracker's other parts. Five million of them are in memory at once, so each byte
 * counts. */
struct pending_task {
    struct ald_heap_node due; /* first: found from the heap's node */
    uint64_t id;
    struct pending_account *account;
    char *provider_id; /* "" = not known yet */
    int64_t made_ms;   /* service times */
    int64_t stale_at_ms;
    int64_t give_up_at_ms;
    struct pending_look *look;            /* NULL: it was never asked for; see pending_looked */
    struct submission *submit;            /* it is to be submitted (pending_submit.h); else NULL */
    struct pending_again *again;          /* it was submitted again, or is; else NULL */
    struct pending_task *older, *younger; /* of all, by id */
    enum pending_phase phase : 8;
    bool pushes : 1;   /* its end is told to its caller (pushes.h) */
    bool placed : 1;   /* the provider said where it is polled */
    bool alerted : 1;  /* its callback is late and it can't be asked for; said */
    bool kept : 1;     /* what was submitted is kept: it may be again */
    bool spare : 1;    /* it is kept for a person (vault_again.h) */
    bool replaced : 1; /* by another task, which a person had made */
    uint16_t arrivals; /* callbacks kept, of ARRIVAL_KEPT_MAX */
};

/* "provider/provider_id", as long as its provider_id. */
const char *pending_task_ref(const struct pending_task *task);
/* What there is of its looks; of a task that was never asked for: that. */
const struct pending_look *pending_looked(const struct pending_task *task);

#endif
