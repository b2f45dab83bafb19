#include "common/config/profile.h"

#include <stdio.h>
#include <string.h>

#include "common/base/codec.h"
#include "common/base/digest.h"
#include "common/config/cidr.h"
#include "common/config/extract.h"
#include "common/config/family.h"
#include "common/config/ruled.h"

enum { PROFILE_STATE_MAX = 32 }; /* bytes of a task state's name */

static const char *const THEN_NAMES[] = {"unknown", "accepted", "done",          "failed",
                                         "lost",    "pending",  "hint",          "ignore",
                                         "code",    "fetch",    "done_at_submit"};
static const char *const CLASS_NAMES[] = {"none",      "pending", "transient", "config",
                                          "permanent", "failed",  "lost",      "unknown"};
static const char *const SCOPE_NAMES[] = {"task", "account", "ip", "proxy"};

const char *ald_then_name(enum ald_then then)
{
    return THEN_NAMES[then];
}

const char *ald_class_name(enum ald_class cls)
{
    return CLASS_NAMES[cls];
}

const char *ald_scope_name(enum ald_scope scope)
{
    return SCOPE_NAMES[scope];
}

static bool profile_word(const char *const *names, size_t count, const char *word, size_t *out)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], word) != 0)
            continue;
        *out = i;
        return true;
    }
    return false;
}

bool ald_then_find(const char *word, enum ald_then *out)
{
    size_t index = 0;
    bool found = profile_word(THEN_NAMES, ALD_COUNT(THEN_NAMES), word, &index);
    if (found)
        *out = (enum ald_then)index;
    return found;
}

bool ald_class_find(const char *word, enum ald_class *out)
{
    size_t index = 0;
    bool found = profile_word(CLASS_NAMES, ALD_COUNT(CLASS_NAMES), word, &index);
    if (found)
        *out = (enum ald_class)index;
    return found;
}

bool ald_scope_find(const char *word, enum ald_scope *out)
{
    size_t index = 0;
    bool found = profile_word(SCOPE_NAMES, ALD_COUNT(SCOPE_NAMES), word, &index);
    if (found)
        *out = (enum ald_scope)index;
    return found;
}

void ald_profile_judge(const struct ald_profile *profile, enum ald_stage stage,
                       const struct ald_facts *facts, struct ald_buf *scratch,
                       struct ald_verdict *out)
{
    *out = (struct ald_verdict){.then = ALD_THEN_UNKNOWN};
    ald_buf_reset(scratch);
    if (profile->ruled != NULL)
        ald_ruled_judge(profile, stage, facts, scratch, out);
    else if (strcmp(profile->family, "inphp") == 0)
        ald_inphp_judge(profile, stage, facts, scratch, out);
}

bool ald_profile_names_task(const struct ald_profile *profile, const struct ald_facts *facts,
                            struct ald_buf *scratch)
{
    ald_buf_reset(scratch);
    if (profile->ruled == NULL && strcmp(profile->family, "inphp") == 0)
        return ald_inphp_names_task(profile, facts, scratch);
    struct ald_verdict verdict;
    ald_profile_judge(profile, ALD_STAGE_CALLBACK, facts, scratch, &verdict);
    return verdict.id[0] != '\0';
}

static void profile_parameter(const char *name, const char *value, struct ald_buf *out)
{
    if (out->len > 0 && out->data[out->len - 1] != '?')
        ald_buf_put_byte(out, '&');
    ald_buf_put_str(out, name);
    ald_buf_put_byte(out, '=');
    ald_percent_encode(out, ald_span_str(value));
}

static enum ald_rc profile_poll_request(const struct ald_profile *profile, const char *name,
                                        const char *ids, struct ald_buf *url, struct ald_buf *body)
{
    ald_buf_reset(url);
    ald_buf_reset(body);
    if (profile->poll_url[0] == '\0' || profile->key[0] == '\0')
        return ALD_MISSING;
    ald_buf_put_str(url, profile->poll_url);
    struct ald_buf *parameters = profile->poll_post ? body : url;
    if (!profile->poll_post && strchr(profile->poll_url, '?') == NULL)
        ald_buf_put_byte(url, '?');
    profile_parameter("key", profile->key, parameters);
    profile_parameter("action", "get", parameters);
    profile_parameter(name, ids, parameters);
    profile_parameter("json", "1", parameters);
    return ald_buf_ok(url) && ald_buf_ok(body) ? ALD_OK : ALD_TOOBIG;
}

enum ald_rc ald_profile_poll_request(const struct ald_profile *profile, const char *provider_id,
                                     struct ald_buf *url, struct ald_buf *body)
{
    return profile_poll_request(profile, "id", provider_id, url, body);
}

