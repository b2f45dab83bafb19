#include "services/tracker/pending.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/guard.h"
#include "common/base/text.h"
#include "services/tracker/pending_batch.h"
#include "services/tracker/pending_figures.h"
#include "services/tracker/pending_inside.h"
#include "services/tracker/pending_rules.h"
#include "services/tracker/shards.h"

pending_t *pending_new(const struct pending_options *options)
{
    pending_t *self = zmalloc(sizeof *self);
    self->options = *options;
    self->random = options->seed | 1;
    self->by_id = shards_new(SHARDS_NUMBERS);
    self->by_ref = shards_new(SHARDS_TEXTS);
    self->due = ald_heap_new();
    return self;
}

static void pending_task_free(struct pending_task *task)
{
    if (task->batch && --task->batch->open == 0)
        free(task->batch);
    pending_again_free(NULL, task);
    free(task->ref);
    free(task->submit);
    free(task);
}

static void pending_free_each(void *context, void *item)
{
    (void)context;
    pending_task_free(item);
}

void pending_destroy(pending_t **self_p)
{
    pending_t *self = *self_p;
    if (!self)
        return;
    shards_each(self->by_id, pending_free_each, NULL);
    shards_destroy(&self->by_ref);
    shards_destroy(&self->by_id);
    ald_heap_destroy(&self->due);
    for (size_t i = 0; i < self->account_count; i++) {
        budget_free(&self->accounts[i]->budget);
        free(self->accounts[i]);
    }
    free(self->accounts);
    free(self);
    *self_p = NULL;
}

struct pending_account *pending_account(pending_t *self, const struct ald_profile *profile)
{
    for (size_t i = 0; i < self->account_count; i++)
        if (self->accounts[i]->profile == profile)
            return self->accounts[i];
    size_t count = self->account_count++;
    self->accounts = realloc(self->accounts, (count + 1) * sizeof(struct pending_account *));
    ALD_ASSERT(self->accounts);
    struct pending_account *account = self->accounts[count] = zmalloc(sizeof *account);
    account->profile = profile;
    budget_init(&account->budget, profile);
    return account;
}

uint64_t pending_random(pending_t *self)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return self->random;
}

void pending_due_at(pending_t *self, struct pending_task *task, int64_t at_ms)
{
    if (task->due.pos == SIZE_MAX) {
        task->due.key = at_ms;
        ald_heap_insert(self->due, &task->due);
    } else {
        ald_heap_update(self->due, &task->due, at_ms);
    }
}

void pending_idle_until(pending_t *self, struct pending_task *task, int64_t at_ms, int64_t now_ms)
{
    pending_due_at(self, task, pending_idle_ms(task, at_ms, now_ms));
}

/* Ids rise, so the place of a new one is nearly always at the end. */
static void pending_line_up(pending_t *self, struct pending_task *task)
{
    struct pending_task *older = self->youngest;
    while (older && older->id > task->id)
        older = older->older;
    task->older = older;
    task->younger = older ? older->younger : self->oldest;
    if (task->younger)
        task->younger->older = task;
    else
        self->youngest = task;
    if (older)
        older->younger = task;
    else
        self->oldest = task;
}

static void pending_step_out(pending_t *self, struct pending_task *task)
{
    if (task->older)
        task->older->younger = task->younger;
    else
        self->oldest = task->younger;
    if (task->younger)
        task->younger->older = task->older;
    else
        self->youngest = task->older;
}

void pending_phase_set(pending_t *self, struct pending_task *task, enum pending_phase phase)
{
    bool submits = task->use == BUDGET_SUBMIT;
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
    struct pending_queue *queue = &task->account->queue[task->use];
    if (task->prev)
        task->prev->next = task->next;
    else
        queue->first = task->next;
    if (task->next)
        task->next->prev = task->prev;
    else
        queue->last = task->prev;
    task->prev = task->next = NULL;
    task->account->queued--;
    pending_phase_set(self, task, PENDING_IDLE);
}

/* A queued task stays in the heap for its end: it may wait for a poller until then. One that waits
 * for the share of hints is looked at when it is due without its hint. */
