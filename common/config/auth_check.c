#include <string.h>
#include <strings.h>

#include "common/base/codec.h"
#include "common/base/digest.h"
#include "common/base/text.h"
#include "common/config/auth_inside.h"

enum {
    CHECK_TRIED_MAX = 16,     /* signatures of one header that are compared */
    CHECK_DIGITS_MAX = 12,    /* of a time in seconds */
    CHECK_DIGITS_MS = 13,     /* of one in milliseconds, in our times */
    CHECK_SIGNATURE_MAX = 64, /* bytes */
    CHECK_MESSAGE_MORE = 64 * 1024
};

/* The one header of this name, trimmed. */
static enum ald_auth_why check_header(const struct ald_auth_facts *facts, const char *name,
                                      struct ald_span *out)
{
    const char *value = NULL;
    for (size_t i = 0; i < facts->header_count; i++) {
        if (strcasecmp(facts->headers[i].name, name) != 0)
            continue;
        if (value != NULL)
            return ALD_AUTH_REPEATED;
        value = facts->headers[i].value;
    }
    *out = value == NULL ? ald_span_of(NULL, 0) : ald_span_trim(ald_span_str(value));
    return out->len == 0 ? ALD_AUTH_MISSING : ALD_AUTH_OK;
}

static enum ald_auth_why check_time(struct ald_span text, int64_t now_s, int64_t tolerance_s)
{
    uint64_t at_s = 0;
    if (ald_text_u64(text, &at_s) != ALD_OK)
        return ALD_AUTH_MALFORMED;
    if (text.len > CHECK_DIGITS_MAX)
        return text.len == CHECK_DIGITS_MS ? ALD_AUTH_UNIT : ALD_AUTH_MALFORMED;
    int64_t age_s = now_s - (int64_t)at_s;
    return age_s > tolerance_s    ? ALD_AUTH_STALE
           : age_s < -tolerance_s ? ALD_AUTH_FUTURE
                                  : ALD_AUTH_OK;
}

/* Decode a signature of exactly len bytes. */
static bool check_decode(struct ald_span text, bool base64, uint8_t *out, size_t len)
{
    struct ald_buf bytes;
    ald_buf_init(&bytes, CHECK_SIGNATURE_MAX + 1);
    enum ald_rc rc = base64 ? ald_base64_decode(&bytes, text) : ald_hex_decode(&bytes, text);
    bool ok = rc == ALD_OK && bytes.len == len;
    if (ok)
        memcpy(out, bytes.data, len);
    ald_buf_free(&bytes);
    return ok;
}

/* ---- a secret in a header ---- */

static enum ald_auth_why check_header_secret(const ald_auth_t *self,
                                             const struct ald_auth_facts *facts)
{
    struct ald_span value;
    enum ald_auth_why why = check_header(facts, self->header_secret.name, &value);
    if (why != ALD_AUTH_OK)
        return why;
    uint8_t sum[32];
    bool same = false;
    ald_sha256(value, sum);
    for (size_t i = 0; i < self->header_secret.count; i++)
        same |= ald_equal_ct(sum, self->header_secret.sha256[i], sizeof sum);
    return same ? ALD_AUTH_OK : ALD_AUTH_MISMATCH;
}

/* ---- what a secret signs ---- */

/* What the message's signature should be, by each secret. */
struct check_macs {
    size_t count;
    uint8_t at[ALD_SECRET_LIST_MAX][32];
    size_t tried;
    bool any;      /* there was a signature of the version */
    bool readable; /* and one that could be read */
    bool same;
};

static void check_make(struct check_macs *macs, const struct ald_secret_list *secrets,
                       const struct ald_span *parts, size_t count)
{
    *macs = (struct check_macs){.count = secrets->count};
    for (size_t i = 0; i < secrets->count; i++)
        ald_hmac_sha256_of(ald_span_of(secrets->at[i].data, secrets->at[i].len), parts, count,
                           macs->at[i]);
}

