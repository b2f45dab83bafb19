/* What clocks ask for. */
#include <inttypes.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/config/ruled.h"
#include "services/tracker/acts/acts.h"
#include "services/tracker/acts/acts_resubmit.h"
#include "services/tracker/acts/acts_submit.h"
#include "services/tracker/acts/ending.h"
#include "services/tracker/pending_again.h"
#include "services/tracker/vault/vault_letters.h"

static struct ald_metric due_late_total = {
    .kind = ALD_COUNTER,
    .name = "aldaba_tasks_late_total",
    .help = "Tasks whose callback is late and that can't be polled.",
    .label = {"provider"}};

void act_due_meters(void)
{
    ald_metric_register(&due_late_total);
}

static void due_expire(struct tracker *self, struct pending_task *task)
{
    char letter[ALD_ULID_MAX];
    const struct ending_letter expired = {
        .reason = ALD_REASON_EXPIRED,
        .cause = "No answer came before the task's deadline, neither by callback nor by poll.",
        .provider = task->account->profile->name,
        .provider_id = task->provider_id,
        .task = task->id,
        .proof = ALD_PROOF_AUTH, /* our own verdict: no stranger's share of anything */
        .digest = ""};
    ending_letter(self, &expired, letter);
    struct ending ending = {.state = ALD_STATE_EXPIRED,
                            .source = ALD_SOURCE_MANUAL,
                            .code = "",
                            .received_ms = tracker_now(self).wall_ms,
                            .trace = ""};
    ending_apply(self, &task, &ending);
}

/* Nobody can be asked: somebody should know. The task waits on, until its deadline. */
static void due_late(struct tracker *self, const struct pending_task *task)
{
    const struct ald_profile *profile = task->account->profile;
    bool resubmit = profile->ruled && profile->ruled->resubmit;
    const char *text =
        vault_letter_heard(&self->vault, task->id)
            ? "a callback came that could not be read or believed: see its letter"
        : task->again ? "no callback has come, though it was submitted again"
        : resubmit
            ? "no callback has come; only what was submitted through aldaba is submitted again"
            : "no callback has come, and there is nothing to poll";
    act_due_meters();
    ald_metric_add(ald_metrics_get("aldaba_tasks_late_total", profile->name), 1);
    vault_note(&self->vault, task->id, tracker_now(self).wall_ms, "late", text);
    ald_log(ALD_WARN, "task.late", "provider=%s task=%" PRIu64 "%s id=%s text=%s", profile->name,
            task->id, tracker_trace(self, task->id), ALD_Q(task->provider_id), ALD_Q(text));
}

/* Its callback is late: it is bought again only when none can lie in a spool any more. */
static void due_late_or_again(struct tracker *self, struct pending_task *task, bool hold)
{
    const int64_t now_ms = tracker_now(self).run_ms;
    if (!resubmit_may(self, task, RESUBMISSION_LATE, false))
        due_late(self, task);
    else if (hold)
        pending_late_again(self->pending, task, now_ms + 1000, now_ms);
    else
        resubmit(self, task, RESUBMISSION_LATE, "");
}

/* The deadline is over. A resubmission that was not made leaves what there was before it. */
static void due_end(struct tracker *self, struct pending_task *task)
{
    const struct submission *submit = task->submit;
    bool unmade = submit && submit->resubmit > 0 && submit->stage == SUBMISSION_WAITING;
    if (unmade && task->again->failed)
        resubmit_stop(self, &task, "The task's deadline is over.");
    else if (submit && !unmade)
        submit_expire(self, task);
    else
        due_expire(self, task);
}

void act_due(struct tracker *self, size_t limit)
{
    const int64_t now_ms = tracker_now(self).run_ms;
    bool hold = tracker_hold(self);
    for (size_t i = 0; i < limit; i++) {
        struct pending_task *task = NULL;
        enum pending_due_kind kind = pending_due(self->pending, now_ms, hold, &task);
        if (kind == PENDING_NOTHING)
            return;
        if (kind == PENDING_LATE)
            due_late_or_again(self, task, hold);
        else if (kind == PENDING_UNSURE)
            submit_unsure(self, task);
        else if (kind == PENDING_EXPIRE)
            due_end(self, task);
    }
}
