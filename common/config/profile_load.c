#include "common/config/profile_load.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/cidr.h"
#include "common/config/load.h"
#include "common/config/profile_form.h"
#include "common/config/profile_plain.h"
#include "common/config/ruled.h"

/* ---- what rows can't say alone ---- */

/* The first poll of a task before anything is learned. */
static int64_t profile_stale(const struct ald_profile_form *form)
{
    return form->stale_after_ms == ALD_SETTING_AUTO_MS ? form->stale_start_ms
                                                       : form->stale_after_ms;
}

static void profile_check_schedule(const struct ald_node *at, const struct ald_profile_form *form,
                                   struct ald_errors *errors)
{
    if (form->first_after_ms >= form->give_up_after_ms ||
        profile_stale(form) >= form->give_up_after_ms)
        ald_errors_add(errors, at,
                       "%s: first_after and stale_after must be shorter than give_up_after.",
                       at->key);
    if (form->stale_floor_ms > form->stale_ceiling_ms)
        ald_errors_add(errors, at, "%s: stale_auto.floor must not be longer than its ceiling.",
                       at->key);
    if (form->every_ms > form->max_every_ms)
        ald_errors_add(errors, at, "%s: every must not be longer than max_every.", at->key);
}

static void profile_check_poll(const struct ald_node *at, const struct ald_profile_form *form,
                               struct ald_errors *errors)
{
    if (form->poll_url[0] == '\0')
        ald_errors_add(errors, at, "%s needs poll.request.url, or poll: none.", at->key);
    else if (!ald_url_ok(form->poll_url))
        ald_errors_add(errors, at,
                       "poll.request.url must begin with http:// or https://, name a host, and "
                       "hold no space or #.");
    if (ald_node_find(ald_node_find(at, "secrets"), "key") == NULL)
        ald_errors_add(errors, at, "%s polls, so it needs secrets.key: {env: VAR} or {file: PATH}.",
                       at->key);
    profile_check_schedule(at, form, errors);
}

