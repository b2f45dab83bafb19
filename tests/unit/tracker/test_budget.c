/* Who may go when, on a clock that the test sets: windows, gaps, the formula, shares, the breaker.
 */
#include "services/tracker/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "common/config/ruled.h"
#include "tests/unit/tracker/budget_of.h"

static void test_example(void **state)
{
    (void)state;
    const struct ald_profile profile = with((struct ald_budget){.requests = 2, .per_ms = 1000});
    struct budget budget;
    budget_init(&budget, &profile);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 0), 2);
    assert_int_equal(budget_when(&budget, BUDGET_ORDINARY, 10), 1000);
    assert_false(may(&budget, BUDGET_ORDINARY, 999));
    assert_true(may(&budget, BUDGET_ORDINARY, 1000));
    budget_free(&budget);
}

/* A request counts while it is under way and for `per` after it came back. */
static void test_window_edges(void **state)
{
    (void)state;
    const struct ald_profile profile = with((struct ald_budget){.requests = 3, .per_ms = 1000});
    struct budget budget;
    budget_init(&budget, &profile);
    for (int64_t at_ms = 0; at_ms < 300; at_ms += 100)
        assert_true(go(&budget, BUDGET_ORDINARY, at_ms));
    assert_false(may(&budget, BUDGET_ORDINARY, 5000)); /* all are under way */
    assert_true(budget_when(&budget, BUDGET_ORDINARY, 5000) == BUDGET_UNTOLD);
    budget_settle(&budget, BUDGET_ORDINARY, true, 5000);
    assert_int_equal(budget_when(&budget, BUDGET_ORDINARY, 5000), 6000);
    budget_settle(&budget, BUDGET_ORDINARY, false, 5100); /* never left: free at once */
    assert_true(go(&budget, BUDGET_ORDINARY, 5100));
    assert_false(may(&budget, BUDGET_ORDINARY, 5999));
    assert_true(go(&budget, BUDGET_ORDINARY, 6000));
    assert_false(may(&budget, BUDGET_ORDINARY, 6000));
    budget_free(&budget);
}

/* Whatever leases and answers do, no window of the provider sees more than the limit. */
static void test_no_window_sees_more(void **state)
{
    (void)state;
    enum { LIMIT = 7, PER = 500, FLIGHTS = 400 };
    static int64_t back_ms[FLIGHTS];
    static int64_t hit_ms[FLIGHTS];
    const struct ald_profile profile =
        with((struct ald_budget){.requests = LIMIT, .per_ms = PER, .hint_share = 20});
    struct budget budget;
    budget_init(&budget, &profile);
    size_t sent = 0;
    uint32_t luck = 12345;
    static enum budget_use use[FLIGHTS];
    for (int64_t now_ms = 0; sent < FLIGHTS && now_ms < 1000000; now_ms++) {
        for (size_t i = 0; i < sent; i++)
            if (back_ms[i] == now_ms)
                budget_settle(&budget, use[i], true, now_ms);
        enum budget_use now_use = (luck >> 8) % 3 == 0 ? BUDGET_HINTED : BUDGET_ORDINARY;
        luck = luck * 1664525 + 1013904223;
        if (!go(&budget, now_use, now_ms))
            continue;
        use[sent] = now_use;
        back_ms[sent] = now_ms + 1 + (int64_t)((luck >> 10) % 300);
        hit_ms[sent] = now_ms + (int64_t)((luck >> 20) % (uint32_t)(back_ms[sent] - now_ms));
        sent++;
    }
    assert_int_equal(sent, FLIGHTS);
    for (size_t i = 0; i < FLIGHTS; i++) {
        size_t seen = 0;
        for (size_t k = 0; k < FLIGHTS; k++)
            seen += hit_ms[k] >= hit_ms[i] && hit_ms[k] < hit_ms[i] + PER;
        assert_true(seen <= LIMIT);
    }
    budget_free(&budget);
}

static void test_min_gap(void **state)
{
    (void)state;
    const struct ald_profile profile = with((struct ald_budget){.min_gap_ms = 100});
    struct budget budget;
    budget_init(&budget, &profile);
    assert_true(go(&budget, BUDGET_ORDINARY, 1000));
    budget_settle(&budget, BUDGET_ORDINARY, true, 1010);
    assert_int_equal(budget_when(&budget, BUDGET_HINTED, 1010), 1100);
    assert_false(go(&budget, BUDGET_HINTED, 1099));
    assert_true(go(&budget, BUDGET_HINTED, 1100));
    budget_free(&budget);
}

