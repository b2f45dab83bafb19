#include "services/tracker/acts/acts.h"

#include <string.h>

#include "common/base/bug.h"
#include "common/base/text.h"
#include "common/config/profile_request.h"
#include "common/config/value.h"
#include "services/tracker/acts/acts_inside.h"
#include "services/tracker/acts/acts_resubmit.h"
#include "services/tracker/acts/acts_submit.h"
#include "services/tracker/acts/correction.h"
#include "services/tracker/acts/ending.h"
#include "services/tracker/keep_budgets.h"
#include "services/tracker/pending_again.h"
#include "services/tracker/vault/vault_letters.h"
#include "services/tracker/vault/vault_resubmits.h"
#include "services/tracker/vault/vault_submits.h"
#include "services/tracker/ways.h"

static void act_find_ended(struct tracker *self, struct act *act, uint64_t task)
{
    if (vault_end_find(&self->vault, task, tracker_tail_seq(self, task), &act->end)) {
        act->facts.task = ARRIVAL_TASK_ENDED;
        act->task = task;
    } else if (vault_task_buried(&self->vault, task)) {
        act->facts.task = ARRIVAL_TASK_PURGED;
        act->task = task;
    }
}

/* The task that a message is about: the one of its token, else of the provider's id. */
static void act_find(struct tracker *self, struct act *act)
{
    const char *provider = act->message->provider;
    const char *provider_id = act->verdict.id;
    uint64_t task = act->message->task;
    act->facts.task = ARRIVAL_TASK_UNKNOWN;
    if (task != 0)
        act->open = pending_find(self->pending, task);
    else if (provider_id[0] != '\0')
        act->open = pending_find_ref(self->pending, provider, provider_id);
    if (act->open) {
        act->facts.task = ARRIVAL_TASK_OPEN;
        act->task = act->open->id;
        return;
    }
    if (task == 0 && provider_id[0] != '\0')
        task = vault_ref_find(&self->vault, provider, provider_id);
    if (task != 0)
        act_find_ended(self, act, task);
}

/* Which of an ended task's ids the message means: contract of pending_own_id. */
static const char *act_ended_id(struct tracker *self, const struct act *act)
{
    const char *id = act->verdict.id;
    const char *has = act->end.provider_id;
    uint64_t attempt = act->message->attempt;
    if (id[0] == '\0' || has[0] == '\0' || strcmp(id, has) == 0)
        return has;
    if (vault_resubmit_followed(&self->vault, act->task, 0, id))
        return id;
    bool untold = attempt > 0 && vault_resubmit_followed(&self->vault, act->task, 0, has) &&
                  !vault_resubmit_followed(&self->vault, act->task, attempt, "");
    return untold ? "" : has;
}

/* What its other attempts have to do with it, where the task was or may be submitted again. */
static void act_attempts(struct tracker *self, struct act *act, bool fails)
{
    struct arrival_facts *facts = &act->facts;
    const char *id = act->verdict.id;
    uint64_t attempt = act->message->attempt;
    if (act->open) {
        facts->task_provider_id = pending_own_id(act->open, attempt, id);
        facts->followed = pending_followed(act->open, attempt, id);
        facts->under_way = act->open->submit != NULL;
        facts->again = fails && resubmit_may(self, act->open, RESUBMISSION_CODE, true);
        return;
    }
    facts->task_provider_id = act_ended_id(self, act);
    facts->followed = fails && facts->task == ARRIVAL_TASK_ENDED &&
                      (id[0] == '\0' || strcmp(id, act->end.provider_id) != 0) &&
                      vault_resubmit_followed(&self->vault, act->task, attempt, id);
}

static void act_judge(struct tracker *self, struct act *act)
{
    const struct msg_callback *message = act->message;
    act->profile = ald_profiles_find(self->profiles, message->provider);
    if (!act->profile || message->fault[0] != '\0')
        return;
    struct ald_fact_header headers[ALD_FACT_HEADERS_MAX];
    struct ald_facts facts = {.headers = headers,
                              .header_count = ald_headers_read(message->headers, headers),
                              .query = message->query,
                              .content_type = ald_span_str(message->content_type),
                              .body = message->body};
    ald_profile_judge(act->profile, ALD_STAGE_CALLBACK, &facts, &self->scratch, &act->verdict);
}

/* It would be a letter: the task may have that one already, or enough of them. What is in a letter
 * stays there, unless it turns out to be in another one too; that of a conflict would meet itself.
 */
