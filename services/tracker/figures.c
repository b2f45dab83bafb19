#include "services/tracker/figures.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/ident.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/store/disk_meter.h"
#include "services/tracker/acts/acts.h"
#include "services/tracker/acts/acts_again.h"
#include "services/tracker/acts/acts_resubmit.h"
#include "services/tracker/acts/correction.h"
#include "services/tracker/consumers/consumers.h"
#include "services/tracker/feed.h"
#include "services/tracker/jobs.h"
#include "services/tracker/outbox.h"
#include "services/tracker/pending_figures.h"
#include "services/tracker/pending_submit.h"
#include "services/tracker/providers.h"
#include "services/tracker/vault/vault_index.h"
#include "services/tracker/vault/vault_letters.h"

static struct ald_metric figures_open = {.kind = ALD_GAUGE,
                                         .name = "aldaba_tasks_pending",
                                         .help = "Tasks whose result is owed.",
                                         .label = {"provider"}};
static struct ald_metric figures_books = {.kind = ALD_GAUGE,
                                          .name = "aldaba_books",
                                          .help = "Counters of the four ledgers.",
                                          .label = {"ledger"}};
static struct ald_metric figures_oldest_age = {
    .kind = ALD_GAUGE_MS,
    .name = "aldaba_tasks_oldest_age_seconds",
    .help = "Since when the task is there whose result is owed for longest, 0 when none is."};
static struct ald_metric figures_balanced = {
    .kind = ALD_GAUGE,
    .name = "aldaba_books_balanced",
    .help = "1 while the tracker's own books balance; aldaba audit compares all of them."};
static struct ald_metric figures_parked = {
    .kind = ALD_GAUGE, .name = "aldaba_parked", .help = "Callbacks of tasks not known yet."};
static struct ald_metric figures_stuck = {
    .kind = ALD_GAUGE,
    .name = "aldaba_outbox_stuck",
    .help = "Letters that stay with the tracker: refused by the dlq, or larger than it takes."};
static struct ald_metric figures_pollers = {
    .kind = ALD_GAUGE, .name = "aldaba_pollers", .help = "Pollers heard lately."};

/* Of the one that is worst off: names of consumers are no labels. */
static struct ald_metric figures_consumers = {
    .kind = ALD_GAUGE, .name = "aldaba_consumers", .help = "Durable consumers."};
static struct ald_metric figures_consumer_lag = {
    .kind = ALD_GAUGE,
    .name = "aldaba_consumer_lag_events",
    .help = "Events that the durable consumer furthest behind has not settled."};
static struct ald_metric figures_consumer_oldest = {
    .kind = ALD_GAUGE_MS,
    .name = "aldaba_consumer_oldest_seconds",
    .help = "Age of the oldest event that a durable consumer has not settled."};
static struct ald_metric figures_consumer_pending = {
    .kind = ALD_GAUGE,
    .name = "aldaba_consumer_pending",
    .help = "Events handed out to a durable consumer and not settled, of the one with most."};

static void figure_text(zmsg_t *to, const char *group, const char *name, int64_t value,
                        const char *text)
{
    struct msg_figure figure = {.value = value};
    ald_text_cut(figure.group, sizeof figure.group, ald_span_str(group));
    ald_text_cut(figure.name, sizeof figure.name, ald_span_str(name));
    ald_text_cut(figure.text, sizeof figure.text, ald_span_str(text));
    ald_frame_put(to, &MSG_FIGURE, &figure);
}

static void figure(zmsg_t *to, const char *group, const char *name, int64_t value)
{
    figure_text(to, group, name, value, "");
}

static void figures_counters(const struct tracker *self, zmsg_t *to)
{
    for (unsigned i = 0; i < BOOK_COUNT; i++) {
        struct ald_span name = ald_span_str(books_name(i));
        size_t dot = ald_span_find(name, '.');
        char group[ALD_WORD_MAX];
        ald_text_cut(group, sizeof group, ald_span_of(name.data, dot));
        if (strcmp(group, "unused") != 0)
            figure(to, group, books_name(i) + dot + 1, self->vault.books.value[i]);
    }
}

static void figures_tasks(const struct tracker *self, zmsg_t *to)
{
    size_t open = pending_count(self->pending) + self->orphans;
    size_t submitting = pending_count_submitting(self->pending);
    size_t accepted = pending_count_unattached(self->pending) - submitting;
    size_t polling = pending_count_polling(self->pending);
    figure(to, "tasks", "open", (int64_t)open);
    figure(to, "tasks", "accepted", (int64_t)accepted);
    figure(to, "tasks", "submitting", (int64_t)submitting);
    figure(to, "tasks", "polling", (int64_t)polling);
    figure(to, "tasks", "pending", (int64_t)(open - accepted - submitting - polling));
}

