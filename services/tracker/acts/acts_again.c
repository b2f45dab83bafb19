#include "services/tracker/acts/acts_again.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/ident.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "services/tracker/acts/ending.h"
#include "services/tracker/commands.h"
#include "services/tracker/vault/vault_again.h"
#include "services/tracker/vault/vault_submits.h"

static struct ald_metric again_bought_total = {
    .kind = ALD_COUNTER,
    .name = "aldaba_tasks_replaced_total",
    .help = "Tasks that a person had made anew, out of a dead letter.",
    .label = {"provider", "reason"}};

static struct ald_metric again_forgotten_total = {
    .kind = ALD_COUNTER,
    .name = "aldaba_submissions_forgotten_total",
    .help = "Submissions that were not kept for a person, since store.keep_submitted is used up.",
    .label = {"provider"}};

void again_meters(void)
{
    ald_metric_register(&again_bought_total);
    ald_metric_register(&again_forgotten_total);
}

static const enum ald_reason AGAIN_REASONS[] = {ALD_REASON_SUBMIT_FAILED,
                                                ALD_REASON_SUBMIT_UNCERTAIN, ALD_REASON_EXPIRED};

uint64_t again_share(const struct tracker *self, bool letters)
{
    uint64_t most = self->settings->store.keep_submitted_bytes;
    return letters ? most : most / 2;
}

static bool again_keep(struct tracker *self, uint64_t task, const char *provider, bool letter)
{
    bool kept = vault_spare_keep(&self->vault, task, again_share(self, letter));
    again_meters();
    if (!kept)
        ald_metric_add(ald_metrics_get("aldaba_submissions_forgotten_total", provider), 1);
    return kept;
}

void again_settled(struct tracker *self, struct pending_task *task)
{
    task->spare = again_keep(self, task->id, task->account->profile->name, false);
}

static bool again_lettered(struct tracker *self, uint64_t task)
{
    char letter[ALD_ULID_MAX];
    for (size_t i = 0; i < ALD_COUNT(AGAIN_REASONS); i++)
        if (vault_letter_of(&self->vault, task, AGAIN_REASONS[i], letter))
            return true;
    return false;
}

void again_over(struct tracker *self, uint64_t task, const char *provider)
{
    if (again_lettered(self, task))
        (void)again_keep(self, task, provider, true);
    else
        vault_submit_settle(&self->vault, task);
}

void again_closed(struct tracker *self, uint64_t task)
{
    if (task != 0 && !pending_find(self->pending, task) && !again_lettered(self, task))
        vault_submit_settle(&self->vault, task);
}

void again_answered(struct tracker *self, uint64_t task)
{
    char letter[ALD_ULID_MAX];
    for (size_t i = 0; i < ALD_COUNT(AGAIN_REASONS); i++)
        if (vault_letter_of(&self->vault, task, AGAIN_REASONS[i], letter))
            ending_answered(self, letter, false);
}

/* The same once more, under another id and without its key. */
struct again_ask {
    struct vault_again old;
    struct ald_buf body;
    struct msg_register ask;
};

/* May it be made, as far as that can be told without trying? To be freed in either case. */
static const char *again_read(struct tracker *self, const struct msg_reinject *reinject,
                              const struct vault_letter *letter, struct again_ask *out)
{
    char other[ALD_ULID_MAX];
    ald_buf_init(&out->body, ALD_SUBMISSION_MAX);
    const struct again_facts facts = {
        .person = reinject->by_person && reinject->buy,
        .asked_at_ms = reinject->asked_at_ms,
        .since_ms = (int64_t)self->vault.lane, /* a lane's name is when it began */
        .submitted = vault_again_find(&self->vault, letter->task, &out->old, &out->body),
        .kept = out->body.len > 0 && ald_buf_ok(&out->body),
        .answered = vault_letter_of(&self->vault, letter->task, ALD_REASON_CONFLICT, other)};
    const struct vault_again *old = &out->old;
    out->ask = (struct msg_register){.submission = ald_buf_span(&out->body),
                                     .give_up_after_ms = old->give_up_after_ms,
                                     .submit_within_ms = old->within_ms};
    ald_text_cut(out->ask.provider, sizeof out->ask.provider, ald_span_str(old->provider));
    ald_text_cut(out->ask.meta, sizeof out->ask.meta, ald_span_str(old->meta));
    ald_text_cut(out->ask.base, sizeof out->ask.base, ald_span_str(old->base));
    return again_unfit(&facts);
}

/* On both timelines, and for the log. */
static void again_say(struct tracker *self, uint64_t task, const struct vault_letter *letter,
                      const char *id)
{
    char text[ALD_TEXT_MAX];
    int64_t now_ms = tracker_now(self).wall_ms;
    const char *reason = ald_reason_name(letter->reason);
    (void)snprintf(text, sizeof text, "by task %" PRIu64 ", letter %s", task, id);
    vault_note(&self->vault, letter->task, now_ms, "replaced", text);
    (void)snprintf(text, sizeof text, "task %" PRIu64 ", letter %s (%s)", letter->task, id, reason);
    vault_note(&self->vault, task, now_ms, "replaces", text);
    again_meters();
    ald_metric_add(ald_metrics_get("aldaba_tasks_replaced_total", letter->provider, reason), 1);
    ald_log(ALD_WARN, "task.replaced",
            "provider=%s task=%" PRIu64 " by=%" PRIu64 " letter=%s reason=%s", letter->provider,
            letter->task, task, id, reason);
}

/* Its place is taken: it is not submitted again by itself, but may still be answered. */
static void again_replaced(struct tracker *self, uint64_t task)
{
    struct pending_task *open = pending_find(self->pending, task);
    if (!open)
        return;
    open->replaced = true;
    if (!open->kept)
        return;
    open->kept = false;
    vault_submit_settle(&self->vault, task);
}

const char *act_buy_unfit(struct tracker *self, const struct msg_reinject *reinject,
                          const struct vault_letter *letter)
{
    struct again_ask again;
    const char *why = again_read(self, reinject, letter, &again);
    if (!why)
        why = command_again_unfit(self, &again.ask);
    ald_buf_free(&again.body);
    return why;
}

void act_buy(struct tracker *self, const struct msg_reinject *reinject,
             const struct vault_letter *letter, struct msg_ack *ack)
{
    struct again_ask again;
    uint64_t task = 0;
    const char *why = again_read(self, reinject, letter, &again);
    if (!why)
        task = command_again(self, &again.ask, &why);
    ack->num = reinject->num;
    ald_text_cut(ack->disposition, sizeof ack->disposition,
                 ald_span_str(ald_disposition_name(why ? ALD_DISP_STILL : ALD_DISP_REPLACED)));
    if (why) {
        ald_text_cut(ack->reason, sizeof ack->reason, ald_span_str(why));
    } else {
        ald_task_id_text(task, ack->reason);
        vault_again_add(&self->vault, task, letter->task, reinject->letter);
        again_replaced(self, letter->task);
        again_say(self, task, letter, reinject->letter);
        ending_close(self, reinject->letter, false, ALD_DISP_REPLACED);
    }
    ald_buf_free(&again.body);
}
