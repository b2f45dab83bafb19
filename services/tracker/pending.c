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

static const void *pending_key_id(const void *item)
{
    const struct pending_task *task = item;
    return &task->id;
}

static const void *pending_key_ref(const void *item)
{
    return pending_task_ref(item);
}

static const void *pending_key_old(const void *item)
{
    const struct pending_old *old = item;
    return old->ref;
}

pending_t *pending_new(const struct pending_options *options)
{
    pending_t *self = zmalloc(sizeof *self);
    self->options = *options;
    self->random = options->seed | 1;
    self->by_id = shards_new(SHARDS_NUMBERS, pending_key_id);
    self->by_ref = shards_new(SHARDS_TEXTS, pending_key_ref);
    self->by_old = shards_new(SHARDS_TEXTS, pending_key_old);
    self->due = ald_heap_new();
    return self;
}

static void pending_task_free(struct pending_task *task)
{
    pending_look_free(task);
    pending_again_free(NULL, task);
    free(pending_ref_take(task));
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
    shards_destroy(&self->by_old);
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
    if (task->due.pos == SIZE_MAX)
        ald_heap_insert(self->due, &task->due, at_ms);
    else
        ald_heap_update(self->due, &task->due, at_ms);
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

static struct pending_task *pending_task_new(pending_t *self, const struct pending_facts *facts)
{
    struct pending_task *task = zmalloc(sizeof *task);
    task->due.pos = SIZE_MAX;
    task->id = facts->id;
    task->account = pending_account(self, facts->profile);
    task->placed = facts->placed;
    task->alerted = facts->alerted;
    task->made_ms = facts->made_ms;
    task->stale_at_ms = facts->made_ms + facts->stale_after_ms;
    task->give_up_at_ms = facts->made_ms + facts->give_up_after_ms;
    pending_ref_set(task, pending_ref(facts->profile->name, facts->provider_id));
    return task;
}

/* False: another one is found under one of its ids, and nothing is changed. */
static bool pending_enter(pending_t *self, struct pending_task *task)
{
    if (!shards_insert(self->by_id, task))
        return false;
    if (task->provider_id[0] == '\0')
        return true;
    bool old = shards_count(self->by_old) > 0 &&
               shards_lookup(self->by_old, pending_task_ref(task)) != NULL;
    if (!old && shards_insert(self->by_ref, task))
        return true;
    shards_remove(self->by_id, &task->id);
    return false;
}

enum ald_rc pending_add(pending_t *self, const struct pending_facts *facts)
{
    struct pending_task *task = pending_task_new(self, facts);
    if (!pending_enter(self, task)) {
        pending_task_free(task);
        return ALD_EXISTS;
    }
    task->account->open++;
    task->account->late += task->alerted && pending_mute(task);
    task->account->seen = true;
    self->phase_count[PENDING_IDLE]++;
    self->unattached += task->provider_id[0] == '\0';
    pending_line_up(self, task);
    pending_idle_until(self, task, task->stale_at_ms, task->made_ms);
    return ALD_OK;
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
    struct pending_task *task = shards_lookup(self->by_ref, ref);
    const struct pending_old *old = task ? NULL : shards_lookup(self->by_old, ref);
    return old ? old->task : task;
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
    bool had = task->provider_id[0] != '\0';
    if (had)
        shards_remove(self->by_ref, pending_task_ref(task));
    char *ref = pending_ref_take(task);
    if (had && task->again)
        pending_again_keep(self, task, attempt, ref);
    else
        free(ref);
    pending_ref_set(task, pending_ref(task->account->profile->name, provider_id));
    ALD_ASSERT(shards_insert(self->by_ref, task));
    self->unattached -= !had;
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
        pending_again_swap(self, task, attempt, provider_id);
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
        now_ms - pending_looked(task)->hinted_at_ms < schedule->every_ms ||
        now_ms - pending_looked(task)->polled_at_ms < gap_ms)
        return false;
    struct pending_look *look = pending_look(task);
    look->hinted_at_ms = now_ms;
    if (!look->hinted)
        look->ordinary_at_ms = pending_due_ms(self, task);
    look->hinted = true;
    pending_enqueue(self, task, pending_hint_use(task), now_ms);
    return true;
}

/* A lease is over. left: its request may have reached the provider. */
void pending_unlease(pending_t *self, struct pending_task *task, bool left, int64_t now_ms)
{
    pending_batch_leave(task, left, now_ms);
    task->account->leased--;
    task->look->lease = 0;
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
        shards_remove(self->by_ref, pending_task_ref(task));
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

void pending_polled(pending_t *self, struct pending_task *task, const struct pending_poll *poll,
                    int64_t now_ms)
{
    bool leased = pending_has_lease(task, poll->lease);
    struct pending_look *look = pending_look(task);
    pending_told(task, poll->at_ms);
    if (poll->left) {
        look->polls++;
        look->requests += !(leased && look->hinted) && !poll->block;
    }
    look->failures = poll->sense ? 0 : look->failures + 1;
    if (poll->answered && now_ms >= task->give_up_at_ms)
        look->deadline_polled = true;
    if (poll->block)
        budget_block(&task->account->budget, now_ms + poll->wait_ms, poll->code ? poll->code : "");
    look->alone = poll->alone || (look->alone && !poll->sense);
    if (!leased) {
        (void)budget_told(&task->account->budget, poll->lease, poll->sign, now_ms);
        return;
    }
    pending_batch_told(task, poll->sign, now_ms);
    pending_unlease(self, task, poll->left, now_ms);
    int64_t next_ms = now_ms + pending_wait(task, poll, pending_random(self));
    look->hinted = look->hinted && next_ms < look->ordinary_at_ms;
    pending_idle_until(self, task, next_ms, now_ms);
}

enum pending_due_kind pending_due(pending_t *self, int64_t now_ms, bool hold,
                                  struct pending_task **out)
{
    struct ald_heap_node *node = ald_heap_first(self->due);
    *out = NULL;
    if (!node || ald_heap_key(self->due, node) > now_ms)
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
    struct pending_look *look = pending_look(task);
    if (task->phase == PENDING_LEASED) {
        pending_return(self, task, now_ms);
    } else if (task->phase == PENDING_IDLE) {
        look->hinted = look->hinted && now_ms < look->ordinary_at_ms;
        if (look->hinted)
            look->hinted_at_ms = now_ms;
        pending_enqueue(self, task, look->hinted ? pending_hint_use(task) : BUDGET_ORDINARY,
                        now_ms);
    } else if (look->use == BUDGET_HINTED && now_ms >= look->ordinary_at_ms) {
        pending_dequeue(self, task);
        look->hinted = false;
        pending_enqueue(self, task, BUDGET_ORDINARY, now_ms);
    } else {
        pending_due_at(self, task, now_ms + (task->account->budget.paused ? 10000 : 1000));
    }
    return PENDING_WAITS;
}

int64_t pending_due_ms(const pending_t *self, const struct pending_task *task)
{
    return ald_heap_key(self->due, &task->due);
}

int64_t pending_next_ms(const pending_t *self)
{
    const struct ald_heap_node *first = ald_heap_first(self->due);
    return first ? ald_heap_key(self->due, first) : INT64_MAX;
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