void pending_enqueue(pending_t *self, struct pending_task *task, enum budget_use use,
                     int64_t now_ms)
{
    struct pending_queue *queue = &task->account->queue[use];
    task->use = use;
    task->queued_at_ms = now_ms;
    task->prev = queue->last;
    task->next = NULL;
    if (queue->last)
        queue->last->next = task;
    else
        queue->first = task;
    queue->last = task;
    task->account->queued++;
    pending_phase_set(self, task, PENDING_QUEUED);
    int64_t end_ms = task->give_up_at_ms;
    if (use != BUDGET_SUBMIT)
        end_ms += self->options.last_poll_grace_ms;
    if (use == BUDGET_HINTED && task->ordinary_at_ms < end_ms)
        end_ms = task->ordinary_at_ms;
    pending_due_at(self, task, end_ms > now_ms ? end_ms : now_ms + 1);
}

char *pending_ref(const char *provider, const char *provider_id)
{
    size_t size = strlen(provider) + strlen(provider_id) + 2;
    char *ref = zmalloc(size);
    (void)snprintf(ref, size, "%s/%s", provider, provider_id);
    return ref;
}

static void pending_ref_set(struct pending_task *task, const char *provider_id)
{
    const char *provider = task->account->profile->name;
    task->ref = pending_ref(provider, provider_id);
    task->provider_id = task->ref + strlen(provider) + 1;
}

enum ald_rc pending_add(pending_t *self, const struct pending_facts *facts)
{
    if (shards_lookup(self->by_id, &facts->id))
        return ALD_EXISTS;
    struct pending_task *task = zmalloc(sizeof *task);
    task->due.pos = SIZE_MAX;
    task->id = facts->id;
    task->account = pending_account(self, facts->profile);
    pending_ref_set(task, facts->provider_id);
    task->placed = facts->placed;
    task->alerted = facts->alerted;
    task->made_ms = facts->made_ms;
    task->stale_at_ms = facts->made_ms + facts->stale_after_ms;
    task->give_up_at_ms = facts->made_ms + facts->give_up_after_ms;
    task->hinted_at_ms = INT64_MIN / 2;
    task->polled_at_ms = INT64_MIN / 2;
    if (task->provider_id[0] != '\0' && !shards_insert(self->by_ref, task->ref, task)) {
        pending_task_free(task);
        return ALD_EXISTS;
    }
    ALD_ASSERT(shards_insert(self->by_id, &task->id, task));
    task->account->open++;
    task->account->late += task->alerted && pending_mute(task);
    task->account->seen = true;
    self->phase_count[PENDING_IDLE]++;
    self->unattached += task->provider_id[0] == '\0';
    pending_line_up(self, task);
    pending_idle_until(self, task, task->stale_at_ms, task->made_ms);
    return ALD_OK;
}

static void pending_told(struct pending_task *task, int64_t at_ms)
{
    task->told_ms[1] = task->told_ms[0];
    task->told_ms[0] = at_ms;
}

void pending_polls(pending_t *self, struct pending_task *task, uint32_t polls, uint32_t hinted,
                   int64_t last_ms)
{
    pending_told(task, last_ms);
    task->polls += polls;
    task->requests += polls - hinted;
    if (task->phase == PENDING_IDLE)
        pending_idle_until(self, task, task->stale_at_ms, task->made_ms);
}

struct pending_task *pending_find(const pending_t *self, uint64_t id)
{
    return shards_lookup(self->by_id, &id);
}

struct pending_task *pending_find_ref(const pending_t *self, const char *provider,
                                      const char *provider_id)
{
    char ref[33 + 129 + 1];
    const char *const parts[] = {provider, "/", provider_id};
    if (provider_id[0] == '\0' || ald_text_join(ref, sizeof ref, parts, ALD_COUNT(parts)) != ALD_OK)
        return NULL;
    return shards_lookup(self->by_ref, ref);
}

