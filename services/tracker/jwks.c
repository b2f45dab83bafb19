#include "services/tracker/jwks.h"

#include <inttypes.h>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "services/tracker/jwks_plan.h"
#include "services/tracker/rest.h"
#include "services/tracker/vault/vault_jwks.h"

static struct ald_metric jwks_fetches = {.kind = ALD_COUNTER,
                                         .name = "aldaba_jwks_fetches_total",
                                         .help = "Fetches of providers' public keys.",
                                         .label = {"provider", "result"}};
static struct ald_metric jwks_count = {.kind = ALD_GAUGE,
                                       .name = "aldaba_jwks_keys",
                                       .help = "Public keys of the provider in force.",
                                       .label = {"provider"}};
static struct ald_metric jwks_age = {.kind = ALD_GAUGE_MS,
                                     .name = "aldaba_jwks_age_seconds",
                                     .help = "Since the provider's public keys were fetched.",
                                     .label = {"provider"}};

struct jwks_entry {
    char provider[ALD_PROVIDER_MAX];
    char url[ALD_URL_MAX];
    struct ald_jwks keys;  /* none: not known yet */
    int64_t fetched_at_ms; /* wall */
    struct jwks_plan plan;
    uint64_t random;          /* of the next fetch */
    uint64_t lease;           /* 0: no poller has it */
    int64_t until_ms;         /* monotonic: its end */
    char error[ALD_TEXT_MAX]; /* of the last fetch; "" = it went right */
};

struct jwks {
    struct tracker *tracker;
    struct jwks_entry *list;
    size_t count;
    uint64_t number;
};

jwks_t *jwks_new(struct tracker *tracker)
{
    jwks_t *self = zmalloc(sizeof *self);
    self->tracker = tracker;
    self->number = JWKS_NONE;
    ald_metric_register(&jwks_fetches);
    ald_metric_register(&jwks_count);
    ald_metric_register(&jwks_age);
    return self;
}

void jwks_forget(jwks_t *self)
{
    if (!self)
        return;
    free(self->list);
    self->list = NULL;
    self->count = 0;
    self->number = JWKS_NONE;
}

void jwks_destroy(jwks_t **self_p)
{
    jwks_forget(*self_p);
    free(*self_p);
    *self_p = NULL;
}

static struct jwks_entry *jwks_find(const jwks_t *self, const char *provider)
{
    for (size_t i = 0; self && i < self->count; i++)
        if (strcmp(self->list[i].provider, provider) == 0)
            return &self->list[i];
    return NULL;
}

/* A number below 2^53, and never that of none. */
static void jwks_sum(jwks_t *self)
{
    struct ald_buf all;
    uint8_t sum[32];
    ald_buf_init(&all, 64 << 20);
    for (size_t i = 0; i < self->count; i++) {
        const struct jwks_entry *entry = &self->list[i];
        if (entry->keys.count == 0)
            continue;
        ald_buf_printf(&all, "%s %s %" PRId64 " %zu\n", entry->provider, entry->url,
                       entry->fetched_at_ms, entry->keys.count);
        ald_buf_put_span(&all, ald_jwks_bytes(&entry->keys));
    }
    ald_sha256(ald_buf_span(&all), sum);
    self->number = 1;
    for (size_t i = 0; i < 6; i++)
        self->number = self->number << 8 | sum[i];
    if (all.len == 0)
        self->number = JWKS_NONE;
    ald_buf_free(&all);
}

static void jwks_draw(struct jwks_entry *entry)
{
    ald_random(&entry->random, sizeof entry->random);
}

/* ---- which there are ---- */

static void jwks_begin(jwks_t *self, const struct ald_profile *profile, const char *url,
                       struct jwks_entry *entry)
{
    const struct ald_now now = ald_clock_now();
    ald_text_cut(entry->provider, sizeof entry->provider, ald_span_str(profile->name));
    ald_text_cut(entry->url, sizeof entry->url, ald_span_str(url));
    (void)vault_jwks_find(&self->tracker->vault, profile->name, url, &entry->fetched_at_ms,
                          &entry->keys);
    entry->plan.first_ms = jwks_plan_first(now.mono_ms, now.wall_ms, entry->fetched_at_ms);
    jwks_draw(entry);
}

