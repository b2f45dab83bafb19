#include "services/tracker/renew.h"

#include <inttypes.h>

#include "common/base/log.h"
#include "services/tracker/acts/acts_resubmit.h"
#include "services/tracker/calls.h"
#include "services/tracker/jwks.h"
#include "services/tracker/keep_budgets.h"
#include "services/tracker/pending_batch.h"
#include "services/tracker/pending_inside.h"
#include "services/tracker/pending_rules.h"

static void renew_account(struct tracker *self, struct pending_account *account)
{
    const struct ald_profile *profile = ald_profiles_find(self->profiles, account->profile->name);
    ALD_ASSERT(profile);
    if (ald_profiles_gone(self->profiles, profile) && account->open > 0)
        ald_log(ALD_WARN, "tasks.kept",
                "provider=%s open=%" PRIu64 " text=\"they go on by the profile that they had\"",
                profile->name, account->open);
    account->profile = profile;
    keep_budget_list(self, &account->budget, budget_renew(&account->budget, profile));
}

static bool renew_known(const struct tracker *self, const struct ald_profile *profile)
{
    struct pending_account *account = NULL;
    for (size_t i = 0; (account = pending_account_at(self->pending, i)); i++)
        if (account->profile == profile)
            return true;
    return false;
}

/* Leases count where they would be counted now. Who was waiting for its end alone may be polled
 * now, if the profile says so; whoever waits for a poll goes on waiting. */
static void renew_task(struct tracker *self, struct pending_task *task, int64_t now_ms)
{
    struct pending_account *account = task->account;
    if (task->phase == PENDING_LEASED)
        pending_batch_recount(task);
    if (task->alerted && resubmit_may(self, task, RESUBMISSION_LATE, false))
        pending_late_again(self->pending, task, now_ms, now_ms);
    if (task->phase == PENDING_IDLE && !task->submit &&
        pending_due_ms(self->pending, task) == task->give_up_at_ms &&
        now_ms < task->give_up_at_ms && pending_can_poll(task) &&
        pending_looked(task)->requests < account->profile->schedule.max_requests)
        pending_askable(self->pending, task, now_ms);
}

void renew_profiles(struct tracker *self, const ald_profiles_t *fresh)
{
    const int64_t now_ms = tracker_now(self).run_ms;
    struct pending_account *account = NULL;
    self->profiles = fresh;
    if (!self->open)
        return; /* the store is read back later, with these */
    for (size_t i = 0; (account = pending_account_at(self->pending, i)); i++)
        renew_account(self, account);
    for (size_t i = 0; i < ald_profiles_count(fresh); i++)
        if (!renew_known(self, ald_profiles_at(fresh, i)))
            keep_budget_back(self, ald_profiles_at(fresh, i));
    for (struct pending_task *task = pending_oldest(self->pending); task; task = task->younger)
        renew_task(self, task, now_ms);
    jwks_renew(self->jwks);
    calls_recount(self->calls);
}
