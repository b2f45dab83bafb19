/* Any bytes as what shows or proves who a sender is: a set of public keys (JWKS), secrets as they
 * are written, and the headers of a callback against every scheme of callback.auth. Nobody who does
 * not know the secret passes. The first byte chooses; lines follow, and after an empty one a body.
 */
#include <stdlib.h>
#include <string.h>

#include "common/config/auth.h"
#include "common/config/webhook.h"
#include "tests/fuzz/input.h"

enum { KEYS_LINES = 16, KEYS_LINE_MAX = 512, KEYS_NOW_S = 1700000000 };

/* A public key whose private half nobody kept. */
#define KEYS_PUBLIC "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"

#define KEYS_ED25519(headers, message, keys)                                                       \
    ("{ed25519: {headers: " headers ", message: \"" message "\", keys: " keys "}}")

static const char *const KEYS_BLOCKS[] = {
    "{header_secret: {name: S, value: {env: FUZZ_W}}}",
    "{standard_webhooks: {secret: {env: FUZZ_W}}}",
    "{hmac: {header: S, secret: {env: FUZZ_W}}}",
    "{hmac: {header: S, prefix: sha256=, encoding: base64, secret: {env: FUZZ_W}}}",
    "{hmac: {header: S, format: t_v, secret: {env: FUZZ_W}}}",
    "{hmac: {header: S, format: t_v, version: v1, encoding: base64, secret: {env: FUZZ_W}}}",
    KEYS_ED25519("{sig: S, ts: T}", "${header.T}.${body}", "[" KEYS_PUBLIC "]"),
    KEYS_ED25519("{sig: S}", "${header.U}${sha256hex.body}", "{jwks: \"https://k.example/j\"}"),
};

static ald_auth_t *keys_auth(size_t which)
{
    static ald_auth_t *loaded[ALD_COUNT(KEYS_BLOCKS)];
    struct ald_errors errors;
    struct ald_buf text;
    ald_yaml_t *yaml = NULL;
    if (loaded[which])
        return loaded[which];
    (void)setenv("FUZZ_W", "whsec_MDEyMzQ1Njc4OWFiY2RlZg==", 1);
    ald_errors_init(&errors);
    ald_buf_init(&text, 4096);
    ald_buf_printf(&text, "{callback: {auth: %s}}", KEYS_BLOCKS[which]);
    enum ald_rc rc = ald_yaml_parse("p", ald_buf_span(&text), 0, &errors, &yaml);
    ALD_ASSERT(rc == ALD_OK);
    loaded[which] = ald_auth_load(ald_yaml_root(yaml), true, &errors);
    ALD_ASSERT(errors.count == 0);
    ald_yaml_destroy(&yaml);
    ald_buf_free(&text);
    ald_errors_free(&errors);
    return loaded[which];
}

static void keys_set(struct ald_span json, struct ald_jwks *set)
{
    struct ald_jwks again;
    *set = (struct ald_jwks){0};
    bool read = ald_jwks_read(set, json);
    ALD_ASSERT(read == (set->count > 0) && set->count <= ALD_JWKS_KEYS_MAX);
    if (!read)
        return;
    ALD_ASSERT(ald_jwks_take(&again, ald_jwks_bytes(set)));
    ALD_ASSERT(ald_span_eq(ald_jwks_bytes(set), ald_jwks_bytes(&again)));
}

static void keys_secret(const char *text)
{
    struct ald_secret_list list = {0};
    struct ald_buf headers;
    if (ald_webhook_secret(&list, text) != ALD_OK)
        return;
    ALD_ASSERT(list.count == 1 && list.at[0].len > 0);
    ald_buf_init(&headers, 4096);
    ald_webhook_headers(&list, "1:2", KEYS_NOW_S, ald_span_str(text), &headers);
    ALD_ASSERT(ald_buf_ok(&headers));
    ald_buf_free(&headers);
}

static void keys_check(const ald_auth_t *auth, const struct ald_auth_header *headers, size_t count,
                       struct ald_span body)
{
    struct ald_jwks fetched = {0};
    struct ald_auth_result result;
    ALD_ASSERT(ald_jwks_add(&fetched, ald_span_str(KEYS_PUBLIC)));
    for (unsigned i = 0; i < 4; i++) {
        const struct ald_auth_facts facts = {.headers = headers,
                                             .header_count = count,
                                             .body = body,
                                             .fetched = (i & 1) != 0 ? &fetched : NULL,
                                             .now_s = KEYS_NOW_S,
                                             .url_token = true,
                                             .address = (i & 2) == 0};
        ald_auth_check(auth, &facts, &result);
        ALD_ASSERT(result.why != ALD_AUTH_OK && result.why < ALD_AUTH_COUNT);
        ALD_ASSERT(result.scheme[0] != '\0' && ald_auth_why_text(result.why)[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.left = ald_span_of(data, size)};
    uint8_t how = input_byte(&in);
    struct ald_jwks set;
    char line[KEYS_LINES][KEYS_LINE_MAX];
    struct ald_auth_header headers[KEYS_LINES];
    size_t count = 0;
    keys_set(in.left, &set);
    while (count < KEYS_LINES && in.left.len > 0) {
        input_text(&in, '\n', line[count], KEYS_LINE_MAX);
        char *colon = strchr(line[count], ':');
        if (line[count][0] == '\0')
            break;
        keys_secret(line[count]);
        (void)ald_jwks_address_ok(line[count]);
        if (!colon)
            continue;
        *colon = '\0';
        headers[count] = (struct ald_auth_header){.name = line[count], .value = colon + 1};
        count++;
    }
    const ald_auth_t *auth = keys_auth(how % ALD_COUNT(KEYS_BLOCKS));
    keys_check(auth, headers, count, in.left);
    for (size_t i = 0; i < count; i++)
        (void)ald_auth_hides(auth, headers[i].name);
    return 0;
}