void jwks_renew(jwks_t *self)
{
    if (!self)
        return;
    const ald_profiles_t *profiles = self->tracker->profiles;
    const size_t most = ald_profiles_count(profiles);
    struct jwks_entry *list = calloc(most + 1, sizeof *list);
    size_t count = 0;
    ALD_ASSERT(list);
    for (size_t i = 0; i < most; i++) {
        const struct ald_profile *profile = ald_profiles_at(profiles, i);
        int64_t cache_ms = 0;
        const char *url = ald_auth_jwks(profile->auth, &cache_ms);
        const struct jwks_entry *known = jwks_find(self, profile->name);
        if (url[0] == '\0')
            continue;
        if (known && strcmp(known->url, url) == 0)
            list[count] = *known;
        else
            jwks_begin(self, profile, url, &list[count]);
        list[count++].plan.cache_ms = cache_ms;
    }
    free(self->list);
    self->list = list;
    self->count = count;
    jwks_sum(self);
}

void jwks_missed(jwks_t *self, const char *provider)
{
    struct jwks_entry *entry = jwks_find(self, provider);
    if (entry)
        entry->plan.missed = true;
}

/* ---- fetching ---- */

static void jwks_failed(struct jwks_entry *entry, const char *result, const char *why)
{
    jwks_plan_ended(&entry->plan, false);
    jwks_draw(entry);
    ald_text_cut(entry->error, sizeof entry->error, ald_span_str(why));
    ald_metric_add(ald_metrics_get(jwks_fetches.name, entry->provider, result), 1);
    ald_log(ALD_WARN, "keys.refused", "provider=%s result=%s tries=%u kept=%zu text=%s",
            entry->provider, result, entry->plan.failures, entry->keys.count, ALD_Q(why));
}

bool jwks_lease(jwks_t *self, uint64_t lease, struct msg_lease *out)
{
    if (!self || self->count == 0)
        return false;
    const int64_t now_ms = ald_clock_now().mono_ms;
    for (size_t i = 0; i < self->count; i++) {
        struct jwks_entry *entry = &self->list[i];
        if (entry->lease != 0 && now_ms < entry->until_ms)
            continue;
        if (entry->lease != 0)
            jwks_failed(entry, "unanswered", "no poller has brought an answer");
        entry->lease = 0;
        if (jwks_plan_due(&entry->plan, entry->random) > now_ms)
            continue;
        jwks_plan_asked(&entry->plan, now_ms);
        entry->lease = lease;
        entry->until_ms = now_ms + JWKS_LEASE_MS;
        *out = (struct msg_lease){.lease = lease, .lease_ms = JWKS_LEASE_MS, .jwks = true};
        memcpy(out->provider, entry->provider, sizeof out->provider);
        return true;
    }
    return false;
}

int64_t jwks_rest_ms(const jwks_t *self)
{
    const int64_t now_ms = ald_clock_now().mono_ms;
    int64_t least_ms = REST_NOTHING;
    for (size_t i = 0; self && i < self->count; i++) {
        const struct jwks_entry *entry = &self->list[i];
        int64_t at_ms =
            entry->lease != 0 ? entry->until_ms : jwks_plan_due(&entry->plan, entry->random);
        least_ms = rest_less(least_ms, rest_until(at_ms, now_ms));
    }
    return least_ms;
}

