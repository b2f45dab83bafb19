/* What becomes of dead letters: they are judged again, replayed by a person, or closed. */
#include <string.h>

#include "common/base/ident.h"
#include "common/base/text.h"
#include "services/tracker/acts/acts_again.h"
#include "services/tracker/acts/acts_inside.h"
#include "services/tracker/consumers/consumers.h"
#include "services/tracker/pushes.h"
#include "services/tracker/vault/vault_again.h"
#include "services/tracker/vault/vault_letters.h"

bool act_closes(enum ald_disposition disposition)
{
    return disposition == ALD_DISP_APPLIED || disposition == ALD_DISP_DUPLICATE ||
           disposition == ALD_DISP_PROGRESS;
}

bool act_again(struct tracker *self, struct act *act, struct msg_callback *message,
               const struct msg_reinject *reinject, const struct vault_letter *letter)
{
    if (ald_wire_decode(&MSG_CALLBACK, message, reinject->original) != ALD_OK)
        return false;
    bool vouched =
        reinject->believe && reinject->by_person && letter->reason == ALD_REASON_UNAUTHENTICATED;
    /* A conflict can hold a fault only if a person believed it before it came to be one. */
    bool believed = vouched || letter->reason == ALD_REASON_CONFLICT;
    if (believed && strcmp(message->fault, ald_reason_name(ALD_REASON_UNAUTHENTICATED)) == 0)
        message->fault[0] = '\0';
    *act = (struct act){.message = message,
                        .bytes = reinject->original,
                        .letter = letter,
                        .vouched = vouched,
                        .manual = vouched || reinject->revision > 1};
    act_decide(self, act, vouched ? ALD_PROOF_AUTH : letter->proof, true);
    return true;
}

/* A pingback of a caller's own that nobody took: it is sent, not judged. */
static void act_reinject_push(struct tracker *self, const struct msg_reinject *reinject,
                              const struct vault_letter *letter, struct msg_ack *ack)
{
    enum ald_disposition said = pushes_again(self, letter->task, reinject->original);
    if (said != ALD_DISP_STILL)
        ending_close(self, reinject->letter, said == ALD_DISP_DROPPED, said);
    act_answer(ack, said, said == ALD_DISP_STILL ? letter->reason : ALD_REASON_NONE);
}

/* An event that a consumer did not take: it is handed out to that consumer, not judged. */
static void act_reinject_event(struct tracker *self, const struct msg_reinject *reinject,
                               const struct vault_letter *letter, struct msg_ack *ack)
{
    enum ald_disposition said =
        consumers_again(self->consumers, reinject->letter, letter->digest, reinject->original);
    if (said != ALD_DISP_STILL)
        ending_close(self, reinject->letter, said == ALD_DISP_DROPPED, said);
    act_answer(ack, said, said == ALD_DISP_STILL ? letter->reason : ALD_REASON_NONE);
}

/* It was answered before, or closed since: as it was then. */
static void act_closed(struct tracker *self, const struct msg_reinject *reinject,
                       const struct vault_letter *letter, struct msg_ack *ack)
{
    act_answer(ack, letter->outcome, ALD_REASON_NONE);
    uint64_t task = letter->outcome == ALD_DISP_REPLACED
                        ? vault_again_of(&self->vault, letter->task, reinject->letter)
                        : 0;
    if (task != 0)
        ald_task_id_text(task, ack->reason);
}

const char *act_publishable(struct act *act, bool *same)
{
    enum ald_state state;
    if (act->open)
        return "open";
    if (act->facts.task != ARRIVAL_TASK_ENDED)
        return "purged";
    if (!act->profile || !arrival_end(&act->verdict, &state))
        return "unreadable";
    act->decision.state = state;
    *same = act->end.state == state && strcmp(act->digest, act->end.digest) == 0;
    return "";
}

/* A person has read a conflicting answer, and wants it published. */
static void act_publish(struct tracker *self, struct act *act, const struct msg_reinject *reinject,
                        const struct vault_letter *letter, struct msg_ack *ack)
{
    bool same;
    const char *unfit = act_publishable(act, &same);
    if (unfit[0] != '\0') {
        act_answer(ack, ALD_DISP_STILL, ALD_REASON_NONE);
        ald_text_cut(ack->reason, sizeof ack->reason, ald_span_str(unfit));
        return;
    }
    enum ald_disposition outcome = same ? ALD_DISP_DUPLICATE : ALD_DISP_CORRECTED;
    act->manual = true;
    if (letter->arrival != 0)
        vault_arrival_move(&self->vault, letter->arrival, ALD_DISP_DEAD,
                           same ? ALD_DISP_DUPLICATE : ALD_DISP_APPLIED, act->task, "");
    if (!same)
        act_correct(self, act, letter->arrival, true);
    ending_close(self, reinject->letter, false, outcome);
    act_answer(ack, outcome, ALD_REASON_NONE);
}

/* May a letter be one for another reason than the one that it was made for? What a person edited is
 * no conflict: he may have mistaken the task, and a conflict is not edited again. Of what a person
 * has vouched for nothing else is made: his word was for this once, and a schedule has none. */
