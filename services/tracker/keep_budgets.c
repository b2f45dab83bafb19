#include "services/tracker/keep_budgets.h"

#include <stdio.h>

#include "common/base/log.h"

enum { KEEP_FACT_MAX = 128 };

/* Facts of an account: stale.<provider>.<n> is a pack of counts of stale.h; pause.<provider> is -1
 * while it is paused, else when that ended; given.<provider> is C; budget.<provider>.<name>.<what>
 * is struct budget_saved. */
static void keep_name(char out[KEEP_FACT_MAX], const char *what, const char *provider,
                      const char *name, const char *member)
{
    (void)snprintf(out, KEEP_FACT_MAX, "%s.%s%s%s%s%s", what, provider, name ? "." : "",
                   name ? name : "", member ? "." : "", member ? member : "");
}

/* The members of struct budget_saved, by their facts' names. NULL past the last. */
static int64_t *keep_member(struct budget_saved *saved, size_t index, const char **name)
{
    static const char *const names[] = {"start", "before", "before.hinted", "used", "used.hinted"};
    int64_t *const members[] = {&saved->start_ms, &saved->before[BUDGET_ORDINARY],
                                &saved->before[BUDGET_HINTED], &saved->used[BUDGET_ORDINARY],
                                &saved->used[BUDGET_HINTED]};
    *name = index < ALD_COUNT(names) ? names[index] : NULL;
    return *name ? members[index] : NULL;
}

static void keep_saved_read(struct tracker *self, const char *provider, const char *budget,
                            struct budget_saved *saved)
{
    char fact[KEEP_FACT_MAX];
    const char *name = NULL;
    int64_t *member = NULL;
    for (size_t i = 0; (member = keep_member(saved, i, &name)); i++) {
        keep_name(fact, "budget", provider, budget, name);
        *member = vault_meta(&self->vault, fact);
    }
}

static void keep_saved_write(struct tracker *self, const char *provider, const char *budget,
                             struct budget_saved *saved)
{
    char fact[KEEP_FACT_MAX];
    const char *name = NULL;
    int64_t *member = NULL;
    for (size_t i = 0; (member = keep_member(saved, i, &name)); i++) {
        keep_name(fact, "budget", provider, budget, name);
        vault_meta_set(&self->vault, fact, *member);
    }
}

static void keep_pause_back(struct tracker *self, struct budget *budget)
{
    char fact[KEEP_FACT_MAX];
    keep_name(fact, "pause", budget->profile->name, NULL, NULL);
    int64_t value = vault_meta(&self->vault, fact);
    if (value > 0)
        budget->resumed_ms = value;
    if (value >= 0)
        return;
    budget_pause(budget, true, self->run_base_ms);
    ald_log(ALD_WARN, "provider.paused", "provider=%s text=\"by a person, before the start\"",
            budget->profile->name);
}

static void keep_stale_back(struct tracker *self, const struct ald_profile *profile)
{
    char fact[KEEP_FACT_MAX];
    char number[8];
    struct stale *stale = &pending_account(self->pending, profile)->stale;
    int64_t unused = 0;
    for (unsigned i = 0; stale_pack(stale, i, &unused); i++) {
        (void)snprintf(number, sizeof number, "%u", i);
        keep_name(fact, "stale", profile->name, number, NULL);
        stale_unpack(stale, i, vault_meta(&self->vault, fact));
    }
}

static void keep_stale_write(struct tracker *self, struct pending_account *account)
{
    char fact[KEEP_FACT_MAX];
    char number[8];
    int64_t packed = 0;
    for (unsigned i = 0; stale_pack(&account->stale, i, &packed); i++) {
        (void)snprintf(number, sizeof number, "%u", i);
        keep_name(fact, "stale", account->profile->name, number, NULL);
        if (vault_meta(&self->vault, fact) != packed)
            vault_meta_set(&self->vault, fact, packed);
    }
    account->stale.changed = false;
}