void pending_askable(pending_t *self, struct pending_task *task, int64_t now_ms)
{
    if (task->phase == PENDING_IDLE)
        pending_idle_until(self, task, task->stale_at_ms > now_ms ? task->stale_at_ms : now_ms,
                           now_ms);
}

/* attempt: that the id which it has is of. */
static void pending_name(pending_t *self, struct pending_task *task, uint64_t attempt,
                         const char *provider_id)
{
    char *ref = task->ref;
    bool had = task->provider_id[0] != '\0';
    pending_ref_set(task, provider_id);
    ALD_ASSERT(shards_insert(self->by_ref, task->ref, task));
    self->unattached -= !had;
    if (had && task->again) {
        pending_again_keep(self, task, attempt, ref);
        return;
    }
    if (had)
        shards_remove(self->by_ref, ref);
    free(ref);
}

enum ald_rc pending_attach(pending_t *self, struct pending_task *task, const char *provider_id,
                           int64_t now_ms)
{
    struct pending_task *other = pending_find_ref(self, task->account->profile->name, provider_id);
    const uint64_t attempt = task->again ? task->again->attempt : 0;
    if (other && other != task)
        return ALD_EXISTS;
    if (task->submit)
        pending_submit_settled(self, task, now_ms);
    if (!other)
        pending_name(self, task, attempt, provider_id);
    else if (strcmp(task->provider_id, provider_id) != 0)
        pending_again_swap(task, attempt, provider_id);
    pending_askable(self, task, now_ms);
    return ALD_OK;
}

void pending_place(pending_t *self, struct pending_task *task, int64_t now_ms)
{
    if (task->placed)
        return;
    task->placed = true;
    pending_askable(self, task, now_ms);
}

static enum budget_use pending_hint_use(const struct pending_task *task)
{
    return budget_shares(&task->account->budget) ? BUDGET_HINTED : BUDGET_ORDINARY;
}

bool pending_hint(pending_t *self, struct pending_task *task, int64_t now_ms)
{
    const struct ald_schedule *schedule = &task->account->profile->schedule;
    int64_t gap_ms = 0;
    (void)pending_task_budget(task, &gap_ms);
    if (!pending_can_poll(task) || task->phase != PENDING_IDLE ||
        now_ms - task->hinted_at_ms < schedule->every_ms || now_ms - task->polled_at_ms < gap_ms)
        return false;
    task->hinted_at_ms = now_ms;
    if (!task->hinted)
        task->ordinary_at_ms = task->due.key;
    task->hinted = true;
    pending_enqueue(self, task, pending_hint_use(task), now_ms);
    return true;
}

/* A lease is over. left: its request may have reached the provider. */
void pending_unlease(pending_t *self, struct pending_task *task, bool left, int64_t now_ms)
{
    pending_batch_leave(task, left, now_ms);
    task->account->leased--;
    task->lease = 0;
    pending_phase_set(self, task, PENDING_IDLE);
}

void pending_end(pending_t *self, struct pending_task **task_p, int64_t now_ms)
{
    struct pending_task *task = *task_p;
    if (task->phase == PENDING_QUEUED)
        pending_dequeue(self, task);
    if (task->phase == PENDING_LEASED) {
        pending_batch_told(task, BUDGET_NOTHING, now_ms);
        pending_unlease(self, task, true, now_ms);
    }
    if (task->due.pos != SIZE_MAX)
        ald_heap_remove(self->due, &task->due);
    if (task->provider_id[0] != '\0')
        shards_remove(self->by_ref, task->ref);
    else
        self->unattached--;
    pending_again_free(self, task);
    shards_remove(self->by_id, &task->id);
    pending_step_out(self, task);
    self->phase_count[task->phase]--;
    self->submitting -= task->submit && submission_counts(task->submit);
    task->account->open--;
    task->account->late -= task->alerted && pending_mute(task);
    pending_task_free(task);
    *task_p = NULL;
}

static bool pending_has_lease(const struct pending_task *task, uint64_t lease)
{
    return task->phase == PENDING_LEASED && task->lease == lease;
}

