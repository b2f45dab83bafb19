#include "services/tracker/acts/acts_judge.h"

#include <string.h>

#include "common/base/text.h"
#include "common/net/sock.h"
#include "services/tracker/acts/acts_again.h"
#include "services/tracker/acts/acts_inside.h"
#include "services/tracker/pending_submit.h"

static void judge_say(struct msg_judged *out, enum ald_disposition disposition,
                      enum ald_reason reason, const char *why)
{
    ald_text_cut(out->disposition, sizeof out->disposition,
                 ald_span_str(ald_disposition_name(disposition)));
    ald_text_cut(out->reason, sizeof out->reason, ald_span_str(ald_reason_name(reason)));
    ald_text_cut(out->why, sizeof out->why, ald_span_str(why));
}

/* What the profile's rules made of the message: as `aldaba provider try` tells it. */
static void judge_verdict(const struct ald_verdict *verdict, struct msg_judged *out)
{
    ald_text_cut(out->then, sizeof out->then, ald_span_str(ald_then_name(verdict->then)));
    ald_text_cut(out->rule, sizeof out->rule, ald_span_str(verdict->rule));
    ald_text_cut(out->code, sizeof out->code, ald_span_str(verdict->code));
    ald_text_cut(out->provider_id, sizeof out->provider_id, ald_span_str(verdict->id));
    if (verdict->code_row)
        ald_text_cut(out->code_row, sizeof out->code_row, ald_span_str(verdict->code_row));
    if (verdict->cls != ALD_CLASS_NONE)
        ald_text_cut(out->code_class, sizeof out->code_class,
                     ald_span_str(ald_class_name(verdict->cls)));
}

static void judge_task(const struct act *act, struct msg_judged *out)
{
    enum ald_state now = ALD_STATE_PENDING;
    out->task = act->task;
    if (act->open)
        now = pending_state(act->open);
    else if (act->facts.task == ARRIVAL_TASK_ENDED)
        now = act->end.state;
    else
        return; /* none is known, or its rows are purged */
    ald_text_cut(out->task_state, sizeof out->task_state, ald_span_str(ald_state_name(now)));
    if ((act->open && act->decision.ends) || act->decision.corrects)
        ald_text_cut(out->state, sizeof out->state,
                     ald_span_str(ald_state_name(act->decision.state)));
}

static const char *judge_why(const struct act *act)
{
    const struct arrival_decision *decision = &act->decision;
    if (decision->disposition == ALD_DISP_DUPLICATE && act->facts.conflict_known)
        return "Another letter of the task holds this answer.";
    if (decision->disposition == ALD_DISP_DUPLICATE)
        return "The task had ended, with this answer or one that it does not matter beside.";
    if (decision->corrects)
        return "It is published as a correction, in the place of our own verdict.";
    if (decision->disposition != ALD_DISP_PROGRESS)
        return decision->cause;
    if (decision->again)
        return "An attempt has failed: the task is submitted again.";
    return decision->hint ? "It ends nothing; the task's next poll comes forward."
                          : "It ends nothing.";
}

static void judge_decision(const struct act *act, const struct vault_letter *letter,
                           struct msg_judged *out)
{
    const struct arrival_decision *decision = &act->decision;
    bool closes = act_closes(decision->disposition);
    enum ald_reason reason =
        decision->reason != ALD_REASON_NONE ? decision->reason : letter->reason;
    judge_task(act, out);
    if (act->profile && act->message->fault[0] == '\0')
        judge_verdict(&act->verdict, out);
    judge_say(out, closes ? decision->disposition : ALD_DISP_STILL,
              closes ? ALD_REASON_NONE : reason, judge_why(act));
}

/* Nothing is done, for a reason that is told as a word of PROTOCOL.md. */
static void judge_unfit(struct msg_judged *out, const char *why)
{
    judge_say(out, ALD_DISP_STILL, ALD_REASON_NONE, "");
    ald_text_cut(out->reason, sizeof out->reason, ald_span_str(why));
}

