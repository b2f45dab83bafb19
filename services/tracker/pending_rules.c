#include "services/tracker/pending_rules.h"

#include <string.h>

#include "common/base/backoff.h"
#include "services/tracker/pending_figures.h"

bool pending_task_budget(const struct pending_task *task, int64_t *gap_ms)
{
    const struct ald_budgets *budgets = &task->account->profile->budgets;
    bool more = true;
    *gap_ms = 0;
    for (unsigned i = 0; i < budgets->count; i++) {
        const struct ald_budget *rule = &budgets->list[i];
        if (!rule->per_task || (rule->counts & ALD_COUNTS_POLL) == 0)
            continue;
        more = more && (rule->requests == 0 || pending_looked(task)->polls < rule->requests);
        *gap_ms = rule->min_gap_ms > *gap_ms ? rule->min_gap_ms : *gap_ms;
    }
    return more;
}

/* Is it known where to ask? */
static bool pending_has_place(const struct pending_task *task)
{
    const struct ald_profile *profile = task->account->profile;
    if (!profile->poll_url_told)
        return profile->poll_url[0] != '\0';
    return task->placed || (profile->id_may_be_url && strstr(task->provider_id, "://"));
}

bool pending_mute(const struct pending_task *task)
{
    const struct ald_profile *profile = task->account->profile;
    return !profile->poll_url_told && profile->poll_url[0] == '\0';
}

int64_t pending_idle_ms(const struct pending_task *task, int64_t at_ms, int64_t now_ms)
{
    const struct ald_profile *profile = task->account->profile;
    const int64_t look_ms = stale_last_look_ms(profile);
    const struct pending_look *look = pending_looked(task);
    bool polls_left = pending_can_poll(task) && look->requests < profile->schedule.max_requests;
    bool alert = pending_mute(task) && !task->alerted;
    if (polls_left && look_ms < INT64_MAX && now_ms < task->made_ms + look_ms &&
        at_ms > task->made_ms + look_ms)
        at_ms = task->made_ms + look_ms;
    if (now_ms < task->give_up_at_ms && ((!polls_left && !alert) || at_ms > task->give_up_at_ms))
        at_ms = task->give_up_at_ms;
    return look->deadline_polled ? now_ms : at_ms;
}

bool pending_can_poll(const struct pending_task *task)
{
    int64_t gap_ms = 0;
    return task->provider_id[0] != '\0' && !task->submit && pending_has_place(task) &&
           pending_task_budget(task, &gap_ms);
}

int64_t pending_wait(const struct pending_task *task, const struct pending_poll *poll,
                     uint64_t random)
{
    const struct ald_schedule *schedule = &task->account->profile->schedule;
    struct ald_backoff backoff = {.first_ms = schedule->every_ms,
                                  .percent = schedule->backoff_percent,
                                  .max_ms = schedule->max_every_ms,
                                  .jitter_percent = schedule->jitter_percent};
    const struct pending_look *look = pending_looked(task);
    uint32_t made = look->hinted ? look->polls : look->requests;
    uint32_t step = made > 0 ? made - 1 : 0;
    if (!poll->sense) {
        backoff.percent = 200; /* nothing sensible came: 5 s, doubling */
        step = look->failures > 0 ? look->failures - 1 : 0;
    }
    bool told = schedule->asked_when_told && poll->sense && poll->wait_ms > 0;
    int64_t wait = told ? 0 : ald_backoff_wait(&backoff, step, random);
    int64_t gap_ms = 0;
    (void)pending_task_budget(task, &gap_ms);
    wait = gap_ms > wait ? gap_ms : wait;
    return poll->wait_ms > wait ? poll->wait_ms : wait;
}

bool pending_may_expire(const struct pending_task *task, int64_t grace_ms, int64_t now_ms)
{
    const struct budget *budget = &task->account->budget;
    if (now_ms < task->give_up_at_ms)
        return false;
    if (pending_looked(task)->deadline_polled || !pending_can_poll(task))
        return true;
    int64_t from_ms =
        budget->resumed_ms > task->give_up_at_ms ? budget->resumed_ms : task->give_up_at_ms;
    return !budget->paused && now_ms >= from_ms + grace_ms;
}

struct pending_task *pending_next(const struct pending_account *account, int64_t now_ms)
{
    /* Submissions and polls in turn; of the polls those that were asked for first. */
    static const enum budget_use orders[][BUDGET_QUEUES] = {
        {BUDGET_SUBMIT, BUDGET_HINTED, BUDGET_ORDINARY},
        {BUDGET_HINTED, BUDGET_ORDINARY, BUDGET_SUBMIT}};
    const enum budget_use *order = orders[account->submitted];
    for (unsigned i = 0; i < BUDGET_QUEUES; i++)
        if (account->queue[order[i]].first &&
            budget_when(&account->budget, order[i], now_ms) <= now_ms)
            return account->queue[order[i]].first;
    return NULL;
}

int64_t pending_oldest_due(const struct pending_account *account)
{
    int64_t oldest_ms = -1;
    for (unsigned use = 0; use < BUDGET_QUEUES; use++) {
        const struct pending_task *first = account->queue[use].first;
        if (first && (oldest_ms < 0 || first->look->queued_at_ms < oldest_ms))
            oldest_ms = first->look->queued_at_ms;
    }
    return oldest_ms;
}
