#include "services/tracker/pending_submit.h"

#include <stdlib.h>

#include "common/base/guard.h"
#include "common/base/text.h"
#include "services/tracker/pending_inside.h"

/* The provider has it, or may have it: the task's times begin. */
static void submit_times(struct pending_task *task, int64_t now_ms)
{
    task->made_ms = now_ms;
    task->stale_at_ms = now_ms + task->submit->stale_after_ms;
    bool first = task->submit->resubmit == 0;
    task->give_up_at_ms = first ? now_ms + task->submit->give_up_after_ms : task->submit->until_ms;
}

/* Queue it, or look again when its wait is over. */
static void submit_next(pending_t *self, struct pending_task *task, int64_t now_ms)
{
    int64_t next_ms = task->submit->next_ms;
    if (next_ms <= now_ms)
        pending_enqueue(self, task, BUDGET_SUBMIT, now_ms);
    else
        pending_due_at(self, task, next_ms < task->give_up_at_ms ? next_ms : task->give_up_at_ms);
}

void pending_submit(pending_t *self, struct pending_task *task, const struct submission *facts,
                    int64_t now_ms)
{
    ALD_ASSERT(!task->submit && task->phase == PENDING_IDLE);
    ALD_ASSERT(task->provider_id[0] == '\0' || facts->resubmit > 0);
    task->submit = zmalloc(sizeof *task->submit);
    *task->submit = *facts;
    if (facts->stage == SUBMISSION_WAITING) {
        task->give_up_at_ms = submission_until(facts);
        submit_next(self, task, now_ms);
        return;
    }
    self->submitting += submission_counts(facts);
    bool started = facts->stage == SUBMISSION_STARTED; /* its poller may live, and tell */
    pending_due_at(self, task,
                   started ? now_ms + pending_lease_ms(self, task->account->profile)
                           : task->give_up_at_ms);
}

bool pending_submit_leased(const struct pending_task *task, uint64_t lease)
{
    return pending_has_lease(task, lease) && task->look->use == BUDGET_SUBMIT;
}

void pending_submit_resumed(pending_t *self, struct pending_task *task, uint64_t lease,
                            int64_t now_ms)
{
    if (task->phase != PENDING_IDLE)
        return;
    struct pending_look *look = pending_look(task);
    look->use = BUDGET_SUBMIT;
    look->lease = lease;
    look->poller = 0;
    pending_phase_set(self, task, PENDING_LEASED);
    task->account->leased++;
    budget_take(&task->account->budget, BUDGET_SUBMIT, lease, now_ms);
    pending_due_at(self, task, now_ms + pending_lease_ms(self, task->account->profile));
}

void pending_submit_started(pending_t *self, struct pending_task *task, uint64_t attempt,
                            uint64_t lease, int64_t now_ms)
{
    struct submission *submit = task->submit;
    self->submitting -= submission_counts(submit);
    submission_started(submit, attempt, lease);
    self->submitting += submission_counts(submit);
    submit_times(task, now_ms);
    pending_due_at(self, task, now_ms + pending_lease_ms(self, task->account->profile));
}

int64_t pending_submit_again(pending_t *self, struct pending_task *task,
                             const struct submission_decision *decision, uint64_t lease, bool left,
                             int64_t now_ms)
{
    struct submission *submit = task->submit;
    if (pending_submit_leased(task, lease))
        pending_unlease(self, task, left, now_ms);
    self->submitting -= submission_counts(submit);
    submit->stage = SUBMISSION_WAITING;
    submit->tries += !decision->unasked;
    submit->strange += decision->strange;
    submit->letter[0] = '\0';
    submit->next_ms = now_ms + submission_wait(submit, &task->account->profile->schedule,
                                               decision->wait_ms, pending_random(self));
    task->give_up_at_ms = submission_until(submit);
    if (task->phase == PENDING_IDLE)
        submit_next(self, task, now_ms);
    return submit->next_ms;
}

void pending_submit_unsure(pending_t *self, struct pending_task *task, const char *letter,
                           int64_t now_ms)
{
    struct submission *submit = task->submit;
    if (task->phase == PENDING_LEASED) {
        (void)budget_told(&task->account->budget, task->look->lease, BUDGET_NOTHING, now_ms);
        pending_unlease(self, task, true, now_ms);
    }
    if (task->phase == PENDING_QUEUED)
        pending_dequeue(self, task);
    if (submit->stage == SUBMISSION_WAITING)
        submit_times(task, now_ms);
    self->submitting -= submission_counts(submit);
    submit->stage = SUBMISSION_UNCERTAIN;
    self->submitting += submission_counts(submit);
    ald_text_cut(submit->letter, sizeof submit->letter, ald_span_str(letter));
    pending_due_at(self, task, task->give_up_at_ms);
}

void pending_submit_settled(pending_t *self, struct pending_task *task, int64_t now_ms)
{
    struct submission *submit = task->submit;
    if (task->phase == PENDING_QUEUED)
        pending_dequeue(self, task);
    if (task->phase == PENDING_LEASED) {
        (void)budget_told(&task->account->budget, task->look->lease, BUDGET_NOTHING, now_ms);
        pending_unlease(self, task, true, now_ms);
    }
    if (submit->stage == SUBMISSION_WAITING) /* it was submitted by somebody else */
        submit_times(task, now_ms);
    self->submitting -= submission_counts(submit);
    if (submit->resubmit > 0 && submit->stage != SUBMISSION_SETTLED) {
        task->again->attempt = submit->attempt;
        task->again->lease = submit->lease;
        task->again->failed = false;
    }
    free(submit);
    task->submit = NULL;
    pending_idle_until(self, task, task->stale_at_ms > now_ms ? task->stale_at_ms : now_ms, now_ms);
}

void pending_submit_told(pending_t *self, struct pending_task *task, int64_t wait_ms,
                         int64_t now_ms)
{
    const int64_t most_ms = task->give_up_at_ms > now_ms ? task->give_up_at_ms - now_ms : 0;
    task->stale_at_ms = now_ms + (wait_ms < most_ms ? wait_ms : most_ms);
    if (task->phase == PENDING_IDLE)
        pending_idle_until(self, task, task->stale_at_ms, now_ms);
}

enum pending_due_kind pending_submit_due(pending_t *self, struct pending_task *task, int64_t now_ms,
                                         struct pending_task **out)
{
    switch (task->submit->stage) {
    case SUBMISSION_WAITING:
        if (task->phase == PENDING_LEASED)
            pending_return(self, task, now_ms);
        else if (task->phase == PENDING_IDLE)
            submit_next(self, task, now_ms);
        else
            pending_due_at(self, task, now_ms + 1000);
        break;
    case SUBMISSION_STARTED:
        *out = task;
        return PENDING_UNSURE;
    case SUBMISSION_UNCERTAIN:
    case SUBMISSION_SETTLED:
    case SUBMISSION_KEPT:
        pending_due_at(self, task,
                       task->give_up_at_ms > now_ms ? task->give_up_at_ms : now_ms + 1000);
        break;
    }
    return PENDING_WAITS;
}

size_t pending_count_submitting(const pending_t *self)
{
    return self->submitting;
}

enum ald_state pending_state(const struct pending_task *task)
{
    if (task->provider_id[0] != '\0')
        return ALD_STATE_PENDING;
    bool started = task->submit && task->submit->stage != SUBMISSION_WAITING;
    return started ? ALD_STATE_SUBMITTING : ALD_STATE_ACCEPTED;
}
