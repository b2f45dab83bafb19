#include "services/tracker/pending_again.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/guard.h"
#include "services/tracker/pending_batch.h"
#include "services/tracker/pending_inside.h"
#include "services/tracker/pending_rules.h"
#include "services/tracker/resubmission.h"

/* It is not late any more, or not yet. */
static void again_in_time(struct pending_task *task)
{
    if (task->alerted && pending_mute(task))
        task->account->late--;
    task->alerted = false;
}

static void again_take_back(pending_t *self, struct pending_task *task, int64_t now_ms)
{
    if (task->phase == PENDING_QUEUED)
        pending_dequeue(self, task);
    if (task->phase != PENDING_LEASED)
        return;
    pending_batch_told(task, BUDGET_NOTHING, now_ms);
    pending_unlease(self, task, true, now_ms);
}

static struct pending_again *again_of(struct pending_task *task)
{
    if (!task->again)
        task->again = zmalloc(sizeof *task->again);
    return task->again;
}

/* The next attempt has an id of its own, which is asked for as often as the first one was. */
static void again_count_anew(struct pending_task *task)
{
    struct pending_again *again = task->again;
    struct pending_look *look = pending_look(task);
    again->polls += look->polls;
    again->requests += look->requests;
    look->polls = look->requests = look->failures = 0;
    look->hinted = look->alone = look->deadline_polled = false;
    task->placed = false;
}

void pending_resubmit(pending_t *self, struct pending_task *task, const struct submission *facts,
                      bool failed, int64_t now_ms)
{
    ALD_ASSERT(!task->submit && facts->resubmit > 0 && facts->stage == SUBMISSION_WAITING);
    struct pending_again *again = again_of(task);
    again_take_back(self, task, now_ms);
    again_in_time(task);
    again_count_anew(task);
    again->count = facts->resubmit;
    again->attempt = facts->taken;
    again->failed = failed;
    task->kept = false;
    pending_submit(self, task, facts, now_ms);
}

static bool again_had(const struct pending_task *task, const char *provider_id)
{
    const struct pending_again *again = task->again;
    bool had = strcmp(task->provider_id, provider_id) == 0;
    for (unsigned i = 0; again && i < again->old_count; i++)
        had = had || strcmp(again->old[i].provider_id, provider_id) == 0;
    return had;
}

static void again_old_set(pending_t *self, struct pending_old *old, struct pending_task *task,
                          uint64_t attempt, char *ref)
{
    *old = (struct pending_old){
        .task = task, .ref = ref, .provider_id = pending_ref_id(task, ref), .attempt = attempt};
    ALD_ASSERT(shards_insert(self->by_old, old));
}

void pending_again_keep(pending_t *self, struct pending_task *task, uint64_t attempt, char *ref)
{
    struct pending_again *again = task->again;
    if (again->old_count == ALD_RESUBMITS_MAX) {
        free(ref);
        return;
    }
    again_old_set(self, &again->old[again->old_count++], task, attempt, ref);
}

void pending_again_swap(pending_t *self, struct pending_task *task, uint64_t attempt,
                        const char *provider_id)
{
    struct pending_again *again = task->again;
    for (unsigned i = 0; again && i < again->old_count; i++) {
        struct pending_old *old = &again->old[i];
        if (strcmp(old->provider_id, provider_id) != 0)
            continue;
        char *was = old->ref;
        shards_remove(self->by_old, was);
        shards_remove(self->by_ref, pending_task_ref(task));
        again_old_set(self, old, task, attempt, pending_ref_take(task));
        pending_ref_set(task, was);
        ALD_ASSERT(shards_insert(self->by_ref, task));
        return;
    }
}

void pending_again_free(pending_t *self, struct pending_task *task)
{
    struct pending_again *again = task->again;
    for (unsigned i = 0; again && i < again->old_count; i++) {
        if (self)
            shards_remove(self->by_old, again->old[i].ref);
        free(again->old[i].ref);
    }
    free(again);
    task->again = NULL;
}

static uint32_t again_less(uint32_t all, uint32_t before)
{
    return all > before ? all - before : 0;
}

void pending_again_back(pending_t *self, struct pending_task *task,
                        const struct pending_again_row *row)
{
    struct pending_again *again = again_of(task);
    struct pending_look *look = pending_look(task);
    const char *provider = task->account->profile->name;
    bool current = strcmp(row->provider_id, task->provider_id) == 0;
    if (row->provider_id[0] != '\0' && !again_had(task, row->provider_id) &&
        !pending_find_ref(self, provider, row->provider_id))
        pending_again_keep(self, task, row->attempt, pending_ref(provider, row->provider_id));
    again->count = row->no;
    again->attempt = row->last > 0 && !current ? row->last : row->attempt;
    again->failed = row->failed && current;
    again->lease = row->lease;
    look->polls = again_less(look->polls, row->polls - again->polls);
    look->requests = again_less(look->requests, row->requests - again->requests);
    again->polls = row->polls;
    again->requests = row->requests;
    task->give_up_at_ms = row->give_up_at_ms;
    pending_askable(self, task, task->made_ms);
}

void pending_again_stop(pending_t *self, struct pending_task *task, int64_t now_ms)
{
    again_in_time(task); /* that it is late is to be said */
    task->submit->stage = SUBMISSION_SETTLED;
    task->give_up_at_ms = task->submit->until_ms;
    task->kept = false;
    pending_submit_settled(self, task, now_ms);
}

void pending_late_again(pending_t *self, struct pending_task *task, int64_t at_ms, int64_t now_ms)
{
    again_in_time(task);
    if (task->phase == PENDING_IDLE && !task->submit)
        pending_idle_until(self, task, at_ms, now_ms);
}

/* An id tells more than the address that it came to: a provider may send what it knows by both. */
uint64_t pending_attempt(const struct pending_task *task, uint64_t attempt, const char *provider_id)
{
    const struct pending_again *again = task->again;
    if (attempt == 0)
        attempt = again->attempt;
    if (provider_id[0] == '\0')
        return attempt;
    if (strcmp(task->provider_id, provider_id) == 0)
        return again->attempt;
    for (unsigned i = 0; i < again->old_count; i++)
        if (strcmp(again->old[i].provider_id, provider_id) == 0)
            return again->old[i].attempt;
    return attempt;
}

bool pending_followed(const struct pending_task *task, uint64_t attempt, const char *provider_id)
{
    return task->again && resubmission_followed(pending_attempt(task, attempt, provider_id),
                                                task->again->attempt, task->submit != NULL);
}

bool pending_poll_followed(const struct pending_task *task, uint64_t lease)
{
    return task->again && (task->submit != NULL || lease < task->again->lease);
}

const char *pending_own_id(const struct pending_task *task, uint64_t attempt,
                           const char *provider_id)
{
    const struct pending_again *again = task->again;
    if (!again || provider_id[0] == '\0')
        return task->provider_id;
    if (again_had(task, provider_id))
        return provider_id;
    for (unsigned i = 0; i < again->old_count; i++)
        if (again->old[i].attempt == attempt)
            return again->old[i].provider_id;
    return attempt == 0 || attempt == again->attempt ? task->provider_id : "";
}
