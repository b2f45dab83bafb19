#include "services/tracker/pending_inside.h"

#include <stdlib.h>

#include "common/base/guard.h"
#include "services/tracker/pending_batch.h"

static const struct pending_look NEVER = {.polled_at_ms = INT64_MIN / 2,
                                          .hinted_at_ms = INT64_MIN / 2};

const struct pending_look *pending_looked(const struct pending_task *task)
{
    return task->look ? task->look : &NEVER;
}

struct pending_look *pending_look(struct pending_task *task)
{
    if (task->look)
        return task->look;
    task->look = malloc(sizeof *task->look);
    ALD_ASSERT(task->look);
    *task->look = NEVER;
    return task->look;
}

void pending_look_free(struct pending_task *task)
{
    struct pending_look *look = task->look;
    if (look && look->batch && --look->batch->open == 0)
        free(look->batch);
    free(look);
    task->look = NULL;
}

void pending_phase_set(pending_t *self, struct pending_task *task, enum pending_phase phase)
{
    bool submits = pending_looked(task)->use == BUDGET_SUBMIT;
    self->phase_count[task->phase]--;
    bool was = submits && task->phase == PENDING_LEASED;
    bool is = submits && phase == PENDING_LEASED;
    task->phase = phase;
    self->phase_count[phase]++;
    self->leased_submits += (size_t)is - (size_t)was;
    task->account->leased_submits += (uint64_t)is - (uint64_t)was;
}

void pending_dequeue(pending_t *self, struct pending_task *task)
{
    struct pending_look *look = task->look;
    struct pending_queue *queue = &task->account->queue[look->use];
    if (look->prev)
        look->prev->look->next = look->next;
    else
        queue->first = look->next;
    if (look->next)
        look->next->look->prev = look->prev;
    else
        queue->last = look->prev;
    look->prev = look->next = NULL;
    task->account->queued--;
    pending_phase_set(self, task, PENDING_IDLE);
}

/* A queued task stays in the heap for its end: it may wait for a poller until then. One that waits
 * for the share of hints is looked at when it is due without its hint. */
void pending_enqueue(pending_t *self, struct pending_task *task, enum budget_use use,
                     int64_t now_ms)
{
    struct pending_look *look = pending_look(task);
    struct pending_queue *queue = &task->account->queue[use];
    look->use = use;
    look->queued_at_ms = now_ms;
    look->prev = queue->last;
    look->next = NULL;
    if (queue->last)
        queue->last->look->next = task;
    else
        queue->first = task;
    queue->last = task;
    task->account->queued++;
    pending_phase_set(self, task, PENDING_QUEUED);
    int64_t end_ms = task->give_up_at_ms;
    if (use != BUDGET_SUBMIT)
        end_ms += self->options.last_poll_grace_ms;
    if (use == BUDGET_HINTED && look->ordinary_at_ms < end_ms)
        end_ms = look->ordinary_at_ms;
    pending_due_at(self, task, end_ms > now_ms ? end_ms : now_ms + 1);
}

void pending_told(struct pending_task *task, int64_t at_ms)
{
    struct pending_look *look = pending_look(task);
    look->told_ms[1] = look->told_ms[0];
    look->told_ms[0] = at_ms;
}

void pending_polls(pending_t *self, struct pending_task *task, uint32_t polls, uint32_t hinted,
                   int64_t last_ms)
{
    struct pending_look *look = pending_look(task);
    pending_told(task, last_ms);
    look->polls += polls;
    look->requests += polls - hinted;
    if (task->phase == PENDING_IDLE)
        pending_idle_until(self, task, task->stale_at_ms, task->made_ms);
}

bool pending_has_lease(const struct pending_task *task, uint64_t lease)
{
    return task->phase == PENDING_LEASED && task->look->lease == lease;
}

bool pending_reported(const struct pending_task *task, uint64_t lease, int64_t at_ms)
{
    const struct pending_look *look = pending_looked(task);
    return at_ms > 0 && !pending_has_lease(task, lease) &&
           (look->told_ms[0] == at_ms || look->told_ms[1] == at_ms);
}

void pending_fetched(struct pending_task *task, uint64_t lease, bool fetched)
{
    if (pending_has_lease(task, lease))
        task->look->unfetched = !fetched;
}

void pending_poll_left(struct pending_task *task)
{
    struct pending_look *look = pending_look(task);
    look->polls++;
    look->requests++;
}