static void test_formula(void **state)
{
    (void)state;
    const struct ald_profile profile =
        with((struct ald_budget){.formula = true, .each = 20, .base = 1200});
    struct budget budget;
    budget_init(&budget, &profile);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 0), 1200);
    assert_true(budget_when(&budget, BUDGET_ORDINARY, 1) == BUDGET_UNTOLD);
    budget_given(&budget);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 2), 20);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, INT64_C(1) << 40), 0); /* time gives nothing */
    assert_int_equal(budget_used(&budget, 0, BUDGET_ORDINARY, 2), 1220);
    budget_free(&budget);
}

/* Callbacks burn no more than their share, and it is there for them. */
static void test_hint_share(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct ald_budget rule;
        int64_t ordinary, hinted;
    } cases[] = {
        {"ten of a hundred", {.requests = 100, .per_ms = 1000, .hint_share = 10}, 90, 10},
        {"one at least", {.requests = 5, .per_ms = 1000, .hint_share = 10}, 4, 1},
        {"none of one", {.requests = 1, .per_ms = 1000, .hint_share = 10}, 1, 0},
        {"none asked for", {.requests = 50, .per_ms = 1000}, 50, 0},
        {"never all", {.requests = 10, .per_ms = 1000, .hint_share = 100}, 5, 5},
        {"formula", {.formula = true, .each = 20, .base = 1200, .hint_share = 10}, 1080, 120},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct ald_profile profile = with(cases[i].rule);
        struct budget budget;
        budget_init(&budget, &profile);
        assert_int_equal(budget_shares(&budget), cases[i].hinted > 0);
        int64_t hinted = cases[i].hinted > 0 ? burst(&budget, BUDGET_HINTED, 0) : 0;
        int64_t ordinary = burst(&budget, BUDGET_ORDINARY, 0);
        if (ordinary != cases[i].ordinary || hinted != cases[i].hinted)
            fail_msg("%s: %d and %d", cases[i].name, (int)ordinary, (int)hinted);
        budget_free(&budget);
    }
}

static void test_block_and_pause(void **state)
{
    (void)state;
    const struct ald_profile profile = with((struct ald_budget){.requests = 100, .per_ms = 10});
    struct budget budget;
    budget_init(&budget, &profile);
    budget_block(&budget, 300000, "ERROR: 1005");
    budget_block(&budget, 1000, "a shorter one takes nothing back");
    assert_string_equal(budget.blocked_why, "ERROR: 1005");
    assert_false(may(&budget, BUDGET_ORDINARY, 299999));
    assert_true(may(&budget, BUDGET_ORDINARY, 300000));
    budget_pause(&budget, true, 300000);
    assert_true(budget_when(&budget, BUDGET_ORDINARY, 400000) == BUDGET_UNTOLD);
    budget_pause(&budget, false, 400000);
    assert_int_equal(budget.resumed_ms, 400000);
    assert_true(may(&budget, BUDGET_ORDINARY, 400000));
    budget_free(&budget);
}

/* Opens after so many in a row, lets one probe go, waits longer after each that fails. */
static void test_breaker(void **state)
{
    (void)state;
    const struct ald_profile profile = {.name = "two",
                                        .schedule = {.every_ms = EVERY, .max_every_ms = MOST}};
    struct budget budget;
    budget_init(&budget, &profile);
    for (unsigned i = 1; i < BUDGET_TROUBLES; i++)
        assert_false(budget_told(&budget, i, BUDGET_TROUBLE, 0));
    assert_false(budget_told(&budget, 50, BUDGET_SANE, 0)); /* one good answer: from the start */
    for (unsigned i = 1; i < BUDGET_TROUBLES; i++)
        assert_false(budget_told(&budget, i, BUDGET_TROUBLE, 0));
    assert_false(budget_told(&budget, 51, BUDGET_NOTHING, 0));
    assert_true(budget_told(&budget, 52, BUDGET_TROUBLE, 0));
    assert_int_equal(budget.breaker, BREAKER_OPEN);
    static const int64_t waits_ms[] = {5000, 10000, 20000, 40000, 60000, 60000};
    int64_t now_ms = 0;
    for (size_t i = 0; i < ALD_COUNT(waits_ms); i++) {
        assert_false(budget_told(&budget, 1, BUDGET_TROUBLE, now_ms)); /* late ones move nothing */
        assert_int_equal(budget_when(&budget, BUDGET_ORDINARY, now_ms), now_ms + waits_ms[i]);
        now_ms += waits_ms[i];
        budget_take(&budget, BUDGET_ORDINARY, 1000 + i, now_ms);
        assert_int_equal(budget.breaker, BREAKER_HALF);
        assert_true(budget_when(&budget, BUDGET_HINTED, now_ms) == BUDGET_UNTOLD); /* one */
        assert_false(budget_told(&budget, 1000 + i, BUDGET_TROUBLE, now_ms));
        assert_int_equal(budget.breaker, BREAKER_OPEN);
    }
    now_ms += 60000;
    budget_take(&budget, BUDGET_ORDINARY, 2000, now_ms);
    assert_false(budget_told(&budget, 2000, BUDGET_NOTHING, now_ms)); /* handed back: another */
    assert_true(may(&budget, BUDGET_ORDINARY, now_ms));
    budget_take(&budget, BUDGET_ORDINARY, 2001, now_ms);
    assert_true(budget_told(&budget, 2001, BUDGET_SANE, now_ms));
    assert_int_equal(budget.breaker, BREAKER_CLOSED);
    assert_true(may(&budget, BUDGET_ORDINARY, now_ms));
    budget_free(&budget);
}

