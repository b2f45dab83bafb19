#include "common/base/digest.h"

#include <errno.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/* Looked up once: EVP_sha256() stands for a search among the library's providers at each use. */
static pthread_once_t digest_once = PTHREAD_ONCE_INIT;
static EVP_MD *digest_sha256;

static void digest_find(void)
{
    digest_sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    ALD_ASSERT(digest_sha256 != NULL);
}

void ald_sha256(struct ald_span bytes, uint8_t out[32])
{
    ALD_ASSERT(pthread_once(&digest_once, digest_find) == 0);
    ALD_ASSERT(EVP_Digest(bytes.data, bytes.len, out, NULL, digest_sha256, NULL) == 1);
}

bool ald_sha256_file(int fd, uint64_t *bytes, uint8_t out[32])
{
    static const size_t piece = 256 * 1024;
    ALD_ASSERT(pthread_once(&digest_once, digest_find) == 0);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    uint8_t *buffer = malloc(piece);
    ALD_ASSERT(context != NULL && buffer != NULL);
    ALD_ASSERT(EVP_DigestInit_ex(context, digest_sha256, NULL) == 1);
    ssize_t got;
    *bytes = 0;
    while ((got = read(fd, buffer, piece)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        ALD_ASSERT(EVP_DigestUpdate(context, buffer, (size_t)got) == 1);
        *bytes += (uint64_t)got;
    }
    ALD_ASSERT(EVP_DigestFinal_ex(context, out, NULL) == 1);
    EVP_MD_CTX_free(context);
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

void ald_hmac_sha256(struct ald_span key, struct ald_span bytes, uint8_t out[32])
{
    ALD_ASSERT(key.len <= INT_MAX);
    unsigned len = 32;
    const void *start = key.len > 0 ? key.data : (const uint8_t *)""; /* NULL means another thing */
    ALD_ASSERT(HMAC(EVP_sha256(), start, (int)key.len, bytes.data, bytes.len, out, &len));
}

bool ald_equal_ct(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
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
