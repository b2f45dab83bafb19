/* Public keys that a provider shows: which are taken, how many, and from where. */
#include "common/config/jwks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/buf.h"

#define KEY "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
#define ONE "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" KEY "\"}"

static void test_example(void **state)
{
    (void)state;
    struct ald_jwks keys = {0};
    struct ald_jwks again;
    assert_true(ald_jwks_read(&keys, ald_span_str("{\"keys\":[" ONE "]}")));
    assert_int_equal(keys.count, 1);
    assert_int_equal(keys.at[0][0], 0xd7);
    assert_int_equal(ald_jwks_bytes(&keys).len, ALD_JWKS_KEY_BYTES);
    assert_true(ald_jwks_take(&again, ald_jwks_bytes(&keys)));
    assert_memory_equal(&again, &keys, sizeof keys);
}

static const struct {
    const char *text;
    size_t want;
} read_cases[] = {
    {"", 0},
    {"<html>", 0},
    {"{\"keys\":[" ONE "]} and more", 0},
    {"[" ONE "]", 0},
    {"{\"keys\":{}}", 0},
    {"{\"keys\":3}", 0},
    {"{\"keys\":[]}", 0},
    {"{\"keys\":[null,1,\"x\",[]]}", 0},
    {"{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\"}]}", 0},
    {"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"" KEY "\"}]}", 0},
    {"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AQAB\"}]}", 0},
    {"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" KEY "\",\"use\":\"enc\"}]}", 0},
    {"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" KEY "\",\"use\":\"sig\"}]}", 1},
    {"{\"keys\":[{\"kty\":\"RSA\"}," ONE "]}", 1},
};

static void test_reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(read_cases); i++) {
        struct ald_jwks keys = {0};
        bool good = ald_jwks_read(&keys, ald_span_str(read_cases[i].text));
        if (good != (read_cases[i].want > 0) || keys.count != read_cases[i].want)
            fail_msg("%s: %zu keys", read_cases[i].text, keys.count);
    }
}

/* By these anybody can sign. */
static void test_weak(void **state)
{
    (void)state;
    static const char *const weak[] = {"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                                       "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA",
                                       "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                                       "JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AU",
                                       "xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA3o",
                                       "7P_______________________________________38",
                                       "7f_______________________________________38",
                                       "7v_______________________________________38",
                                       "7f________________________________________8"};
    struct ald_jwks keys = {0};
    for (size_t i = 0; i < ALD_COUNT(weak); i++)
        assert_false(ald_jwks_add(&keys, ald_span_str(weak[i])));
    assert_true(ald_jwks_add(&keys, ald_span_str(KEY)));
}

/* A stranger's thousand keys are sixteen. */
static void test_bounded(void **state)
{
    (void)state;
    struct ald_jwks keys = {0};
    struct ald_buf text;
    ald_buf_init(&text, 1 << 20);
    ald_buf_put_str(&text, "{\"keys\":[" ONE);
    for (unsigned i = 1; i < 1000; i++)
        ald_buf_put_str(&text, "," ONE);
    ald_buf_put_str(&text, "]}");
    assert_true(ald_jwks_read(&keys, ald_buf_span(&text)));
    assert_int_equal(keys.count, ALD_JWKS_KEYS_MAX);
    assert_false(ald_jwks_add(&keys, ald_span_str(KEY)));
    static const uint8_t bytes[ALD_JWKS_BYTES_MAX + ALD_JWKS_KEY_BYTES] = {0};
    assert_true(ald_jwks_take(&keys, ald_span_of(bytes, ALD_JWKS_BYTES_MAX)));
    assert_false(ald_jwks_take(&keys, ald_span_of(bytes, sizeof bytes)));
    assert_false(ald_jwks_take(&keys, ald_span_of(bytes, 33)));
    assert_false(ald_jwks_take(&keys, ald_span_of(bytes, 0)));
    ald_buf_free(&text);
}

static const struct {
    const char *url;
    bool want;
} address_cases[] = {
    {"https://keys.example/.well-known/jwks.json", true},
    {"https://keys.example:8443/j?x=1", true},
    {"https://user:word@keys.example/j", false},
    {"https://", false},
    {"https://a b/j", false},
    {"https://a/j#x", false},
    {"ftp://127.0.0.1/j", false},
    {"/etc/passwd", false},
    {"http://keys.example/j", false},
    {"http://127.0.0.1:8080/j", true},
    {"http://127.1.2.3/j", true},
    {"http://localhost:80", true},
    {"http://[::1]:8080/j", true},
    {"http://[::2]/j", false},
    {"http://127.0.0.1.example/j", false},
    {"http://127.0.0.1@keys.example/j", false},
    {"http://localhost.example/j", false},
    {"http://127.1/j", false},
    {"http://10.0.0.1/j", false},
};

static void test_addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(address_cases); i++)
        if (ald_jwks_address_ok(address_cases[i].url) != address_cases[i].want)
            fail_msg("%s", address_cases[i].url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example), cmocka_unit_test(test_reads),
                                       cmocka_unit_test(test_weak), cmocka_unit_test(test_bounded),
                                       cmocka_unit_test(test_addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
