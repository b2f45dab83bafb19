#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "common/base/span.h"

static void test_example(void **state)
{
    (void)state;
    struct ald_span line = ald_span_trim(ald_span_str("  key: value\r\n"));
    size_t colon = ald_span_find(line, ':');
    assert_int_equal(colon, 3);
    assert_true(ald_span_eq_str(ald_span_trim(ald_span_skip(line, colon + 1)), "value"));
}

static void test_empty_spans(void **state)
{
    (void)state;
    struct ald_span none = ald_span_of(NULL, 0);
    assert_true(ald_span_eq(none, ald_span_str("")));
    assert_true(ald_span_eq_str(none, ""));
    assert_int_equal(ald_span_find(none, 'x'), 0);
    assert_int_equal(ald_span_trim(none).len, 0);
    assert_true(ald_span_starts(none, ""));
    assert_false(ald_span_starts(none, "x"));
    assert_int_equal(ald_span_skip(none, 0).len, 0);
}

static void test_trim(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *want;
    } cases[] = {
        {"", ""},    {" \t\r\n", ""},      {"a", "a"},     {" a", "a"},
        {"a ", "a"}, {"\r\na b\t", "a b"}, {"\va", "\va"}, {"\xc2\xa0", "\xc2\xa0"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        if (!ald_span_eq_str(ald_span_trim(ald_span_str(cases[i].in)), cases[i].want))
            fail_msg("case %zu: \"%s\"", i, cases[i].in);
    }
}

static void test_a_nul_is_a_byte(void **state)
{
    (void)state;
    struct ald_span a = ald_span_of("a\0b", 3);
    assert_false(ald_span_eq_str(a, "a"));
    assert_false(ald_span_eq(a, ald_span_of("a\0c", 3)));
    assert_true(ald_span_eq(a, ald_span_of("a\0b", 3)));
    assert_int_equal(ald_span_find(a, 'b'), 2);
    assert_int_equal(ald_span_find(a, 0), 1);
    assert_int_equal(ald_span_find(a, 'x'), 3);
}

static void test_starts(void **state)
{
    (void)state;
    assert_true(ald_span_starts(ald_span_str("Bearer x"), "Bearer "));
    assert_false(ald_span_starts(ald_span_str("Bear"), "Bearer "));
    assert_false(ald_span_starts(ald_span_str("bearer x"), "Bearer "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_empty_spans),
        cmocka_unit_test(test_trim),    cmocka_unit_test(test_a_nul_is_a_byte),
        cmocka_unit_test(test_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
