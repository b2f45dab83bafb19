#include "services/tracker/acts/acts_submit.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "services/tracker/acts/acts.h"
#include "services/tracker/acts/acts_again.h"
#include "services/tracker/acts/acts_resubmit.h"
#include "services/tracker/acts/correction.h"
#include "services/tracker/acts/ending.h"
#include "services/tracker/acts/outcome.h"
#include "services/tracker/keep_budgets.h"
#include "services/tracker/pending_again.h"
#include "services/tracker/pending_submit.h"
#include "services/tracker/vault/vault_resubmits.h"
#include "services/tracker/vault/vault_submits.h"
#include "services/tracker/ways.h"

static const char SUBMIT_GONE[] =
    "The poller that was let go to submit it has not said what became "
    "of it: the provider may have taken it.";
static const char SUBMIT_UNWANTED[] =
    "The profile does not want it submitted again any more, or its deadline is over.";
static const char SUBMIT_REPLACED[] = "A person has had another task made in its place.";
static const char SUBMIT_NO_ID[] =
    "The provider's answer has the id of another open task, or none.";

static void submit_letter(struct tracker *self, const struct pending_task *task,
                          enum ald_reason reason, const char *cause, char out[ALD_ULID_MAX])
{
    const struct ending_letter letter = {
        .reason = reason,
        .cause = cause,
        .provider = task->account->profile->name,
        .provider_id = task->provider_id,
        .task = task->id,
        .proof = ALD_PROOF_AUTH, /* our own words: no stranger's share of anything */
        .digest = ""};
    ending_letter(self, &letter, out);
}

void act_started(struct tracker *self, const struct msg_started *started, struct msg_ack *ack)
{
    const struct tracker_now now = tracker_now(self);
    struct pending_task *task = pending_find(self->pending, started->task);
    bool go = task && task->submit &&
              submission_start(task->submit, started->attempt, started->lease,
                               pending_submit_leased(task, started->lease));
    if (go && task->submit->resubmit > 0 && task->submit->stage == SUBMISSION_WAITING &&
        !resubmit_wanted(self, task)) {
        resubmit_stop(self, &task, SUBMIT_UNWANTED);
        go = false;
    }
    if (go && task->submit->stage == SUBMISSION_STARTED)
        pending_submit_resumed(self->pending, task, started->lease, now.run_ms);
    if (go && task->submit->stage == SUBMISSION_WAITING) {
        char text[ALD_WORD_MAX];
        (void)snprintf(text, sizeof text, "attempt %" PRIu64, started->attempt);
        pending_submit_started(self->pending, task, started->attempt, started->lease, now.run_ms);
        vault_submit_begin(&self->vault, task->id, now.run_ms);
        vault_submit_put(&self->vault, task->id, task->submit, now.wall_ms);
        vault_note(&self->vault, task->id, now.wall_ms, "submitting", text);
    }
    ack->num = started->num;
    ald_text_cut(ack->disposition, sizeof ack->disposition,
                 ald_span_str(go ? "applied" : "duplicate"));
}

void submit_known(struct tracker *self, struct pending_task *task)
{
    if (!task->submit)
        return;
    if (task->submit->letter[0] != '\0')
        ending_answered(self, task->submit->letter, false);
    resubmit_keep(self, task);
    if (task->submit->stage == SUBMISSION_WAITING)
        vault_submit_begin(&self->vault, task->id, tracker_now(self).run_ms);
}

void submit_over(struct tracker *self, const struct pending_task *task, bool answered, bool dropped)
{
    if (task->submit && answered && task->submit->letter[0] != '\0')
        ending_answered(self, task->submit->letter, dropped);
    if (task->submit || task->kept || task->spare)
        again_over(self, task->id, task->account->profile->name);
    if (task->submit && task->submit->stage == SUBMISSION_WAITING && task->submit->resubmit == 0)
        vault_submit_begin(&self->vault, task->id, tracker_now(self).run_ms);
}

