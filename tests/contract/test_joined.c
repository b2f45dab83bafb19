#include "proto/joined.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"

static void test_example(void **state)
{
    (void)state;
    struct ald_buf frame;
    struct ald_span item;
    ald_buf_init(&frame, ALD_JOINED_MAX);
    ald_joined_add(&frame, ald_span_str("one"));
    ald_joined_add(&frame, ald_span_str("three"));
    struct ald_span left = ald_buf_span(&frame);
    assert_true(ald_joined_next(&left, &item));
    assert_true(ald_span_eq_str(item, "one"));
    assert_true(ald_joined_next(&left, &item));
    assert_true(ald_span_eq_str(item, "three"));
    assert_false(ald_joined_next(&left, &item));
    ald_buf_free(&frame);
}

/* The bytes that other programs write and read. */
static void test_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct ald_span frame;
        size_t count;
        const char *items[3];
    } cases[] = {
        {"none", {NULL, 0}, 0, {0}},
        {"one by itself", {(const uint8_t *)"\x81\xa1k", 3}, 1, {"\x81\xa1k"}},
        {"two", {(const uint8_t *)"\xc6\0\0\0\1a\xc6\0\0\0\2bc", 13}, 2, {"a", "bc"}},
        {"an empty one", {(const uint8_t *)"\xc6\0\0\0\0\xc6\0\0\0\1b", 11}, 2, {"", "b"}},
        {"cut in its bytes",
         {(const uint8_t *)"\xc6\0\0\0\1a\xc6\1\1\1\2bc", 13},
         2,
         {"a", "\xc6\1\1\1\2bc"}},
        {"cut in its head", {(const uint8_t *)"\xc6\0\0\0\1a\xc6\1", 8}, 2, {"a", "\xc6\1"}},
        {"something else behind", {(const uint8_t *)"\xc6\0\0\0\1axy", 8}, 2, {"a", "xy"}},
        {"a length of all bits",
         {(const uint8_t *)"\xc6\xff\xff\xff\xff", 5},
         1,
         {"\xc6\xff\xff\xff\xff"}},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_span left = cases[i].frame;
        struct ald_span item;
        size_t count = 0;
        for (; ald_joined_next(&left, &item); count++)
            if (count >= cases[i].count || !ald_span_eq_str(item, cases[i].items[count]))
                fail_msg("%s: item %zu", cases[i].name, count);
        if (count != cases[i].count)
            fail_msg("%s: %zu items", cases[i].name, count);
    }
}

static void test_a_frame_is_bounded(void **state)
{
    (void)state;
    static uint8_t bytes[ALD_JOINED_MAX];
    struct ald_buf frame;
    const size_t most = ALD_JOINED_MAX - ALD_JOINED_HEAD;
    ald_buf_init(&frame, ALD_JOINED_MAX);
    assert_false(ald_joined_fits(&frame, ald_span_of(bytes, most + 1)));
    assert_true(ald_joined_fits(&frame, ald_span_of(bytes, most)));
    ald_joined_add(&frame, ald_span_of(bytes, most - ALD_JOINED_HEAD));
    assert_true(ald_joined_fits(&frame, ald_span_of(bytes, 0)));
    assert_false(ald_joined_fits(&frame, ald_span_of(bytes, 1)));
    ald_joined_add(&frame, ald_span_of(bytes, 0));
    assert_true(ald_buf_ok(&frame));
    assert_int_equal(frame.len, ALD_JOINED_MAX);
    ald_buf_free(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_a_frame_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
