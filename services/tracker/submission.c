#include "services/tracker/submission.h"

#include "common/base/backoff.h"

enum { SUBMISSION_HOLD_MS = 60000 /* an account at fault that does not say how long */ };

bool submission_start(const struct submission *self, uint64_t attempt, uint64_t lease, bool leased)
{
    if (self->stage == SUBMISSION_WAITING)
        return leased && attempt == self->attempt + 1;
    /* Its answer was lost; nobody else was ever told this lease. */
    return self->stage == SUBMISSION_STARTED && attempt == self->attempt && lease == self->lease;
}

void submission_started(struct submission *self, uint64_t attempt, uint64_t lease)
{
    self->stage = SUBMISSION_STARTED;
    self->attempt = attempt;
    self->lease = lease;
}

static void submission_say(struct submission_decision *out, enum submission_end end,
                           const char *cause)
{
    out->end = end;
    out->cause = cause;
}

static void submission_code(const struct submission *self, const struct ald_verdict *verdict,
                            struct submission_decision *out)
{
    out->wait_ms = verdict->wait_ms;
    switch (verdict->cls) {
    case ALD_CLASS_TRANSIENT:
        out->block = verdict->block;
        submission_say(out, SUBMISSION_AGAIN, "The provider refuses it for now.");
        return;
    case ALD_CLASS_CONFIG:
        out->block = verdict->scope != ALD_SCOPE_TASK;
        if (out->wait_ms == 0)
            out->wait_ms = SUBMISSION_HOLD_MS;
        submission_say(out, SUBMISSION_AGAIN, "The account is at fault; its tasks wait.");
        return;
    case ALD_CLASS_PERMANENT:
    case ALD_CLASS_FAILED:
        submission_say(out, SUBMISSION_FAILED, "The provider refused the submission.");
        return;
    case ALD_CLASS_NONE:
    case ALD_CLASS_PENDING:
    case ALD_CLASS_LOST:
    case ALD_CLASS_UNKNOWN:
        break;
    }
    out->strange = true;
    if (self->strange + 1 < SUBMISSION_STRANGE_MAX)
        submission_say(out, SUBMISSION_AGAIN, "The provider refuses it by a code that is new.");
    else
        submission_say(out, SUBMISSION_FAILED,
                       "The provider refused the submission three times by codes that are not in "
                       "the profile's table.");
}

static void submission_answer(const struct submission *self, const struct ald_verdict *verdict,
                              struct submission_decision *out)
{
    switch (verdict->then) {
    case ALD_THEN_ACCEPTED:
        submission_say(out, SUBMISSION_TAKEN, "");
        return;
    case ALD_THEN_DONE_AT_SUBMIT:
    case ALD_THEN_DONE:
        submission_say(out, SUBMISSION_DONE, "");
        return;
    case ALD_THEN_FAILED:
        submission_say(out, SUBMISSION_FAILED, "The provider refused the submission.");
        return;
    case ALD_THEN_CODE:
        submission_code(self, verdict, out);
        return;
    case ALD_THEN_UNKNOWN:
    case ALD_THEN_LOST:
    case ALD_THEN_PENDING:
    case ALD_THEN_HINT:
    case ALD_THEN_IGNORE:
    case ALD_THEN_FETCH:
        break;
    }
    submission_say(out, SUBMISSION_UNSURE,
                   "The provider's answer does not say whether it took the submission.");
}

/* Is it about what is open? An attempt that was settled as not taken is closed, and so is a lease
 * that was never started and is not the present one. */
static bool submission_matters(const struct submission *self,
                               const struct submission_report *report)
{
    if (self->stage == SUBMISSION_STARTED || self->stage == SUBMISSION_UNCERTAIN)
        return report->attempt == self->attempt && report->lease == self->lease;
    return report->attempt == self->attempt + 1 && (report->left || report->leased);
}

/* A refusal that comes with a failure of the server's own may be a failure after it was taken. What
 * the profile's submit.not_taken knows has no code. */
static bool submission_doubtful(const struct submission_report *report)
{
    return report->answered && report->http >= 500 && report->verdict->code[0] != '\0';
}

void submission_decide(const struct submission *self, const struct submission_report *report,
                       struct submission_decision *out)
{
    const struct ald_verdict *verdict = report->verdict;
    *out = (struct submission_decision){.cause = ""};
    if (!report->left && verdict->then == ALD_THEN_FAILED)
        submission_say(out, SUBMISSION_FAILED, "No request can be made of this submission.");
    else if (!report->left)
        submission_say(out, SUBMISSION_AGAIN, "The request never left.");
    else if (report->answered)
        submission_answer(self, verdict, out);
    else
        submission_say(out, SUBMISSION_UNSURE,
                       "The request was sent and no whole answer came: the provider may have "
                       "taken it.");
    if (out->end == SUBMISSION_AGAIN && submission_doubtful(report))
        submission_say(out, SUBMISSION_UNSURE,
                       "The provider failed while it answered: it may have taken it.");
    out->unasked = !report->left && verdict->then == ALD_THEN_IGNORE;
    bool taken = out->end == SUBMISSION_TAKEN || out->end == SUBMISSION_DONE;
    /* That what a resubmission follows was taken is no news; its result would be. */
    bool followed = report->attempt <= self->taken;
    if (followed ? out->end != SUBMISSION_DONE : !taken && !submission_matters(self, report))
        *out = (struct submission_decision){.cause = ""};
}

int64_t submission_wait(const struct submission *self, const struct ald_schedule *schedule,
                        int64_t wait_ms, uint64_t random)
{
    const struct ald_backoff backoff = {.first_ms = schedule->every_ms,
                                        .percent = 200,
                                        .max_ms = schedule->max_every_ms,
                                        .jitter_percent = schedule->jitter_percent};
    uint32_t step = self->tries > 0 ? self->tries - 1 : 0;
    int64_t wait = ald_backoff_wait(&backoff, step, random);
    return wait_ms > wait ? wait_ms : wait;
}