/* What the last start on disk was, in wall time: an uncertain task goes on from there. */
static void submit_put(struct tracker *self, const struct pending_task *task)
{
    const struct tracker_now now = tracker_now(self);
    bool waits = task->submit->stage == SUBMISSION_WAITING;
    vault_submit_put(&self->vault, task->id, task->submit,
                     waits ? 0 : now.wall_ms - (now.run_ms - task->made_ms));
}

static void submit_uncertain(struct tracker *self, struct pending_task *task, const char *cause)
{
    char letter[ALD_ULID_MAX];
    if (task->submit->stage == SUBMISSION_UNCERTAIN)
        return; /* and there is a letter that says so */
    submit_letter(self, task, ALD_REASON_SUBMIT_UNCERTAIN, cause, letter);
    if (task->submit->stage == SUBMISSION_WAITING)
        vault_submit_begin(&self->vault, task->id, tracker_now(self).run_ms);
    pending_submit_unsure(self->pending, task, letter, tracker_now(self).run_ms);
    submit_put(self, task);
    ald_log(ALD_WARN, "submit.uncertain", "provider=%s task=%" PRIu64 "%s",
            task->account->profile->name, task->id, tracker_trace(self, task->id));
}

void submit_unsure(struct tracker *self, struct pending_task *task)
{
    submit_uncertain(self, task, SUBMIT_GONE);
}

void submit_doubt(struct tracker *self, struct pending_task *task)
{
    submit_uncertain(self, task,
                     "The store is an older copy, as after a restore: it may have been submitted "
                     "since.");
}

/* The provider has it, under this id. False: that is the id of another open task. */
static bool submit_attach(struct tracker *self, struct pending_task *task, const char *id)
{
    const struct ald_profile *profile = task->account->profile;
    const struct pending_task *other = pending_find_ref(self->pending, profile->name, id);
    if (other && other != task) /* the same one again is what a provider says that knows it */
        return false;
    submit_known(self, task);
    ALD_ASSERT(pending_attach(self->pending, task, id, tracker_now(self).run_ms) == ALD_OK);
    vault_task_attach(&self->vault, task->id, profile->name, id);
    keep_given(self, profile);
    return true;
}

/* The provider says when to ask first, and the profile lets it (first_after: retry-after). */
static void submit_first_poll(struct tracker *self, struct pending_task *task, int64_t wait_ms)
{
    if (wait_ms <= 0)
        return;
    pending_submit_told(self->pending, task, wait_ms, tracker_now(self).run_ms);
    vault_submit_stale(&self->vault, task->id, task->stale_at_ms - task->made_ms);
}

static const char *submit_taken(struct tracker *self, struct pending_task *task,
                                const struct ald_verdict *verdict,
                                const struct msg_outcome *outcome)
{
    uint64_t id = task->id;
    if (verdict->id[0] == '\0' || !submit_attach(self, task, verdict->id)) {
        submit_uncertain(self, task, outcome->error[0] != '\0' ? outcome->error : SUBMIT_NO_ID);
        return "progress";
    }
    way_submitted(self, task, outcome->poll_url, outcome->result_url);
    submit_first_poll(self, task, verdict->wait_ms);
    act_unpark(self, id); /* its callback may have been faster than the answer */
    return pending_find(self->pending, id) ? "progress" : "applied";
}

static void submit_end(struct tracker *self, struct pending_task *task, enum ald_state state,
                       const struct ald_verdict *verdict, const struct msg_outcome *outcome)
{
    bool done = state == ALD_STATE_DONE;
    struct ending ending = {.state = state,
                            .source = ALD_SOURCE_SUBMIT,
                            .code = verdict->code,
                            .result = done ? verdict->result : ald_span_of(NULL, 0),
                            .result_json = verdict->result_json,
                            .received_ms = outcome->at_ms,
                            .trace = ""};
    ending_apply(self, &task, &ending);
}

