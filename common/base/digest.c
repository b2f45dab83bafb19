#include "common/base/digest.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/* Looked up once: EVP_sha256() stands for a search among the library's providers at each use. */
static pthread_once_t digest_once = PTHREAD_ONCE_INIT;
static pthread_key_t
    digest_own; /* a thread's context: to make one costs more than a short digest */
static EVP_MD *digest_sha256;
static EVP_MAC_CTX *digest_hmac; /* never used itself, only copied: a copy searches for nothing */

static void digest_own_free(void *context)
{
    EVP_MD_CTX_free(context);
}

static void digest_find(void)
{
    ALD_ASSERT(pthread_key_create(&digest_own, digest_own_free) == 0);
    char name[] = "SHA256";
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
                                 OSSL_PARAM_construct_end()};
    digest_sha256 = EVP_MD_fetch(NULL, name, NULL);
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    digest_hmac = mac == NULL ? NULL : EVP_MAC_CTX_new(mac);
    ALD_ASSERT(digest_sha256 != NULL && digest_hmac != NULL);
    ALD_ASSERT(EVP_MAC_init(digest_hmac, (const uint8_t *)"", 0, params) == 1);
    EVP_MAC_free(mac);
}

/* The thread's context, at the beginning of a digest. */
static EVP_MD_CTX *digest_begin(void)
{
    ALD_ASSERT(pthread_once(&digest_once, digest_find) == 0);
    EVP_MD_CTX *context = pthread_getspecific(digest_own);
    if (context == NULL) {
        context = EVP_MD_CTX_new();
        ALD_ASSERT(context != NULL && pthread_setspecific(digest_own, context) == 0);
    }
    ALD_ASSERT(EVP_DigestInit_ex2(context, digest_sha256, NULL) == 1);
    return context;
}

void ald_sha256(struct ald_span bytes, uint8_t out[32])
{
    EVP_MD_CTX *context = digest_begin();
    ALD_ASSERT(EVP_DigestUpdate(context, bytes.data, bytes.len) == 1);
    ALD_ASSERT(EVP_DigestFinal_ex(context, out, NULL) == 1);
}

bool ald_sha256_file(int fd, uint64_t *bytes, uint8_t out[32])
{
    static const size_t piece = 256 * 1024;
    EVP_MD_CTX *context = digest_begin();
    uint8_t *buffer = malloc(piece);
    ALD_ASSERT(buffer != NULL);
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
    ALD_ASSERT(pthread_once(&digest_once, digest_find) == 0);
    EVP_MAC_CTX *context = EVP_MAC_CTX_dup(digest_hmac);
    const uint8_t *start = key.len > 0 ? key.data : (const uint8_t *)""; /* NULL: the key before */
    ALD_ASSERT(context != NULL && EVP_MAC_init(context, start, key.len, NULL) == 1);
    for (size_t i = 0; i < count; i++)
        ALD_ASSERT(EVP_MAC_update(context, parts[i].data, parts[i].len) == 1);
    size_t len = 0;
    ALD_ASSERT(EVP_MAC_final(context, out, &len, 32) == 1 && len == 32);
    EVP_MAC_CTX_free(context);
}

void ald_hmac_sha256(struct ald_span key, struct ald_span bytes, uint8_t out[32])
{
    ald_hmac_sha256_of(key, &bytes, 1, out);
}

bool ald_ed25519_ok(const uint8_t key[32], const uint8_t signature[64], struct ald_span message)
{
    EVP_PKEY *public = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    ALD_ASSERT(context != NULL);
    const uint8_t *start = message.len > 0 ? message.data : (const uint8_t *)"";
    bool ok = public != NULL && EVP_DigestVerifyInit(context, NULL, NULL, NULL, public) == 1 &&
              EVP_DigestVerify(context, signature, 64, start, message.len) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(public);
    ERR_clear_error(); /* what a stranger signed wrong is no error of this thread */
    return ok;
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