/* A profile that was read anew: what was counted stays with the name, whatever its limit is now. */
static void test_renew(void **state)
{
    (void)state;
    struct ald_profile old = with((struct ald_budget){.name = "a", .requests = 4, .per_ms = 1000});
    struct ald_profile fresh =
        with((struct ald_budget){.name = "b", .requests = 2, .per_ms = 1000});
    struct budget budget;
    budget_init(&budget, &old);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 0), 4);
    budget_block(&budget, 50, "WHY");
    budget_given(&budget);

    fresh.budgets.list[fresh.budgets.count++] = (struct ald_budget){
        .name = "a", .counts = ALD_COUNTS_POLL, .requests = 6, .per_ms = 1000, .hint_share = 50};
    assert_int_equal(budget_renew(&budget, &fresh), 2);
    assert_ptr_equal(budget.profile, &fresh);
    assert_int_equal(budget_used(&budget, 0, BUDGET_ORDINARY, 500), 0);
    assert_int_equal(budget_used(&budget, 1, BUDGET_ORDINARY, 500), 4);
    assert_int_equal(budget.blocked_until_ms, 50);
    assert_int_equal(budget.given, 1);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 999), 0);
    assert_int_equal(burst(&budget, BUDGET_HINTED, 999), 2); /* what b has left for them */

    budget_recount(&budget, BUDGET_ORDINARY); /* one is under way still */
    assert_int_equal(budget_renew(&budget, &old), 1);
    budget_recount(&budget, BUDGET_ORDINARY);
    assert_int_equal(budget_used(&budget, 0, BUDGET_ORDINARY, 1500), 1);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 1500), 3);
    budget_settle(&budget, BUDGET_ORDINARY, true, 1600);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 3000), 4);
    budget_free(&budget);
}

/* Each kind of request counts in the budgets that name it, and in no other. */
static void test_kinds(void **state)
{
    (void)state;
    static const unsigned bits[] = {ALD_COUNTS_POLL,  ALD_COUNTS_POLL,    ALD_COUNTS_SUBMIT,
                                    ALD_COUNTS_FETCH, ALD_COUNTS_BALANCE, ALD_COUNTS_REPORT};
    for (unsigned use = BUDGET_ORDINARY; use <= BUDGET_REPORT; use++) {
        for (unsigned k = 1; k < ALD_COUNT(bits); k++) {
            struct ald_profile profile =
                with((struct ald_budget){.requests = 1, .per_ms = 1000, .hint_share = 10});
            profile.budgets.list[0].counts = bits[k];
            struct budget budget;
            budget_init(&budget, &profile);
            assert_true(go(&budget, use, 0));
            bool counted = budget_used(&budget, 0, BUDGET_ORDINARY, 0) == 1;
            assert_int_equal(counted, bits[use] == bits[k]);
            assert_int_equal(may(&budget, use, 0), !counted);
            budget_settle(&budget, use, true, 0);
            assert_int_equal(budget_used(&budget, 0, BUDGET_ORDINARY, 0), counted);
            budget_free(&budget);
        }
    }
}

static struct ald_ruled fetching;