bool pending_reported(const struct pending_task *task, uint64_t lease, int64_t at_ms)
{
    return at_ms > 0 && !pending_has_lease(task, lease) &&
           (task->told_ms[0] == at_ms || task->told_ms[1] == at_ms);
}

void pending_polled(pending_t *self, struct pending_task *task, const struct pending_poll *poll,
                    int64_t now_ms)
{
    bool leased = pending_has_lease(task, poll->lease);
    pending_told(task, poll->at_ms);
    if (poll->left) {
        task->polls++;
        task->requests += !(leased && task->hinted) && !poll->block;
    }
    task->failures = poll->sense ? 0 : task->failures + 1;
    if (poll->answered && now_ms >= task->give_up_at_ms)
        task->deadline_polled = true;
    if (poll->block)
        budget_block(&task->account->budget, now_ms + poll->wait_ms, poll->code ? poll->code : "");
    task->alone = poll->alone || (task->alone && !poll->sense);
    if (!leased) {
        (void)budget_told(&task->account->budget, poll->lease, poll->sign, now_ms);
        return;
    }
    pending_batch_told(task, poll->sign, now_ms);
    pending_unlease(self, task, poll->left, now_ms);
    int64_t next_ms = now_ms + pending_wait(task, poll, pending_random(self));
    task->hinted = task->hinted && next_ms < task->ordinary_at_ms;
    pending_idle_until(self, task, next_ms, now_ms);
}

enum pending_due_kind pending_due(pending_t *self, int64_t now_ms, bool hold,
                                  struct pending_task **out)
{
    struct ald_heap_node *node = ald_heap_first(self->due);
    *out = NULL;
    if (!node || node->key > now_ms)
        return PENDING_NOTHING;
    struct pending_task *task = (struct pending_task *)(void *)node;
    if (pending_may_expire(task, self->options.last_poll_grace_ms, now_ms)) {
        if (!hold) {
            *out = task;
            return PENDING_EXPIRE;
        }
        pending_due_at(self, task, now_ms + 1000);
        return PENDING_WAITS;
    }
    if (task->submit)
        return pending_submit_due(self, task, now_ms, out);
    if (task->phase == PENDING_IDLE && pending_mute(task) && !task->alerted) {
        task->alerted = true;
        task->account->late++;
        pending_idle_until(self, task, now_ms, now_ms);
        *out = task;
        return PENDING_LATE;
    }
    if (task->phase == PENDING_LEASED) {
        pending_return(self, task, now_ms);
    } else if (task->phase == PENDING_IDLE) {
        task->hinted = task->hinted && now_ms < task->ordinary_at_ms;
        if (task->hinted)
            task->hinted_at_ms = now_ms;
        pending_enqueue(self, task, task->hinted ? pending_hint_use(task) : BUDGET_ORDINARY,
                        now_ms);
    } else if (task->use == BUDGET_HINTED && now_ms >= task->ordinary_at_ms) {
        pending_dequeue(self, task);
        task->hinted = false;
        pending_enqueue(self, task, BUDGET_ORDINARY, now_ms);
    } else {
        pending_due_at(self, task, now_ms + (task->account->budget.paused ? 10000 : 1000));
    }
    return PENDING_WAITS;
}

int64_t pending_next_ms(const pending_t *self)
{
    const struct ald_heap_node *first = ald_heap_first(self->due);
    return first ? first->key : INT64_MAX;
}

size_t pending_count(const pending_t *self)
{
    return shards_count(self->by_id);
}

size_t pending_count_phase(const pending_t *self, enum pending_phase phase)
{
    return self->phase_count[phase];
}

size_t pending_count_unattached(const pending_t *self)
{
    return self->unattached;
}

size_t pending_count_polling(const pending_t *self)
{
    return self->phase_count[PENDING_LEASED] - self->leased_submits;
}

uint64_t pending_lowest(const pending_t *self)
{
    return self->oldest ? self->oldest->id : 0;
}

struct pending_account *pending_account_at(const pending_t *self, size_t index)
{
    return index < self->account_count ? self->accounts[index] : NULL;
}

struct pending_task *pending_oldest(const pending_t *self)
{
    return self->oldest;
}
