#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/codec.h"
#include "common/base/guard.h"

typedef void (*encoder)(struct ald_buf *out, struct ald_span bytes);
typedef enum ald_rc (*decoder)(struct ald_buf *out, struct ald_span text);

static void test_example(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 64);
    ald_base64url_encode(&out, ald_span_of("\xfb\xff", 2));
    assert_string_equal(ald_buf_str(&out), "-_8");
    ald_buf_reset(&out);
    assert_int_equal(ald_base64url_decode(&out, ald_span_str("-_8")), ALD_OK);
    assert_true(ald_span_eq(ald_buf_span(&out), ald_span_of("\xfb\xff", 2)));
    ald_buf_free(&out);
}

static void check_pair(encoder encode, decoder decode, const char *bytes, const char *text)
{
    struct ald_buf out;
    ald_buf_init(&out, 64);
    encode(&out, ald_span_str(bytes));
    assert_string_equal(ald_buf_str(&out), text);
    ald_buf_reset(&out);
    assert_int_equal(decode(&out, ald_span_str(text)), ALD_OK);
    assert_string_equal(ald_buf_str(&out), bytes);
    ald_buf_free(&out);
}

/* The vectors of RFC 4648, 10. */
static void test_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *hex, *base64, *base64url;
    } cases[] = {
        {"", "", "", ""},
        {"f", "66", "Zg==", "Zg"},
        {"fo", "666f", "Zm8=", "Zm8"},
        {"foo", "666f6f", "Zm9v", "Zm9v"},
        {"foob", "666f6f62", "Zm9vYg==", "Zm9vYg"},
        {"fooba", "666f6f6261", "Zm9vYmE=", "Zm9vYmE"},
        {"foobar", "666f6f626172", "Zm9vYmFy", "Zm9vYmFy"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        check_pair(ald_hex_encode, ald_hex_decode, cases[i].bytes, cases[i].hex);
        check_pair(ald_base64_encode, ald_base64_decode, cases[i].bytes, cases[i].base64);
        check_pair(ald_base64url_encode, ald_base64url_decode, cases[i].bytes, cases[i].base64url);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        decoder decode;
        const char *in;
    } cases[] = {
        {ald_hex_decode, "6"},           {ald_hex_decode, "6g"},
        {ald_hex_decode, "0x66"},        {ald_hex_decode, "66 66"},
        {ald_base64_decode, "Zg"},       {ald_base64_decode, "Zg="},
        {ald_base64_decode, "Zg==="},    {ald_base64_decode, "===="},
        {ald_base64_decode, "Z==="},     {ald_base64_decode, "Zh=="}, /* bits that are not 0 */
        {ald_base64_decode, "Zm9="},     {ald_base64_decode, "Zg==Zg=="},
        {ald_base64_decode, "Zm9v\n"},   {ald_base64_decode, "Zm-_"},
        {ald_base64url_decode, "Zg=="},  {ald_base64url_decode, "Z"},
        {ald_base64url_decode, "Zm9vY"}, {ald_base64url_decode, "Zh"},
        {ald_base64url_decode, "Zm+/"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_buf out;
        ald_buf_init(&out, 64);
        if (cases[i].decode(&out, ald_span_str(cases[i].in)) != ALD_MALFORMED)
            fail_msg("case %zu: \"%s\" was taken", i, cases[i].in);
        ald_buf_free(&out);
    }
    struct ald_buf out;
    ald_buf_init(&out, 64);
    assert_int_equal(ald_base64url_decode(&out, ald_span_of("Zm\0v", 4)), ALD_MALFORMED);
    ald_buf_free(&out);
}

static void test_every_byte_comes_back(void **state)
{
    (void)state;
    static const struct {
        encoder encode;
        decoder decode;
    } codecs[] = {{ald_hex_encode, ald_hex_decode},
                  {ald_base64_encode, ald_base64_decode},
                  {ald_base64url_encode, ald_base64url_decode}};
    uint8_t bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    for (size_t i = 0; i < ALD_COUNT(codecs); i++) {
        struct ald_buf text;
        struct ald_buf back;
        ald_buf_init(&text, 1000);
        ald_buf_init(&back, 256);
        codecs[i].encode(&text, ald_span_of(bytes, sizeof bytes));
        assert_int_equal(codecs[i].decode(&back, ald_buf_span(&text)), ALD_OK);
        assert_true(ald_span_eq(ald_buf_span(&back), ald_span_of(bytes, sizeof bytes)));
        ald_buf_free(&text);
        ald_buf_free(&back);
    }
}

static void test_no_room(void **state)
{
    (void)state;
    static const struct {
        decoder decode;
        const char *in;
    } cases[] = {
        {ald_hex_decode, "666f"}, {ald_base64_decode, "Zm8="}, {ald_base64url_decode, "Zm8"}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_buf out;
        ald_buf_init(&out, 1);
        assert_int_equal(cases[i].decode(&out, ald_span_str(cases[i].in)), ALD_TOOBIG);
        ald_buf_free(&out);
    }
}

static void test_hex_of_either_case(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 8);
    assert_int_equal(ald_hex_decode(&out, ald_span_str("aBFf")), ALD_OK);
    assert_true(ald_span_eq(ald_buf_span(&out), ald_span_of("\xab\xff", 2)));
    ald_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_every_byte_comes_back),
        cmocka_unit_test(test_no_room), cmocka_unit_test(test_hex_of_either_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
