#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "services/tracker/acts.h"
#include "services/tracker/arrival.h"
#include "services/tracker/ending.h"
#include "services/tracker/ways.h"

enum { POLL_CONFIG_HOLD_MS = 60000, POLL_ALERT_AFTER = 5 };

/* An account at fault: its tasks wait, they do not fail. */
static void poll_block(struct ald_verdict *verdict)
{
    if (verdict->cls != ALD_CLASS_CONFIG || verdict->scope == ALD_SCOPE_TASK)
        return;
    verdict->block = true;
    verdict->wait_ms = verdict->wait_ms > 0 ? verdict->wait_ms : POLL_CONFIG_HOLD_MS;
}

/* The verdict that the poller reached, back from its words. */
static void poll_verdict(const struct msg_outcome *outcome, struct ald_verdict *out)
{
    *out = (struct ald_verdict){.block = outcome->block,
                                .wait_ms = outcome->wait_ms,
                                .grace_ms = outcome->grace_ms,
                                .result = outcome->result,
                                .result_json = outcome->result_json};
    if (!ald_then_find(outcome->then, &out->then))
        out->then = ALD_THEN_UNKNOWN; /* a poller newer than we are: never terminal */
    if (!ald_class_find(outcome->class_, &out->cls))
        out->cls = ALD_CLASS_NONE;
    if (!ald_scope_find(outcome->scope, &out->scope))
        out->scope = ALD_SCOPE_TASK;
    ald_text_cut(out->code, sizeof out->code, ald_span_str(outcome->code));
    poll_block(out);
}

/* What it says of the provider. A new code is a word all the same. */
static enum budget_sign poll_sign(const struct msg_outcome *outcome,
                                  const struct ald_verdict *verdict)
{
    if (outcome->answered)
        return verdict->then == ALD_THEN_UNKNOWN ? BUDGET_TROUBLE : BUDGET_SANE;
    bool begun = outcome->left || verdict->then != ALD_THEN_IGNORE;
    return begun ? BUDGET_TROUBLE : BUDGET_NOTHING;
}

static bool poll_lost(const struct tracker *self, const struct pending_task *task,
                      const struct ald_verdict *verdict)
{
    bool said = verdict->then == ALD_THEN_LOST ||
                (verdict->then == ALD_THEN_CODE && verdict->cls == ALD_CLASS_LOST);
    int64_t age_ms = tracker_now(self).run_ms - task->made_ms;
    return said && age_ms >= verdict->grace_ms && !tracker_hold(self);
}

static bool poll_sense(const struct msg_outcome *outcome, const struct ald_verdict *verdict)
{
    bool coded = verdict->then == ALD_THEN_CODE && verdict->cls != ALD_CLASS_UNKNOWN;
    return outcome->answered &&
           (coded || verdict->then == ALD_THEN_PENDING || verdict->then == ALD_THEN_LOST);
}

static void poll_note(struct tracker *self, const struct msg_outcome *outcome, bool sense,
                      const char *what)
{
    struct ald_buf text;
    ald_buf_init(&text, 4096);
    ald_buf_printf(&text, "%s", outcome->then);
    if (outcome->code[0] != '\0')
        ald_buf_printf(&text, " %s", outcome->code);
    if (outcome->http != 0)
        ald_buf_printf(&text, " http=%" PRIu64, outcome->http);
    if (outcome->error[0] != '\0')
        ald_buf_printf(&text, " error=%s", outcome->error);
    if (!sense && outcome->evidence.len > 0) {
        ald_buf_put_str(&text, " said=");
        ald_text_escape(&text, outcome->evidence);
    }
    char line[ALD_TEXT_MAX];
    ald_text_cut(line, sizeof line, ald_buf_span(&text));
    vault_note(&self->vault, outcome->task, outcome->at_ms, what, line);
    ald_buf_free(&text);
}

/* Say it when the breaker of an account moves. */
static void poll_breaker(const struct pending_account *account, enum budget_breaker before)
{
    const struct budget *budget = &account->budget;
    bool open = budget->breaker != BREAKER_CLOSED;
    if (open != (before != BREAKER_CLOSED))
        ald_log(ALD_WARN, open ? "breaker.open" : "breaker.closed", "provider=%s troubles=%u",
                account->profile->name, budget->troubles);
}