static void figures_gateways(const struct tracker *self, zmsg_t *to)
{
    struct msg_batch sum = {0};
    uint64_t spool = 0;
    int64_t gateways = 0;
    const struct sender *sender = NULL;
    for (size_t i = 0; (sender = senders_at(self->senders, i)); i++) {
        sum.answered += sender->ledger.answered;
        sum.acknowledged += sender->ledger.acknowledged;
        sum.spooled += sender->ledger.spooled;
        sum.unanswered += sender->ledger.unanswered;
        sum.refused += sender->ledger.refused;
        spool += sender->spool_items;
        gateways++;
    }
    figure(to, "gateway", "known", gateways);
    figure(to, "gateway", "answered_2xx", (int64_t)sum.answered);
    figure(to, "gateway", "acknowledged", (int64_t)sum.acknowledged);
    figure(to, "gateway", "spooled", (int64_t)sum.spooled);
    figure(to, "gateway", "unanswered", (int64_t)sum.unanswered);
    figure(to, "gateway", "refused", (int64_t)sum.refused);
    figure(to, "gateway", "spool_items", (int64_t)spool);
}

/* Of one of several: NAME.WHAT. */
static void figure_of(zmsg_t *to, const char *group, const char *one, const char *what,
                      int64_t value)
{
    char name[ALD_KEY_MAX];
    (void)snprintf(name, sizeof name, "%s.%s", one, what);
    figure(to, group, name, value);
}

static void figures_provider(const struct pending_account *account, int64_t now_ms, zmsg_t *to)
{
    const struct budget *budget = &account->budget;
    int64_t blocked_ms = budget->blocked_until_ms - now_ms;
    const struct {
        const char *what;
        int64_t value;
        bool said;
    } list[] = {
        {"open", (int64_t)account->open, account->seen},
        {"queued", (int64_t)account->queued, account->seen},
        {"blocked_ms", blocked_ms > 0 ? blocked_ms : 0, account->seen || blocked_ms > 0},
        {"paused", 1, budget->paused},
        {"in_trouble", budget->troubles, budget->breaker != BREAKER_CLOSED},
    };
    for (size_t i = 0; i < ALD_COUNT(list); i++)
        if (list[i].said)
            figure_of(to, "provider", account->profile->name, list[i].what, list[i].value);
}

/* Of those that have something to say: there may be many profiles. */
static void figures_providers(const struct tracker *self, zmsg_t *to)
{
    const struct pending_account *account = NULL;
    for (size_t i = 0; (account = pending_account_at(self->pending, i)); i++)
        figures_provider(account, tracker_now(self).run_ms, to);
}

/* Which task is owed for longest, and since when. Its id tells both. */
static void figures_oldest(const struct tracker *self, zmsg_t *to)
{
    uint64_t id = pending_lowest(self->pending);
    char text[ALD_TASK_ID_TEXT] = "";
    if (id != 0)
        ald_task_id_text(id, text);
    figure_text(to, "status", "oldest_open", 0, text);
    figure(to, "status", "oldest_open_at_ms", id != 0 ? ald_task_id_wall_ms(id) : 0);
}

static void figures_consumer(void *to, const struct msg_consumer *consumer)
{
    const struct {
        const char *what;
        int64_t value;
    } list[] = {
        {"lag", (int64_t)consumer->lag},
        {"pending", (int64_t)consumer->pending},
        {"oldest_at_ms", consumer->oldest_at_ms},
        {"rejected", (int64_t)consumer->rejected},
    };
    for (size_t i = 0; i < ALD_COUNT(list); i++)
        figure_of(to, "consumer", consumer->consumer, list[i].what, list[i].value);
    if (consumer->sink_state[0] != '\0' && strcmp(consumer->sink_state, "delivering") != 0)
        figure_of(to, "consumer", consumer->consumer, consumer->sink_state, 1);
}