/* What is wrong with the answer; NULL: nothing, and these are its keys. room holds the words. */
static const char *jwks_fault(const struct jwks_entry *entry, const struct msg_outcome *outcome,
                              struct ald_jwks *keys, char room[ALD_TEXT_MAX])
{
    *keys = (struct ald_jwks){0};
    if (!ald_span_eq_str(outcome->poll_url, entry->url))
        return "the poller's settings name another address";
    if (outcome->http != 200) {
        (void)snprintf(room, ALD_TEXT_MAX, "the server said %u", (unsigned)outcome->http);
        return room;
    }
    if (outcome->result.len > ALD_JWKS_TEXT_MAX || !ald_jwks_read(keys, outcome->result))
        return "the answer is no JWKS with an Ed25519 key";
    return NULL;
}

static void jwks_fetched(jwks_t *self, struct jwks_entry *entry, const struct ald_jwks *keys)
{
    const struct ald_span before = ald_jwks_bytes(&entry->keys);
    const bool changed = !ald_span_eq(before, ald_jwks_bytes(keys));
    entry->keys = *keys;
    entry->fetched_at_ms = ald_clock_now().wall_ms;
    entry->error[0] = '\0';
    jwks_plan_ended(&entry->plan, true);
    jwks_draw(entry);
    vault_jwks_put(&self->tracker->vault, entry->provider, entry->url, entry->fetched_at_ms, keys);
    jwks_sum(self);
    ald_metric_add(ald_metrics_get(jwks_fetches.name, entry->provider, "fetched"), 1);
    ald_log(ALD_INFO, "keys.fetched", "provider=%s keys=%zu changed=%s", entry->provider,
            keys->count, changed ? "yes" : "no");
}

const char *jwks_outcome(jwks_t *self, const struct msg_outcome *outcome)
{
    struct jwks_entry *entry = jwks_find(self, outcome->provider);
    struct ald_jwks keys;
    char room[ALD_TEXT_MAX];
    if (!entry || outcome->lease == 0 || entry->lease != outcome->lease)
        return "duplicate"; /* its time was up, or the profile names another address by now */
    entry->lease = 0;
    if (!outcome->answered) {
        jwks_failed(entry, "unanswered", outcome->error);
        return "progress";
    }
    const char *fault = jwks_fault(entry, outcome, &keys, room);
    if (fault) {
        jwks_failed(entry, "refused", fault);
        return "progress";
    }
    jwks_fetched(self, entry, &keys);
    return "applied";
}

/* ---- telling ---- */

uint64_t jwks_number(const jwks_t *self)
{
    return self ? self->number : JWKS_NONE;
}

void jwks_tell(const jwks_t *self, zmsg_t *to)
{
    for (size_t i = 0; self && i < self->count; i++) {
        const struct jwks_entry *entry = &self->list[i];
        struct msg_jwks told = {.fetched_at_ms = entry->fetched_at_ms,
                                .keys = ald_jwks_bytes(&entry->keys)};
        if (entry->keys.count == 0)
            continue;
        memcpy(told.provider, entry->provider, sizeof told.provider);
        memcpy(told.url, entry->url, sizeof told.url);
        ald_frame_put(to, &MSG_JWKS, &told);
    }
}

void jwks_view(const jwks_t *self, struct msg_provider_view *view)
{
    const struct jwks_entry *entry = jwks_find(self, view->provider);
    if (!entry)
        return;
    view->jwks = true;
    view->keys = entry->keys.count;
    view->keys_fetched_at_ms = entry->fetched_at_ms;
    memcpy(view->keys_error, entry->error, sizeof view->keys_error);
}

void jwks_measure(const jwks_t *self)
{
    const int64_t wall_ms = ald_clock_now().wall_ms;
    for (size_t i = 0; self && i < self->count; i++) {
        const struct jwks_entry *entry = &self->list[i];
        int64_t age_ms = entry->keys.count > 0 ? wall_ms - entry->fetched_at_ms : 0;
        ald_metric_set(ald_metrics_get(jwks_count.name, entry->provider),
                       (int64_t)entry->keys.count);
        ald_metric_set(ald_metrics_get(jwks_age.name, entry->provider), age_ms > 0 ? age_ms : 0);
    }
}