static void poll_told(struct tracker *self, struct pending_account *account, uint64_t lease,
                      enum budget_sign sign)
{
    enum budget_breaker before = account->budget.breaker;
    (void)budget_told(&account->budget, lease, sign, tracker_now(self).run_ms);
    poll_breaker(account, before);
}

static void poll_goes_on(struct tracker *self, struct pending_task *task,
                         const struct msg_outcome *outcome, const struct ald_verdict *verdict)
{
    struct pending_poll poll = {.lease = outcome->lease,
                                .left = outcome->left,
                                .answered = outcome->answered,
                                .sense = poll_sense(outcome, verdict),
                                .block = verdict->block,
                                .wait_ms = verdict->wait_ms,
                                .sign = poll_sign(outcome, verdict),
                                .code = verdict->code};
    if (poll.block)
        ald_log(ALD_WARN, "account.blocked", "provider=%s code=%s wait_ms=%" PRId64,
                task->account->profile->name, ALD_Q(outcome->code), poll.wait_ms);
    enum budget_breaker before = task->account->budget.breaker;
    pending_polled(self->pending, task, &poll, tracker_now(self).run_ms);
    poll_breaker(task->account, before);
    if (poll.block)
        vault_block_set(&self->vault, task->account->profile->name,
                        task->account->budget.blocked_until_ms);
    if (task->failures == POLL_ALERT_AFTER)
        ald_log(ALD_WARN, "poll.senseless",
                "provider=%s task=%" PRIu64 " polls=%u http=%" PRIu64
                " text=\"no poll of this task says anything; has the endpoint moved?\"",
                task->account->profile->name, task->id, task->failures, outcome->http);
}

/* What a poll of an open task means. True: it is its end. */
static bool poll_apply(struct tracker *self, struct pending_task *task,
                       const struct msg_outcome *outcome)
{
    struct ald_verdict verdict;
    enum ald_state state = ALD_STATE_LOST;
    poll_verdict(outcome, &verdict);
    bool ends =
        outcome->answered && (arrival_end(&verdict, &state) || poll_lost(self, task, &verdict));
    bool hinted = task->hinted && task->lease == outcome->lease;
    const char *what = !outcome->left  ? "poll.unsent"
                       : hinted        ? "poll.hinted"
                       : verdict.block ? "poll.blocked"
                                       : "poll";
    poll_note(self, outcome, ends || poll_sense(outcome, &verdict), what);
    books_add(&self->vault.books, BOOK_POLLS, outcome->answered);
    if (!ends) {
        way_told(self, task, outcome->poll_url, outcome->result_url);
        poll_goes_on(self, task, outcome, &verdict);
        return false;
    }
    poll_told(self, task->account, outcome->lease, BUDGET_SANE);
    struct ending ending = {.state = state,
                            .source = ALD_SOURCE_POLL,
                            .code = verdict.code,
                            .result =
                                state == ALD_STATE_DONE ? verdict.result : ald_span_of(NULL, 0),
                            .result_json = verdict.result_json,
                            .received_ms = outcome->at_ms,
                            .trace = ""};
    ending_apply(self, &task, &ending);
    return true;
}

void act_outcome(struct tracker *self, const struct msg_outcome *outcome, struct msg_ack *ack)
{
    struct pending_task *task = pending_find(self->pending, outcome->task);
    const char *said = "duplicate"; /* the task has ended */
    if (task && pending_reported(task, outcome->lease))
        said = "progress";
    else if (task)
        said = poll_apply(self, task, outcome) ? "applied" : "progress";
    ack->num = outcome->num;
    ald_text_cut(ack->disposition, sizeof ack->disposition, ald_span_str(said));
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

void act_due(struct tracker *self, size_t limit)
{
    const int64_t now_ms = tracker_now(self).run_ms;
    bool hold = tracker_hold(self);
    for (size_t i = 0; i < limit; i++) {
        struct pending_task *task = NULL;
        enum pending_due_kind kind = pending_due(self->pending, now_ms, hold, &task);
        if (kind == PENDING_NOTHING)
            return;
        if (kind == PENDING_EXPIRE)
            due_expire(self, task);
    }
}
