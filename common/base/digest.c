#include "common/base/digest.h"

#include <errno.h>
#include <gcrypt.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static pthread_once_t digest_once = PTHREAD_ONCE_INIT;

/* Whoever else in this process uses the library may have been first. */
static void digest_find(void)
{
    ALD_ASSERT(gcry_check_version("1.8.0") != NULL);
    if (gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P) == 0) {
        (void)gcry_control(GCRYCTL_DISABLE_SECMEM, 0); /* no key is kept there */
        (void)gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
    }
    ALD_ASSERT(sodium_init() >= 0);
}

static void digest_ready(void)
{
    ALD_ASSERT(pthread_once(&digest_once, digest_find) == 0);
}

static gcry_md_hd_t digest_begin(unsigned flags)
{
    gcry_md_hd_t state = NULL;
    digest_ready();
    ALD_ASSERT(gcry_md_open(&state, GCRY_MD_SHA256, flags) == 0);
    return state;
}

static void digest_end(gcry_md_hd_t state, uint8_t out[32])
{
    memcpy(out, gcry_md_read(state, GCRY_MD_SHA256), 32);
    gcry_md_close(state);
}

void ald_sha256(struct ald_span bytes, uint8_t out[32])
{
    digest_ready();
    gcry_md_hash_buffer(GCRY_MD_SHA256, out, bytes.data, bytes.len);
}

bool ald_sha256_file(int fd, uint64_t *bytes, uint8_t out[32])
{
    static const size_t piece = 256 * 1024;
    gcry_md_hd_t state = digest_begin(0);
    uint8_t *buffer = malloc(piece);
    ALD_ASSERT(buffer != NULL);
    ssize_t got;
    *bytes = 0;
    while ((got = read(fd, buffer, piece)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        gcry_md_write(state, buffer, (size_t)got);
        *bytes += (uint64_t)got;
    }
    digest_end(state, out);
    free(buffer);
    return got == 0;
}

void ald_sha256_hex(struct ald_span bytes, char out[65])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t sum[32];
    ald_sha256(bytes, sum);
    for (size_t i = 0; i < sizeof sum; i++) {
        out[2 * i] = digits[sum[i] >> 4];
        out[2 * i + 1] = digits[sum[i] & 15];
    }
    out[64] = '\0';
}

void ald_hmac_sha256_of(struct ald_span key, const struct ald_span *parts, size_t count,
                        uint8_t out[32])
{
    gcry_md_hd_t state = digest_begin(GCRY_MD_FLAG_HMAC);
    ALD_ASSERT(gcry_md_setkey(state, key.len > 0 ? key.data : (const uint8_t *)"", key.len) == 0);
    for (size_t i = 0; i < count; i++)
        gcry_md_write(state, parts[i].data, parts[i].len);
    digest_end(state, out);
}

void ald_hmac_sha256(struct ald_span key, struct ald_span bytes, uint8_t out[32])
{
    ald_hmac_sha256_of(key, &bytes, 1, out);
}

bool ald_ed25519_ok(const uint8_t key[32], const uint8_t signature[64], struct ald_span message)
{
    digest_ready();
    return crypto_sign_verify_detached(signature, message.data, message.len, key) == 0;
}

bool ald_equal_ct(const void *a, const void *b, size_t len)
{
    return sodium_memcmp(a, b, len) == 0;
}

void ald_random(void *out, size_t len)
{
    uint8_t *at = out;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        ALD_ASSERT(got > 0);
        at += got;
        len -= (size_t)got;
    }
}
