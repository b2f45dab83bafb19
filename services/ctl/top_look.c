#include "services/ctl/top.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "services/ctl/pick.h"

const char *const TOP_NET_NAMES[TOP_NETS] = {"callback", "poll", "replay", "submit"};

enum { LOOK_RAW_MAX = 512 };

/* A text that may be shown, cut at its place. */
static void look_text(struct ald_json from, const char *pointer, char *out, size_t cap)
{
    char raw[LOOK_RAW_MAX];
    struct ald_buf escaped;
    ald_buf_init(&escaped, 4 * LOOK_RAW_MAX);
    (void)pick_word(from, pointer, raw, sizeof raw);
    ald_text_show(&escaped, ald_span_str(raw));
    ald_text_cut(out, cap, ald_buf_span(&escaped));
    ald_buf_free(&escaped);
}

static void look_books(struct top_look *self, struct ald_json answer)
{
    static const char *const ends[] = {"/tasks/done", "/tasks/failed", "/tasks/lost",
                                       "/tasks/expired", "/tasks/cancelled"};
    self->received = pick_int(answer, "/arrivals/received");
    self->asked = pick_int(answer, "/polls/answered");
    self->ended = 0;
    for (size_t i = 0; i < ALD_COUNT(ends); i++)
        self->ended += pick_int(answer, ends[i]);
    self->net[TOP_CALLBACK] =
        pick_int(answer, "/results/callback") + pick_int(answer, "/results/late");
    self->net[TOP_POLL] = pick_int(answer, "/results/poll");
    self->net[TOP_REPLAY] = pick_int(answer, "/results/replay");
    self->net[TOP_SUBMIT] = pick_int(answer, "/results/submit");
    self->unbalanced[0] = '\0';
    if (ald_json_find(answer, "/status/balanced").kind != ALD_JSON_NUMBER ||
        pick_int(answer, "/status/balanced") != 1)
        look_text(answer, "/status/balanced", self->unbalanced, sizeof self->unbalanced);
}

static void look_tasks(struct top_look *self, struct ald_json answer)
{
    self->open = pick_int(answer, "/tasks/open");
    self->accepted = pick_int(answer, "/tasks/accepted");
    self->submitting = pick_int(answer, "/tasks/submitting");
    self->pending = pick_int(answer, "/tasks/pending");
    self->polling = pick_int(answer, "/tasks/polling");
    self->parked = pick_int(answer, "/status/parked");
    self->pollers = pick_int(answer, "/status/pollers");
    self->run_ms = pick_int(answer, "/status/service_ms");
    self->oldest_at_ms = pick_int(answer, "/status/oldest_open_at_ms");
    look_text(answer, "/status/oldest_open", self->oldest, sizeof self->oldest);
    look_text(answer, "/status/head", self->head, sizeof self->head);
}

/* "reason.conflict": 3 */
static void look_reasons(struct top_look *self, struct ald_json answer)
{
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(answer, "/dlq"));
    struct ald_json value;
    struct ald_span key;
    self->reasons = 0;
    while (ald_json_walk_next(&walk, &key, &value) && self->reasons < TOP_REASONS_MAX) {
        struct ald_span name = ald_span_of(key.data + 1, key.len - 2); /* without its quotes */
        int64_t count = pick_int(value, "");
        if (count <= 0 || name.len < 8 || memcmp(name.data, "reason.", 7) != 0)
            continue;
        ald_text_cut(self->reason[self->reasons].name, sizeof self->reason[0].name,
                     ald_span_skip(name, 7));
        self->reason[self->reasons++].count = count;
    }
}

static void look_letters(struct top_look *self, struct ald_json answer)
{
    self->letters_open = pick_int(answer, "/dlq/open");
    self->letters_held = pick_int(answer, "/dlq/held");
    self->letters_oldest_ms = pick_int(answer, "/dlq/oldest_age_ms");
    self->outbox = pick_int(answer, "/letters/outbox");
    look_reasons(self, answer);
}

