#include "services/dlq/meters.h"

#include "common/base/metrics.h"

static struct ald_metric meters_letters = {
    .kind = ALD_GAUGE,
    .name = "aldaba_letters",
    .help = "Dead letters by reason and state; resolved and dropped ones of all time.",
    .label = {"reason", "state"}};
static struct ald_metric meters_oldest = {
    .kind = ALD_GAUGE_MS,
    .name = "aldaba_letters_oldest_age_seconds",
    .help = "Age of the oldest open or held dead letter, 0 when there is none."};
static struct ald_metric meters_in = {
    .kind = ALD_COUNTER,
    .name = "aldaba_letters_received_total",
    .help = "Letters that came in, by what was said of them; those sent again count again.",
    .label = {"result"}};
static struct ald_metric meters_back = {
    .kind = ALD_COUNTER,
    .name = "aldaba_reinjected_total",
    .help = "Attempts to have a letter judged again, by reason and the tracker's answer.",
    .label = {"reason", "result"}};
static struct ald_metric meters_unread = {
    .kind = ALD_COUNTER,
    .name = "aldaba_letters_garbage_total",
    .help = "Frames on the letters channel that could not be read."};
static struct ald_metric meters_quota = {
    .kind = ALD_COUNTER,
    .name = "aldaba_letters_over_quota_total",
    .help = "Letters without proof that were dropped because their provider had too many."};

void meters_open(void)
{
    struct ald_metric *all[] = {&meters_letters, &meters_oldest, &meters_in,
                                &meters_back,    &meters_unread, &meters_quota};
    for (size_t i = 0; i < ALD_COUNT(all); i++)
        ald_metric_register(all[i]);
}

void meters_received(enum ald_disposition disposition)
{
    ald_metric_add(ald_metrics_get(meters_in.name, ald_disposition_name(disposition)), 1);
}

void meters_reinjected(enum ald_reason reason, const char *result)
{
    enum ald_disposition known;
    const char *word = ald_disposition_find(result, &known) ? result : "other";
    ald_metric_add(ald_metrics_get(meters_back.name, ald_reason_name(reason), word), 1);
}

void meters_garbage(void)
{
    ald_metric_add(&meters_unread, 1);
}

void meters_over_quota(uint64_t count)
{
    ald_metric_add(&meters_quota, (int64_t)count);
}

void meters_measure(const struct tally *tally, int64_t oldest_age_ms)
{
    for (unsigned reason = ALD_REASON_NONE + 1; reason < ALD_REASON_COUNT; reason++)
        for (unsigned state = 0; state < LETTER_STATES; state++)
            ald_metric_set(ald_metrics_get(meters_letters.name,
                                           ald_reason_name((enum ald_reason)reason),
                                           letter_state_name((enum letter_state)state)),
                           tally->count[reason][state]);
    ald_metric_set(&meters_oldest, oldest_age_ms);
}