static void submit_again(struct tracker *self, struct pending_task *task,
                         const struct msg_outcome *outcome,
                         const struct submission_decision *decision, const char *code)
{
    const int64_t now_ms = tracker_now(self).run_ms;
    const struct ald_profile *profile = task->account->profile;
    struct budget *budget = &task->account->budget;
    if (task->submit->letter[0] != '\0')
        ending_answered(self, task->submit->letter, false);
    (void)pending_submit_again(self->pending, task, decision, outcome->lease, outcome->left,
                               now_ms);
    submit_put(self, task);
    if (!decision->block)
        return;
    budget_block(budget, now_ms + decision->wait_ms, code);
    vault_block_set(&self->vault, profile->name, budget->blocked_until_ms);
    ald_log(ALD_WARN, "account.blocked", "provider=%s code=%s wait_ms=%" PRId64, profile->name,
            ALD_Q(code), decision->wait_ms);
}

/* The provider certainly does not have it, and a person has had another made in its place. */
static const char *submit_replaced(struct tracker *self, struct pending_task *task,
                                   const struct msg_outcome *outcome)
{
    struct ending ending = {.state = ALD_STATE_FAILED,
                            .source = ALD_SOURCE_SUBMIT,
                            .code = "replaced",
                            .received_ms = outcome->at_ms,
                            .trace = ""};
    if (task->submit->resubmit > 0 && !task->again->failed) {
        resubmit_stop(self, &task, SUBMIT_REPLACED); /* what it follows may be answered */
        return "progress";
    }
    ending_apply(self, &task, &ending);
    return "applied";
}

/* Is this one of the ids that the task has? */
static bool submit_has(struct tracker *self, const struct msg_outcome *outcome,
                       const struct pending_task *open, const char *has)
{
    const char *id = outcome->provider_id;
    return strcmp(has, id) == 0 ||
           (open && pending_find_ref(self->pending, outcome->provider, id) == open) ||
           (!open && vault_resubmit_followed(&self->vault, outcome->task, 0, id));
}

/* Its task has ended, or has its id from elsewhere: a receipt all the same. What an answer to an
 * earlier attempt ended has the id of that; this one goes before it. */
static const char *submit_receipt(struct tracker *self, const struct msg_outcome *outcome,
                                  const struct pending_task *open)
{
    struct vault_end end = {0};
    bool ended = !open && vault_end_find(&self->vault, outcome->task,
                                         tracker_tail_seq(self, outcome->task), &end);
    const char *id = outcome->provider_id;
    const char *has = open ? open->provider_id : end.provider_id;
    if (id[0] == '\0' || (!open && !ended) || submit_has(self, outcome, open, has))
        return "duplicate";
    bool wants =
        has[0] == '\0' || (ended && vault_resubmit_followed(&self->vault, outcome->task, 0, has));
    bool free_id = wants && !pending_find_ref(self->pending, outcome->provider, id) &&
                   vault_ref_find(&self->vault, outcome->provider, id) == 0;
    if (free_id)
        vault_task_attach(&self->vault, outcome->task, outcome->provider, id);
    vault_note(&self->vault, outcome->task, outcome->at_ms, free_id ? "submitted" : "submit.other",
               id);
    if (!free_id)
        ald_log(ALD_WARN, "submit.other",
                "provider=%s task=%" PRIu64
                " text=\"the provider took it under another id than the task has\"",
                outcome->provider, outcome->task);
    return "progress";
}

/* And if it is the answer itself, and aldaba had given the task up, a result. */
static const char *submit_late(struct tracker *self, const struct msg_outcome *outcome,
                               const struct pending_task *open)
{
    const char *said = submit_receipt(self, outcome, open);
    bool corrects = !open && correction_told(self, outcome, ALD_SOURCE_SUBMIT);
    return corrects ? "applied" : said;
}

/* A line of it for the timeline. */
static void submit_note(struct tracker *self, const struct msg_outcome *outcome,
                        const struct submission_decision *decision)
{
    bool clear = decision->end != SUBMISSION_UNSURE;
    outcome_note(self, outcome, clear, outcome->left ? "submit" : "submit.unsent");
}

