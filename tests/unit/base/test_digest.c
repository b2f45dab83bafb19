#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/codec.h"
#include "common/base/digest.h"
#include "common/base/guard.h"

static void test_example(void **state)
{
    (void)state;
    char text[65];
    ald_sha256_hex(ald_span_str("abc"), text);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void assert_hex(const uint8_t bytes[32], const char *want)
{
    struct ald_buf out;
    ald_buf_init(&out, 64);
    ald_hex_encode(&out, ald_span_of(bytes, 32));
    assert_string_equal(ald_buf_str(&out), want);
    ald_buf_free(&out);
}

/* FIPS 180-2. */
static void test_sha256(void **state)
{
    (void)state;
    uint8_t out[32];
    ald_sha256(ald_span_of(NULL, 0), out);
    assert_hex(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    ald_sha256(ald_span_str("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), out);
    assert_hex(out, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

/* RFC 4231, cases 1, 2 and 6, and the empty key. */
static void test_hmac(void **state)
{
    (void)state;
    uint8_t key[131];
    uint8_t out[32];
    memset(key, 0x0b, 20);
    ald_hmac_sha256(ald_span_of(key, 20), ald_span_str("Hi There"), out);
    assert_hex(out, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    ald_hmac_sha256(ald_span_str("Jefe"), ald_span_str("what do ya want for nothing?"), out);
    assert_hex(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    ald_hmac_sha256(ald_span_of(key, sizeof key),
                    ald_span_str("Test Using Larger Than Block-Size Key - Hash Key First"), out);
    assert_hex(out, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    ald_hmac_sha256(ald_span_of(NULL, 0), ald_span_of(NULL, 0), out);
    assert_hex(out, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void test_hmac_of_pieces(void **state)
{
    (void)state;
    const struct ald_span parts[] = {ald_span_str("what do ya want "), ald_span_of(NULL, 0),
                                     ald_span_str("for nothing?")};
    uint8_t out[32];
    ald_hmac_sha256_of(ald_span_str("Jefe"), parts, ALD_COUNT(parts), out);
    assert_hex(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    ald_hmac_sha256_of(ald_span_of(NULL, 0), NULL, 0, out); /* no key, no message */
    assert_hex(out, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

/* RFC 8032, 7.1. */
static void test_ed25519(void **state)
{
    (void)state;
    static const char key[] = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
    static const char signature[] =
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";
    struct ald_buf bytes;
    ald_buf_init(&bytes, 96);
    assert_int_equal(ald_hex_decode(&bytes, ald_span_str(key)), ALD_OK);
    assert_int_equal(ald_hex_decode(&bytes, ald_span_str(signature)), ALD_OK);
    assert_true(ald_ed25519_ok(bytes.data, bytes.data + 32, ald_span_str("\x72")));
    assert_false(ald_ed25519_ok(bytes.data, bytes.data + 32, ald_span_str("\x73")));
    assert_false(ald_ed25519_ok(bytes.data, bytes.data + 32, ald_span_of(NULL, 0)));
    bytes.data[95] ^= 0xff; /* a number beyond the order */
    assert_false(ald_ed25519_ok(bytes.data, bytes.data + 32, ald_span_str("\x72")));
    memset(bytes.data, 0xff, 32); /* no point of the curve */
    assert_false(ald_ed25519_ok(bytes.data, bytes.data + 32, ald_span_str("\x72")));
    ald_buf_free(&bytes);
}

/* Signed is the empty message (7.1, test 1); and the signature before with the group's order added
 * to its number, which verifies where that is not looked at: two signatures of one message. */
static void test_ed25519_edges(void **state)
{
    (void)state;
    static const struct {
        const char *key, *signature, *message;
        bool ok;
    } cases[] = {
        {"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
         "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
         "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
         "", true},
        {"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
         "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
         "f52db7415978abc61b2c2eb6aeebfca0387b2eaeb4302aeeb00d291612bb0c10",
         "\x72", false},
    };
    struct ald_buf bytes;
    ald_buf_init(&bytes, 96);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        ald_buf_reset(&bytes);
        assert_int_equal(ald_hex_decode(&bytes, ald_span_str(cases[i].key)), ALD_OK);
        assert_int_equal(ald_hex_decode(&bytes, ald_span_str(cases[i].signature)), ALD_OK);
        assert_int_equal(bytes.len, 96);
        assert_int_equal(
            ald_ed25519_ok(bytes.data, bytes.data + 32, ald_span_str(cases[i].message)),
            cases[i].ok);
    }
    ald_buf_free(&bytes);
}

static void test_equal(void **state)
{
    (void)state;
    assert_true(ald_equal_ct("abc", "abc", 3));
    assert_false(ald_equal_ct("abc", "abd", 3));
    assert_false(ald_equal_ct("xbc", "abc", 3));
    assert_true(ald_equal_ct("abX", "abY", 2));
    assert_true(ald_equal_ct("a", "b", 0));
}

static void test_random_differs(void **state)
{
    (void)state;
    uint8_t a[64] = {0};
    uint8_t b[64] = {0};
    ald_random(a, sizeof a);
    ald_random(b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
    ald_random(a, 0);
    static uint8_t big[1 << 20];
    uint8_t tail[64] = {0};
    ald_random(big, sizeof big);
    assert_memory_not_equal(big + sizeof big - 64, tail, 64);
}

static void test_a_file(void **state)
{
    (void)state;
    uint8_t want[32];
    uint8_t got[32];
    uint64_t bytes = 0;
    char path[] = "/tmp/ald-digest-XXXXXX";
    static uint8_t large[600001]; /* more than is read at once */
    memset(large, 'x', sizeof large);
    int fd = mkstemp(path);
    assert_true(fd >= 0 && unlink(path) == 0);
    for (size_t len = 0; len <= sizeof large; len += sizeof large) {
        assert_int_equal(pwrite(fd, large, len, 0), (ssize_t)len);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        ald_sha256(ald_span_of(large, len), want);
        assert_true(ald_sha256_file(fd, &bytes, got));
        assert_int_equal(bytes, len);
        assert_memory_equal(got, want, sizeof want);
    }
    close(fd);
    assert_false(ald_sha256_file(-1, &bytes, got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),        cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_a_file),         cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_hmac),           cmocka_unit_test(test_equal),
        cmocka_unit_test(test_random_differs), cmocka_unit_test(test_hmac_of_pieces),
        cmocka_unit_test(test_ed25519),        cmocka_unit_test(test_ed25519_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
