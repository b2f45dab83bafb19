/* jwks.h - a set of Ed25519 public keys, as a provider shows it: a JWKS (RFC 7517, 8037).
 *
 * Keys of other kinds are skipped; so is one that says it is for something else than signatures.
 * It fetches nothing. A plain value, to be copied. Pure; any thread.
 */
#ifndef ALD_CONFIG_JWKS_H
#define ALD_CONFIG_JWKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/span.h"

enum {
    ALD_JWKS_KEYS_MAX = 16,
    ALD_JWKS_KEY_BYTES = 32,
    ALD_JWKS_BYTES_MAX = ALD_JWKS_KEYS_MAX * ALD_JWKS_KEY_BYTES,
    ALD_JWKS_TEXT_MAX = 64 * 1024 /* of an answer that holds one */
};

struct ald_jwks {
    size_t count;
    uint8_t at[ALD_JWKS_KEYS_MAX][ALD_JWKS_KEY_BYTES];
};

/* Take a public key as 43 characters of base64url. False: it is none, or one that anybody can sign
 * by, or there is no room. */
ALD_NODISCARD bool ald_jwks_add(struct ald_jwks *self, struct ald_span text);

/* Take the keys of a JWKS, as many as there is room for. False: it is none, or no key is held. */
ALD_NODISCARD bool ald_jwks_read(struct ald_jwks *self, struct ald_span json);

/* The keys one behind the other, borrowed; and back. False: so many bytes are no set. */
struct ald_span ald_jwks_bytes(const struct ald_jwks *self);
ALD_NODISCARD bool ald_jwks_take(struct ald_jwks *self, struct ald_span bytes);

/* May keys be fetched there? https:// alone, but for this machine (localhost, 127.x.x.x, [::1]),
 * and no user in the address: no secret goes with the request. */
bool ald_jwks_address_ok(const char *url);

#endif
