/* A numbering that is used by another one as well. guarantee 1 of GUARANTEES.md. */
#include "services/gateway/renumber.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool welcomed(struct renumber *run, uint64_t seen, bool renumber)
{
    const struct msg_welcome welcome = {.seen = seen, .renumber = renumber};
    return renumber_wanted(run, &welcome);
}

static void test_example(void **state)
{
    (void)state;
    struct renumber run = {.first = 100};
    assert_true(welcomed(&run, 100, false)); /* somebody has given what we would give */
}

static void test_a_new_range(void **state)
{
    (void)state;
    struct renumber run = {.first = 100};
    assert_false(welcomed(&run, 99, false));
}

static void test_our_own_numbers_are_seen_later(void **state)
{
    (void)state;
    struct renumber run = {.first = 100};
    assert_false(welcomed(&run, 0, false)); /* of an older tracker, or a new one */
    assert_false(welcomed(&run, 150, false));
}

static void test_a_later_run_speaks(void **state)
{
    (void)state;
    struct renumber run = {.first = 100};
    assert_false(welcomed(&run, 99, false));
    assert_true(welcomed(&run, 150, true));
}

static void test_one_that_gives_no_numbers(void **state)
{
    (void)state;
    struct renumber run = {.first = 0};
    assert_false(welcomed(&run, 1000, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_a_new_range),
        cmocka_unit_test(test_our_own_numbers_are_seen_later),
        cmocka_unit_test(test_a_later_run_speaks),
        cmocka_unit_test(test_one_that_gives_no_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