static void profile_check_file(const struct ald_node *at, const struct ald_profile_form *form,
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

/* ---- from the form into the profile ---- */

static void profile_take_ips(const struct ald_texts *ips, struct ald_profile *out)
{
    static_assert((int)ALD_TEXTS_MAX <= (int)ALD_CIDR_MAX, "a list of addresses always fits");
    for (size_t i = 0; i < ips->count; i++)
        if (ald_cidr_parse(ips->item[i], &out->source_ips[out->source_ip_count]) == ALD_OK)
            out->source_ip_count++; /* the table took no other */
}

/* Checked whole: a pointer begins with a slash. */
static void profile_take_volatile(const struct ald_node *node, const struct ald_texts *at,
                                  struct ald_errors *errors, struct ald_profile *out)
{
    for (size_t i = 0; i < at->count; i++) {
        bool fits = at->item[i][0] == '/' && strlen(at->item[i]) < ALD_VOLATILE_LEN;
        if (!fits || out->volatile_count == ALD_VOLATILE_MAX)
            ald_errors_add(errors, ald_node_find(node, "volatile"),
                           "volatile: at most %d JSON pointers of at most %d characters, such as "
                           "/url: not %.64s.",
                           ALD_VOLATILE_MAX, ALD_VOLATILE_LEN - 1, at->item[i]);
        else
            ald_text_cut(out->volatile_at[out->volatile_count++], ALD_VOLATILE_LEN,
                         ald_span_str(at->item[i]));
    }
}

static enum ald_trust profile_trust(const char *word)
{
    return strcmp(word, "hint") == 0   ? ALD_TRUST_HINT
           : strcmp(word, "id") == 0   ? ALD_TRUST_ID
           : strcmp(word, "auth") == 0 ? ALD_TRUST_AUTH
                                       : ALD_TRUST_TOKEN;
}

static void profile_take(const struct ald_node *node, const struct ald_profile_form *form,
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
        .batch = {.max = (unsigned)form->batch_max},
        .result_ttl_ms = form->result_ttl_ms,
        .trust = profile_trust(form->trust),
        .max_body = form->max_body,
        .stale_after_ms = profile_stale(form),
        .stale = {.learned = form->stale_after_ms == ALD_SETTING_AUTO_MS,
                  .floor_ms = form->stale_floor_ms,
                  .ceiling_ms = form->stale_ceiling_ms},
        .parked_for_ms = form->parked_for_ms,
        .provider_retries_ms = form->provider_retries_ms,
        .plus = form->plus[0],
        .late_results_kept = strcmp(form->late_results, "keep") == 0,
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
    profile_take_ips(&form->source_ips, out);
}

static void profile_take_auth(const struct ald_profile_load *self, const struct ald_node *node,
                              struct ald_profile *out)
{
    out->auth = ald_auth_load(node, (self->secrets & ALD_SECRETS_AUTH) != 0, self->errors);
    if (out->trust == ALD_TRUST_AUTH && !ald_auth_asks(out->auth))
        ald_errors_add(self->errors, ald_node_at(node, "callback.trust"),
                       "trust: auth needs a scheme in callback.auth: header_secret, "
                       "standard_webhooks, hmac or ed25519.");
}

/* ---- a profile of a family ---- */

/* The table has read the key; of what proofs name only the form is looked at here. */
static void profile_check_secrets(const struct ald_node *node, struct ald_errors *errors)
{
    const struct ald_node *secrets = ald_node_find(node, "secrets");
    char unused[sizeof((struct ald_profile *)0)->key];
    for (const struct ald_node *at = secrets == NULL ? NULL : secrets->first; at != NULL;
         at = at->next)
        if (strcmp(at->key, "key") != 0)
            (void)!ald_setting_secret(at, false, errors, unused, sizeof unused);
}

static void profile_load_family(const struct ald_profile_load *self, const struct ald_node *node,
                                struct ald_profile *out)
{
    struct ald_profile_form form;
    size_t before = self->errors->count;
    ald_profile_form_family(node, (self->secrets & ALD_SECRETS_POLL) != 0, self->errors, &form);
    ald_profile_name_check(node, form.profile, self->errors);
    if (ald_node_find(node, "family") == NULL)
        ald_errors_add(self->errors, node, "%s needs a family, such as family: inphp.", node->key);
    if (self->errors->count == before && !ald_profile_never_polls(node))
        profile_check_poll(node, &form, self->errors);
    profile_check_file(node, &form, self->errors);
    profile_check_secrets(node, self->errors);
    profile_take(node, &form, out);
    profile_take_volatile(node, &form.volatile_at, self->errors, out);
    explicit_bzero(form.key, sizeof form.key);
}

/* ---- a profile with rules of its own ---- */

/* A file whose content is a secret is there when the secret is; that the profile does not declare
 * it is no reason to refuse all the rest. */
static void profile_take_content(const struct ald_profile_load *self, const struct ald_node *node,
                                 const struct ald_ruled *ruled, struct ald_profile_form *form)
{
    const struct ald_node *content = ald_node_at(node, "callback.verification_file.content");
    if (content == NULL || !content->template || ruled == NULL)
        return;
    struct ald_errors unsaid;
    struct ald_buf text;
    struct ald_template template;
    ald_errors_init(&unsaid);
    ald_buf_init(&text, sizeof form->verification_content - 1);
    struct ald_load load = {.arena = ruled->arena,
                            .errors = self->warnings != NULL ? self->warnings : &unsaid};
    ald_template_load(&load, content, &ruled->secrets, &template);
    bool good = template.count > 0 && ald_template_plain(&template, &text) == ALD_OK &&
                ald_text_copy(form->verification_content, sizeof form->verification_content,
                              ald_buf_span(&text)) == ALD_OK;
    if (!good)
        form->verification_path[0] = '\0';
    ald_buf_free(&text);
    ald_errors_free(&unsaid);
}

static void profile_load_ruled(const struct ald_profile_load *self, const struct ald_node *node,
                               struct ald_profile *out)
{
    static const char told[] = "${poll_url}";
    struct ald_profile_form form;
    size_t before = self->errors->count;
    ald_profile_form_ruled(node, self->errors, &form);
    ald_profile_name_check(node, form.profile, self->errors);
    struct ald_ruled *ruled = ald_ruled_load(node, self->secrets, self->errors, self->warnings);
    bool polls = ruled != NULL && ruled->stage[ALD_STAGE_POLL].there;
    if (polls && self->errors->count == before)
        profile_check_schedule(node, &form, self->errors);
    profile_take_content(self, node, ruled, &form);
    if (form.verification_path[0] != '\0')
        profile_check_file(node, &form, self->errors);
    profile_take(node, &form, out);
    profile_take_volatile(node, &form.volatile_at, self->errors, out);
    out->ruled = ruled;
    if (ruled == NULL)
        return;
    out->schedule.asked_when_told = ruled->every_retry_after;
    out->batch.max = ruled->batch_max;
    if (ald_load_none(ald_node_find(node, "callback")))
        out->stale_after_ms = out->schedule.first_after_ms;
    const struct ald_node *url = ald_node_at(node, "poll.request.url");
    out->id_may_be_url = ruled->id.keep_url;
    if (polls && url != NULL) {
        out->poll_url_told = strncmp(url->text, told, sizeof told - 1) == 0;
        ald_text_cut(out->poll_url, sizeof out->poll_url, ald_span_str(url->text));
    }
    ald_text_cut(out->key, sizeof out->key, ald_span_str(ald_ruled_secret(ruled, "key")));
}

void ald_profile_load(const struct ald_profile_load *self, const struct ald_node *node,
                      struct ald_profile *out)
{
    if (ald_profile_is_ruled(node))
        profile_load_ruled(self, node, out);
    else
        profile_load_family(self, node, out);
    ald_budgets_read(node, self->errors, &out->budgets);
    profile_take_auth(self, node, out);
}

void ald_profile_clear(struct ald_profile *profile)
{
    ald_auth_destroy(&profile->auth);
    ald_ruled_destroy(&profile->ruled);
    explicit_bzero(profile->key, sizeof profile->key);
    explicit_bzero(profile->verification_content, sizeof profile->verification_content);
}