static void act_decide_known(struct tracker *self, struct act *act)
{
    struct vault_letters_of had;
    enum ald_state state;
    if (act->letter && act->letter->reason == ALD_REASON_CONFLICT)
        return;
    vault_letters_of(&self->vault, act->task, act->digest, &had);
    if (!act->letter) {
        act->facts.letters = had.all;
        act->facts.conflicts = had.conflicts;
    }
    act->facts.conflict_known = had.known;
    act->facts.ended_before = act->facts.task == ARRIVAL_TASK_ENDED &&
                              arrival_end(&act->verdict, &state) &&
                              vault_end_was(&self->vault, &act->end, state, act->digest);
    arrival_decide(&act->facts, &act->decision);
}

void act_decide(struct tracker *self, struct act *act, enum ald_proof proof, bool replay)
{
    act_judge(self, act);
    act_find(self, act);
    enum ald_state state = ALD_STATE_DONE;
    bool ends = act->profile && arrival_end(&act->verdict, &state);
    if (ends && act->facts.task != ARRIVAL_TASK_UNKNOWN)
        ald_profile_digest(act->profile, ald_state_name(state), act->verdict.result,
                           act->verdict.result_json, act->digest);
    act->facts.message = act->message;
    act->facts.proof = proof;
    act->facts.profile = act->profile;
    act->facts.verdict = &act->verdict;
    act->facts.digest = act->digest;
    act_attempts(self, act, ends && state == ALD_STATE_FAILED);
    act->facts.id_away = act->profile && way_id_away(act->profile, act->verdict.id);
    act->facts.ended_state = act->end.state;
    act->facts.ended_digest = act->end.digest;
    act->facts.replay = replay;
    arrival_decide(&act->facts, &act->decision);
    if (act->decision.disposition == ALD_DISP_DEAD && act->task != 0)
        act_decide_known(self, act);
}

/* When the provider was given the task, in wall time: our own queue is no delay of the provider's.
 * 0: that is not known. */
static int64_t act_given_ms(struct tracker *self, const struct act *act)
{
    int64_t given_ms = ald_task_id_wall_ms(act->task);
    if (ald_profile_asks(act->profile, ALD_STAGE_SUBMIT)) /* else there is no row to look for */
        (void)vault_submit_asked(&self->vault, act->task, &given_ms);
    return given_ms;
}

/* How long a provider takes to call back is learned from the first callback that tells a task's
 * end, also when a poll was first; an early one came at once. */
static void act_learn(struct tracker *self, const struct act *act)
{
    if (!act->decision.told || (!act->open && act->end.called))
        return;
    if (act->open && (act->open->again || act->decision.again))
        return; /* which attempt it took so long of is not what is learned */
    int64_t given_ms = act_given_ms(self, act);
    if (given_ms == 0)
        return;
    int64_t took_ms = act->message->received_at_ms - given_ms;
    stale_heard(&pending_account(self->pending, act->profile)->stale, act->task,
                took_ms > 0 ? took_ms : 0);
    self->learned = true;
}

/* An attempt has failed, and that is not the end of its task. */
static void act_failed(struct tracker *self, const struct act *act)
{
    struct pending_task *task = act->open;
    const char *code = act->verdict.code;
    if (act->decision.again && resubmit_may(self, task, RESUBMISSION_CODE, false))
        resubmit(self, task, RESUBMISSION_CODE, code);
    else if (act->decision.failed &&
             pending_attempt(task, act->message->attempt, act->verdict.id) == task->again->attempt)
        resubmit_heard(self, task, code);
}

void act_ending(const struct act *act, int64_t arrival, bool replay, struct ending *out)
{
    bool done = act->decision.state == ALD_STATE_DONE;
    *out = (struct ending){.state = act->decision.state,
                           .source = act->manual ? ALD_SOURCE_MANUAL
                                     : replay    ? ALD_SOURCE_REPLAY
                                     : !act->open || pending_looked(act->open)->polls > 0
                                         ? ALD_SOURCE_LATE
                                         : ALD_SOURCE_CALLBACK,
                           .code = act->verdict.code,
                           .result = done ? act->verdict.result : ald_span_of(NULL, 0),
                           .result_json = act->verdict.result_json,
                           .received_ms = act->message->received_at_ms,
                           .arrival = arrival,
                           .trace = act->message->trace,
                           .digest = act->digest};
}

/* Nobody knew the provider's id of its task when that was given up. */
static void act_fill_ended(struct tracker *self, struct act *act)
{
    const char *id = act->verdict.id;
    const char *provider = act->message->provider;
    bool wants = act->end.provider_id[0] == '\0' && act->facts.proof >= ALD_PROOF_TOKEN;
    if (!wants || id[0] == '\0' || act->facts.id_away ||
        pending_find_ref(self->pending, provider, id) ||
        vault_ref_find(&self->vault, provider, id) != 0)
        return;
    vault_task_attach(&self->vault, act->task, provider, id);
    ald_text_cut(act->end.provider_id, sizeof act->end.provider_id, ald_span_str(id));
}