static struct ald_profile fetches(struct ald_budget rule)
{
    struct ald_profile profile = with(rule);
    fetching.stage[ALD_STAGE_FETCH].request.there = true;
    profile.budgets.list[0].counts = ALD_COUNTS_POLL | ALD_COUNTS_FETCH;
    profile.ruled = &fetching;
    return profile;
}

/* A poll and the fetch of its result go out in one lease: there is room for both, or it waits. */
static void test_a_fetch_is_a_second_request(void **state)
{
    (void)state;
    struct ald_profile profile = fetches((struct ald_budget){.requests = 7, .per_ms = 1000});
    struct budget budget;
    budget_init(&budget, &profile);
    for (int64_t at_ms = 0; at_ms < 300; at_ms += 100) {
        assert_true(go(&budget, BUDGET_ORDINARY, at_ms));
        assert_int_equal(budget_used(&budget, 0, BUDGET_ORDINARY, at_ms), 2 + at_ms / 50);
        budget_settle(&budget, BUDGET_ORDINARY, true, at_ms);
    }
    assert_false(may(&budget, BUDGET_ORDINARY, 300)); /* one is left, and two may be needed */
    assert_int_equal(budget_when(&budget, BUDGET_ORDINARY, 300), 1000);
    assert_true(go(&budget, BUDGET_ORDINARY, 1000));
    budget_settle_unfetched(&budget, BUDGET_ORDINARY, true, 1000);
    assert_int_equal(budget_used(&budget, 0, BUDGET_ORDINARY, 1000), 5);
    assert_true(go(&budget, BUDGET_ORDINARY, 1000));
    budget_settle(&budget, BUDGET_ORDINARY, false, 1000); /* it never left */
    assert_int_equal(budget_used(&budget, 0, BUDGET_ORDINARY, 1000), 5);
    budget_free(&budget);

    profile.budgets.list[0].counts = ALD_COUNTS_POLL;
    budget_init(&budget, &profile);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 0), 7);
    budget_free(&budget);
    profile.budgets.list[0].counts = ALD_COUNTS_FETCH;
    budget_init(&budget, &profile);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 0), 7);
    budget_free(&budget);
}

/* What is fetched is no stranger's doing: it goes beside the share for hints. */
static void test_a_fetch_beside_hints(void **state)
{
    (void)state;
    const struct ald_profile profile =
        fetches((struct ald_budget){.requests = 10, .per_ms = 1000, .hint_share = 30});
    struct budget budget;
    budget_init(&budget, &profile);
    assert_int_equal(burst(&budget, BUDGET_HINTED, 0), 3);
    assert_int_equal(budget_used(&budget, 0, BUDGET_HINTED, 0), 3);
    assert_int_equal(budget_used(&budget, 0, BUDGET_ORDINARY, 0), 3);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 0), 2);
    budget_free(&budget);
}

/* The formula's R is what the provider has seen; the gap runs from the fetch, which went later. */
static void test_a_fetch_in_formula_and_gap(void **state)
{
    (void)state;
    const struct ald_profile formula =
        fetches((struct ald_budget){.formula = true, .each = 4, .base = 3});
    const struct ald_profile gap = fetches((struct ald_budget){.min_gap_ms = 100});
    struct budget budget;
    budget_init(&budget, &formula);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 0), 1);
    budget_given(&budget);
    assert_int_equal(burst(&budget, BUDGET_ORDINARY, 0), 2);
    assert_int_equal(budget_used(&budget, 0, BUDGET_ORDINARY, 0), 6);
    budget_free(&budget);
    budget_init(&budget, &gap);
    assert_true(go(&budget, BUDGET_ORDINARY, 0));
    budget_settle(&budget, BUDGET_ORDINARY, true, 50);
    assert_int_equal(budget_when(&budget, BUDGET_ORDINARY, 50), 150);
    assert_true(go(&budget, BUDGET_ORDINARY, 150));
    budget_settle_unfetched(&budget, BUDGET_ORDINARY, true, 200);
    assert_int_equal(budget_when(&budget, BUDGET_ORDINARY, 200), 250);
    budget_free(&budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_window_edges),
        cmocka_unit_test(test_no_window_sees_more),
        cmocka_unit_test(test_min_gap),
        cmocka_unit_test(test_formula),
        cmocka_unit_test(test_hint_share),
        cmocka_unit_test(test_block_and_pause),
        cmocka_unit_test(test_breaker),
        cmocka_unit_test(test_renew),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_a_fetch_is_a_second_request),
        cmocka_unit_test(test_a_fetch_beside_hints),
        cmocka_unit_test(test_a_fetch_in_formula_and_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