static void check_try(struct check_macs *macs, struct ald_span text, bool base64)
{
    uint8_t signature[32];
    macs->any = true;
    if (macs->tried++ >= CHECK_TRIED_MAX || !check_decode(text, base64, signature, 32))
        return;
    macs->readable = true;
    for (size_t i = 0; i < macs->count; i++)
        macs->same |= ald_equal_ct(signature, macs->at[i], sizeof signature);
}

static enum ald_auth_why check_tell(const struct check_macs *macs)
{
    return macs->same       ? ALD_AUTH_OK
           : macs->readable ? ALD_AUTH_MISMATCH
           : macs->any      ? ALD_AUTH_MALFORMED
                            : ALD_AUTH_VERSION;
}

/* Cut the next word off at a separator; false: no more. */
static bool check_word(struct ald_span *rest, uint8_t separator, struct ald_span *word)
{
    while (rest->len > 0 && rest->data[0] == separator)
        *rest = ald_span_skip(*rest, 1);
    size_t len = ald_span_find(*rest, separator);
    *word = ald_span_of(rest->data, len);
    *rest = ald_span_skip(*rest, len);
    return len > 0;
}

static enum ald_auth_why check_webhooks(const ald_auth_t *self, const struct ald_auth_facts *facts)
{
    struct ald_span id, stamp, signatures, word;
    enum ald_auth_why why = check_header(facts, "webhook-id", &id);
    if (why == ALD_AUTH_OK)
        why = check_header(facts, "webhook-timestamp", &stamp);
    if (why == ALD_AUTH_OK)
        why = check_header(facts, "webhook-signature", &signatures);
    if (why == ALD_AUTH_OK)
        why = check_time(stamp, facts->now_s, self->webhooks.tolerance_s);
    if (why != ALD_AUTH_OK)
        return why;
    struct check_macs macs = {.count = self->webhooks.secrets.count};
    for (size_t i = 0; i < macs.count; i++)
        ald_webhook_mac(&self->webhooks.secrets, i, id, stamp, facts->body, macs.at[i]);
    while (check_word(&signatures, ' ', &word))
        if (ald_span_starts(word, "v1,"))
            check_try(&macs, ald_span_skip(word, 3), true);
    return check_tell(&macs);
}

/* `t=1700000000,v0=hex,v0=hex` */
static enum ald_auth_why check_stamped(const ald_auth_t *self, const struct ald_auth_facts *facts,
                                       struct ald_span value)
{
    struct ald_span stamp = ald_span_of(NULL, 0), rest = value, word;
    size_t stamps = 0;
    while (check_word(&rest, ',', &word)) {
        word = ald_span_trim(word);
        if (!ald_span_starts(word, "t="))
            continue;
        stamp = ald_span_skip(word, 2);
        stamps++;
    }
    if (stamps != 1)
        return ALD_AUTH_MALFORMED;
    enum ald_auth_why why = check_time(stamp, facts->now_s, self->hmac.tolerance_s);
    if (why != ALD_AUTH_OK)
        return why;
    const struct ald_span parts[] = {stamp, ald_span_str("."), facts->body};
    struct check_macs macs;
    check_make(&macs, &self->hmac.secrets, parts, ALD_COUNT(parts));
    size_t version = strlen(self->hmac.version);
    while (check_word(&value, ',', &word)) {
        word = ald_span_trim(word);
        if (ald_span_starts(word, self->hmac.version) && word.len > version &&
            word.data[version] == '=')
            check_try(&macs, ald_span_skip(word, version + 1), self->hmac.base64);
    }
    return check_tell(&macs);
}

