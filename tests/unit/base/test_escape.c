#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "common/base/text.h"

static void test_example(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 100);
    ald_text_escape(&out, ald_span_str("two\nlevel=error \"x\""));
    assert_string_equal(ald_buf_str(&out), "two\\nlevel=error \\\"x\\\"");
    ald_buf_free(&out);
}

static void test_escape(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *want;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"\xc3\xa9 \xf0\x9f\x98\x80", "\xc3\xa9 \xf0\x9f\x98\x80"},
        {"\x1b[31m", "\\x1b[31m"},
        {"a\\b", "a\\\\b"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b", "\\xc2\\x9b"},          /* C1: a terminal's CSI */
        {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"}, /* line separator */
        {"\xe2\x80\xae", "\\xe2\\x80\\xae"}, /* right-to-left override */
        {"\xe2\x81\xa6", "\\xe2\\x81\\xa6"}, /* left-to-right isolate */
        {"\xff", "\\xff"},
        {"\xc3", "\\xc3"},
        {"\xc3(", "\\xc3("},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_buf out;
        ald_buf_init(&out, 100);
        ald_text_escape(&out, ald_span_str(cases[i].in));
        if (!ald_span_eq_str(ald_buf_span(&out), cases[i].want))
            fail_msg("case %zu: %s", i, ald_buf_str(&out));
        ald_buf_free(&out);
    }
}

/* People see no quotes around it; terminals are steered as little. */
static void test_shown(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 100);
    ald_text_show(&out, ald_span_str("a\\b \"c\" \x1b[2J\n\xff"));
    assert_string_equal(ald_buf_str(&out), "a\\b \"c\" \\x1b[2J\\n\\xff");
    ald_buf_free(&out);
}

static void test_no_byte_comes_through_that_ends_a_line(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        struct ald_buf out;
        ald_buf_init(&out, 100);
        uint8_t in[] = {(uint8_t)byte};
        ald_text_escape(&out, ald_span_of(in, 1));
        struct ald_span span = ald_buf_span(&out);
        assert_true(ald_text_utf8_ok(span));
        for (size_t i = 0; i < span.len; i++)
            assert_in_range(span.data[i], 0x20, 0x7e);
        ald_buf_free(&out);
    }
}

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        bool want;
    } cases[] = {
        {"", true},
        {"ascii", true},
        {"\xc2\x80", true},
        {"\xdf\xbf", true},
        {"\xe0\xa0\x80", true},
        {"\xed\x9f\xbf", true},
        {"\xee\x80\x80", true},
        {"\xef\xbf\xbf", true},
        {"\xf0\x90\x80\x80", true},
        {"\xf4\x8f\xbf\xbf", true},
        {"\x80", false},
        {"\xc0\x80", false},
        {"\xc1\xbf", false},
        {"\xe0\x9f\xbf", false},
        {"\xed\xa0\x80", false},
        {"\xed\xbf\xbf", false},
        {"\xf0\x8f\xbf\xbf", false},
        {"\xf4\x90\x80\x80", false},
        {"\xf5\x80\x80\x80", false},
        {"\xff", false},
        {"\xc3", false},
        {"\xe2\x82", false},
        {"\xf0\x9f\x98", false},
        {"\xc3\xc3", false},
        {"ok\xe2\x28\xa1", false},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        if (ald_text_utf8_ok(ald_span_str(cases[i].in)) != cases[i].want)
            fail_msg("case %zu", i);
    }
    assert_true(ald_text_utf8_ok(ald_span_of("\0", 1)));
    assert_true(ald_text_utf8_ok(ald_span_of(NULL, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_no_byte_comes_through_that_ends_a_line),
        cmocka_unit_test(test_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
