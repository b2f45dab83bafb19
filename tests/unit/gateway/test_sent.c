#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "services/gateway/sent.h"

static struct sent sent;

static int setup(void **state)
{
    (void)state;
    sent = (struct sent){0};
    return 0;
}

static void test_example(void **state)
{
    (void)state;
    sent_add(&sent, 7, 100, 200);
    assert_true(sent_holds(&sent, 7, 199));
    assert_false(sent_holds(&sent, 7, 200));
    assert_false(sent_holds(&sent, 8, 100));
    sent_clear(&sent);
    assert_false(sent_holds(&sent, 7, 100));
}

/* More than can be remembered: all wait, for as long as the last of them would. */
static void test_too_many(void **state)
{
    (void)state;
    for (uint64_t num = 1; num <= SENT_MAX; num++)
        sent_add(&sent, num, 0, 100);
    assert_false(sent_holds(&sent, SENT_MAX + 5, 50));
    sent_add(&sent, SENT_MAX + 1, 10, 110);
    assert_true(sent_holds(&sent, SENT_MAX + 1, 109));
    assert_true(sent_holds(&sent, SENT_MAX + 5, 109));
    assert_false(sent_holds(&sent, SENT_MAX + 1, 110));
}

static void test_places_of_old_ones_are_used_again(void **state)
{
    (void)state;
    for (uint64_t num = 1; num <= SENT_MAX; num++)
        sent_add(&sent, num, 0, 100);
    sent_add(&sent, 5000, 100, 300);
    assert_true(sent_holds(&sent, 5000, 299));
    assert_false(sent_holds(&sent, 6000, 200));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_example, setup),
        cmocka_unit_test_setup(test_too_many, setup),
        cmocka_unit_test_setup(test_places_of_old_ones_are_used_again, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