bool ald_profile_asks(const struct ald_profile *profile, enum ald_stage stage)
{
    if (profile->ruled != NULL)
        return profile->ruled->stage[stage].request.there;
    return stage == ALD_STAGE_POLL && profile->poll_url[0] != '\0';
}

bool ald_profile_address_ok(const struct ald_profile *profile, enum ald_stage stage,
                            const char *beside, const char *url)
{
    return profile->ruled != NULL && ald_profile_asks(profile, stage) &&
           ald_ruled_address_ok(profile->ruled, stage, beside, url);
}

int64_t ald_profile_submit_within(const struct ald_profile *profile)
{
    return profile->ruled != NULL ? profile->ruled->submit_within_ms : 0;
}

/* The one request of a family. */
static enum ald_rc profile_family_request(const struct ald_profile *profile,
                                          const struct ald_request_in *in, struct ald_request *out)
{
    const char *type = profile->poll_post ? "application/x-www-form-urlencoded" : "";
    ald_buf_reset(&out->headers);
    if (in->stage != ALD_STAGE_POLL || in->id == NULL)
        return ALD_MISSING;
    (void)snprintf(out->method, sizeof out->method, "%s", profile->poll_post ? "POST" : "GET");
    (void)snprintf(out->content_type, sizeof out->content_type, "%s", type);
    return profile_poll_request(profile, in->several ? "ids" : "id", in->id, &out->url, &out->body);
}

enum ald_rc ald_profile_request(const struct ald_profile *profile, const struct ald_request_in *in,
                                struct ald_request *out)
{
    return profile->ruled != NULL ? ald_ruled_request(profile, in, out)
                                  : profile_family_request(profile, in, out);
}

bool ald_profile_peer_ok(const struct ald_profile *profile, const char *peer)
{
    if (profile->source_ip_count == 0)
        return true;
    for (unsigned i = 0; i < profile->source_ip_count; i++)
        if (ald_cidr_has(&profile->source_ips[i], peer))
            return true;
    return false;
}

/* A text with its outer white space off and, where nobody knows which it was, '+' for ' '. */
static void profile_normal_text(const struct ald_profile *profile, struct ald_span text,
                                struct ald_buf *out)
{
    text = ald_span_trim(text);
    size_t before = out->len;
    ald_buf_put(out, text.data, text.len);
    for (size_t i = before; i < out->len && profile->plus == 'a'; i++)
        if (out->data[i] == '+')
            out->data[i] = ' ';
}

/* The form in which two equal results are equal bytes. A text that is a whole JSON array or object
 * is one: the same answer comes as text in a form and as JSON in a poll. */
static void profile_normal(const struct ald_profile *profile, struct ald_span result,
                           struct ald_buf *out)
{
    struct ald_json value;
    struct ald_span tail;
    bool whole = ald_json_scan(result, &value, &tail) == ALD_OK && tail.len == 0;
    if (whole && (value.kind == ALD_JSON_ARRAY || value.kind == ALD_JSON_OBJECT)) {
        struct ald_json left[ALD_VOLATILE_MAX];
        for (size_t i = 0; i < profile->volatile_count; i++)
            left[i] = ald_json_find(value, profile->volatile_at[i]);
        if (ald_json_canonical_less(value, left, profile->volatile_count, out) == ALD_OK)
            return;
        ald_buf_reset(out);
    }
    profile_normal_text(profile, result, out);
}

void ald_profile_digest(const struct ald_profile *profile, const char *state,
                        struct ald_span result, bool result_json, char out[65])
{
    struct ald_buf normal; /* canonical escapes make a byte at most six */
    ald_buf_init(&normal, 64 + result.len * 6);
    struct ald_buf text;
    ald_buf_init(&text, result.len + 1);
    struct ald_json value = {.kind = ALD_JSON_NONE};
    if (result_json && ald_json_scan(result, &value, NULL) == ALD_OK &&
        value.kind == ALD_JSON_STRING && ald_json_text(value, &text) == ALD_OK)
        result = ald_buf_span(&text);
    profile_normal(profile, result, &normal);

    uint8_t both[PROFILE_STATE_MAX + 1 + 32];
    size_t len = strlen(state);
    ALD_ASSERT(len <= PROFILE_STATE_MAX);
    memcpy(both, state, len);
    both[len++] = '\n';
    ald_sha256(ald_buf_span(&normal), both + len);
    ald_sha256_hex(ald_span_of(both, len + 32), out);
    ald_buf_free(&text);
    ald_buf_free(&normal);
}
