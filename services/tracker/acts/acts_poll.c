#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "services/tracker/acts/acts.h"
#include "services/tracker/acts/acts_resubmit.h"
#include "services/tracker/acts/acts_submit.h"
#include "services/tracker/acts/arrival.h"
#include "services/tracker/acts/correction.h"
#include "services/tracker/acts/ending.h"
#include "services/tracker/acts/outcome.h"
#include "services/tracker/pending_again.h"
#include "services/tracker/ways.h"

enum { POLL_ALERT_AFTER = 5 };

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

static void poll_goes_on(struct tracker *self, struct pending_task *task,
                         const struct msg_outcome *outcome, const struct ald_verdict *verdict)
{
    struct pending_poll poll = {.lease = outcome->lease,
                                .at_ms = outcome->at_ms,
                                .left = outcome->left,
                                .answered = outcome->answered,
                                .sense = poll_sense(outcome, verdict),
                                .alone = outcome->alone,
                                .block = verdict->block,
                                .wait_ms = verdict->wait_ms,
                                .sign = outcome_sign(outcome, verdict),
                                .code = verdict->code};
    if (poll.block)
        ald_log(ALD_WARN, "account.blocked", "provider=%s code=%s wait_ms=%" PRId64,
                task->account->profile->name, ALD_Q(outcome->code), poll.wait_ms);
    enum budget_breaker before = task->account->budget.breaker;
    pending_polled(self->pending, task, &poll, tracker_now(self).run_ms);
    outcome_breaker(task->account, before);
    if (poll.block)
        vault_block_set(&self->vault, task->account->profile->name,
                        task->account->budget.blocked_until_ms);
    const uint32_t failures = pending_looked(task)->failures;
    if (failures == POLL_ALERT_AFTER)
        ald_log(ALD_WARN, "poll.senseless",
                "provider=%s task=%" PRIu64 " polls=%u http=%" PRIu64
                " text=\"no poll of this task says anything; has the endpoint moved?\"",
                task->account->profile->name, task->id, failures, outcome->http);
}

static const char *poll_word(const struct pending_task *task, const struct msg_outcome *outcome,
                             const struct ald_verdict *verdict)
{
    const struct pending_look *look = pending_looked(task);
    bool hinted = look->hinted && look->lease == outcome->lease;
    return !outcome->left   ? "poll.unsent"
           : hinted         ? "poll.hinted"
           : verdict->block ? "poll.blocked"
                            : "poll";
}

static void poll_end(struct tracker *self, struct pending_task *task, enum ald_state state,
                     const struct msg_outcome *outcome, const struct ald_verdict *verdict)
{
    struct ending ending = {.state = state,
                            .source = ALD_SOURCE_POLL,
                            .code = verdict->code,
                            .result =
                                state == ALD_STATE_DONE ? verdict->result : ald_span_of(NULL, 0),
                            .result_json = verdict->result_json,
                            .received_ms = outcome->at_ms,
                            .trace = ""};
    ending_apply(self, &task, &ending);
}

/* What a poll of an open task means. True: it is its end. */
static bool poll_apply(struct tracker *self, struct pending_task *task,
                       const struct msg_outcome *outcome)
{
    struct ald_verdict verdict;
    enum ald_state state = ALD_STATE_LOST;
    outcome_verdict(outcome, &verdict);
    /* Of an attempt that another follows only a result counts. */
    bool followed = pending_poll_followed(task, outcome->lease);
    bool ends = outcome->answered &&
                (arrival_end(&verdict, &state) || poll_lost(self, task, &verdict)) &&
                (!followed || state == ALD_STATE_DONE);
    /* Of one that comes again only the clock can say something new, and it says nothing for it. */
    if ((!ends || state == ALD_STATE_LOST) &&
        pending_reported(task, outcome->lease, outcome->at_ms))
        return false;
    outcome_note(self, outcome, ends || poll_sense(outcome, &verdict),
                 poll_word(task, outcome, &verdict));
    pending_fetched(task, outcome->lease, outcome->fetched);
    books_add(&self->vault.books, BOOK_POLLS, outcome->answered);
    if (!ends) {
        if (!followed)
            way_told(self, task, outcome->poll_url, outcome->result_url);
        poll_goes_on(self, task, outcome, &verdict);
        return false;
    }
    outcome_told(self, task->account, outcome->lease, BUDGET_SANE);
    if (state == ALD_STATE_FAILED && verdict.resubmit &&
        resubmit_may(self, task, RESUBMISSION_CODE, false)) {
        if (outcome->left)
            pending_poll_left(task);
        resubmit(self, task, RESUBMISSION_CODE, verdict.code);
        return false;
    }
    poll_end(self, task, state, outcome, &verdict);
    return true;
}

/* What a poll said. */
static const char *poll_outcome(struct tracker *self, const struct msg_outcome *outcome)
{
    struct pending_task *task = pending_find(self->pending, outcome->task);
    if (!task) /* the task has ended */
        return correction_told(self, outcome, ALD_SOURCE_POLL) ? "applied" : "duplicate";
    return poll_apply(self, task, outcome) ? "applied" : "progress";
}

void act_outcome(struct tracker *self, const struct msg_outcome *outcome, struct msg_ack *ack)
{
    ack->num = outcome->num;
    const char *said =
        outcome->attempt > 0 ? submit_outcome(self, outcome) : poll_outcome(self, outcome);
    ald_text_cut(ack->disposition, sizeof ack->disposition, ald_span_str(said));
}
