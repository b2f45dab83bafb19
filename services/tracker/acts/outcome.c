#include "services/tracker/acts/outcome.h"

#include <inttypes.h>

#include "common/base/log.h"
#include "common/base/text.h"

enum { OUTCOME_CONFIG_HOLD_MS = 60000 };

/* An account at fault: its tasks wait, they do not fail. */
static void outcome_block(struct ald_verdict *verdict)
{
    if (verdict->cls != ALD_CLASS_CONFIG || verdict->scope == ALD_SCOPE_TASK)
        return;
    verdict->block = true;
    verdict->wait_ms = verdict->wait_ms > 0 ? verdict->wait_ms : OUTCOME_CONFIG_HOLD_MS;
}

void outcome_verdict(const struct msg_outcome *outcome, struct ald_verdict *out)
{
    *out = (struct ald_verdict){.block = outcome->block,
                                .resubmit = outcome->resubmit,
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
    ald_text_cut(out->id, sizeof out->id, ald_span_str(outcome->provider_id));
    outcome_block(out);
}

enum budget_sign outcome_sign(const struct msg_outcome *outcome, const struct ald_verdict *verdict)
{
    if (outcome->answered)
        return verdict->then == ALD_THEN_UNKNOWN ? BUDGET_TROUBLE : BUDGET_SANE;
    bool begun = outcome->left || verdict->then != ALD_THEN_IGNORE;
    return begun ? BUDGET_TROUBLE : BUDGET_NOTHING;
}

void outcome_note(struct tracker *self, const struct msg_outcome *outcome, bool sense,
                  const char *what)
{
    struct ald_buf text;
    ald_buf_init(&text, 4096);
    ald_buf_printf(&text, "%s", outcome->then);
    if (outcome->code[0] != '\0')
        ald_buf_printf(&text, " %s", outcome->code);
    if (outcome->http != 0)
        ald_buf_printf(&text, " http=%" PRIu64, outcome->http);
    if (outcome->detail[0] != '\0') {
        ald_buf_put_str(&text, " detail=");
        ald_text_escape(&text, ald_span_str(outcome->detail));
    }
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

void outcome_breaker(const struct pending_account *account, enum budget_breaker before)
{
    const struct budget *budget = &account->budget;
    bool open = budget->breaker != BREAKER_CLOSED;
    if (open != (before != BREAKER_CLOSED))
        ald_log(ALD_WARN, open ? "breaker.open" : "breaker.closed", "provider=%s troubles=%u",
                account->profile->name, budget->troubles);
}

void outcome_told(struct tracker *self, struct pending_account *account, uint64_t lease,
                  enum budget_sign sign)
{
    enum budget_breaker before = account->budget.breaker;
    (void)budget_told(&account->budget, lease, sign, tracker_now(self).run_ms);
    outcome_breaker(account, before);
}