void act_correct(struct tracker *self, struct act *act, int64_t arrival, bool replay)
{
    struct ending ending;
    act_ending(act, arrival, replay, &ending);
    act_fill_ended(self, act);
    correction_publish(self, act->task, act->message->provider, &act->end, &ending);
}

void act_apply(struct tracker *self, struct act *act, int64_t arrival, bool replay)
{
    const struct tracker_now now = tracker_now(self);
    if (act->decision.corrects)
        act_correct(self, act, arrival, replay);
    if (!act->open)
        return;
    if (act->decision.fill_id && act->open->submit &&
        !pending_find_ref(self->pending, act->message->provider, act->verdict.id))
        submit_known(self, act->open);
    if (act->decision.fill_id &&
        pending_attach(self->pending, act->open, act->verdict.id, now.run_ms) == ALD_OK) {
        vault_task_attach(&self->vault, act->open->id, act->message->provider, act->verdict.id);
        keep_given(self, act->open->account->profile);
    }
    if (act->decision.hint)
        (void)pending_hint(self->pending, act->open, now.run_ms);
    if (!act->decision.ends) {
        if (act->open->arrivals < ARRIVAL_KEPT_MAX)
            act->open->arrivals++;
        act_failed(self, act);
        return;
    }
    struct ending ending;
    act_ending(act, arrival, replay, &ending);
    ending_apply(self, &act->open, &ending);
}

static void act_make_letter(struct tracker *self, const struct act *act, int64_t arrival,
                            char out[ALD_ULID_MAX])
{
    const struct ending_letter letter = {
        .reason = act->decision.reason,
        .cause = act->decision.cause,
        .provider = act->message->provider,
        .provider_id = act->verdict.id,
        .task = act->task,
        .proof = act->facts.proof,
        .digest = act->decision.reason == ALD_REASON_CONFLICT ? act->digest : "",
        .original = act->bytes,
        .arrival = arrival,
    };
    ending_letter(self, &letter, out);
}

static void act_park(struct tracker *self, const struct act *act, const char *ref, int64_t no)
{
    const struct tracker_now now = tracker_now(self);
    struct park_item item = {.no = no,
                             .made_ms = now.run_ms,
                             .until_ms = now.run_ms + act->profile->parked_for_ms,
                             .bytes = act->bytes.len};
    park_add(self->park, ref, &item);
}

/* Room for what nobody has proved? What was answered from a spool has been promised a place. */
static bool act_room(struct tracker *self, struct act *act)
{
    enum ald_disposition disposition = act->decision.disposition;
    bool parked = disposition == ALD_DISP_PARKED;
    enum ald_reason reason = parked ? ALD_REASON_UNKNOWN_TASK : act->decision.reason;
    bool kept = parked || disposition == ALD_DISP_DEAD;
    if (!kept || !arrival_unproven(act->facts.proof, reason) || act->message->spooled)
        return true;
    /* A parked one may become a letter, too. */
    if (self->vault.outbox >= self->settings->tracker.outbox_max)
        return false;
    uint64_t count = 0;
    uint64_t bytes = 0;
    const char *provider = act->message->provider;
    park_share(self->park, provider, &count, &bytes);
    uint64_t most = act->profile ? act->profile->quota_count : 1000;
    uint64_t most_bytes = act->profile ? act->profile->quota_bytes : 16 << 20;
    /* A network that the profile lets in has no share of its own. */
    const char *peer = act->facts.proof == ALD_PROOF_NONE ? act->message->peer : "";
    if (!quota_room(self->quota, provider, peer, act->bytes.len, count, bytes, most, most_bytes))
        return false;
    act->peer = peer;
    return true;
}

/* Is the message itself kept? Of each task a few are, the rest are counted. */
static bool act_keeps(struct tracker *self, const struct act *act)
{
    if (act->open)
        return act->open->arrivals < ARRIVAL_KEPT_MAX;
    if (act->facts.task == ARRIVAL_TASK_ENDED)
        return tracker_tail_met(self, act->task, act->end.seq) <= ARRIVAL_KEPT_MAX;
    return act->facts.task != ARRIVAL_TASK_PURGED;
}

