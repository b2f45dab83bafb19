/* How many rows at a time: as many as the time allows. */
#include "services/tracker/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/base/guard.h"

static void test_example(void **state)
{
    (void)state;
    struct pace pace = {.least = 64, .most = 4096, .rows = 1024};
    pace_took(&pace, 9, 3);
    assert_int_equal(pace.rows, 896);
    pace_took(&pace, 2, 3); /* as it should be */
    assert_int_equal(pace.rows, 896);
    pace_took(&pace, 0, 3);
    assert_int_equal(pace.rows, 1009);
}

/* Rows of a constant cost: it comes to rest where they take no longer than they may. */
static void test_it_settles(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t a_ms; /* rows in a millisecond */
        size_t least, most;
    } cases[] = {
        {"free", 100000, 4096, 4096},
        {"cheap", 1000, 1000, 4000},
        {"dear", 50, 64, 200},
        {"too dear", 1, 64, 64},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct pace pace = {.least = 64, .most = 4096, .rows = 1024};
        for (int n = 0; n < 100; n++)
            pace_took(&pace, (int64_t)(pace.rows / cases[i].a_ms), 3);
        if (pace.rows < cases[i].least || pace.rows > cases[i].most)
            fail_msg("%s: %zu rows", cases[i].name, pace.rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_it_settles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
