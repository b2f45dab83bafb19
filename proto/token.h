/* token.h - the secret in a task's callback URL, made and verified without asking anybody.
 *
 * token = base64url(key id 1 byte, task id 7 bytes big-endian, attempt 1 byte,
 *                   first 16 bytes of HMAC-SHA256(key, provider NUL key-id task attempt))
 * is 25 bytes, 34 characters. It is never stored: who has the keys rebuilds it. A gateway verifies
 * it alone, also while the tracker is away, before it reads a body.
 *
 * Keys: a blob of one to four 33-byte records (key id 1 byte, key 32 bytes). The first signs, all
 * verify, so that a key is changed by putting a new one in front.
 *
 * Threads: a key set is read-only after ald_keys_load.
 */
#ifndef ALD_PROTO_TOKEN_H
#define ALD_PROTO_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"
#include "proto/msg_limits.h"

enum { ALD_TOKEN_MAX = 35, ALD_KEYS_MAX = 4, ALD_KEY_RECORD = 33 };

struct ald_keys {
    unsigned count;
    uint8_t record[ALD_KEYS_MAX][ALD_KEY_RECORD];
};

/* Read a key blob. ALD_INVALID: empty, not whole records, too many, or a key that is all zeros.
 * ALD_EXISTS: two keys have one id, so a token would not tell which is its own. */
ALD_NODISCARD enum ald_rc ald_keys_load(struct ald_keys *keys, struct ald_span blob);

/* Make one new random record at the front of keys (dropping the last when full), with an id that
 * none of them has. */
void ald_keys_rotate(struct ald_keys *keys);

/* Write the token of (provider, task, attempt) to out, signed by the first key. task < 2^56. */
void ald_token_make(const struct ald_keys *keys, const char *provider, uint64_t task,
                    unsigned attempt, char out[ALD_TOKEN_MAX]);

/* The callback URL that a token is in: <base>/cb/<provider>/<token>, and behind that the caller's
 * traceparent, if there is one, so that whoever reads the provider's log or ours finds it. In the
 * path, since providers append `?id=...` to what they are given. */
void ald_callback_url(char out[ALD_CALLBACK_URL_MAX], const char *base, const char *provider,
                      const char *token, const char *trace);

/* Verify text (len bytes) for provider in constant time of its content.
 * ALD_OK: task and attempt are set. ALD_INVALID: forged, of another provider or of a key gone. */
ALD_NODISCARD enum ald_rc ald_token_verify(const struct ald_keys *keys, const char *provider,
                                           const char *text, size_t len, uint64_t *task,
                                           unsigned *attempt);

/* Could keys verify a token like this? False: it is of a key that is not among them. Of what is no
 * token nothing is known, so true. */
bool ald_token_of_keys(const struct ald_keys *keys, const char *text);

#endif
