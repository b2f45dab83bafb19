#include "services/tracker/acts/arrival.h"

#include <string.h>

bool arrival_end(const struct ald_verdict *verdict, enum ald_state *state)
{
    bool failed = verdict->then == ALD_THEN_FAILED;
    /* A code about the account is no verdict on the task, whoever says so. */
    if (verdict->then == ALD_THEN_CODE && verdict->scope == ALD_SCOPE_TASK)
        failed = verdict->cls == ALD_CLASS_FAILED || verdict->cls == ALD_CLASS_PERMANENT;
    if (verdict->then == ALD_THEN_DONE)
        *state = ALD_STATE_DONE;
    else if (failed)
        *state = ALD_STATE_FAILED;
    return verdict->then == ALD_THEN_DONE || failed;
}

bool arrival_unproven(enum ald_proof proof, enum ald_reason reason)
{
    bool nameless = reason == ALD_REASON_MALFORMED || reason == ALD_REASON_UNAUTHENTICATED ||
                    reason == ALD_REASON_UNKNOWN_TASK;
    return proof == ALD_PROOF_NONE || (proof == ALD_PROOF_ID && nameless);
}

static void arrival_dead(struct arrival_decision *out, enum ald_reason reason, const char *cause)
{
    out->disposition = ALD_DISP_DEAD;
    out->reason = reason;
    out->cause = cause;
}

/* The door could not read it. */
static void arrival_fault(const struct arrival_facts *facts, struct arrival_decision *out)
{
    const char *fault = facts->message->fault;
    if (strcmp(fault, "oversized") == 0 || strcmp(fault, "unstored") == 0) {
        out->disposition =
            facts->task == ARRIVAL_TASK_OPEN ? ALD_DISP_PROGRESS : ALD_DISP_DUPLICATE;
        out->hint = facts->task == ARRIVAL_TASK_OPEN;
    } else if (strcmp(fault, "unauthenticated") == 0) {
        arrival_dead(out, ALD_REASON_UNAUTHENTICATED,
                     "The proof that the profile asks for failed.");
    } else {
        arrival_dead(out, ALD_REASON_MALFORMED, "The message can't be read.");
        out->hint = facts->task == ARRIVAL_TASK_OPEN;
    }
}

static void arrival_unknown(const struct arrival_facts *facts, struct arrival_decision *out)
{
    bool named = facts->message->task != 0;
    if (facts->task == ARRIVAL_TASK_PURGED)
        out->disposition = ALD_DISP_DUPLICATE;
    else if (!named && facts->verdict->id[0] == '\0')
        arrival_dead(out, ALD_REASON_MALFORMED, "The message names no task.");
    else if (named)
        arrival_dead(out, ALD_REASON_UNKNOWN_TASK,
                     "The callback URL is genuine, but its task is not in this store.");
    else if (facts->replay)
        arrival_dead(out, ALD_REASON_UNKNOWN_TASK, "No task has this provider id.");
    else
        out->disposition = ALD_DISP_PARKED;
}

static bool arrival_believed(const struct arrival_facts *facts)
{
    switch (facts->profile->trust) {
    case ALD_TRUST_HINT:
        return false;
    case ALD_TRUST_ID:
        return facts->proof >= ALD_PROOF_ID;
    case ALD_TRUST_TOKEN:
        return facts->proof >= ALD_PROOF_TOKEN;
    case ALD_TRUST_AUTH:
        return facts->proof >= ALD_PROOF_AUTH;
    }
    return false;
}

/* A later answer: the same, one told not to care about, or another one. */
static void arrival_ended(const struct arrival_facts *facts, struct arrival_decision *out)
{
    enum ald_state state = ALD_STATE_DONE;
    enum ald_state had = facts->ended_state;
    out->disposition = ALD_DISP_DUPLICATE;
    if (had == ALD_STATE_CANCELLED || !arrival_end(facts->verdict, &state))
        return;
    if (facts->followed && state == ALD_STATE_FAILED)
        return; /* it was bought again for that */
    bool own = had == ALD_STATE_EXPIRED || had == ALD_STATE_LOST;
    if (own && state != ALD_STATE_DONE)
        return;
    if (!own && state == had && strcmp(facts->digest, facts->ended_digest) == 0)
        return;
    if (facts->ended_before)
        return; /* it was read since, and found to be wrong */
    if (own && arrival_believed(facts) && !facts->profile->late_results_kept) {
        out->disposition = ALD_DISP_APPLIED;
        out->corrects = true;
        out->state = state;
        return;
    }
    arrival_dead(out, ALD_REASON_CONFLICT,
                 own ? "An answer came after aldaba had given the task up."
                     : "Another answer than the one that was published.");
}

