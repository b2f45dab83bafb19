/* A question that is asked until it is answered. */
#include "common/client/ask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_example(void **state)
{
    (void)state;
    struct ask ask = {0};
    assert_true(ask_due(&ask, 1000));
    ask_sent(&ask, 7, 1000, 0);
    assert_false(ask_due(&ask, 1000));
    assert_int_equal(ask.req, 7);
    ask_done(&ask);
    assert_true(ask_due(&ask, 1000));
    assert_int_equal(ask_wakes_ms(&ask), INT64_MAX);
}

static void test_lost(void **state)
{
    (void)state;
    static const int64_t wants_ms[] = {2000, 4000, 8000, 16000, 16000};
    struct ask ask = {0};
    for (size_t i = 0; i < sizeof wants_ms / sizeof wants_ms[0]; i++) {
        ask_sent(&ask, i + 1, 0, 500);
        assert_int_equal(ask_wakes_ms(&ask), wants_ms[i] + 500);
        assert_false(ask_overdue(&ask, wants_ms[i] + 499));
        assert_true(ask_overdue(&ask, wants_ms[i] + 500));
        assert_false(ask_overdue(&ask, wants_ms[i] + 500));
        assert_true(ask_due(&ask, wants_ms[i] + 500));
    }
}

static void test_busy(void **state)
{
    (void)state;
    struct ask ask = {0};
    ask_sent(&ask, 1, 0, 0);
    ask_busy(&ask, 100);
    assert_false(ask_due(&ask, 299));
    assert_int_equal(ask_wakes_ms(&ask), 300);
    assert_true(ask_due(&ask, 300));
    ask_sent(&ask, 2, 300, 0);
    ask_busy(&ask, 300);
    assert_false(ask_due(&ask, 699));
    ask_reset(&ask);
    assert_true(ask_due(&ask, 300));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
