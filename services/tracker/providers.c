#include "services/tracker/providers.h"

#include <stdio.h>
#include <string.h>

#include "common/base/metrics.h"
#include "common/base/text.h"
#include "services/tracker/jwks.h"
#include "services/tracker/keep_budgets.h"
#include "services/tracker/pending_figures.h"

static struct ald_metric providers_paused = {.kind = ALD_GAUGE,
                                             .name = "aldaba_provider_paused",
                                             .help = "1 while a person has paused the provider.",
                                             .label = {"provider"}};
static struct ald_metric providers_breaker = {.kind = ALD_GAUGE,
                                              .name = "aldaba_provider_breaker",
                                              .help = "0 closed, 1 half-open, 2 open.",
                                              .label = {"provider"}};
static struct ald_metric providers_blocked = {
    .kind = ALD_GAUGE_MS,
    .name = "aldaba_provider_blocked_seconds",
    .help = "How long the provider's account still has to wait.",
    .label = {"provider"}};
static struct ald_metric providers_queued = {.kind = ALD_GAUGE,
                                             .name = "aldaba_provider_queued",
                                             .help = "Tasks that are due for a poll.",
                                             .label = {"provider"}};
static struct ald_metric providers_polling = {.kind = ALD_GAUGE,
                                              .name = "aldaba_provider_polling",
                                              .help = "Polls under way.",
                                              .label = {"provider"}};
static struct ald_metric providers_used = {
    .kind = ALD_GAUGE,
    .name = "aldaba_provider_budget_used",
    .help = "Requests that count in the provider's tightest budget.",
    .label = {"provider"}};
static struct ald_metric providers_limit = {.kind = ALD_GAUGE,
                                            .name = "aldaba_provider_budget_limit",
                                            .help = "Most requests of that budget.",
                                            .label = {"provider"}};

static struct ald_metric providers_stale = {
    .kind = ALD_GAUGE_MS,
    .name = "aldaba_provider_stale_after_seconds",
    .help = "How late a callback is when its task is polled, of tasks made now.",
    .label = {"provider"}};

static struct ald_metric providers_overdue = {
    .kind = ALD_GAUGE_MS,
    .name = "aldaba_provider_overdue_seconds",
    .help = "Since when the poll or submission is due that waits for longest, 0 when none waits.",
    .label = {"provider"}};

static void providers_view(const struct tracker *self, const struct pending_account *account,
                           const struct tracker_now *now, zmsg_t *to)
{
    const struct budget *budget = &account->budget;
    const int64_t wall_ms = now->wall_ms - now->run_ms; /* service time begins there */
    const int64_t due_ms = pending_oldest_due(account);
    bool blocked = budget->blocked_until_ms > now->run_ms;
    struct msg_provider_view view = {
        .paused = budget->paused,
        .troubles = budget->troubles,
        .open_until_at_ms = budget->breaker == BREAKER_OPEN ? wall_ms + budget->open_until_ms : 0,
        .blocked_until_at_ms = blocked ? wall_ms + budget->blocked_until_ms : 0,
        .open = account->open,
        .queued = account->queued,
        .polling = account->leased - account->leased_submits,
        .oldest_due_at_ms = due_ms >= 0 ? wall_ms + due_ms : 0,
        .late = account->late,
        .stale_after_ms = stale_after_ms(&account->stale, account->profile),
        .stale_auto = account->profile->stale.learned,
        .callbacks = account->stale.total,
        .callback_p50_ms = stale_share_ms(&account->stale, 50),
        .callback_p95_ms = stale_share_ms(&account->stale, STALE_SHARE)};
    ald_text_cut(view.provider, sizeof view.provider, ald_span_str(account->profile->name));
    ald_text_cut(view.breaker, sizeof view.breaker,
                 ald_span_str(budget_breaker_name(budget->breaker)));
    if (blocked)
        ald_text_cut(view.blocked_why, sizeof view.blocked_why, ald_span_str(budget->blocked_why));
    jwks_view(self->jwks, &view);
    ald_frame_put(to, &MSG_PROVIDER_VIEW, &view);
}

static void providers_budgets(const struct pending_account *account, int64_t now_ms, zmsg_t *to)
{
    const struct budget *budget = &account->budget;
    for (unsigned i = 0; i < budget->count; i++) {
        const struct ald_budget *rule = budget->list[i].rule;
        struct msg_budget map = {.used = budget_used(budget, i, BUDGET_ORDINARY, now_ms),
                                 .limit = budget_limit(budget, i, BUDGET_ORDINARY),
                                 .hinted = budget_used(budget, i, BUDGET_HINTED, now_ms),
                                 .hinted_limit = budget_limit(budget, i, BUDGET_HINTED),
                                 .per_ms = rule->per_ms,
                                 .min_gap_ms = rule->min_gap_ms};
        ald_text_cut(map.provider, sizeof map.provider, ald_span_str(account->profile->name));
        ald_text_cut(map.name, sizeof map.name, ald_span_str(rule->name));
        ald_frame_put(to, &MSG_BUDGET, &map);
    }
}

