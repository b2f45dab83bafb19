/* When a sink is left alone, and how it comes back. */
#include "services/tracker/consumers/sink_breaker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct ald_backoff WAITS = {.first_ms = 100, .percent = 200, .max_ms = 300};

static void fails(struct sink_breaker *breaker, int64_t now_ms, unsigned count)
{
    while (count-- > 0)
        sink_breaker_failed(breaker, &WAITS, 0, now_ms);
}

static void test_example(void **state)
{
    (void)state;
    struct sink_breaker breaker = {0};
    fails(&breaker, 1000, SINK_BREAKER_FAILURES - 1);
    assert_true(sink_breaker_may(&breaker, 7, 1000));
    fails(&breaker, 1000, 1);
    assert_true(sink_breaker_open(&breaker));
    assert_false(sink_breaker_may(&breaker, 0, 1099));
    assert_true(sink_breaker_may(&breaker, 0, 1100));
    assert_false(sink_breaker_may(&breaker, 1, 1100)); /* one at a time */
    sink_breaker_taken(&breaker);
    assert_true(sink_breaker_may(&breaker, 7, 1100));
    assert_false(sink_breaker_open(&breaker));
}

/* Failures that are not in a row are those of some events. */
static void test_one_that_is_taken_in_between(void **state)
{
    (void)state;
    struct sink_breaker breaker = {0};
    for (int i = 0; i < 10; i++) {
        fails(&breaker, 1000, SINK_BREAKER_FAILURES - 1);
        sink_breaker_taken(&breaker);
    }
    assert_false(sink_breaker_open(&breaker));
}

/* The waits grow by probes that fail, to their bound, and not by posts that were under way. */
static void test_probes(void **state)
{
    (void)state;
    static const int64_t at[] = {1000, 1100, 1300, 1600, 1900};
    struct sink_breaker breaker = {.failures = SINK_BREAKER_FAILURES - 1};
    for (size_t i = 0; i + 1 < sizeof at / sizeof at[0]; i++) {
        fails(&breaker, at[i], 1);
        fails(&breaker, at[i] + 1, 16);
        assert_false(sink_breaker_may(&breaker, 0, at[i + 1] - 1));
        assert_true(sink_breaker_may(&breaker, 0, at[i + 1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example),
                                       cmocka_unit_test(test_one_that_is_taken_in_between),
                                       cmocka_unit_test(test_probes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
