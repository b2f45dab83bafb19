#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/cidr.h"
#include "common/config/profile.h"
#include "common/config/setting.h"

enum { PROFILES_MAX = 256 };

struct ald_profiles {
    size_t count;
    struct ald_profile list[];
};

/* A profile as the settings' table fills it. */
struct profile_form {
    char profile[33];
    int64_t version;
    char family[17];
    char dialect[17];
    char key[257];
    char poll_method[5];
    char poll_url[ALD_URL_MAX];
    int64_t poll_timeout_ms;
    uint64_t poll_max_bytes;
    int64_t first_after_ms;
    int64_t every_ms;
    int64_t backoff_percent;
    int64_t max_every_ms;
    int64_t jitter_percent;
    int64_t max_requests;
    int64_t give_up_after_ms;
    int64_t result_ttl_ms;
    char trust[6];
    uint64_t max_body;
    int64_t stale_after_ms;
    int64_t parked_for_ms;
    int64_t provider_retries_ms;
    char plus[8];
    int64_t quota_count;
    uint64_t quota_bytes;
    struct ald_texts source_ips;
    char verification_path[65];
    char verification_content[257];
};

#define FIELD(name) offsetof(struct profile_form, name), sizeof(((struct profile_form *)0)->name)
#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)
#define MIB INT64_C(1048576)

/* key, kind, field, default, least, most, flags, words, help */
static const struct ald_setting PROFILE_ROWS[] = {
    {"profile", ALD_SETTING_TEXT, FIELD(profile), "", 0, 0, 0, NULL,
     "Name of the profile, where it does not follow from its place."},
    {"version", ALD_SETTING_INT, FIELD(version), "1", 1, 1, 0, NULL, "Version of this format."},
    {"family", ALD_SETTING_WORD, FIELD(family), "inphp", 0, 0, 0, "inphp",
     "Which compiled-in rules read the provider's words."},
    {"dialect", ALD_SETTING_WORD, FIELD(dialect), "2captcha", 0, 0, 0, "2captcha captchaai",
     "Which service's manner of the family."},
    {"secrets.key", ALD_SETTING_SECRET, FIELD(key), "", 0, 0, 0, NULL, "The account's key."},
    {"poll.request.method", ALD_SETTING_WORD, FIELD(poll_method), "GET", 0, 0, 0, "GET POST",
     "How the poll is sent."},
    {"poll.request.url", ALD_SETTING_TEXT, FIELD(poll_url), "", 0, 0, 0, NULL,
     "Where the poll is sent."},
    {"poll.timeout", ALD_SETTING_DURATION, FIELD(poll_timeout_ms), "30s", 100, HOUR, 0, NULL,
     "How long a poll may take."},
    {"poll.max_bytes", ALD_SETTING_BYTES, FIELD(poll_max_bytes), "4MiB", 1024, 512 * MIB, 0, NULL,
     "Largest answer that is read."},
    {"poll.schedule.first_after", ALD_SETTING_DURATION, FIELD(first_after_ms), "5s", 1, 30 * DAY, 0,
     NULL, "First poll of a task without callbacks."},
    {"poll.schedule.every", ALD_SETTING_DURATION, FIELD(every_ms), "5s", 1, DAY, 0, NULL,
     "Wait between two polls."},
    {"poll.schedule.backoff", ALD_SETTING_PERCENT, FIELD(backoff_percent), "150%", 100, 1000, 0,
     NULL, "Each wait as a share of the one before."},
    {"poll.schedule.max_every", ALD_SETTING_DURATION, FIELD(max_every_ms), "60s", 1, DAY, 0, NULL,
     "Longest wait between two polls."},
    {"poll.schedule.jitter", ALD_SETTING_PERCENT, FIELD(jitter_percent), "20%", 0, 100, 0, NULL,
     "How far a wait may be moved by chance."},
    {"poll.schedule.max_requests", ALD_SETTING_INT, FIELD(max_requests), "20", 1, 1000000, 0, NULL,
     "Polls of one task; then it waits for its callback."},
    {"poll.schedule.give_up_after", ALD_SETTING_DURATION, FIELD(give_up_after_ms), "600s", 1,
     365 * DAY, 0, NULL, "When a task without an answer expires."},
    {"poll.result_ttl", ALD_SETTING_DURATION, FIELD(result_ttl_ms), "0s", 0, 365 * DAY, 0, NULL,
     "How long the provider keeps an answer; 0s: not known."},
    {"callback.trust", ALD_SETTING_WORD, FIELD(trust), "token", 0, 0, 0, "hint id token auth",
     "What a callback must prove to be believed."},
    {"callback.max_body", ALD_SETTING_BYTES, FIELD(max_body), "4MiB", 1, 512 * MIB, 0, NULL,
     "Largest callback."},
    {"callback.stale_after", ALD_SETTING_DURATION, FIELD(stale_after_ms), "45s", 1, 30 * DAY, 0,
     NULL, "A callback this late: poll."},
    {"callback.parked_for", ALD_SETTING_DURATION, FIELD(parked_for_ms), "24h", 1, 30 * DAY, 0, NULL,
     "How long a callback waits for its task."},
    {"callback.provider_retries", ALD_SETTING_DURATION, FIELD(provider_retries_ms), "7d", 0,
     365 * DAY, 0, NULL, "How long a purged task still answers for itself."},
    {"callback.plus", ALD_SETTING_WORD, FIELD(plus), "space", 0, 0, 0, "space literal auto",
     "What a + in a callback means."},
    {"callback.quota_count", ALD_SETTING_INT, FIELD(quota_count), "10000", 1, 100000000, 0, NULL,
     "Unproven arrivals kept."},
    {"callback.quota_bytes", ALD_SETTING_BYTES, FIELD(quota_bytes), "64MiB", 1, 1024 * 1024 * MIB,
     0, NULL, "Bytes of unproven arrivals kept."},
    {"callback.verification_file.path", ALD_SETTING_TEXT, FIELD(verification_path), "", 0, 0, 0,
     NULL, "Path of the file that proves the address is ours."},
    {"callback.verification_file.content", ALD_SETTING_TEXT, FIELD(verification_content), "", 0, 0,
     0, NULL, "What it says."},
    /* The last one: auth.c prints the rest of its group behind it. */
    {"callback.auth.source_ips", ALD_SETTING_LIST, FIELD(source_ips), "", 0, 0, ALD_SETTING_BLOCKS,
     NULL, "Addresses that may call back; empty: all."},
};

