#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/base/guard.h"

static void test_example(void **state)
{
    (void)state;
    struct ald_buf buf;
    ald_buf_init(&buf, 64);
    ald_buf_put_str(&buf, "task ");
    ald_buf_printf(&buf, "%d of %s", 7, "two");
    ald_buf_put_byte(&buf, '.');
    assert_true(ald_buf_ok(&buf));
    assert_string_equal(ald_buf_str(&buf), "task 7 of two.");
    ald_buf_free(&buf);
}

static void test_empty_buffer(void **state)
{
    (void)state;
    struct ald_buf buf;
    ald_buf_init(&buf, 0);
    assert_string_equal(ald_buf_str(&buf), "");
    assert_int_equal(ald_buf_span(&buf).len, 0);
    ald_buf_put(&buf, NULL, 0);
    ald_buf_printf(&buf, "%s", "");
    assert_true(ald_buf_ok(&buf));
    ald_buf_put_byte(&buf, 'x');
    assert_false(ald_buf_ok(&buf));
    ald_buf_free(&buf);
    ald_buf_free(&buf);
    struct ald_buf zero = {0};
    assert_string_equal(ald_buf_str(&zero), "");
    ald_buf_free(&zero);
}

static void test_what_does_not_fit_is_left_out_whole(void **state)
{
    (void)state;
    struct ald_buf buf;
    ald_buf_init(&buf, 5);
    ald_buf_put_str(&buf, "abc");
    ald_buf_put_str(&buf, "def");
    assert_false(ald_buf_ok(&buf));
    ald_buf_put_byte(&buf, 'x'); /* a hole would be worse than an end */
    assert_string_equal(ald_buf_str(&buf), "abc");
    ald_buf_reset(&buf);
    assert_true(ald_buf_ok(&buf));
    ald_buf_put_str(&buf, "abcde");
    assert_true(ald_buf_ok(&buf));
    assert_string_equal(ald_buf_str(&buf), "abcde");
    ald_buf_printf(&buf, "%d", 1);
    assert_false(ald_buf_ok(&buf));
    assert_int_equal(buf.len, 5);
    ald_buf_free(&buf);
}

static void test_grows_and_holds_any_byte(void **state)
{
    (void)state;
    struct ald_buf buf;
    ald_buf_init(&buf, 100000);
    for (size_t i = 0; i < 100000; i++)
        ald_buf_put_byte(&buf, (uint8_t)(i % 251));
    assert_true(ald_buf_ok(&buf));
    struct ald_span span = ald_buf_span(&buf);
    assert_int_equal(span.len, 100000);
    for (size_t i = 0; i < span.len; i++)
        assert_int_equal(span.data[i], i % 251);
    ald_buf_free(&buf);
}

/* The maximum bounds the memory too, not only what is counted. */
static void test_memory_stays_near_the_maximum(void **state)
{
    (void)state;
    struct ald_buf buf;
    ald_buf_init(&buf, 1100);
    for (size_t i = 0; i < 1100; i++)
        ald_buf_put_byte(&buf, 'x');
    assert_true(ald_buf_ok(&buf));
    assert_in_range(buf.cap, 1100, 1101);
    ald_buf_free(&buf);
}

static void test_huge_length_is_refused(void **state)
{
    (void)state;
    struct ald_buf buf;
    ald_buf_init(&buf, SIZE_MAX);
    ald_buf_put_str(&buf, "abc");
    ald_buf_put(&buf, "x", SIZE_MAX);
    assert_false(ald_buf_ok(&buf));
    assert_string_equal(ald_buf_str(&buf), "abc");
    ald_buf_free(&buf);
}

static void test_free_keeps_the_maximum(void **state)
{
    (void)state;
    struct ald_buf buf;
    ald_buf_init(&buf, 3);
    ald_buf_put_str(&buf, "abcd");
    ald_buf_free(&buf);
    ald_buf_put_str(&buf, "abc");
    assert_true(ald_buf_ok(&buf));
    assert_string_equal(ald_buf_str(&buf), "abc");
    ald_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_empty_buffer),
        cmocka_unit_test(test_what_does_not_fit_is_left_out_whole),
        cmocka_unit_test(test_grows_and_holds_any_byte),
        cmocka_unit_test(test_memory_stays_near_the_maximum),
        cmocka_unit_test(test_huge_length_is_refused),
        cmocka_unit_test(test_free_keeps_the_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
