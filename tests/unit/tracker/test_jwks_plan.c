/* When public keys are fetched: a pure function of what is known and of the time. */
#include "services/tracker/jwks_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/base/guard.h"

enum { CACHE_MS = 100000, START_MS = 5000 };

static void test_example(void **state)
{
    (void)state;
    struct jwks_plan plan = {.cache_ms = CACHE_MS, .first_ms = START_MS};
    assert_int_equal(jwks_plan_due(&plan, 0), START_MS);
    jwks_plan_asked(&plan, START_MS);
    jwks_plan_ended(&plan, true);
    assert_int_equal(jwks_plan_due(&plan, 0), START_MS + CACHE_MS);
    assert_int_equal(jwks_plan_due(&plan, 10), START_MS + CACHE_MS - CACHE_MS / 10);
    plan.missed = true; /* a gateway met a callback that no key is good for */
    assert_true(jwks_plan_due(&plan, 0) <= START_MS);
}

static const struct {
    const char *name;
    int64_t fetched_at_ms;
    int64_t want;
} first_cases[] = {
    {"none are there", 0, 70},
    {"fetched long ago", 1000000, 70},
    {"fetched just now", 9999000, 70 + JWKS_GAP_MS - 1000},
    {"fetched a minute ago", 10000000 - JWKS_GAP_MS, 70},
    {"fetched in the future: the clock was set back", 10000001, 70},
};

static void test_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(first_cases); i++)
        if (jwks_plan_first(70, 10000000, first_cases[i].fetched_at_ms) != first_cases[i].want)
            fail_msg("%s", first_cases[i].name);
}

static const struct {
    const char *name;
    struct jwks_plan plan;
    int64_t least;
    int64_t most;
} due_cases[] = {
    {"the first failure", {.cache_ms = CACHE_MS, .asked_ms = 1000, .failures = 1}, 5000, 7000},
    {"the second one", {.cache_ms = CACHE_MS, .asked_ms = 1000, .failures = 2}, 9000, 13000},
    {"the hundredth one",
     {.cache_ms = CACHE_MS, .asked_ms = 1000, .failures = 100},
     1000 + JWKS_BACKOFF_MAX_MS * 8 / 10,
     1000 + JWKS_BACKOFF_MAX_MS},
    {"a key is missing for the first time",
     {.cache_ms = CACHE_MS, .asked_ms = 1000, .missed = true},
     0,
     1000},
    {"and again a moment later",
     {.cache_ms = CACHE_MS, .asked_ms = 2000, .hurried_ms = 2000, .missed = true},
     2000 + JWKS_GAP_MS,
     2000 + JWKS_GAP_MS},
    {"what is missing is not asked for later than usual",
     {.cache_ms = 1000, .asked_ms = 2000, .hurried_ms = 2000, .missed = true},
     2900,
     3000},
    {"what is missing is asked for through long failures",
     {.cache_ms = CACHE_MS, .asked_ms = 2000, .hurried_ms = 2000, .failures = 100, .missed = true},
     2000 + JWKS_GAP_MS,
     2000 + JWKS_GAP_MS},
    {"a longest time that is kept",
     {.cache_ms = INT64_C(365) * 86400000, .asked_ms = 1},
     INT64_C(365) * 86400000 / 10 * 9,
     INT64_C(365) * 86400000 + 1},
};

static void test_due(void **state)
{
    (void)state;
    static const uint64_t randoms[] = {0, 1, 7, 10, 4711, UINT64_MAX};
    for (size_t i = 0; i < ALD_COUNT(due_cases); i++)
        for (size_t k = 0; k < ALD_COUNT(randoms); k++) {
            int64_t due_ms = jwks_plan_due(&due_cases[i].plan, randoms[k]);
            if (due_ms < due_cases[i].least || due_ms > due_cases[i].most)
                fail_msg("%s: %lld", due_cases[i].name, (long long)due_ms);
        }
}

/* A stranger's flood of forged callbacks is a fetch a minute, whatever comes of each. */
static void test_a_flood(void **state)
{
    (void)state;
    struct jwks_plan plan = {.cache_ms = CACHE_MS * 100, .first_ms = 1};
    unsigned fetches = 0;
    for (int64_t now_ms = 1; now_ms < 10 * JWKS_GAP_MS; now_ms += 20) {
        plan.missed = true;
        if (jwks_plan_due(&plan, 0) > now_ms)
            continue;
        fetches++;
        jwks_plan_asked(&plan, now_ms);
        jwks_plan_ended(&plan, true);
    }
    assert_in_range(fetches, 10, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example), cmocka_unit_test(test_first),
                                       cmocka_unit_test(test_due), cmocka_unit_test(test_a_flood)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
