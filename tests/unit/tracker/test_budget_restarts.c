/* What a budget knows after a start: nothing is forgotten to the provider's harm, and a kill costs
 * little. */
#include "services/tracker/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/tracker/budget_of.h"

/* A clean stop costs nothing. */
static void test_example(void **state)
{
    (void)state;
    const struct ald_profile profile =
        with((struct ald_budget){.formula = true, .each = 20, .base = 1200});
    struct budget budget;
    struct budget_saved saved;
    budget_init(&budget, &profile);
    for (int i = 0; i < 100; i++)
        assert_true(go(&budget, BUDGET_ORDINARY, 0));
    budget_save(&budget, 0, false, 0, &saved);
    assert_int_equal(saved.used[BUDGET_ORDINARY], 100);
    assert_true(budget_when(&budget, BUDGET_ORDINARY, 0) == BUDGET_UNTOLD);
    budget_restore(&budget, 0, &saved, 5);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 5), 1100);
    budget_free(&budget);
}

/* Killed at any point: what was handed out before and after never exceeds the limit. */
static void test_restart_windows(void **state)
{
    (void)state;
    const struct ald_profile profile = with((struct ald_budget){.requests = 40, .per_ms = 1000});
    for (int64_t before = 0; before <= 40; before++) {
        struct budget budget;
        struct budget again;
        struct budget_saved saved = {0};
        budget_init(&budget, &profile);
        for (int64_t i = 0; i < before; i++) {
            if (budget_save_due(&budget, 0, 500))
                budget_save(&budget, 0, true, 500, &saved);
            assert_true(budget_when(&budget, BUDGET_ORDINARY, 500) <= 500);
            budget_take(&budget, BUDGET_ORDINARY, 1, 500);
        }
        budget_init(&again, &profile);
        budget_restore(&again, 0, &saved, 600);
        int64_t after = burst(&again, BUDGET_ORDINARY, 600);
        assert_true(before + after <= 40);
        assert_true(before + after >= 40 - 5);
        assert_int_equal(burst(&again, BUDGET_ORDINARY, 1599), 0);
        assert_int_equal(burst(&again, BUDGET_ORDINARY, 1600), 40);
        budget_free(&again);
        budget_free(&budget);
    }
}

/* Rule 15: a tracker that is killed twenty times does not poll twenty times the base. */
static void test_restart_formula(void **state)
{
    (void)state;
    const struct ald_profile profile =
        with((struct ald_budget){.formula = true, .each = 20, .base = 1200, .hint_share = 10});
    struct budget_saved saved = {0};
    int64_t polls = 0;
    for (unsigned life = 0; life < 20; life++) {
        struct budget budget;
        budget_init(&budget, &profile);
        budget_restore(&budget, 0, &saved, life * 1000);
        for (unsigned i = 0; i < 100; i++) {
            if (budget_save_due(&budget, 0, life * 1000))
                budget_save(&budget, 0, true, life * 1000, &saved);
            if (budget_when(&budget, BUDGET_ORDINARY, life * 1000) <= life * 1000) {
                budget_take(&budget, BUDGET_ORDINARY, 1, life * 1000);
                budget_settle(&budget, BUDGET_ORDINARY, true, life * 1000);
                polls++;
            }
        }
        budget_free(&budget);
    }
    assert_true(polls <= 1080);
    assert_true(polls > 500);
}

/* Killed again and again with little to do: each time costs a request of each part, not 64. */
static void test_restart_idle(void **state)
{
    (void)state;
    const struct ald_profile profile =
        with((struct ald_budget){.formula = true, .each = 20, .base = 1200, .hint_share = 10});
    struct budget_saved saved = {0};
    for (int64_t life = 0; life < 20; life++) {
        struct budget budget;
        int64_t now_ms = life * 10000;
        budget_init(&budget, &profile);
        budget_restore(&budget, 0, &saved, now_ms);
        for (int64_t at_ms = now_ms; at_ms < now_ms + 5000; at_ms += 10) {
            if (budget_save_due(&budget, 0, at_ms))
                budget_save(&budget, 0, true, at_ms, &saved);
            if (at_ms < now_ms + 2000 && at_ms % 200 == 0) { /* ten requests, then nothing */
                assert_true(budget_when(&budget, BUDGET_ORDINARY, at_ms) <= at_ms);
                budget_take(&budget, BUDGET_ORDINARY, 1, at_ms);
                budget_settle(&budget, BUDGET_ORDINARY, true, at_ms);
            }
        }
        budget_free(&budget);
    }
    assert_int_equal(saved.used[BUDGET_ORDINARY], 20 * 11);
    assert_int_equal(saved.used[BUDGET_HINTED], 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_restart_windows),
        cmocka_unit_test(test_restart_formula),
        cmocka_unit_test(test_restart_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
