#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/backoff.h"
#include "common/base/guard.h"

static const struct ald_backoff doubling = {
    .first_ms = 1000, .percent = 200, .max_ms = 60000, .jitter_percent = 0};

static void test_example(void **state)
{
    (void)state;
    assert_int_equal(ald_backoff_wait(&doubling, 0, 0), 1000);
    assert_int_equal(ald_backoff_wait(&doubling, 1, 0), 2000);
    assert_int_equal(ald_backoff_wait(&doubling, 5, 0), 32000);
    assert_int_equal(ald_backoff_wait(&doubling, 6, 0), 60000);
}

static void test_waits(void **state)
{
    (void)state;
    static const struct {
        struct ald_backoff backoff;
        unsigned attempt;
        int64_t want;
    } cases[] = {
        {{1000, 100, 60000, 0}, 1000000, 1000},
        {{1000, 0, 60000, 0}, 9, 1000},
        {{1000, 50, 60000, 0}, 9, 1000},
        {{1000, 150, 60000, 0}, 2, 2250},
        {{90000, 200, 60000, 0}, 0, 60000},
        {{0, 200, 60000, 0}, 9, 0},
        {{-5, 200, 60000, 0}, 3, 0},
        {{1000, 200, 60000, 0}, UINT32_MAX, 60000},
        {{1, 101, 60000, 0},
         UINT32_MAX,
         1}, /* too small to grow: and at once, not after 2^32 steps */
        {{1000, UINT32_MAX, 60000, 0}, 1, 60000},
        {{1000, 200, 0, 0}, 3, 8000},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        int64_t got = ald_backoff_wait(&cases[i].backoff, cases[i].attempt, 12345);
        if (got != cases[i].want)
            fail_msg("case %zu: %lld", i, (long long)got);
    }
}

static void test_never_overflows(void **state)
{
    (void)state;
    static const struct ald_backoff wild = {.first_ms = INT64_MAX,
                                            .percent = UINT32_MAX,
                                            .max_ms = INT64_MAX,
                                            .jitter_percent = UINT32_MAX};
    static const struct ald_backoff unbounded = {
        .first_ms = 1, .percent = 200, .jitter_percent = 100};
    for (unsigned attempt = 0; attempt < 200; attempt++) {
        assert_true(ald_backoff_wait(&wild, attempt, UINT64_MAX) >= 0);
        assert_true(ald_backoff_wait(&wild, attempt, 0) >= 0);
        assert_true(ald_backoff_wait(&unbounded, attempt, UINT64_MAX) >= 0);
    }
}

static void test_jitter_spreads_within_its_share(void **state)
{
    (void)state;
    struct ald_backoff backoff = doubling;
    backoff.jitter_percent = 20;
    int64_t least = INT64_MAX;
    int64_t most = 0;
    for (uint64_t random = 0; random < 100000; random++) {
        int64_t wait = ald_backoff_wait(&backoff, 2, random * UINT64_C(0x9E3779B97F4A7C15));
        assert_in_range(wait, 3200, 4800);
        least = wait < least ? wait : least;
        most = wait > most ? wait : most;
    }
    assert_true(least < 3300 && most > 4700);
}

/* At the maximum, where all of a long failure meet, they must not meet at the same moment. */
static void test_jitter_spreads_at_the_maximum(void **state)
{
    (void)state;
    struct ald_backoff backoff = doubling;
    backoff.jitter_percent = 20;
    size_t at_maximum = 0;
    for (uint64_t random = 0; random < 10000; random++) {
        int64_t wait = ald_backoff_wait(&backoff, 50, random * UINT64_C(0x9E3779B97F4A7C15));
        assert_in_range(wait, 48000, 60000);
        at_maximum += wait == 60000;
    }
    assert_true(at_maximum < 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_never_overflows),
        cmocka_unit_test(test_jitter_spreads_within_its_share),
        cmocka_unit_test(test_jitter_spreads_at_the_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
