#include "common/config/profile_form.h"

#include <stddef.h>
#include <string.h>

#include "common/config/batch.h"
#include "common/config/profile_plain.h"
#include "common/config/yaml.h"

enum { FORM_NO_LIMIT = 1000000 };

#define FIELD(name)                                                                                \
    offsetof(struct ald_profile_form, name), sizeof(((struct ald_profile_form *)0)->name)
#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)
#define MIB INT64_C(1048576)

/* key, kind, field, default, least, most, flags, words, help */
const struct ald_setting ALD_PROFILE_ROWS[] = {
    {"profile", ALD_SETTING_TEXT, FIELD(profile), "", 0, 0, 0, NULL,
     "Name of the profile, where it does not follow from its place."},
    {"version", ALD_SETTING_INT, FIELD(version), "1", 1, 1, 0, NULL, "Version of this format."},
    {"family", ALD_SETTING_WORD, FIELD(family), "inphp", 0, 0, 0, "inphp",
     "Which compiled-in rules read the provider's words."},
    {"dialect", ALD_SETTING_WORD, FIELD(dialect), "2captcha", 0, 0, 0, "2captcha captchaai",
     "Which service's manner of the family."},
    {"late_results", ALD_SETTING_WORD, FIELD(late_results), "publish", 0, 0, 0, "keep publish",
     "An answer after aldaba has given the task up: publish it as a correction, or keep it as a "
     "letter."},
    {"volatile", ALD_SETTING_LIST, FIELD(volatile_at), "", 0, 0, 0, NULL,
     "Members of a JSON result, as pointers (/url), by which two answers do not differ."},
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
     NULL, "First poll of a task whose profile has callback: none."},
    {"poll.schedule.every", ALD_SETTING_DURATION, FIELD(every_ms), "5s", 1, DAY, 0, NULL,
     "Wait between two polls."},
    {"poll.schedule.backoff", ALD_SETTING_PERCENT, FIELD(backoff_percent), "150%", 100, 1000, 0,
     NULL, "Each wait as a share of the one before."},
    {"poll.schedule.max_every", ALD_SETTING_DURATION, FIELD(max_every_ms), "60s", 1, DAY, 0, NULL,
     "Longest wait between two polls."},
    {"poll.schedule.jitter", ALD_SETTING_PERCENT, FIELD(jitter_percent), "20%", 0, 100, 0, NULL,
     "How far a wait may be moved by chance."},
    {"poll.schedule.max_requests", ALD_SETTING_INT, FIELD(max_requests), "20", 1, 1000000, 0, NULL,
     "Polls of one task; then it waits for its callback. Not counted: the last one, after "
     "give_up_after, and its repetitions while the provider does not answer it, for "
     "tracker.last_poll_grace; and polls that callbacks ask for."},
    {"poll.schedule.give_up_after", ALD_SETTING_DURATION, FIELD(give_up_after_ms), "600s", 1,
     365 * DAY, 0, NULL, "When a task without an answer expires."},
    {"poll.result_ttl", ALD_SETTING_DURATION, FIELD(result_ttl_ms), "0s", 0, 365 * DAY, 0, NULL,
     "How long the provider keeps an answer; 0s: not known."},
    {"poll.batch.max", ALD_SETTING_INT, FIELD(batch_max), "1", 1, ALD_BATCH_MAX, 0, NULL,
     "Tasks that one poll asks for; 1: each alone."},
    {"callback.trust", ALD_SETTING_WORD, FIELD(trust), "token", 0, 0, 0, "hint id token auth",
     "What a callback must prove to be believed."},
    {"callback.max_body", ALD_SETTING_BYTES, FIELD(max_body), "4MiB", 1, 512 * MIB, 0, NULL,
     "Largest callback."},
    {"callback.stale_after", ALD_SETTING_DURATION, FIELD(stale_after_ms), "45s", 1, 30 * DAY,
     ALD_SETTING_AUTO, NULL, "A callback this late: poll; auto: learned from callbacks."},
    {"callback.stale_auto.start", ALD_SETTING_DURATION, FIELD(stale_start_ms), "45s", 1, 30 * DAY,
     0, NULL, "With auto, until enough callbacks have come."},
    {"callback.stale_auto.floor", ALD_SETTING_DURATION, FIELD(stale_floor_ms), "1s", 1, 30 * DAY, 0,
     NULL, "With auto, no sooner."},
    {"callback.stale_auto.ceiling", ALD_SETTING_DURATION, FIELD(stale_ceiling_ms), "10m", 1,
     30 * DAY, 0, NULL, "With auto, no later."},
    {"callback.parked_for", ALD_SETTING_DURATION, FIELD(parked_for_ms), "24h", 1, 30 * DAY, 0, NULL,
     "How long a callback waits for its task."},
    {"callback.provider_retries", ALD_SETTING_DURATION, FIELD(provider_retries_ms), "7d", 0,
     365 * DAY, 0, NULL,
     "How long purged tasks still answer; the longest of all providers counts."},
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

const size_t ALD_PROFILE_ROW_COUNT = ALD_COUNT(ALD_PROFILE_ROWS);

/* Read elsewhere; `poll` stands first, to be left out where there is one. */
static const char *const FORM_OTHERS[] = {"poll",
                                          "extends",
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

/* The same of a profile with rules; of poll and callback ald_profile_plain leaves what is read
 * here.
 */
static const char *const FORM_COMPILED[] = {"extends", "submit",  "fetch", "codes", "budgets",
                                            "recover", "secrets", "id",    NULL};

bool ald_profile_never_polls(const struct ald_node *profile)
{
    const struct ald_node *poll = ald_node_find(profile, "poll");
    return poll != NULL && poll->kind == ALD_NODE_SCALAR && strcmp(poll->text, "none") == 0;
}

void ald_profile_form_family(const struct ald_node *profile, bool resolve,
                             struct ald_errors *errors, struct ald_profile_form *out)
{
    const struct ald_setting_table table = {.rows = ALD_PROFILE_ROWS,
                                            .count = ALD_PROFILE_ROW_COUNT,
                                            .foreign = FORM_OTHERS +
                                                       (ald_profile_never_polls(profile) ? 0 : 1),
                                            .unresolved = !resolve};
    *out = (struct ald_profile_form){0};
    ald_setting_defaults(&table, out);
    ald_setting_take_tree(&table, profile, errors, out);
}

void ald_profile_form_ruled(const struct ald_node *profile, struct ald_errors *errors,
                            struct ald_profile_form *out)
{
    const struct ald_setting_table table = {
        .rows = ALD_PROFILE_ROWS, .count = ALD_PROFILE_ROW_COUNT, .foreign = FORM_COMPILED};
    struct ald_errors none;
    ald_yaml_t *doc = NULL;
    ald_errors_init(&none);
    enum ald_rc rc = ald_yaml_parse(profile->file, ald_span_str(""), 0, &none, &doc);
    ald_errors_free(&none);
    ALD_ASSERT(rc == ALD_OK);
    *out = (struct ald_profile_form){0};
    ald_setting_defaults(&table, out);
    out->family[0] = out->dialect[0] = '\0';
    out->max_requests = FORM_NO_LIMIT;
    out->backoff_percent = 100;
    const struct ald_node *plain = ald_profile_plain(doc, profile);
    if (plain != NULL)
        ald_setting_take_tree(&table, plain, errors, out);
    else
        ald_errors_add(errors, profile, "%s is too large.", profile->key);
    if (ald_node_at(profile, "poll.schedule.max_every") == NULL &&
        out->every_ms > out->max_every_ms)
        out->max_every_ms = out->every_ms;
    ald_yaml_destroy(&doc);
}
