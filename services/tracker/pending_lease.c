#include "services/tracker/pending_inside.h"

#include "common/config/profile_request.h"
#include "services/tracker/pending_batch.h"
#include "services/tracker/pending_rules.h"

/* A poller sends nothing in the last tenth of a lease to submit, and begins what it got at once:
 * how long a request waits for its turn at the host is within the request's own time. */
enum { LEASE_SPARE = 10, LEASE_WAY_MS = 2000 };

int64_t pending_lease_ms(const pending_t *self, const struct ald_profile *profile)
{
    const struct pending_options *options = &self->options;
    int64_t takes_ms = profile->poll_timeout_ms;
    if (options->request_max_ms > 0 && options->request_max_ms < takes_ms)
        takes_ms = options->request_max_ms;
    if (ald_profile_asks(profile, ALD_STAGE_FETCH)) /* in the same lease */
        takes_ms *= 2;
    int64_t needed_ms = takes_ms * LEASE_SPARE / (LEASE_SPARE - 1) + LEASE_WAY_MS;
    return needed_ms > options->lease_ms ? needed_ms : options->lease_ms;
}

static void pending_lease_task(pending_t *self, struct pending_task *task, uint64_t poller,
                               uint64_t lease, int64_t now_ms)
{
    pending_dequeue(self, task);
    pending_phase_set(self, task, PENDING_LEASED);
    struct pending_look *look = task->look;
    look->lease = lease;
    look->poller = poller;
    look->unfetched = false;
    look->polled_at_ms = now_ms;
    task->account->leased++;
    pending_due_at(self, task, now_ms + pending_lease_ms(self, task->account->profile));
}

struct pending_task *pending_lease(pending_t *self, uint64_t poller, uint64_t lease, int64_t now_ms)
{
    for (size_t i = 0; i < self->account_count; i++) {
        size_t at = (self->account_turn + i) % self->account_count;
        struct pending_account *account = self->accounts[at];
        struct pending_task *task = account->queued > 0 ? pending_next(account, now_ms) : NULL;
        if (!task)
            continue;
        self->account_turn = at + 1;
        account->submitted = task->look->use == BUDGET_SUBMIT;
        pending_lease_task(self, task, poller, lease, now_ms);
        budget_take(&account->budget, task->look->use, lease, now_ms);
        pending_batch_begin(task);
        return task;
    }
    return NULL;
}

int64_t pending_ready_ms(const pending_t *self, int64_t now_ms)
{
    int64_t least_ms = INT64_MAX;
    for (size_t i = 0; i < self->account_count; i++) {
        const struct pending_account *account = self->accounts[i];
        for (unsigned use = 0; account->queued > 0 && use < ALD_COUNT(account->queue); use++) {
            if (!account->queue[use].first)
                continue;
            int64_t at_ms = budget_when(&account->budget, (enum budget_use)use, now_ms);
            at_ms = at_ms == BUDGET_UNTOLD ? now_ms : at_ms;
            least_ms = at_ms < least_ms ? at_ms : least_ms;
        }
    }
    return least_ms;
}

struct pending_task *pending_lease_with(pending_t *self, struct pending_task *lead, uint64_t lease,
                                        int64_t now_ms)
{
    struct pending_task *task = pending_batch_next(lead);
    if (!task)
        return NULL;
    pending_lease_task(self, task, lead->look->poller, lease, now_ms);
    pending_batch_join(lead, task);
    return task;
}

void pending_return(pending_t *self, struct pending_task *task, int64_t now_ms)
{
    if (task->phase != PENDING_LEASED)
        return;
    if (task->submit && task->submit->stage != SUBMISSION_WAITING) {
        pending_due_at(self, task, now_ms); /* it may have been sent: see pending_submit_due */
        return;
    }
    pending_batch_told(task, BUDGET_NOTHING, now_ms);
    pending_unlease(self, task, !task->submit, now_ms); /* what was not started never left */
    pending_enqueue(self, task, task->look->use, now_ms);
}

struct pending_gone {
    pending_t *pending;
    uint64_t poller;
    int64_t now_ms;
};

static void pending_gone_each(void *context, void *item)
{
    const struct pending_gone *gone = context;
    struct pending_task *task = item;
    if (task->phase == PENDING_LEASED && task->look->poller == gone->poller)
        pending_return(gone->pending, task, gone->now_ms); /* changes the task, not the table */
}

void pending_poller_gone(pending_t *self, uint64_t poller, int64_t now_ms)
{
    struct pending_gone gone = {.pending = self, .poller = poller, .now_ms = now_ms};
    if (self->phase_count[PENDING_LEASED] > 0)
        shards_each(self->by_id, pending_gone_each, &gone);
}
