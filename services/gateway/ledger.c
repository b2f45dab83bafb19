#include "services/gateway/ledger.h"

#include "common/base/metrics.h"

#define LEDGER_METRIC(result)                                                                      \
    {                                                                                              \
        .kind = ALD_COUNTER, .name = "aldaba_gateway_callbacks_total",                             \
        .help = "Callbacks by what became of them at the door; no_profile: of a provider that is " \
                "not in the settings, 404.",                                                       \
        .label = {"result"}, .value = {                                                            \
            result                                                                                 \
        }                                                                                          \
    }

static struct ald_metric ledger_metrics[LEDGER_COUNT] = {
    [LEDGER_ACKNOWLEDGED] = LEDGER_METRIC("acknowledged"),
    [LEDGER_SPOOLED] = LEDGER_METRIC("spooled"),
    [LEDGER_ANSWERED] = LEDGER_METRIC("answered"),
    [LEDGER_UNANSWERED] = LEDGER_METRIC("unanswered"),
    [LEDGER_REFUSED] = LEDGER_METRIC("refused"),
    [LEDGER_FORGED] = LEDGER_METRIC("forged"),
    [LEDGER_NOBODY] = LEDGER_METRIC("no_profile"),
    [LEDGER_UNREADABLE] = LEDGER_METRIC("unreadable"),
    [LEDGER_REJECTED] = LEDGER_METRIC("rejected"),
    [LEDGER_OVERSIZED] = LEDGER_METRIC("oversized"),
    [LEDGER_CUT] = LEDGER_METRIC("cut"),
};

static struct ald_metric ledger_commit = {
    .kind = ALD_HISTOGRAM,
    .name = "aldaba_gateway_callback_commit_seconds",
    .help = "From the whole request to its place on disk.",
    .bound = ald_metric_seconds,
    .bounds = ALD_METRIC_SECONDS,
};

static struct ald_metric ledger_proofs = {
    .kind = ALD_COUNTER,
    .name = "aldaba_gateway_auth_total",
    .help = "Callbacks whose sender was to be proved, by what was found.",
    .label = {"provider", "result"},
};

static struct ald_metric ledger_stored = {
    .kind = ALD_COUNTER,
    .name = "aldaba_gateway_stored_total",
    .help = "Callbacks that were put on a disk.",
    .label = {"provider"},
};

void ledger_register(void)
{
    for (unsigned i = 0; i < LEDGER_COUNT; i++)
        ald_metric_register(&ledger_metrics[i]);
    ald_metric_register(&ledger_commit);
    ald_metric_register(&ledger_proofs);
    ald_metric_register(&ledger_stored);
}

void ledger_add(enum ledger_count count)
{
    ald_metric_add(&ledger_metrics[count], 1);
}

uint64_t ledger_read(enum ledger_count count)
{
    return (uint64_t)ald_metric_read(&ledger_metrics[count]);
}

void ledger_proof(const char *provider, const char *result)
{
    ald_metric_add(ald_metrics_get("aldaba_gateway_auth_total", provider, result), 1);
}

void ledger_store(const char *provider)
{
    ald_metric_add(ald_metrics_get("aldaba_gateway_stored_total", provider), 1);
}

void ledger_took(int64_t took_ms)
{
    ald_metric_observe(&ledger_commit, (double)took_ms / 1000.0);
}

void ledger_head(struct msg_batch *head)
{
    head->answered = ledger_read(LEDGER_ANSWERED);
    head->acknowledged = ledger_read(LEDGER_ACKNOWLEDGED);
    head->spooled = ledger_read(LEDGER_SPOOLED);
    head->unanswered = ledger_read(LEDGER_UNANSWERED);
    head->refused = ledger_read(LEDGER_REFUSED);
}
