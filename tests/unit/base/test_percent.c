#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/codec.h"
#include "common/base/guard.h"

static void test_example(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 64);
    assert_int_equal(ald_percent_decode(ald_span_str("a%20b+c"), true, &out), ALD_OK);
    assert_string_equal(ald_buf_str(&out), "a b c");
    ald_buf_free(&out);
}

static void test_decode(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        bool plus;
        enum ald_rc rc;
        const char *want;
    } cases[] = {
        {"", false, ALD_OK, ""},
        {"%41%7a%7A", false, ALD_OK, "Azz"},
        {"a+b", false, ALD_OK, "a+b"},
        {"a+b", true, ALD_OK, "a b"},
        {"a%2Bb", true, ALD_OK, "a+b"},
        {"%2541", false, ALD_OK, "%41"}, /* once */
        {"%ff", false, ALD_OK, "\xff"},
        {"%C3%A9", false, ALD_OK, "\xc3\xa9"},
        {"%", false, ALD_MALFORMED, NULL},
        {"a%", false, ALD_MALFORMED, NULL},
        {"a%4", false, ALD_MALFORMED, NULL},
        {"%4g", false, ALD_MALFORMED, NULL},
        {"%g4", false, ALD_MALFORMED, NULL},
        {"% 4", false, ALD_MALFORMED, NULL},
        {"%-1", false, ALD_MALFORMED, NULL},
        {"%%41", false, ALD_MALFORMED, NULL},
        {"a%00b", false, ALD_MALFORMED, NULL},
        {"%u0041", false, ALD_MALFORMED, NULL},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_buf out;
        ald_buf_init(&out, 64);
        enum ald_rc rc = ald_percent_decode(ald_span_str(cases[i].in), cases[i].plus, &out);
        if (rc != cases[i].rc ||
            (rc == ALD_OK && !ald_span_eq_str(ald_buf_span(&out), cases[i].want)))
            fail_msg("\"%s\": %s \"%s\"", cases[i].in, ald_rc_name(rc), ald_buf_str(&out));
        ald_buf_free(&out);
    }
}

static void test_raw_nul_is_refused(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 64);
    assert_int_equal(ald_percent_decode(ald_span_of("a\0b", 3), false, &out), ALD_MALFORMED);
    ald_buf_free(&out);
}

static void test_bytes_behind_the_span_are_not_read(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 64);
    assert_int_equal(ald_percent_decode(ald_span_of("a%41", 3), false, &out), ALD_MALFORMED);
    ald_buf_free(&out);
}

static void test_no_room(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 2);
    assert_int_equal(ald_percent_decode(ald_span_str("%41%42"), false, &out), ALD_OK);
    ald_buf_reset(&out);
    assert_int_equal(ald_percent_decode(ald_span_str("abc"), false, &out), ALD_TOOBIG);
    assert_false(ald_buf_ok(&out));
    ald_buf_free(&out);
}

static void test_encode_and_back(void **state)
{
    (void)state;
    struct ald_buf text;
    struct ald_buf back;
    ald_buf_init(&text, 1000);
    ald_buf_init(&back, 1000);
    ald_percent_encode(&text, ald_span_str("a-Z_0.~ /?&=+%\xc3\xa9"));
    assert_string_equal(ald_buf_str(&text), "a-Z_0.~%20%2F%3F%26%3D%2B%25%C3%A9");
    ald_buf_reset(&text);
    uint8_t bytes[255];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i + 1);
    ald_percent_encode(&text, ald_span_of(bytes, sizeof bytes));
    assert_int_equal(ald_percent_decode(ald_buf_span(&text), true, &back), ALD_OK);
    assert_true(ald_span_eq(ald_buf_span(&back), ald_span_of(bytes, sizeof bytes)));
    ald_buf_free(&text);
    ald_buf_free(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_raw_nul_is_refused),
        cmocka_unit_test(test_bytes_behind_the_span_are_not_read),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_encode_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