void top_take_status(struct top_look *self, struct ald_json answer)
{
    self->there = true;
    self->tracker = !pick_has(answer, "/away", "tracker");
    self->dlq = !pick_has(answer, "/away", "dlq");
    if (self->tracker) {
        look_books(self, answer);
        look_tasks(self, answer);
    }
    if (self->dlq)
        look_letters(self, answer);
    self->spool_items = pick_int(answer, "/spool/items");
    self->spool_oldest_ms = pick_int(answer, "/spool/oldest_ms");
    self->spool_damaged = pick_int(answer, "/spool/damaged");
    self->spool_stuck = ald_json_find(answer, "/spool/writable").kind == ALD_JSON_NUMBER &&
                        pick_int(answer, "/spool/writable") == 0;
}

/* ---- providers ---- */

/* The fullest budget: "res.php 12/1200". */
static void look_budget(struct top_provider *self, struct ald_json provider)
{
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(provider, "/budgets"));
    struct ald_json budget;
    struct ald_span key;
    double fullest = -1;
    while (ald_json_walk_next(&walk, &key, &budget)) {
        int64_t limit = pick_int(budget, "/limit");
        int64_t used = pick_int(budget, "/used");
        char name[TOP_TEXT_MAX / 2];
        if (limit <= 0 || (double)used / (double)limit <= fullest)
            continue;
        fullest = (double)used / (double)limit;
        look_text(budget, "/name", name, sizeof name);
        (void)snprintf(self->budget, sizeof self->budget, "%s %lld/%lld", name, (long long)used,
                       (long long)limit);
    }
    if (self->well && fullest >= 1) {
        (void)snprintf(self->state, sizeof self->state, "budget used up");
        self->well = false;
    }
}

static void look_state(struct top_provider *self, struct ald_json provider)
{
    char breaker[TOP_TEXT_MAX];
    const char *state = "asked";
    look_text(provider, "/breaker", breaker, sizeof breaker);
    if (ald_json_find(provider, "/paused").kind == ALD_JSON_TRUE)
        state = "paused";
    else if (pick_int(provider, "/blocked_until_ms") != 0)
        state = "blocked";
    else if (breaker[0] != '\0' && strcmp(breaker, "closed") != 0)
        state = "in trouble";
    self->well = strcmp(state, "asked") == 0;
    (void)snprintf(self->state, sizeof self->state, "%s", state);
}

static void look_provider(struct top_provider *self, struct ald_json provider)
{
    *self = (struct top_provider){.open = pick_int(provider, "/open"),
                                  .queued = pick_int(provider, "/queued"),
                                  .polling = pick_int(provider, "/polling"),
                                  .late = pick_int(provider, "/late"),
                                  .due_ms = pick_int(provider, "/oldest_due_ms")};
    look_text(provider, "/name", self->name, sizeof self->name);
    look_text(provider, "/blocked_why", self->why, sizeof self->why);
    look_state(self, provider);
    look_budget(self, provider);
}

void top_take_providers(struct top_look *self, struct ald_json answer)
{
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(answer, "/providers"));
    struct ald_json provider;
    struct ald_span key;
    self->providers = 0;
    while (ald_json_walk_next(&walk, &key, &provider) && self->providers < TOP_PROVIDERS_MAX)
        look_provider(&self->provider[self->providers++], provider);
}

void top_take_consumers(struct top_look *self, struct ald_json answer)
{
    struct ald_json list = ald_json_find(answer, "/consumers");
    struct ald_json_walk walk = ald_json_walk_begin(list);
    struct ald_json consumer;
    struct ald_span key;
    self->consumers_told = list.kind == ALD_JSON_ARRAY;
    self->consumers = 0;
    self->lag = 0;
    self->laggard[0] = '\0';
    while (ald_json_walk_next(&walk, &key, &consumer)) {
        int64_t lag = pick_int(consumer, "/lag");
        bool named = ald_json_find(consumer, "/name").kind == ALD_JSON_STRING;
        self->consumers++;
        if (lag < self->lag)
            continue;
        self->lag = lag;
        look_text(consumer, named ? "/name" : "/consumer", self->laggard, sizeof self->laggard);
    }
}