static void profile_check_name(const struct ald_node *node, const struct profile_form *form,
                               struct ald_errors *errors)
{
    size_t len = strspn(node->key, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (len == 0 || len > 32 || node->key[len] != '\0')
        ald_errors_add(errors, node,
                       "The name of a profile is 1 to 32 of a-z, 0-9 and -, not %.64s.", node->key);
    if (form->profile[0] != '\0' && strcmp(form->profile, node->key) != 0)
        ald_errors_add(errors, node, "The profile is called %.64s here and %s inside.", node->key,
                       form->profile);
}

static bool profile_url_ok(const char *url)
{
    const char *host = strncmp(url, "http://", 7) == 0    ? url + 7
                       : strncmp(url, "https://", 8) == 0 ? url + 8
                                                          : "";
    for (const char *at = url; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f || *at == '#')
            return false;
    return *host != '\0' && *host != '/';
}

static void profile_check_poll(const struct ald_node *at, const struct profile_form *form,
                               struct ald_errors *errors)
{
    if (form->poll_url[0] == '\0')
        ald_errors_add(errors, at, "%s needs poll.request.url, or poll: none.", at->key);
    else if (!profile_url_ok(form->poll_url))
        ald_errors_add(errors, at,
                       "poll.request.url must begin with http:// or https://, name a host, and "
                       "hold no space or #.");
    if (ald_node_find(ald_node_find(at, "secrets"), "key") == NULL)
        ald_errors_add(errors, at, "%s polls, so it needs secrets.key: {env: VAR} or {file: PATH}.",
                       at->key);
    if (form->first_after_ms >= form->give_up_after_ms ||
        form->stale_after_ms >= form->give_up_after_ms)
        ald_errors_add(errors, at,
                       "%s: first_after and stale_after must be shorter than give_up_after.",
                       at->key);
    if (form->every_ms > form->max_every_ms)
        ald_errors_add(errors, at, "%s: every must not be longer than max_every.", at->key);
}

static void profile_check_file(const struct ald_node *at, const struct profile_form *form,
                               struct ald_errors *errors)
{
    const char *path = form->verification_path;
    const char *safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if ((path[0] == '\0') != (form->verification_content[0] == '\0'))
        ald_errors_add(errors, at, "%s: verification_file needs both path and content.", at->key);
    if (path[0] != '\0' &&
        (path[0] != '/' || path[1] == '\0' || strspn(path + 1, safe) != strlen(path + 1)))
        ald_errors_add(errors, at, "%s: verification_file.path is a name at the root: /name.txt.",
                       at->key);
}

static void profile_take_ips(const struct ald_texts *ips, struct ald_profile *out)
{
    static_assert((int)ALD_TEXTS_MAX <= (int)ALD_CIDR_MAX, "a list of addresses always fits");
    for (size_t i = 0; i < ips->count; i++)
        if (ald_cidr_parse(ips->item[i], &out->source_ips[out->source_ip_count]) == ALD_OK)
            out->source_ip_count++; /* the table took no other */
}

static enum ald_trust profile_trust(const char *word)
{
    return strcmp(word, "hint") == 0   ? ALD_TRUST_HINT
           : strcmp(word, "id") == 0   ? ALD_TRUST_ID
           : strcmp(word, "auth") == 0 ? ALD_TRUST_AUTH
                                       : ALD_TRUST_TOKEN;
}

static void profile_take(const struct ald_node *node, const struct profile_form *form,
                         struct ald_profile *out)
{
    *out = (struct ald_profile){
        .poll_post = strcmp(form->poll_method, "POST") == 0,
        .poll_timeout_ms = form->poll_timeout_ms,
        .poll_max_bytes = form->poll_max_bytes,
        .schedule = {.first_after_ms = form->first_after_ms,
                     .every_ms = form->every_ms,
                     .backoff_percent = (unsigned)form->backoff_percent,
                     .max_every_ms = form->max_every_ms,
                     .jitter_percent = (unsigned)form->jitter_percent,
                     .max_requests = (unsigned)form->max_requests,
                     .give_up_after_ms = form->give_up_after_ms},
        .result_ttl_ms = form->result_ttl_ms,
        .trust = profile_trust(form->trust),
        .max_body = form->max_body,
        .stale_after_ms = form->stale_after_ms,
        .parked_for_ms = form->parked_for_ms,
        .provider_retries_ms = form->provider_retries_ms,
        .plus = form->plus[0],
        .quota_count = (unsigned)form->quota_count,
        .quota_bytes = form->quota_bytes,
    };
    ald_text_cut(out->name, sizeof out->name, ald_span_str(node->key));
    memcpy(out->family, form->family, sizeof out->family);
    memcpy(out->dialect, form->dialect, sizeof out->dialect);
    memcpy(out->key, form->key, sizeof out->key);
    memcpy(out->poll_url, form->poll_url, sizeof out->poll_url);
    memcpy(out->verification_path, form->verification_path, sizeof out->verification_path);
    memcpy(out->verification_content, form->verification_content, sizeof out->verification_content);
}

/* What auth.c and budget.c read; `poll` stands first, to be left out where there is one. */
static const char *const PROFILE_OTHERS[] = {"poll",
                                             "budgets",
                                             "secrets.*",
                                             "callback.ack",
                                             "callback.auth.url_token",
                                             "callback.auth.on_fail",
                                             "callback.auth.header_secret",
                                             "callback.auth.standard_webhooks",
                                             "callback.auth.hmac",
                                             "callback.auth.ed25519",
                                             NULL};

static void profile_take_auth(const struct ald_node *node, bool resolve, struct ald_errors *errors,
                              struct ald_profile *out)
{
    const struct ald_node *secrets = ald_node_find(node, "secrets");
    char unused[sizeof out->key];
    for (const struct ald_node *at = secrets == NULL ? NULL : secrets->first; at != NULL;
         at = at->next)
        if (strcmp(at->key, "key") != 0)
            (void)!ald_setting_secret(at, false, errors, unused, sizeof unused);
    out->auth = ald_auth_load(node, resolve, errors);
    if (out->trust == ALD_TRUST_AUTH && !ald_auth_asks(out->auth))
        ald_errors_add(errors, ald_node_at(node, "callback.trust"),
                       "trust: auth needs a scheme in callback.auth: header_secret, "
                       "standard_webhooks, hmac or ed25519.");
}

static bool profile_never_polls(const struct ald_node *node)
{
    const struct ald_node *poll = ald_node_find(node, "poll");
    return poll != NULL && poll->kind == ALD_NODE_SCALAR && strcmp(poll->text, "none") == 0;
}

static void profile_load(const struct ald_node *node, unsigned secrets, struct ald_errors *errors,
                         struct ald_profile *out)
{
    bool never_polls = profile_never_polls(node);
    const struct ald_setting_table table = {.rows = PROFILE_ROWS,
                                            .count = ALD_COUNT(PROFILE_ROWS),
                                            .foreign = PROFILE_OTHERS + (never_polls ? 0 : 1),
                                            .unresolved = (secrets & ALD_SECRETS_POLL) == 0};
    struct profile_form form = {0};
    size_t before = errors->count;
    ald_setting_defaults(&table, &form);
    ald_setting_take_tree(&table, node, errors, &form);
    profile_check_name(node, &form, errors);
    if (ald_node_find(node, "family") == NULL)
        ald_errors_add(errors, node, "%s needs a family, such as family: inphp.", node->key);
    if (errors->count == before && !never_polls)
        profile_check_poll(node, &form, errors);
    profile_check_file(node, &form, errors);
    profile_take(node, &form, out);
    profile_take_ips(&form.source_ips, out);
    ald_budgets_read(node, errors, &out->budgets);
    profile_take_auth(node, (secrets & ALD_SECRETS_AUTH) != 0, errors, out);
}

enum ald_rc ald_profiles_load(const struct ald_node *providers, unsigned secrets,
                              struct ald_errors *errors, ald_profiles_t **out)
{
    *out = NULL;
    size_t before = errors->count;
    size_t count = providers == NULL ? 0 : providers->count;
    if (count > PROFILES_MAX) {
        ald_errors_add(errors, providers, "There are more than %d profiles.", PROFILES_MAX);
        return ALD_INVALID;
    }
    if (providers != NULL && providers->kind != ALD_NODE_MAP) {
        ald_errors_add(errors, providers, "providers must hold profiles by their names.");
        return ALD_INVALID;
    }
    ald_profiles_t *self = calloc(1, sizeof *self + count * sizeof *self->list);
    ALD_ASSERT(self != NULL);
    for (const struct ald_node *node = count == 0 ? NULL : providers->first; node != NULL;
         node = node->next)
        profile_load(node, secrets, errors, &self->list[self->count++]);
    if (errors->count > before) {
        ald_profiles_destroy(&self);
        return ALD_INVALID;
    }
    *out = self;
    return ALD_OK;
}

static void profile_unfit(const struct ald_node *providers, const char *name, const char *key,
                          struct ald_errors *errors)
{
    const struct ald_node nowhere = {.file = "providers"};
    const struct ald_node *own = ald_node_find(providers, name);
    const struct ald_node *at = ald_node_at(own, key);
    at = at != NULL ? at : own;
    ald_errors_add(errors, at != NULL ? at : &nowhere,
                   "%s: %s must not be larger than bus.max_item.", name, key);
}

bool ald_profiles_fit(const ald_profiles_t *self, const struct ald_node *providers,
                      uint64_t max_item_bytes, struct ald_errors *errors)
{
    size_t before = errors->count;
    for (size_t i = 0; i < self->count; i++) {
        const struct ald_profile *profile = &self->list[i];
        if (profile->max_body > max_item_bytes)
            profile_unfit(providers, profile->name, "callback.max_body", errors);
        if (profile->poll_max_bytes > max_item_bytes)
            profile_unfit(providers, profile->name, "poll.max_bytes", errors);
    }
    return errors->count == before;
}

static void profile_print(const struct ald_node *node, struct ald_buf *out)
{
    static const char *const skipped[] = {"budgets", "profile", NULL};
    static const char *const no_poll[] = {"budgets", "profile", "poll", NULL};
    bool never_polls = profile_never_polls(node);
    const struct ald_setting_table table = {.rows = PROFILE_ROWS,
                                            .count = ALD_COUNT(PROFILE_ROWS),
                                            .foreign = never_polls ? no_poll : skipped,
                                            .unresolved = true};
    struct profile_form form = {0};
    struct ald_errors unsaid;
    ald_errors_init(&unsaid);
    ald_setting_defaults(&table, &form);
    ald_setting_take_tree(&table, node, &unsaid, &form);
    struct ald_budgets budgets;
    ald_budgets_read(node, &unsaid, &budgets);
    ald_errors_free(&unsaid);
    if (ald_node_at(node, "secrets.key") != NULL)
        form.key[0] = '?'; /* there is one: it is printed as a mask */
    ald_buf_printf(out, "  %s:\n", node->key);
    ald_setting_print(&table, &form, 4, out);
    ald_auth_print(node, 8, out);
    if (never_polls)
        ald_buf_put_str(out, "    poll: none\n");
    ald_budgets_print(&budgets, 4, out);
}

void ald_profiles_print(const struct ald_node *providers, struct ald_buf *out)
{
    if (providers == NULL || providers->kind != ALD_NODE_MAP || providers->count == 0) {
        ald_buf_put_str(out, "providers: {}\n");
        return;
    }
    ald_buf_put_str(out, "providers:\n");
    for (const struct ald_node *node = providers->first; node != NULL; node = node->next)
        profile_print(node, out);
}

void ald_profiles_destroy(ald_profiles_t **self_p)
{
    ald_profiles_t *self = *self_p;
    if (self == NULL)
        return;
    for (size_t i = 0; i < self->count; i++) {
        ald_auth_destroy(&self->list[i].auth);
        explicit_bzero(self->list[i].key, sizeof self->list[i].key);
    }
    free(self);
    *self_p = NULL;
}

const struct ald_profile *ald_profiles_find(const ald_profiles_t *self, const char *name)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->list[i].name, name) == 0)
            return &self->list[i];
    return NULL;
}

size_t ald_profiles_count(const ald_profiles_t *self)
{
    return self->count;
}

const struct ald_profile *ald_profiles_at(const ald_profiles_t *self, size_t index)
{
    return index < self->count ? &self->list[index] : NULL;
}
