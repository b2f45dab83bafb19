#include "services/tracker/pending_batch.h"

#include <stdlib.h>

#include "common/config/batch.h"

static bool pending_batch_takes(const struct pending_task *task)
{
    return !task->submit && !pending_looked(task)->alone &&
           ald_batch_takes(task->account->profile, task->provider_id);
}

void pending_batch_begin(struct pending_task *lead)
{
    if (!pending_batch_takes(lead))
        return;
    struct pending_look *look = lead->look;
    look->batch = malloc(sizeof *look->batch);
    ALD_ASSERT(look->batch);
    *look->batch = (struct pending_batch){.lead = look->lease,
                                          .use = look->use,
                                          .open = 1,
                                          .renewals = lead->account->budget.renewals};
}

struct pending_task *pending_batch_next(const struct pending_task *lead)
{
    const struct pending_account *account = lead->account;
    const struct pending_batch *batch = lead->look->batch;
    if (!batch || batch->open >= account->profile->batch.max)
        return NULL;
    for (unsigned use = 0; use < BUDGET_QUEUES; use++) {
        struct pending_task *first = account->queue[use].first;
        if (first && pending_batch_takes(first))
            return first;
    }
    return NULL;
}

void pending_batch_join(struct pending_task *lead, struct pending_task *task)
{
    task->look->batch = lead->look->batch;
    task->look->batch->open++;
}

void pending_batch_told(struct pending_task *task, enum budget_sign sign, int64_t now_ms)
{
    struct budget *budget = &task->account->budget;
    struct pending_batch *batch = task->look->batch;
    if (!batch) {
        (void)budget_told(budget, task->look->lease, sign, now_ms);
        return;
    }
    /* That nothing is known of the provider is sure only when the last one says so. */
    bool said = sign != BUDGET_NOTHING || batch->open == 1;
    if (!said || (batch->told && sign != BUDGET_SANE))
        return;
    batch->told = true;
    (void)budget_told(budget, batch->lead, sign, now_ms);
}

void pending_batch_recount(struct pending_task *task)
{
    struct budget *budget = &task->account->budget;
    struct pending_batch *batch = task->look->batch;
    if (batch && batch->renewals == budget->renewals)
        return;
    budget_recount(budget, batch ? batch->use : task->look->use);
    if (batch)
        batch->renewals = budget->renewals;
}

static void pending_batch_settle(struct budget *budget, enum budget_use use, bool left,
                                 bool fetched, int64_t now_ms)
{
    if (fetched)
        budget_settle(budget, use, left, now_ms);
    else
        budget_settle_unfetched(budget, use, left, now_ms);
}

void pending_batch_leave(struct pending_task *task, bool left, int64_t now_ms)
{
    struct budget *budget = &task->account->budget;
    struct pending_batch *batch = task->look->batch;
    task->look->batch = NULL;
    if (!batch) {
        pending_batch_settle(budget, task->look->use, left, !task->look->unfetched, now_ms);
        return;
    }
    batch->left = batch->left || left;
    batch->fetched = batch->fetched || (left && !task->look->unfetched);
    if (--batch->open > 0)
        return;
    pending_batch_settle(budget, batch->use, batch->left, batch->fetched, now_ms);
    free(batch);
}
