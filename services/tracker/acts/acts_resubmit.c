#include "services/tracker/acts/acts_resubmit.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/config/ruled.h"
#include "services/tracker/acts/acts_again.h"
#include "services/tracker/acts/ending.h"
#include "services/tracker/pending_again.h"
#include "services/tracker/pending_submit.h"
#include "services/tracker/vault/vault_letters.h"
#include "services/tracker/vault/vault_resubmits.h"
#include "services/tracker/vault/vault_submits.h"

static struct ald_metric resubmits_total = {
    .kind = ALD_COUNTER,
    .name = "aldaba_resubmits_total",
    .help = "Tasks that were taken and are submitted again, by why: late, or failed by a code.",
    .label = {"provider", "reason"}};

void resubmit_meters(void)
{
    ald_metric_register(&resubmits_total);
}

static uint32_t resubmit_most(const struct ald_profile *profile)
{
    return profile->ruled ? profile->ruled->max_resubmits : 0;
}

static struct resubmission_facts resubmit_facts(const struct tracker *self,
                                                const struct pending_task *task,
                                                enum resubmission_why why)
{
    const struct ald_profile *profile = task->account->profile;
    return (struct resubmission_facts){.why = why,
                                       .on_stale = profile->ruled && profile->ruled->resubmit,
                                       .most = resubmit_most(profile),
                                       .had = task->again ? task->again->count : 0,
                                       .kept = task->kept,
                                       .under_way = task->submit != NULL,
                                       .replaced = task->replaced,
                                       .retired = ald_profiles_gone(self->profiles, profile),
                                       .now_ms = tracker_now(self).run_ms,
                                       .end_ms = task->give_up_at_ms};
}

bool resubmit_may(struct tracker *self, const struct pending_task *task, enum resubmission_why why,
                  bool known)
{
    struct resubmission_facts facts = resubmit_facts(self, task, why);
    if (known && facts.under_way) {
        facts.kept = true;
        facts.under_way = false;
    }
    facts.set_aside = why == RESUBMISSION_LATE && resubmission_may(&facts) &&
                      vault_letter_heard(&self->vault, task->id);
    return resubmission_may(&facts);
}

bool resubmit_wanted(struct tracker *self, const struct pending_task *task)
{
    struct resubmission_facts facts =
        resubmit_facts(self, task, task->again->failed ? RESUBMISSION_CODE : RESUBMISSION_LATE);
    facts.set_aside = !task->again->failed && vault_letter_heard(&self->vault, task->id);
    return resubmission_wanted(&facts);
}

void resubmit_keep(struct tracker *self, struct pending_task *task)
{
    uint32_t had = task->again ? task->again->count : 0;
    task->kept = had < resubmit_most(task->account->profile) && !task->replaced;
    if (task->kept)
        vault_submit_keep(&self->vault, task->id);
    else
        again_settled(self, task);
}

/* For the log, the metrics, and the task's timeline. */
static void resubmit_say(struct tracker *self, const struct pending_task *task,
                         const struct vault_resubmit *row, const char *code, bool late)
{
    const struct ald_profile *profile = task->account->profile;
    char text[ALD_TEXT_MAX];
    resubmit_meters();
    ald_metric_add(ald_metrics_get("aldaba_resubmits_total", profile->name, late ? "late" : "code"),
                   1);
    (void)snprintf(text, sizeof text,
                   "%" PRIu32 " of %" PRIu32 ": %s%.64s; attempt %" PRIu64 " was %.128s", row->no,
                   resubmit_most(profile), late ? "no callback has come in time" : "it failed by ",
                   code, row->attempt, task->provider_id);
    vault_note(&self->vault, task->id, tracker_now(self).wall_ms, "resubmitted", text);
    ald_log(ALD_WARN, "task.resubmitted",
            "provider=%s task=%" PRIu64 " id=%s no=%u most=%u why=%s code=%s", profile->name,
            task->id, ALD_Q(task->provider_id), row->no, resubmit_most(profile),
            late ? "late" : "code", ALD_Q(code));
}

void resubmit(struct tracker *self, struct pending_task *task, enum resubmission_why why,
              const char *code)
{
    const struct pending_again *again = task->again;
    const struct pending_look *look = pending_looked(task);
    bool late = why == RESUBMISSION_LATE;
    struct submission facts;
    if (!vault_kept_find(&self->vault, task->id, &facts))
        return; /* only after an error of the store, which is read back then */
    facts.stage = SUBMISSION_WAITING;
    facts.stale_after_ms = task->stale_at_ms - task->made_ms;
    facts.resubmit = again ? again->count + 1 : 1;
    facts.taken = again ? again->attempt : facts.attempt;
    facts.until_ms = task->give_up_at_ms;
    const struct vault_resubmit row = {.task = task->id,
                                       .no = facts.resubmit,
                                       .attempt = facts.taken,
                                       .provider_id = ald_span_str(task->provider_id),
                                       .failed = !late,
                                       .code = ald_span_str(late ? "" : code),
                                       .made_ms = task->made_ms,
                                       .polls = look->polls + (again ? again->polls : 0),
                                       .requests = look->requests + (again ? again->requests : 0)};
    vault_resubmit_add(&self->vault, &row);
    resubmit_say(self, task, &row, late ? "" : code, late);
    pending_resubmit(self->pending, task, &facts, !late, tracker_now(self).run_ms);
}

void resubmit_heard(struct tracker *self, struct pending_task *task, const char *code)
{
    if (!task->submit || !task->again || task->again->failed)
        return;
    task->again->failed = true;
    vault_resubmit_failed(&self->vault, task->id, task->again->count, code);
}

void resubmit_stop(struct tracker *self, struct pending_task **task_p, const char *why)
{
    struct pending_task *task = *task_p;
    char code[ALD_CODE_MAX];
    ald_log(ALD_WARN, "resubmit.stopped", "provider=%s task=%" PRIu64 "%s no=%u text=%s",
            task->account->profile->name, task->id, tracker_trace(self, task->id),
            task->again->count, ALD_Q(why));
    vault_note(&self->vault, task->id, tracker_now(self).wall_ms, "resubmit.stopped", why);
    if (!task->again->failed) {
        again_settled(self, task);
        pending_again_stop(self->pending, task, tracker_now(self).run_ms);
        return;
    }
    vault_resubmit_code(&self->vault, task->id, task->again->count, code);
    struct ending ending = {.state = ALD_STATE_FAILED,
                            .source = ALD_SOURCE_SUBMIT,
                            .code = code,
                            .received_ms = tracker_now(self).wall_ms,
                            .trace = ""};
    ending_apply(self, task_p, &ending);
}
