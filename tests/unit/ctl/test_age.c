/* Lengths of time and progress, as people read them. */
#include "services/ctl/age.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "services/ctl/progress.h"

static void test_example(void **state)
{
    char text[AGE_TEXT_MAX];
    (void)state;
    assert_string_equal(age_text(300000, text), "5m");
}

static void test_ages(void **state)
{
    static const struct {
        int64_t ms;
        const char *want;
    } cases[] = {{-5, "0s"},           {0, "0s"},       {999, "999ms"},     {1000, "1s"},
                 {1500, "1500ms"},     {2999, "2s"},    {119999, "119s"},   {120000, "2m"},
                 {7199999, "119m"},    {7200000, "2h"}, {172799999, "47h"}, {172800000, "2d"},
                 {31536000000, "365d"}};
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char text[AGE_TEXT_MAX];
        assert_string_equal(age_text(cases[i].ms, text), cases[i].want);
    }
}

static void test_progress(void **state)
{
    char line[160];
    (void)state;
    progress_line(line, sizeof line, "copying", 1 << 20, 4 << 20, 2500, false);
    assert_string_equal(line, "copying: 25% of 4.0 MiB, 2s");
    progress_line(line, sizeof line, "copying", 2 << 20, 4 << 20, 0, true);
    assert_string_equal(line, "copying: [############............] 50% of 4.0 MiB, 0s");
    progress_line(line, sizeof line, "copying", 9 << 20, 4 << 20, 0, false);
    assert_string_equal(line, "copying: 100% of 4.0 MiB, 0s");
    progress_line(line, sizeof line, "backup", 3 << 20, 0, 61000, true);
    assert_string_equal(line, "backup: 3.0 MiB, 61s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example), cmocka_unit_test(test_ages),
                                       cmocka_unit_test(test_progress)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
