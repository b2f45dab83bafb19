#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/guard.h"

static void test_example(void **state)
{
    (void)state;
    char text[ALD_CLOCK_TEXT_MAX];
    ald_clock_rfc3339(INT64_C(1767225600000), text);
    assert_string_equal(text, "2026-01-01T00:00:00.000Z");
}

static void test_rfc3339(void **state)
{
    (void)state;
    static const struct {
        int64_t wall_ms;
        const char *want;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1, "1970-01-01T00:00:00.001Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {INT64_C(1709210096789), "2024-02-29T12:34:56.789Z"},
        {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
        {INT64_C(253402300800000), "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
        {INT64_C(-62167219200000), "0000-01-01T00:00:00.000Z"},
        {INT64_C(-62167219200001), "0000-01-01T00:00:00.000Z"},
        {INT64_MIN, "0000-01-01T00:00:00.000Z"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char text[ALD_CLOCK_TEXT_MAX];
        ald_clock_rfc3339(cases[i].wall_ms, text);
        if (strcmp(text, cases[i].want) != 0)
            fail_msg("%lld: %s", (long long)cases[i].wall_ms, text);
    }
}

static void test_mono_never_goes_back(void **state)
{
    (void)state;
    struct ald_now before = ald_clock_now();
    assert_true(before.wall_ms > INT64_C(1767225600000)); /* this was written after 2026 began */
    for (int i = 0; i < 10000; i++) {
        struct ald_now now = ald_clock_now();
        assert_true(now.mono_ms >= before.mono_ms);
        assert_true(ald_clock_mono_ms() >= now.mono_ms);
        before = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_rfc3339),
        cmocka_unit_test(test_mono_never_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