void act_answer(struct msg_ack *ack, enum ald_disposition disposition, enum ald_reason reason)
{
    ald_text_cut(ack->disposition, sizeof ack->disposition,
                 ald_span_str(ald_disposition_name(disposition)));
    ald_text_cut(ack->reason, sizeof ack->reason, ald_span_str(ald_reason_name(reason)));
}

void act_callback(struct tracker *self, struct sender *sender, const struct msg_callback *message,
                  struct ald_span bytes, struct msg_ack *ack)
{
    enum ald_disposition first;
    ack->num = message->num;
    if (!ALD_BUG(no_dedup) && sender_seen(sender, message->num, &first)) {
        act_answer(ack, first, ALD_REASON_NONE);
        return;
    }
    struct act act = {.message = message, .bytes = bytes};
    enum ald_proof proof = ALD_PROOF_NONE;
    (void)!ald_proof_find(message->proof, &proof);
    act_decide(self, &act, proof, false);
    if (!act_room(self, &act)) {
        act_answer(ack, ALD_DISP_REFUSED, ALD_REASON_NONE);
        return;
    }
    if (sender_note(sender, message->num, act.decision.disposition) != ALD_OK) {
        act_answer(ack, ALD_DISP_BUSY, ALD_REASON_NONE); /* it comes again, and counts then */
        return;
    }
    if (act.peer && act.peer[0] != '\0')
        quota_met(self->quota, message->provider, act.peer);
    char ref[ALD_PROVIDER_MAX + ALD_PROVIDER_ID_MAX] = "";
    if (act.decision.disposition == ALD_DISP_PARKED)
        (void)snprintf(ref, sizeof ref, "%s/%s", message->provider, act.verdict.id);
    char letter[ALD_ULID_MAX] = "";
    int64_t no = self->vault.last_arrival + 1;
    if (act.decision.disposition == ALD_DISP_DEAD)
        act_make_letter(self, &act, no, letter);
    struct vault_arrival row = {.sender = sender->no,
                                .num = message->num,
                                .task = act.task,
                                .disposition = act.decision.disposition,
                                .proof = proof,
                                .at_ms = message->received_at_ms,
                                .made_ms = tracker_now(self).run_ms,
                                .ref = ald_span_str(ref),
                                .letter = ald_span_str(letter),
                                .message = act_keeps(self, &act) ? bytes : ald_span_of(NULL, 0)};
    vault_arrival_add(&self->vault, &row);
    if (act.decision.disposition == ALD_DISP_PARKED)
        act_park(self, &act, ref, row.no);
    act_learn(self, &act);
    act_apply(self, &act, row.no, false);
    if (act.decision.fill_id)
        act_unpark(self, act.task);
    act_answer(ack, act.decision.disposition, act.decision.reason);
}

/* One parked arrival whose task is open, or has just ended by an older one. */
static void act_unpark_one(struct tracker *self, int64_t no)
{
    struct vault_arrival row;
    struct msg_callback message;
    if (!vault_arrival_get(&self->vault, no, &row, &self->evidence) ||
        ald_wire_decode(&MSG_CALLBACK, &message, row.message) != ALD_OK)
        return;
    struct act act = {.message = &message, .bytes = row.message};
    act_decide(self, &act, row.proof, true);
    if (act.decision.disposition != ALD_DISP_DEAD && row.proof == ALD_PROOF_NONE)
        quota_left(self->quota, message.provider, message.peer);
    char letter[ALD_ULID_MAX] = "";
    if (act.decision.disposition == ALD_DISP_DEAD)
        act_make_letter(self, &act, no, letter);
    vault_arrival_move(&self->vault, no, ALD_DISP_PARKED, act.decision.disposition, act.task,
                       letter);
    act_learn(self, &act);
    act_apply(self, &act, no, false);
}

void act_unpark(struct tracker *self, uint64_t task)
{
    const struct pending_task *open = pending_find(self->pending, task);
    if (!open || open->provider_id[0] == '\0')
        return;
    char ref[ALD_PROVIDER_MAX + ALD_PROVIDER_ID_MAX];
    ald_text_cut(ref, sizeof ref, ald_span_str(pending_task_ref(open)));
    struct park_item item;
    while (park_take(self->park, ref, &item) != 0)
        act_unpark_one(self, item.no);
}

void act_parked_due(struct tracker *self, size_t limit)
{
    char ref[ALD_PROVIDER_MAX + ALD_PROVIDER_ID_MAX];
    const struct tracker_now now = tracker_now(self);
    if (tracker_hold(self))
        return;
    for (size_t i = 0; i < limit; i++) {
        int64_t no = park_take_due(self->park, now.run_ms, ref, sizeof ref);
        if (no == 0)
            return;
        act_unpark_one(self, no);
    }
}
