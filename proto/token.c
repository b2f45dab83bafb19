#include "proto/token.h"

#include <stdio.h>
#include <string.h>

#include "common/base/codec.h"
#include "common/base/digest.h"
#include "proto/messages.h"

enum {
    TOKEN_KEY_ID = 0,
    TOKEN_TASK = 1,
    TOKEN_TASK_BYTES = 7,
    TOKEN_ATTEMPT = TOKEN_TASK + TOKEN_TASK_BYTES,
    TOKEN_FACTS = TOKEN_ATTEMPT + 1, /* what is signed, besides the provider */
    TOKEN_MAC_BYTES = 16,
    TOKEN_BYTES = TOKEN_FACTS + TOKEN_MAC_BYTES,
    TOKEN_TEXT = ALD_TOKEN_MAX - 1
};

static bool keys_have(const struct ald_keys *keys, uint8_t id)
{
    for (unsigned i = 0; i < keys->count; i++) {
        if (keys->record[i][0] == id)
            return true;
    }
    return false;
}

/* What a file holds whose bytes never reached the disk: a key that everybody knows. */
static bool keys_blank(const uint8_t *key)
{
    static const uint8_t blank[ALD_KEY_RECORD - 1];
    return memcmp(key, blank, sizeof blank) == 0;
}

enum ald_rc ald_keys_load(struct ald_keys *keys, struct ald_span blob)
{
    *keys = (struct ald_keys){.count = 0};
    size_t count = blob.len / ALD_KEY_RECORD;
    if (count == 0 || count > ALD_KEYS_MAX || blob.len % ALD_KEY_RECORD != 0)
        return ALD_INVALID;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *record = blob.data + i * ALD_KEY_RECORD;
        bool twice = keys_have(keys, record[0]);
        if (twice || keys_blank(record + 1)) {
            keys->count = 0;
            return twice ? ALD_EXISTS : ALD_INVALID;
        }
        memcpy(keys->record[i], record, ALD_KEY_RECORD);
        keys->count++;
    }
    return ALD_OK;
}

void ald_keys_rotate(struct ald_keys *keys)
{
    /* Ids count upwards from the newest, so that one comes back only after 256 changes. The first
     * one's is random: it is put in front of others by people, in a file. */
    uint8_t id = 0;
    if (keys->count == 0)
        ald_random(&id, sizeof id);
    else
        id = (uint8_t)(keys->record[0][0] + 1);
    while (keys_have(keys, id))
        id++;
    memmove(keys->record[1], keys->record[0], sizeof(keys->record) - sizeof(keys->record[0]));
    keys->record[0][0] = id;
    ald_random(keys->record[0] + 1, ALD_KEY_RECORD - 1);
    if (keys->count < ALD_KEYS_MAX)
        keys->count++;
}

/* Sign facts for provider with the key of record; write the whole token as text. */
static void token_write(const uint8_t record[ALD_KEY_RECORD], const char *provider,
                        const uint8_t facts[TOKEN_FACTS], char out[ALD_TOKEN_MAX])
{
    uint8_t signed_part[ALD_PROVIDER_MAX + TOKEN_FACTS];
    size_t len = strlen(provider) + 1; /* with the NUL, which no provider's name holds */
    memcpy(signed_part, provider, len);
    memcpy(signed_part + len, facts, TOKEN_FACTS);
    uint8_t mac[32];
    ald_hmac_sha256(ald_span_of(record + 1, ALD_KEY_RECORD - 1),
                    ald_span_of(signed_part, len + TOKEN_FACTS), mac);
    uint8_t token[TOKEN_BYTES];
    memcpy(token, facts, TOKEN_FACTS);
    memcpy(token + TOKEN_FACTS, mac, TOKEN_MAC_BYTES);
    struct ald_buf text;
    ald_buf_init(&text, TOKEN_TEXT);
    ald_base64url_encode(&text, ald_span_of(token, sizeof(token)));
    ALD_ASSERT(ald_buf_ok(&text) && text.len == TOKEN_TEXT);
    memcpy(out, ald_buf_str(&text), TOKEN_TEXT + 1);
    ald_buf_free(&text);
}

void ald_token_make(const struct ald_keys *keys, const char *provider, uint64_t task,
                    unsigned attempt, char out[ALD_TOKEN_MAX])
{
    ALD_ASSERT(keys->count > 0);
    ALD_ASSERT(strlen(provider) < ALD_PROVIDER_MAX);
    ALD_ASSERT(task >> (8 * TOKEN_TASK_BYTES) == 0);
    ALD_ASSERT(attempt <= UINT8_MAX);
    uint8_t facts[TOKEN_FACTS];
    facts[TOKEN_KEY_ID] = keys->record[0][0];
    for (size_t i = 0; i < TOKEN_TASK_BYTES; i++)
        facts[TOKEN_TASK + i] = (uint8_t)(task >> (8 * (TOKEN_TASK_BYTES - 1 - i)));
    facts[TOKEN_ATTEMPT] = (uint8_t)attempt;
    token_write(keys->record[0], provider, facts, out);
}

/* The facts that text states, believed by nobody yet. */
static bool token_facts(const char *text, uint8_t facts[TOKEN_FACTS])
{
    struct ald_buf token;
    ald_buf_init(&token, TOKEN_BYTES);
    bool ok = ald_base64url_decode(&token, ald_span_of(text, TOKEN_TEXT)) == ALD_OK &&
              token.len == TOKEN_BYTES;
    if (ok)
        memcpy(facts, token.data, TOKEN_FACTS);
    ald_buf_free(&token);
    return ok;
}

void ald_callback_url(char out[ALD_CALLBACK_URL_MAX], const char *base, const char *provider,
                      const char *token, const char *trace)
{
    (void)snprintf(out, ALD_CALLBACK_URL_MAX, "%s/cb/%s/%s%s%s", base, provider, token,
                   trace[0] != '\0' ? "/" : "", trace);
}

enum ald_rc ald_token_verify(const struct ald_keys *keys, const char *provider, const char *text,
                             size_t len, uint64_t *task, unsigned *attempt)
{
    uint8_t facts[TOKEN_FACTS];
    if (keys->count == 0 || len != TOKEN_TEXT ||
        strnlen(provider, ALD_PROVIDER_MAX) == ALD_PROVIDER_MAX || !token_facts(text, facts))
        return ALD_INVALID;
    /* A key id that is not there is signed all the same, so that it takes as long as a forgery. */
    const uint8_t *record = keys->record[0];
    for (unsigned i = 1; i < keys->count; i++) {
        if (keys->record[i][0] == facts[TOKEN_KEY_ID])
            record = keys->record[i];
    }
    /* The texts are compared, not the bytes: each token is believed in one spelling only. */
    char expected[ALD_TOKEN_MAX];
    token_write(record, provider, facts, expected);
    bool equal = ald_equal_ct(expected, text, TOKEN_TEXT);
    if (!equal || record[0] != facts[TOKEN_KEY_ID])
        return ALD_INVALID;
    uint64_t number = 0;
    for (size_t i = 0; i < TOKEN_TASK_BYTES; i++)
        number = number << 8 | facts[TOKEN_TASK + i];
    *task = number;
    *attempt = facts[TOKEN_ATTEMPT];
    return ALD_OK;
}

bool ald_token_of_keys(const struct ald_keys *keys, const char *text)
{
    uint8_t facts[TOKEN_FACTS];
    return strlen(text) != TOKEN_TEXT || !token_facts(text, facts) ||
           keys_have(keys, facts[TOKEN_KEY_ID]);
}
