#include "common/config/jwks.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "common/base/buf.h"
#include "common/base/codec.h"
#include "common/base/text.h"
#include "common/config/extract.h"
#include "common/config/request.h"

/* Points of an order up to 8, in each way that they can be written: by such a key anybody signs.
 * The sign bit is off. */
static const uint8_t JWKS_WEAK[][ALD_JWKS_KEY_BYTES] = {
    {0},
    {0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
     0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
     0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00},
    {0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4,
     0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6,
     0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05},
    {0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b,
     0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39,
     0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a},
    {0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
    {0xed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
    {0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}};

static bool jwks_weak(const uint8_t key[ALD_JWKS_KEY_BYTES])
{
    uint8_t plain[ALD_JWKS_KEY_BYTES];
    bool weak = false;
    memcpy(plain, key, sizeof plain);
    plain[ALD_JWKS_KEY_BYTES - 1] &= 0x7f;
    for (size_t i = 0; i < ALD_COUNT(JWKS_WEAK); i++)
        weak = weak || memcmp(plain, JWKS_WEAK[i], sizeof plain) == 0;
    return weak;
}

bool ald_jwks_add(struct ald_jwks *self, struct ald_span text)
{
    if (self->count == ALD_JWKS_KEYS_MAX)
        return false;
    struct ald_buf bytes;
    ald_buf_init(&bytes, ALD_JWKS_KEY_BYTES + 1);
    bool ok = ald_base64url_decode(&bytes, text) == ALD_OK && bytes.len == ALD_JWKS_KEY_BYTES &&
              !jwks_weak(bytes.data);
    if (ok)
        memcpy(self->at[self->count++], bytes.data, ALD_JWKS_KEY_BYTES);
    ald_buf_free(&bytes);
    return ok;
}

/* Is it a key that signatures are made with? */
static bool jwks_signs(struct ald_json key)
{
    struct ald_json use = ald_json_find(key, "/use");
    return ald_json_is(ald_json_find(key, "/kty"), "OKP") &&
           ald_json_is(ald_json_find(key, "/crv"), "Ed25519") &&
           (use.kind == ALD_JSON_NONE || ald_json_is(use, "sig"));
}

bool ald_jwks_read(struct ald_jwks *self, struct ald_span json)
{
    struct ald_json whole;
    struct ald_span tail;
    if (ald_json_scan(json, &whole, &tail) != ALD_OK || tail.len > 0)
        return false;
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(whole, "/keys"));
    struct ald_json key;
    struct ald_span name;
    struct ald_buf text;
    ald_buf_init(&text, 64);
    while (ald_json_walk_next(&walk, &name, &key)) {
        ald_buf_reset(&text);
        if (jwks_signs(key) && ald_json_text(ald_json_find(key, "/x"), &text) == ALD_OK)
            (void)!ald_jwks_add(self, ald_buf_span(&text));
    }
    ald_buf_free(&text);
    return self->count > 0;
}

struct ald_span ald_jwks_bytes(const struct ald_jwks *self)
{
    return ald_span_of(self->at, self->count * ALD_JWKS_KEY_BYTES);
}

bool ald_jwks_take(struct ald_jwks *self, struct ald_span bytes)
{
    *self = (struct ald_jwks){0};
    if (bytes.len == 0 || bytes.len > ALD_JWKS_BYTES_MAX || bytes.len % ALD_JWKS_KEY_BYTES != 0)
        return false;
    memcpy(self->at, bytes.data, bytes.len);
    self->count = bytes.len / ALD_JWKS_KEY_BYTES;
    return true;
}

static bool jwks_here(struct ald_span host)
{
    char text[INET_ADDRSTRLEN];
    struct in_addr address;
    if (ald_span_eq_str(host, "localhost") || ald_span_eq_str(host, "[::1]"))
        return true;
    return ald_text_copy(text, sizeof text, host) == ALD_OK &&
           inet_pton(AF_INET, text, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

bool ald_jwks_address_ok(const char *url)
{
    bool safe = strncmp(url, "https://", 8) == 0;
    if (!ald_url_ok(url) || (!safe && strncmp(url, "http://", 7) != 0))
        return false;
    struct ald_span authority = ald_span_str(url + (safe ? 8 : 7));
    authority.len = strcspn((const char *)authority.data, "/?");
    if (memchr(authority.data, '@', authority.len) || memchr(authority.data, '\\', authority.len))
        return false;
    size_t close = authority.data[0] == '[' ? ald_span_find(authority, ']') : 0;
    size_t colon = close + ald_span_find(ald_span_skip(authority, close), ':');
    return safe || jwks_here(ald_span_of(authority.data, colon));
}
