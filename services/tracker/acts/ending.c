#include "services/tracker/acts/ending.h"

#include <inttypes.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "services/tracker/acts/acts_again.h"
#include "services/tracker/acts/acts_submit.h"
#include "services/tracker/acts/arrival.h"
#include "services/tracker/feed.h"
#include "services/tracker/outbox.h"
#include "services/tracker/pushes.h"
#include "services/tracker/vault/vault_letters.h"

void ending_apply(struct tracker *self, struct pending_task **task_p, const struct ending *ending)
{
    struct pending_task *task = *task_p;
    const struct ald_profile *profile = task->account->profile;
    char digest[65];
    if (!ending->digest)
        ald_profile_digest(profile, ald_state_name(ending->state), ending->result,
                           ending->result_json, digest);
    struct vault_result result = {
        .task = task->id,
        .provider = ald_span_str(profile->name),
        .state = ending->state,
        .source = ending->source,
        .code = ald_span_str(ending->code),
        .result = ending->result,
        .result_json = ending->result_json,
        .digest = ald_span_str(ending->digest ? ending->digest : digest),
        .received_ms = ending->received_ms,
        .published_ms = tracker_now(self).wall_ms,
        .arrival = ending->arrival,
        .trace = ald_span_str(ending->trace),
    };
    vault_result_add(&self->vault, &result);
    tracker_tail_add(self, task->id, result.seq);
    feed_add(self->feed, task->provider_id, &result);
    if (ald_log_on(ALD_DEBUG))
        ald_log(ALD_DEBUG, "task.ended",
                "provider=%s task=%" PRIu64 "%s state=%s source=%s seq=%" PRIu64, profile->name,
                task->id, tracker_trace(self, task->id), ald_state_name(ending->state),
                ald_source_name(ending->source), result.seq);
    if (task->pushes)
        pushes_ended(self->pushes, task->id, profile, ending);
    if (task->submit || task->kept || task->spare)
        submit_over(self, task, ending->state != ALD_STATE_EXPIRED,
                    ending->state == ALD_STATE_CANCELLED);
    pending_end(self->pending, task_p, tracker_now(self).run_ms);
}

void ending_letter(struct tracker *self, const struct ending_letter *letter, char out[ALD_ULID_MAX])
{
    struct msg_letter msg = {.task = letter->task,
                             .made_at_ms = tracker_now(self).wall_ms,
                             .original = letter->original};
    ald_ulid_new(msg.letter);
    ald_text_cut(msg.reason, sizeof msg.reason, ald_span_str(ald_reason_name(letter->reason)));
    ald_text_cut(msg.cause, sizeof msg.cause, ald_span_str(letter->cause));
    ald_text_cut(msg.provider, sizeof msg.provider, ald_span_str(letter->provider));
    ald_text_cut(msg.provider_id, sizeof msg.provider_id, ald_span_str(letter->provider_id));
    ald_text_cut(msg.proof, sizeof msg.proof, ald_span_str(ald_proof_name(letter->proof)));
    ald_text_cut(msg.consumer, sizeof msg.consumer,
                 ald_span_str(letter->consumer ? letter->consumer : ""));
    vault_letter_add(&self->vault, &msg, letter->arrival, letter->digest);
    if (arrival_unproven(letter->proof, letter->reason))
        quota_letter(self->quota, letter->provider, 1, (int64_t)letter->original.len);
    if (letter->task != 0)
        vault_note(&self->vault, letter->task, msg.made_at_ms, "letter", msg.reason);
    memcpy(out, msg.letter, ALD_ULID_MAX);
    ald_log(ALD_INFO, "letter.made", "provider=%s task=%" PRIu64 "%s letter=%s reason=%s",
            msg.provider, msg.task, tracker_trace(self, msg.task), msg.letter, msg.reason);
}

void ending_close(struct tracker *self, const char *letter, bool dropped,
                  enum ald_disposition outcome)
{
    struct vault_letter row;
    if (!vault_letter_find(&self->vault, letter, &row) || row.state != VAULT_LETTER_OPEN)
        return;
    vault_letter_close(&self->vault, letter, dropped ? VAULT_LETTER_DROPPED : VAULT_LETTER_RESOLVED,
                       outcome);
    if (arrival_unproven(row.proof, row.reason))
        quota_letter(self->quota, row.provider, -1, -(int64_t)row.size);
    if (again_reason(row.reason))
        again_closed(self, row.task);
    ald_log(ALD_INFO, "letter.closed", "letter=%s outcome=%s", letter,
            dropped ? "dropped" : ald_disposition_name(outcome));
}

void ending_turn(struct tracker *self, const char *letter, enum ald_reason reason, uint64_t task,
                 const char *digest)
{
    struct vault_letter row;
    if (!vault_letter_find(&self->vault, letter, &row) || row.state != VAULT_LETTER_OPEN)
        return;
    const int count = arrival_unproven(row.proof, reason) - arrival_unproven(row.proof, row.reason);
    vault_letter_turn(&self->vault, letter, reason, task, digest);
    if (row.arrival != 0 && task != row.task)
        vault_arrival_about(&self->vault, row.arrival, task);
    if (count != 0)
        quota_letter(self->quota, row.provider, count, count * (int64_t)row.size);
    if (task != 0)
        vault_note(&self->vault, task, tracker_now(self).wall_ms, "letter",
                   ald_reason_name(reason));
    ald_log(ALD_INFO, "letter.turned", "task=%" PRIu64 "%s letter=%s reason=%s was=%s", task,
            tracker_trace(self, task), letter, ald_reason_name(reason),
            ald_reason_name(row.reason));
}

void ending_answered(struct tracker *self, const char *letter, bool dropped)
{
    struct msg_closing closing = {.at_ms = tracker_now(self).wall_ms};
    ald_text_cut(closing.letter, sizeof closing.letter, ald_span_str(letter));
    ald_text_cut(closing.state, sizeof closing.state,
                 ald_span_str(dropped ? "dropped" : "resolved"));
    struct vault_letter row;
    bool open = vault_letter_find(&self->vault, letter, &row) && row.state == VAULT_LETTER_OPEN;
    ending_close(self, letter, dropped, dropped ? ALD_DISP_DROPPED : ALD_DISP_APPLIED);
    if (open)
        vault_letter_tell(&self->vault, &closing);
}