/* Its task would be made anew. */
static void judge_buy(struct tracker *self, const struct msg_reinject *reinject,
                      const struct vault_letter *letter, struct msg_judged *out)
{
    const struct pending_task *open = pending_find(self->pending, letter->task);
    struct vault_end end;
    if (open)
        ald_text_cut(out->task_state, sizeof out->task_state,
                     ald_span_str(ald_state_name(pending_state(open))));
    else if (vault_end_find(&self->vault, letter->task, tracker_tail_seq(self, letter->task), &end))
        ald_text_cut(out->task_state, sizeof out->task_state,
                     ald_span_str(ald_state_name(end.state)));
    const char *why = act_buy_unfit(self, reinject, letter);
    if (why)
        judge_unfit(out, why);
    else
        judge_say(out, ALD_DISP_REPLACED, ALD_REASON_NONE,
                  "What was submitted is submitted anew, as another task, and is paid for.");
}

/* A conflicting answer would be published. */
static void judge_publish(struct act *act, struct msg_judged *out)
{
    bool same;
    const char *unfit = act_publishable(act, &same);
    judge_task(act, out);
    if (act->profile && act->message->fault[0] == '\0')
        judge_verdict(&act->verdict, out);
    if (unfit[0] != '\0') {
        judge_unfit(out, unfit);
        return;
    }
    if (!same)
        ald_text_cut(out->state, sizeof out->state,
                     ald_span_str(ald_state_name(act->decision.state)));
    judge_say(out, same ? ALD_DISP_DUPLICATE : ALD_DISP_CORRECTED, ALD_REASON_NONE,
              same ? "The task has this answer already." : "It is published as a correction.");
}

static void judge(struct tracker *self, const struct msg_judge *ask, struct msg_judged *out)
{
    struct vault_letter letter;
    struct msg_callback message;
    struct act act;
    *out = (struct msg_judged){0};
    memcpy(out->letter, ask->letter, sizeof out->letter);
    if (!vault_letter_find(&self->vault, ask->letter, &letter)) {
        judge_say(out, ALD_DISP_STILL, ALD_REASON_UNKNOWN_TASK,
                  "The tracker does not know this letter: its store is older.");
        return;
    }
    out->task = letter.task;
    if (letter.state != VAULT_LETTER_OPEN) {
        judge_say(out, letter.outcome, ALD_REASON_NONE, "The tracker has closed the letter.");
        return;
    }
    if (letter.reason == ALD_REASON_CONSUMER_REJECTED) {
        judge_say(out, ALD_DISP_STILL, letter.reason,
                  "It is not judged but delivered again: who takes it closes the letter.");
        return;
    }
    const struct msg_reinject reinject = {.by_person = true,
                                          .believe = ask->believe,
                                          .buy = ask->buy,
                                          .publish = ask->publish,
                                          .asked_at_ms = tracker_now(self).wall_ms,
                                          .revision = ask->revision,
                                          .original = ask->original};
    if (again_reason(letter.reason))
        judge_buy(self, &reinject, &letter, out);
    else if (!act_again(self, &act, &message, &reinject, &letter))
        judge_say(out, ALD_DISP_STILL, letter.reason, "The message can't be read.");
    else if (letter.reason == ALD_REASON_CONFLICT && ask->publish)
        judge_publish(&act, out);
    else
        judge_decision(&act, &letter, out);
}

bool act_judge_ask(struct tracker *self, struct ald_span bytes, struct msg_answer *answer,
                   zmsg_t **to)
{
    struct msg_judge ask;
    struct msg_judged out;
    if (!ald_wire_is(&MSG_JUDGE, bytes) || ald_wire_decode(&MSG_JUDGE, &ask, bytes) != ALD_OK)
        return false;
    judge(self, &ask, &out);
    answer->req = ask.req;
    ald_text_cut(answer->rc, sizeof answer->rc, ald_span_str("ok"));
    *to = zmsg_new();
    ald_frame_put(*to, &MSG_JUDGED, &out);
    return true;
}