static bool act_turns(const struct act *act, bool edited)
{
    bool conflict = act->decision.reason == ALD_REASON_CONFLICT;
    switch (act->letter->reason) {
    case ALD_REASON_MALFORMED:
    case ALD_REASON_UNKNOWN_TASK:
    case ALD_REASON_UNMAPPED_STATUS:
        return !conflict || !edited;
    case ALD_REASON_UNAUTHENTICATED:
        return conflict && !edited && act->vouched;
    case ALD_REASON_CONFLICT: /* said again, as its answer was lost; or edited meanwhile */
        return conflict != edited;
    case ALD_REASON_NONE:
    case ALD_REASON_SUBMIT_FAILED:
    case ALD_REASON_SUBMIT_UNCERTAIN:
    case ALD_REASON_EXPIRED:
    case ALD_REASON_CONSUMER_REJECTED:
    case ALD_REASON_COUNT:
        break;
    }
    return false;
}

/* It stays a letter: for the reason, and of the task, that are known now. */
static void act_still(struct tracker *self, const struct act *act,
                      const struct msg_reinject *reinject, struct msg_ack *ack)
{
    const struct arrival_decision *decision = &act->decision;
    bool dead = decision->disposition == ALD_DISP_DEAD;
    act_answer(ack, ALD_DISP_STILL, dead ? decision->reason : act->letter->reason);
    if (!dead || !act_turns(act, reinject->revision > 1))
        return;
    bool unknown = decision->reason == ALD_REASON_UNKNOWN_TASK;
    uint64_t task = act->task != 0 || unknown ? act->task : act->letter->task;
    if (decision->reason != act->letter->reason || task != act->letter->task)
        ending_turn(self, reinject->letter, decision->reason, task,
                    decision->reason == ALD_REASON_CONFLICT ? act->digest : "");
    ack->task = task;
    ald_text_cut(ack->cause, sizeof ack->cause, ald_span_str(decision->cause));
}

void act_reinject(struct tracker *self, const struct msg_reinject *reinject, struct msg_ack *ack)
{
    struct vault_letter letter;
    struct msg_callback message;
    struct act act;
    ack->num = reinject->num;
    if (!vault_letter_find(&self->vault, reinject->letter, &letter)) {
        /* A store from before the letter: what it says may be news to us. */
        act_answer(ack, ALD_DISP_STILL, ALD_REASON_UNKNOWN_TASK);
        return;
    }
    if (letter.state != VAULT_LETTER_OPEN) {
        act_closed(self, reinject, &letter, ack);
        return;
    }
    if (letter.reason == ALD_REASON_CONSUMER_REJECTED && letter.digest[0] != '\0') {
        act_reinject_event(self, reinject, &letter, ack);
        return;
    }
    if (letter.reason == ALD_REASON_CONSUMER_REJECTED) {
        act_reinject_push(self, reinject, &letter, ack);
        return;
    }
    if (again_reason(letter.reason)) {
        act_buy(self, reinject, &letter, ack);
        return;
    }
    if (!act_again(self, &act, &message, reinject, &letter)) {
        act_answer(ack, ALD_DISP_STILL, letter.reason);
        return;
    }
    if (letter.reason == ALD_REASON_CONFLICT && reinject->publish && reinject->by_person) {
        act_publish(self, &act, reinject, &letter, ack);
        return;
    }
    enum ald_disposition outcome = act.decision.disposition;
    if (!act_closes(outcome)) {
        act_still(self, &act, reinject, ack);
        return;
    }
    if (letter.arrival != 0)
        vault_arrival_move(&self->vault, letter.arrival, ALD_DISP_DEAD, outcome, act.task, "");
    if (act.task != 0)
        vault_note(&self->vault, act.task, tracker_now(self).wall_ms,
                   act.manual && reinject->believe ? "believed" : "replayed", reinject->letter);
    act_apply(self, &act, letter.arrival, true);
    ending_close(self, reinject->letter, false, outcome);
    if (act.decision.fill_id)
        act_unpark(self, act.task);
    act_answer(ack, outcome, ALD_REASON_NONE);
}

void act_closing(struct tracker *self, const struct msg_closing *closing, struct msg_ack *ack)
{
    struct vault_letter letter;
    ack->num = closing->num;
    if (vault_letter_find(&self->vault, closing->letter, &letter) &&
        letter.state == VAULT_LETTER_OPEN) {
        if (letter.arrival != 0)
            vault_arrival_move(&self->vault, letter.arrival, ALD_DISP_DEAD, ALD_DISP_DROPPED, 0,
                               "");
        if (letter.reason == ALD_REASON_CONSUMER_REJECTED && letter.digest[0] != '\0')
            consumers_dropped(self->consumers, closing->letter);
        else if (letter.reason == ALD_REASON_CONSUMER_REJECTED)
            pushes_drop(self, letter.task);
        ending_close(self, closing->letter, true, ALD_DISP_DROPPED);
    }
    act_answer(ack, ALD_DISP_APPLIED, ALD_REASON_NONE);
}
