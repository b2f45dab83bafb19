/* digest.h - the little cryptography that we need: digests from libgcrypt, signatures from
 * libsodium. Both are in every process anyway, by way of libsystemd and libzmq; OpenSSL would
 * be 3.4 MiB more in each that speaks no TLS.
 *
 * Nothing here fails on input: when the library or the system's random source fails, the process
 * ends, since nothing sound can follow. Any thread.
 */
#ifndef ALD_BASE_DIGEST_H
#define ALD_BASE_DIGEST_H

#include "common/base/guard.h"
#include "common/base/span.h"

void ald_sha256(struct ald_span bytes, uint8_t out[32]);
/* The same of all that can be read from fd on; *bytes: how much that was. False: a read failed. */
bool ald_sha256_file(int fd, uint64_t *bytes, uint8_t out[32]);
/* The same as 64 hex digits and a NUL. */
void ald_sha256_hex(struct ald_span bytes, char out[65]);
void ald_hmac_sha256(struct ald_span key, struct ald_span bytes, uint8_t out[32]);
/* The same of several pieces one after the other. */
void ald_hmac_sha256_of(struct ald_span key, const struct ald_span *parts, size_t count,
                        uint8_t out[32]);

/* Did the owner of this public key sign the message (RFC 8032, pure Ed25519)? No for bytes that are
 * no key or no signature. */
bool ald_ed25519_ok(const uint8_t key[32], const uint8_t signature[64], struct ald_span message);

/* Equal? In a time that depends on len only. */
bool ald_equal_ct(const void *a, const void *b, size_t len);

/* Fill with bytes that nobody can guess. */
void ald_random(void *out, size_t len);

#endif
