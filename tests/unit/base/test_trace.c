/* Which texts are a traceparent: the examples of W3C Trace Context, and each way to spoil one. */
#include "common/base/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"

#define GOOD "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static void test_example(void **state)
{
    (void)state;
    assert_true(ald_trace_ok(ald_span_str(GOOD)));
    assert_true(
        ald_trace_ok(ald_span_str("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")));
}

static void test_none(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "00",
        GOOD "0",
        GOOD "-x",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
        "00-4bf92f3577b34da6a3ce929d0e0e4736/00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
    };
    for (size_t i = 0; i < ALD_COUNT(bad); i++)
        assert_false(ald_trace_ok(ald_span_str(bad[i])));
}

/* Any one byte that is changed into what stands nowhere in one. */
static void test_each_byte_counts(void **state)
{
    (void)state;
    char text[] = GOOD;
    for (size_t i = 0; i < sizeof text - 1; i++) {
        char was = text[i];
        text[i] = 'x';
        assert_false(ald_trace_ok(ald_span_str(text)));
        text[i] = was;
    }
    assert_true(ald_trace_ok(ald_span_str(text)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_each_byte_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