/* The sentence, and the words that the provider or the poller had for it. */
static void submit_cause(const struct msg_outcome *outcome, const char *cause,
                         char out[ALD_TEXT_MAX])
{
    const char *said = outcome->error[0] != '\0'    ? outcome->error
                       : outcome->detail[0] != '\0' ? outcome->detail
                                                    : "";
    struct ald_buf text;
    ald_buf_init(&text, 2048);
    ald_buf_put_str(&text, cause);
    if (outcome->code[0] != '\0')
        ald_buf_printf(&text, " Its code: %s.", outcome->code);
    if (said[0] != '\0')
        ald_buf_printf(&text, " %s", said);
    ald_text_cut(out, ALD_TEXT_MAX, ald_buf_span(&text));
    ald_buf_free(&text);
}

const char *submit_outcome(struct tracker *self, const struct msg_outcome *outcome)
{
    struct ald_verdict verdict;
    struct submission_decision decision;
    char letter[ALD_ULID_MAX];
    char cause[ALD_TEXT_MAX];
    struct pending_task *task = pending_find(self->pending, outcome->task);
    if (!task || !task->submit)
        return submit_late(self, outcome, task);
    outcome_verdict(outcome, &verdict);
    const struct submission_report report = {.attempt = outcome->attempt,
                                             .lease = outcome->lease,
                                             .leased = pending_submit_leased(task, outcome->lease),
                                             .left = outcome->left,
                                             .answered = outcome->answered,
                                             .http = outcome->http,
                                             .verdict = &verdict};
    submission_decide(task->submit, &report, &decision);
    if (decision.end == SUBMISSION_NOTHING)
        return "duplicate";
    submit_note(self, outcome, &decision);
    outcome_told(self, task->account, outcome->lease, outcome_sign(outcome, &verdict));
    switch (decision.end) {
    case SUBMISSION_NOTHING:
        break;
    case SUBMISSION_TAKEN:
        return submit_taken(self, task, &verdict, outcome);
    case SUBMISSION_DONE:
        if (verdict.id[0] != '\0' && outcome->attempt > task->submit->taken)
            (void)submit_attach(self, task, verdict.id);
        submit_end(self, task, ALD_STATE_DONE, &verdict, outcome);
        return "applied";
    case SUBMISSION_AGAIN:
        if (task->replaced)
            return submit_replaced(self, task, outcome);
        submit_again(self, task, outcome, &decision, verdict.code);
        break;
    case SUBMISSION_FAILED:
        if (task->submit->resubmit > 0 && !task->again->failed) {
            resubmit_stop(self, &task, decision.cause); /* what it follows may be answered */
            break;
        }
        submit_cause(outcome, decision.cause, cause);
        if (!task->replaced)
            submit_letter(self, task, ALD_REASON_SUBMIT_FAILED, cause, letter);
        submit_end(self, task, ALD_STATE_FAILED, &verdict, outcome);
        return "applied";
    case SUBMISSION_UNSURE:
        submit_uncertain(self, task, decision.cause);
        break;
    }
    return "progress";
}

void submit_expire(struct tracker *self, struct pending_task *task)
{
    char letter[ALD_ULID_MAX];
    bool waits = task->submit->stage == SUBMISSION_WAITING;
    if (waits)
        submit_letter(self, task, ALD_REASON_SUBMIT_FAILED,
                      "It could not be submitted before its deadline: the provider never had it.",
                      letter);
    else
        submit_uncertain(self, task, SUBMIT_GONE);
    struct ending ending = {.state = waits ? ALD_STATE_FAILED : ALD_STATE_EXPIRED,
                            .source = waits ? ALD_SOURCE_SUBMIT : ALD_SOURCE_MANUAL,
                            .code = waits ? "not_submitted" : "submit_uncertain",
                            .received_ms = tracker_now(self).wall_ms,
                            .trace = ""};
    ending_apply(self, &task, &ending);
}
