#include "services/tracker/acts/correction.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "services/tracker/acts/acts_again.h"
#include "services/tracker/acts/outcome.h"
#include "services/tracker/feed.h"

static struct ald_metric corrections_total = {
    .kind = ALD_COUNTER,
    .name = "aldaba_corrections_total",
    .help = "Results that were published in the place of one that a task had.",
    .label = {"provider"}};

void correction_meters(void)
{
    ald_metric_register(&corrections_total);
}

static void correction_say(struct tracker *self, const struct vault_result *result,
                           const char *provider, enum ald_state had)
{
    char text[ALD_TEXT_MAX];
    char first[ALD_POSITION_MAX];
    tracker_position(self, result->corrects, first);
    (void)snprintf(text, sizeof text, "%s by %s, in the place of %s at %.64s",
                   ald_state_name(result->state), ald_source_name(result->source),
                   ald_state_name(had), first);
    vault_note(&self->vault, result->task, result->published_ms, "corrected", text);
    correction_meters();
    ald_metric_add(ald_metrics_get("aldaba_corrections_total", provider), 1);
    ald_log(ALD_INFO, "task.corrected",
            "provider=%s task=%" PRIu64 " state=%s source=%s seq=%" PRIu64 " corrects=%" PRIu64,
            provider, result->task, ald_state_name(result->state), ald_source_name(result->source),
            result->seq, result->corrects);
}

void correction_publish(struct tracker *self, uint64_t task, const char *provider,
                        const struct vault_end *end, const struct ending *ending)
{
    struct vault_result result = {
        .task = task,
        .provider = ald_span_str(provider),
        .state = ending->state,
        .source = ending->source,
        .code = ald_span_str(ending->code),
        .result = ending->result,
        .result_json = ending->result_json,
        .digest = ald_span_str(ending->digest),
        .received_ms = ending->received_ms,
        .published_ms = tracker_now(self).wall_ms,
        .arrival = ending->arrival,
        .trace = ald_span_str(ending->trace),
        .corrects = end->seq,
    };
    vault_result_add(&self->vault, &result);
    tracker_tail_add(self, task, result.seq);
    feed_add(self->feed, end->provider_id, &result);
    correction_say(self, &result, provider, end->state);
    again_answered(self, task);
}

/* Is this an answer, and not a word about a failure? */
static bool correction_done(const struct msg_outcome *outcome, const struct ald_verdict *verdict)
{
    return outcome->answered &&
           (verdict->then == ALD_THEN_DONE || verdict->then == ALD_THEN_DONE_AT_SUBMIT);
}

bool correction_told(struct tracker *self, const struct msg_outcome *outcome,
                     enum ald_source source)
{
    struct ald_verdict verdict;
    struct vault_end end;
    char digest[65];
    outcome_verdict(outcome, &verdict);
    const struct ald_profile *profile = ald_profiles_find(self->profiles, outcome->provider);
    if (!profile || profile->late_results_kept || !correction_done(outcome, &verdict) ||
        !vault_end_find(&self->vault, outcome->task, tracker_tail_seq(self, outcome->task), &end) ||
        (end.state != ALD_STATE_EXPIRED && end.state != ALD_STATE_LOST))
        return false;
    ald_profile_digest(profile, ald_state_name(ALD_STATE_DONE), verdict.result, verdict.result_json,
                       digest);
    const struct ending ending = {.state = ALD_STATE_DONE,
                                  .source = source,
                                  .code = verdict.code,
                                  .result = verdict.result,
                                  .result_json = verdict.result_json,
                                  .received_ms = outcome->at_ms,
                                  .trace = "",
                                  .digest = digest};
    correction_publish(self, outcome->task, profile->name, &end, &ending);
    return true;
}