static enum ald_auth_why check_hmac(const ald_auth_t *self, const struct ald_auth_facts *facts)
{
    struct ald_span value;
    enum ald_auth_why why = check_header(facts, self->hmac.header, &value);
    if (why != ALD_AUTH_OK)
        return why;
    if (self->hmac.stamped)
        return check_stamped(self, facts, value);
    if (!ald_span_starts(value, self->hmac.prefix))
        return ALD_AUTH_VERSION;
    struct check_macs macs;
    check_make(&macs, &self->hmac.secrets, &facts->body, 1);
    check_try(&macs, ald_span_skip(value, strlen(self->hmac.prefix)), self->hmac.base64);
    return check_tell(&macs);
}

/* ---- what a private key signs ---- */

static enum ald_auth_why check_message(const ald_auth_t *self, const struct ald_auth_facts *facts,
                                       struct ald_buf *out)
{
    for (size_t i = 0; i < self->ed25519.part_count; i++) {
        const struct auth_part *part = &self->ed25519.parts[i];
        struct ald_span value = ald_span_str(part->text);
        enum ald_auth_why why = ALD_AUTH_OK;
        char sum[65];
        if (part->kind == AUTH_PART_HEADER) {
            why = check_header(facts, part->text, &value);
        } else if (part->kind == AUTH_PART_BODY) {
            value = facts->body;
        } else if (part->kind == AUTH_PART_BODY_SHA256) {
            ald_sha256_hex(facts->body, sum);
            value = ald_span_str(sum);
        }
        if (why != ALD_AUTH_OK)
            return why;
        ald_buf_put(out, value.data, value.len);
    }
    return ald_buf_ok(out) ? ALD_AUTH_OK : ALD_AUTH_MALFORMED;
}

static bool check_by(const struct ald_jwks *keys, const uint8_t signature[64],
                     struct ald_span message)
{
    bool same = false;
    for (size_t i = 0; !same && i < keys->count; i++)
        same = ald_ed25519_ok(keys->at[i], signature, message);
    return same;
}

static enum ald_auth_why check_signed(const ald_auth_t *self, const struct ald_auth_facts *facts,
                                      const uint8_t signature[64])
{
    struct ald_buf message;
    ald_buf_init(&message, facts->body.len + CHECK_MESSAGE_MORE);
    enum ald_auth_why why = check_message(self, facts, &message);
    bool same = false;
    const struct ald_jwks *sets[] = {&self->ed25519.keys, facts->fetched};
    for (size_t i = 0; i < ALD_COUNT(sets); i++)
        same = same || (why == ALD_AUTH_OK && sets[i] != NULL &&
                        check_by(sets[i], signature, ald_buf_span(&message)));
    ald_buf_free(&message);
    if (why != ALD_AUTH_OK)
        return why;
    return same ? ALD_AUTH_OK : ALD_AUTH_MISMATCH;
}

static enum ald_auth_why check_ed25519(const ald_auth_t *self, const struct ald_auth_facts *facts)
{
    struct ald_span text, stamp;
    uint8_t signature[64];
    enum ald_auth_why why = check_header(facts, self->ed25519.signature, &text);
    if (why != ALD_AUTH_OK)
        return why;
    if (!check_decode(text, self->ed25519.base64, signature, sizeof signature))
        return ALD_AUTH_MALFORMED;
    if (self->ed25519.timestamp[0] != '\0') {
        why = check_header(facts, self->ed25519.timestamp, &stamp);
        if (why == ALD_AUTH_OK)
            why = check_time(stamp, facts->now_s, self->ed25519.tolerance_s);
    }
    return why == ALD_AUTH_OK ? check_signed(self, facts, signature) : why;
}

/* ---- all of it ---- */

static const struct {
    enum auth_scheme scheme;
    const char *name;
    enum ald_auth_why (*check)(const ald_auth_t *self, const struct ald_auth_facts *facts);
} CHECKS[] = {
    {AUTH_HEADER_SECRET, "header_secret", check_header_secret},
    {AUTH_STANDARD_WEBHOOKS, "standard_webhooks", check_webhooks},
    {AUTH_HMAC, "hmac", check_hmac},
    {AUTH_ED25519, "ed25519", check_ed25519},
};