/* Where nobody is believed, who knows the task's id is at least no bare stranger. */
static bool arrival_told(const struct arrival_facts *facts)
{
    enum ald_state state = ALD_STATE_DONE;
    bool heard = facts->profile->trust == ALD_TRUST_HINT ? facts->proof >= ALD_PROOF_ID
                                                         : arrival_believed(facts);
    return heard && (facts->verdict->then == ALD_THEN_FETCH || arrival_end(facts->verdict, &state));
}

/* That an attempt failed is no end while another follows, or will. */
static void arrival_open_end(const struct arrival_facts *facts, struct arrival_decision *out)
{
    bool believed = arrival_believed(facts);
    bool failed = out->state == ALD_STATE_FAILED;
    bool next = facts->again && facts->verdict->resubmit && (!facts->under_way || out->fill_id);
    out->failed = believed && failed && facts->followed;
    out->again = believed && failed && !facts->followed && next;
    out->ends = believed && !out->failed && !out->again;
    out->hint = !believed && !(failed && facts->followed);
    if (out->ends)
        out->disposition = ALD_DISP_APPLIED;
}

static void arrival_open(const struct arrival_facts *facts, struct arrival_decision *out)
{
    const struct ald_verdict *verdict = facts->verdict;
    out->disposition = ALD_DISP_PROGRESS;
    if (arrival_end(verdict, &out->state)) {
        arrival_open_end(facts, out);
        return;
    }
    bool waits = verdict->then == ALD_THEN_PENDING || verdict->then == ALD_THEN_IGNORE ||
                 (verdict->then == ALD_THEN_CODE && verdict->cls == ALD_CLASS_PENDING);
    out->hint = !waits;
    if (verdict->then == ALD_THEN_UNKNOWN)
        arrival_dead(out, ALD_REASON_UNMAPPED_STATUS, "No rule of the profile reads this message.");
    else if (verdict->then == ALD_THEN_CODE && verdict->cls == ALD_CLASS_UNKNOWN)
        arrival_dead(out, ALD_REASON_UNMAPPED_STATUS, "The code is not in the profile's table.");
}

static void arrival_judge(const struct arrival_facts *facts, struct arrival_decision *out)
{
    if (facts->message->fault[0] != '\0') {
        arrival_fault(facts, out);
        return;
    }
    if (!facts->profile) {
        arrival_dead(out, ALD_REASON_UNMAPPED_STATUS, "The provider's profile is not loaded.");
        return;
    }
    if (facts->task == ARRIVAL_TASK_UNKNOWN || facts->task == ARRIVAL_TASK_PURGED) {
        arrival_unknown(facts, out);
        return;
    }
    const char *id = facts->verdict->id;
    bool other = id[0] != '\0' && facts->task_provider_id[0] != '\0' &&
                 strcmp(id, facts->task_provider_id) != 0;
    if (other) {
        arrival_dead(out, ALD_REASON_CONFLICT,
                     "The callback URL is of one task, the provider id in it of another.");
        return;
    }
    out->fill_id = facts->task == ARRIVAL_TASK_OPEN && facts->proof >= ALD_PROOF_TOKEN &&
                   id[0] != '\0' && facts->task_provider_id[0] == '\0' && !facts->id_away;
    if (facts->task == ARRIVAL_TASK_ENDED)
        arrival_ended(facts, out);
    else
        arrival_open(facts, out);
    out->told = arrival_told(facts);
}

/* Enough letters of this task, or the same one again: counted, not kept. */
static bool arrival_enough(const struct arrival_facts *facts, enum ald_reason reason)
{
    bool conflict = reason == ALD_REASON_CONFLICT;
    bool known = facts->task == ARRIVAL_TASK_OPEN || facts->task == ARRIVAL_TASK_ENDED;
    return known &&
           (facts->letters >= ARRIVAL_LETTERS_MAX ||
            (conflict && (facts->conflict_known || facts->conflicts >= ARRIVAL_CONFLICTS_MAX)));
}

void arrival_decide(const struct arrival_facts *facts, struct arrival_decision *out)
{
    *out = (struct arrival_decision){.cause = ""};
    arrival_judge(facts, out);
    if (out->disposition != ALD_DISP_DEAD || !arrival_enough(facts, out->reason))
        return;
    out->disposition = facts->task == ARRIVAL_TASK_OPEN ? ALD_DISP_PROGRESS : ALD_DISP_DUPLICATE;
    out->reason = ALD_REASON_NONE;
    out->cause = "";
}