static void providers_list(struct tracker *self, const char *name, struct msg_answer *answer,
                           zmsg_t **to)
{
    const struct tracker_now now = tracker_now(self);
    struct pending_account *account = NULL;
    bool known = name[0] == '\0';
    *to = zmsg_new();
    for (size_t i = 0; (account = pending_account_at(self->pending, i)); i++) {
        if (name[0] != '\0' && strcmp(account->profile->name, name) != 0)
            continue;
        known = true;
        providers_view(self, account, &now, *to);
        providers_budgets(account, now.run_ms, *to);
    }
    ald_text_cut(answer->rc, sizeof answer->rc, ald_span_str(known ? "ok" : "notfound"));
    if (!known)
        (void)snprintf(answer->detail, sizeof answer->detail,
                       "There is no provider %s in the settings.", name);
}

bool providers_ask(struct tracker *self, struct ald_span bytes, struct msg_answer *answer,
                   zmsg_t **to)
{
    struct msg_providers ask;
    struct msg_provider_ref ref;
    *to = NULL;
    if (ald_wire_decode(&MSG_PROVIDERS, &ask, bytes) == ALD_OK) {
        answer->req = ask.req;
        providers_list(self, ask.provider, answer, to);
        return true;
    }
    bool pause = ald_wire_decode(&MSG_PROVIDER_PAUSE, &ref, bytes) == ALD_OK;
    if (!pause && ald_wire_decode(&MSG_PROVIDER_RESUME, &ref, bytes) != ALD_OK)
        return false;
    answer->req = ref.req;
    const struct ald_profile *profile = ald_profiles_find(self->profiles, ref.provider);
    if (profile)
        keep_pause(self, profile, pause);
    providers_list(self, ref.provider[0] ? ref.provider : "?", answer, to);
    return true;
}

static void providers_measure_budget(const struct budget *budget, const char *name, int64_t now_ms)
{
    int64_t used = 0;
    int64_t limit = 0;
    for (unsigned i = 0; i < budget->count; i++) {
        int64_t one = budget_used(budget, i, BUDGET_ORDINARY, now_ms) +
                      budget_used(budget, i, BUDGET_HINTED, now_ms);
        int64_t most =
            budget_limit(budget, i, BUDGET_ORDINARY) + budget_limit(budget, i, BUDGET_HINTED);
        if (most == 0 || (limit != 0 && most - one >= limit - used))
            continue;
        used = one;
        limit = most;
    }
    ald_metric_set(ald_metrics_get("aldaba_provider_budget_used", name), used);
    ald_metric_set(ald_metrics_get("aldaba_provider_budget_limit", name), limit);
}

void providers_measure(struct tracker *self)
{
    struct ald_metric *const all[] = {&providers_paused, &providers_breaker, &providers_blocked,
                                      &providers_queued, &providers_polling, &providers_used,
                                      &providers_limit,  &providers_stale,   &providers_overdue};
    for (size_t i = 0; i < ALD_COUNT(all); i++)
        ald_metric_register(all[i]);
    jwks_measure(self->jwks);
    if (!self->open)
        return;
    const int64_t now_ms = tracker_now(self).run_ms;
    struct pending_account *account = NULL;
    for (size_t i = 0; (account = pending_account_at(self->pending, i)); i++) {
        const struct budget *budget = &account->budget;
        const char *name = account->profile->name;
        int64_t blocked_ms = budget->blocked_until_ms - now_ms;
        int64_t due_ms = pending_oldest_due(account);
        ald_metric_set(ald_metrics_get("aldaba_provider_overdue_seconds", name),
                       due_ms >= 0 && due_ms < now_ms ? now_ms - due_ms : 0);
        ald_metric_set(ald_metrics_get("aldaba_provider_paused", name), budget->paused);
        ald_metric_set(ald_metrics_get("aldaba_provider_breaker", name), (int64_t)budget->breaker);
        ald_metric_set(ald_metrics_get("aldaba_provider_blocked_seconds", name),
                       blocked_ms > 0 ? blocked_ms : 0);
        ald_metric_set(ald_metrics_get("aldaba_provider_stale_after_seconds", name),
                       stale_after_ms(&account->stale, account->profile));
        ald_metric_set(ald_metrics_get("aldaba_provider_queued", name), (int64_t)account->queued);
        ald_metric_set(ald_metrics_get("aldaba_provider_polling", name), (int64_t)account->leased);
        providers_measure_budget(budget, name, now_ms);
    }
}