void figures_add(struct tracker *self, zmsg_t *to)
{
    int64_t open = 0;
    int64_t outbox = 0;
    uint64_t open_sum = 0;
    uint64_t outbox_sum = 0;
    const char *which = "";
    vault_letter_sums(&self->vault, &open, &open_sum, &outbox, &outbox_sum);
    size_t tasks = pending_count(self->pending) + self->orphans;
    bool balanced = books_balance(&self->vault.books, (int64_t)tasks, open, &which);
    figures_counters(self, to);
    figures_tasks(self, to);
    figure(to, "letters", "open", open);
    figure(to, "letters", "outbox", outbox);
    figure(to, "letters", "outbox_open", outbox);
    figure(to, "letters", "outbox_stuck", (int64_t)outbox_stuck(self->outbox));
    figure(to, "letters", "open_xor", (int64_t)open_sum);
    figure(to, "letters", "outbox_xor", (int64_t)outbox_sum);
    figures_gateways(self, to);
    figures_providers(self, to);
    figure_text(to, "status", "balanced", balanced, which);
    figure(to, "status", "hold", tracker_hold(self));
    figure(to, "status", "parked", (int64_t)park_count(self->park));
    figure(to, "status", "pollers", (int64_t)jobs_pollers(self->jobs));
    figure(to, "status", "waiters", (int64_t)feed_waiters(self->feed));
    figure(to, "status", "orphans", (int64_t)self->orphans);
    figures_oldest(self, to);
    struct consumers_sum consumers = consumers_each(self->consumers, figures_consumer, to);
    figure(to, "status", "consumers", consumers.count);
    figure(to, "status", "unindexed", vault_unindexed(&self->vault));
    figure(to, "status", "wal_bytes", (int64_t)ald_store_wal_bytes(self->vault.store));
    figure(to, "status", "service_ms", tracker_now(self).run_ms);
    char position[ALD_POSITION_MAX];
    tracker_position(self, self->vault.last_seq, position);
    figure_text(to, "status", "head", (int64_t)self->vault.last_seq, position);
}

static void figures_register(void)
{
    struct ald_metric *const all[] = {&figures_open,
                                      &figures_oldest_age,
                                      &figures_books,
                                      &figures_balanced,
                                      &figures_parked,
                                      &figures_stuck,
                                      &figures_pollers,
                                      &figures_consumers,
                                      &figures_consumer_lag,
                                      &figures_consumer_oldest,
                                      &figures_consumer_pending};
    for (size_t i = 0; i < ALD_COUNT(all); i++)
        ald_metric_register(all[i]);
    act_due_meters();
    again_meters();
    resubmit_meters();
    correction_meters();
}

/* Open letters are taken from the books, not counted: there may be many, and the loop waits. */
static void figures_measure_books(struct tracker *self)
{
    const int64_t *value = self->vault.books.value;
    const char *which = "";
    size_t tasks = pending_count(self->pending) + self->orphans;
    int64_t letters =
        value[BOOK_LETTERS_MADE] - value[BOOK_LETTERS_RESOLVED] - value[BOOK_LETTERS_DROPPED];
    ald_metric_set(&figures_balanced,
                   books_balance(&self->vault.books, (int64_t)tasks, letters, &which));
    for (unsigned i = 0; i < BOOK_COUNT; i++)
        if (strncmp(books_name(i), "unused", 6) != 0)
            ald_metric_set(ald_metrics_get("aldaba_books", books_name(i)),
                           self->vault.books.value[i]);
}

static void figures_measure_oldest(const struct tracker *self)
{
    uint64_t id = pending_lowest(self->pending);
    int64_t age_ms = id != 0 ? tracker_now(self).wall_ms - ald_task_id_wall_ms(id) : 0;
    ald_metric_set(&figures_oldest_age, age_ms > 0 ? age_ms : 0);
}

void figures_measure(struct tracker *self)
{
    figures_register();
    providers_measure(self);
    ald_disk_measure(self->settings->store.data);
    if (!self->open)
        return;
    figures_measure_books(self);
    figures_measure_oldest(self);
    struct consumers_sum consumers = consumers_each(self->consumers, NULL, NULL);
    ald_metric_set(&figures_consumers, consumers.count);
    ald_metric_set(&figures_consumer_lag, consumers.lag);
    ald_metric_set(&figures_consumer_oldest, consumers.oldest_ms);
    ald_metric_set(&figures_consumer_pending, consumers.pending);
    const struct pending_account *account = NULL;
    for (size_t i = 0; (account = pending_account_at(self->pending, i)); i++)
        ald_metric_set(ald_metrics_get("aldaba_tasks_pending", account->profile->name),
                       (int64_t)account->open);
    ald_metric_set(&figures_parked, (int64_t)park_count(self->park));
    ald_metric_set(&figures_stuck, (int64_t)outbox_stuck(self->outbox));
    ald_metric_set(&figures_pollers, (int64_t)jobs_pollers(self->jobs));
}