static size_t check_key_count(const ald_auth_t *self, enum auth_scheme scheme,
                              const struct ald_jwks *fetched)
{
    switch (scheme) {
    case AUTH_HEADER_SECRET:
        return self->header_secret.count;
    case AUTH_STANDARD_WEBHOOKS:
        return self->webhooks.secrets.count;
    case AUTH_HMAC:
        return self->hmac.secrets.count;
    case AUTH_ED25519:
        return self->ed25519.keys.count + (fetched != NULL ? fetched->count : 0);
    }
    return 0;
}

bool ald_auth_ready(const ald_auth_t *self)
{
    for (size_t i = 0; i < ALD_COUNT(CHECKS); i++)
        if ((self->schemes & CHECKS[i].scheme) != 0 &&
            check_key_count(self, CHECKS[i].scheme, NULL) == 0)
            return false;
    return true;
}

const char *ald_auth_jwks(const ald_auth_t *self, int64_t *cache_ms)
{
    if (self != NULL && cache_ms != NULL)
        *cache_ms = self->ed25519.cache_ms;
    return self != NULL ? self->ed25519.jwks : "";
}

bool ald_auth_hides(const ald_auth_t *self, const char *header)
{
    return self != NULL && (self->schemes & AUTH_HEADER_SECRET) != 0 &&
           strcasecmp(self->header_secret.name, header) == 0;
}

void ald_auth_check(const ald_auth_t *self, const struct ald_auth_facts *facts,
                    struct ald_auth_result *out)
{
    *out = (struct ald_auth_result){.why = ALD_AUTH_OK, .scheme = ""};
    if (self->url_token && !facts->url_token)
        *out = (struct ald_auth_result){.why = ALD_AUTH_URL, .scheme = "url_token"};
    else if (!facts->address)
        *out = (struct ald_auth_result){.why = ALD_AUTH_ADDRESS, .scheme = "source_ips"};
    for (size_t i = 0; i < ALD_COUNT(CHECKS) && out->why == ALD_AUTH_OK; i++) {
        if ((self->schemes & CHECKS[i].scheme) == 0)
            continue;
        out->why = check_key_count(self, CHECKS[i].scheme, facts->fetched) == 0
                       ? ALD_AUTH_NO_KEY
                       : CHECKS[i].check(self, facts);
        if (out->why != ALD_AUTH_OK)
            out->scheme = CHECKS[i].name;
    }
}

static const struct {
    const char *name, *text;
} WHYS[ALD_AUTH_COUNT] = {
    [ALD_AUTH_OK] = {"ok", "it is proved"},
    [ALD_AUTH_URL] = {"url", "it did not come to the task's own URL"},
    [ALD_AUTH_ADDRESS] = {"address", "the sender's address is not in source_ips"},
    [ALD_AUTH_NO_KEY] = {"no_key", "there is no key to check it with"},
    [ALD_AUTH_MISSING] = {"missing", "a header of the proof is missing"},
    [ALD_AUTH_REPEATED] = {"repeated", "a header of the proof is there twice"},
    [ALD_AUTH_MALFORMED] = {"malformed", "a header of the proof can't be read"},
    [ALD_AUTH_UNIT] = {"unit", "the signed time seems to be in milliseconds: its unit?"},
    [ALD_AUTH_VERSION] = {"version", "no signature is of a known version"},
    [ALD_AUTH_STALE] = {"stale", "it was signed too long ago"},
    [ALD_AUTH_FUTURE] = {"future", "it was signed in the future"},
    [ALD_AUTH_MISMATCH] = {"mismatch", "the secret or signature is another one"},
};

const char *ald_auth_why_name(enum ald_auth_why why)
{
    return WHYS[why].name;
}

const char *ald_auth_why_text(enum ald_auth_why why)
{
    return WHYS[why].text;
}
