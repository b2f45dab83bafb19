/* digest.h - the little cryptography that we need, from OpenSSL.
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

/* Equal? In a time that depends on len only. */
bool ald_equal_ct(const void *a, const void *b, size_t len);

/* Fill with bytes that nobody can guess. */
void ald_random(void *out, size_t len);

#endif