void keep_stale(struct tracker *self)
{
    struct pending_account *account = NULL;
    for (size_t i = 0; (account = pending_account_at(self->pending, i)); i++)
        if (account->stale.changed)
            keep_stale_write(self, account);
    self->learned = false;
}

void keep_budget_list(struct tracker *self, struct budget *budget, unsigned known)
{
    for (unsigned i = 0; i < budget->count; i++) {
        struct budget_saved saved = {0};
        if ((known & 1U << i) != 0)
            continue;
        keep_saved_read(self, budget->profile->name, budget->list[i].rule->name, &saved);
        budget_restore(budget, i, &saved, tracker_now(self).run_ms);
    }
}

void keep_budget_back(struct tracker *self, const struct ald_profile *profile)
{
    char fact[KEEP_FACT_MAX];
    struct budget *budget = &pending_account(self->pending, profile)->budget;
    budget_block(budget, vault_block(&self->vault, profile->name), "");
    keep_pause_back(self, budget);
    keep_stale_back(self, profile);
    keep_name(fact, "given", profile->name, NULL, NULL);
    budget->given = vault_meta(&self->vault, fact);
    keep_budget_list(self, budget, 0);
}

void keep_budgets_back(struct tracker *self)
{
    for (size_t i = 0; i < ald_profiles_count(self->profiles); i++)
        keep_budget_back(self, ald_profiles_at(self->profiles, i));
}

static void keep_budgets_write(struct tracker *self, bool ahead)
{
    const int64_t now_ms = tracker_now(self).run_ms;
    struct pending_account *account = NULL;
    for (size_t k = 0; (account = pending_account_at(self->pending, k)); k++) {
        struct budget *budget = &account->budget;
        for (unsigned i = 0; i < budget->count; i++) {
            struct budget_saved saved;
            if (ahead && !budget_save_due(budget, i, now_ms))
                continue;
            budget_save(budget, i, ahead, now_ms, &saved);
            keep_saved_write(self, account->profile->name, budget->list[i].rule->name, &saved);
        }
    }
}

void keep_budgets(struct tracker *self)
{
    keep_budgets_write(self, true);
}

void keep_budgets_last(struct tracker *self)
{
    vault_begin(&self->vault);
    keep_budgets_write(self, false);
    (void)tracker_commit(self);
}

void keep_given(struct tracker *self, const struct ald_profile *profile)
{
    char fact[KEEP_FACT_MAX];
    bool asked = false;
    for (unsigned i = 0; i < profile->budgets.count; i++)
        asked = asked || profile->budgets.list[i].formula;
    if (!asked)
        return;
    struct budget *budget = &pending_account(self->pending, profile)->budget;
    budget_given(budget);
    keep_name(fact, "given", profile->name, NULL, NULL);
    vault_meta_set(&self->vault, fact, budget->given);
}

void keep_resumed(struct tracker *self, const struct ald_profile *profile)
{
    char fact[KEEP_FACT_MAX];
    struct budget *budget = &pending_account(self->pending, profile)->budget;
    if (budget->paused)
        return; /* its end will do */
    const int64_t now_ms = tracker_now(self).run_ms;
    budget->resumed_ms = now_ms > 0 ? now_ms : 1;
    keep_name(fact, "pause", profile->name, NULL, NULL);
    vault_meta_set(&self->vault, fact, budget->resumed_ms);
}

void keep_pause(struct tracker *self, const struct ald_profile *profile, bool paused)
{
    char fact[KEEP_FACT_MAX];
    const int64_t now_ms = tracker_now(self).run_ms;
    struct budget *budget = &pending_account(self->pending, profile)->budget;
    if (budget->paused == paused)
        return;
    budget_pause(budget, paused, now_ms);
    keep_name(fact, "pause", profile->name, NULL, NULL);
    vault_meta_set(&self->vault, fact, paused ? -1 : now_ms > 0 ? now_ms : 1);
    ald_log(ALD_WARN, paused ? "provider.paused" : "provider.resumed", "provider=%s",
            profile->name);
}
