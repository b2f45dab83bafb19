/* pending_batch.h - tasks that are asked for in one request, and its one debit. Inside pending.h.
 *
 * What a request costs is decided where the leases are handed out, as the debit is on disk by then:
 * the first task of a request is debited, the others ride with it. It is given back only when the
 * request of none of them left. One thread.
 */
#ifndef ALD_TRACKER_PENDING_BATCH_H
#define ALD_TRACKER_PENDING_BATCH_H

#include "services/tracker/pending.h"

/* One request for several tasks: one debit of the budget, settled when the last of their leases is
 * over. */
struct pending_batch {
    uint64_t lead; /* the lease that the budget was debited for */
    enum budget_use use;
    unsigned open;     /* leases that are not over */
    bool left;         /* of one of them the request left */
    bool fetched;      /* and perhaps one of them fetched its result, as one that is alone may */
    unsigned renewals; /* of the budget, when it was debited */
    bool told;         /* the budget knows what the provider said */
};

/* The task was leased, and the budget debited for it: others may join, if the profile lets it. */
void pending_batch_begin(struct pending_task *lead);

/* The queued task that would join next. NULL: none does. */
struct pending_task *pending_batch_next(const struct pending_task *lead);

/* It was leased, too. */
void pending_batch_join(struct pending_task *lead, struct pending_task *task);

/* What the outcome of the task's lease says of the provider. A request counts once, whatever it
 * asked for; its trouble too. */
void pending_batch_told(struct pending_task *task, enum budget_sign sign, int64_t now_ms);

/* The budget of a leased task was renewed: its debit is counted again, a request's once. */
void pending_batch_recount(struct pending_task *task);

/* The task's lease is over: the debit is settled with the last one. */
void pending_batch_leave(struct pending_task *task, bool left, int64_t now_ms);

#endif
