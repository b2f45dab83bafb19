/* Tasks and the budget of their account: queues, shares, what is held against whom. */
#include "tests/unit/tracker/pending_fixture.h"

static struct ald_profile within(struct ald_budget rule)
{
    struct ald_profile profile = two;
    rule.counts = ALD_COUNTS_POLL;
    profile.budgets = (struct ald_budgets){.count = 1, .list = {rule}};
    return profile;
}

static void save(pending_t *pending, const struct ald_profile *profile, int64_t now_ms)
{
    struct budget_saved saved;
    struct budget *budget = &pending_account(pending, profile)->budget;
    for (unsigned i = 0; i < budget->count; i++)
        if (budget_save_due(budget, i, now_ms))
            budget_save(budget, i, true, now_ms, &saved);
}

static struct pending_task *lease(pending_t *pending, const struct ald_profile *profile,
                                  int64_t now_ms)
{
    static uint64_t last = 1000;
    save(pending, profile, now_ms);
    return pending_lease(pending, 1, ++last, now_ms);
}

static void add_many(pending_t *pending, const struct ald_profile *profile, uint64_t count)
{
    for (uint64_t id = 1; id <= count; id++) {
        char provider_id[8];
        (void)snprintf(provider_id, sizeof provider_id, "%d", (int)id);
        (void)add(pending, id, profile, provider_id, 0);
    }
}

static void test_example(void **state)
{
    (void)state;
    const struct ald_profile profile = within((struct ald_budget){.requests = 2, .per_ms = 1000});
    pending_t *pending = made();
    add_many(pending, &profile, 3);
    assert_int_equal(due(pending, STALE, false), 0);
    struct pending_task *first = lease(pending, &profile, STALE);
    assert_non_null(first);
    assert_non_null(lease(pending, &profile, STALE));
    assert_null(lease(pending, &profile, STALE + 5000)); /* both are under way */
    struct pending_poll poll = not_ready;
    poll.lease = pending_looked(first)->lease;
    pending_polled(pending, first, &poll, STALE + 6000);
    assert_null(lease(pending, &profile, STALE + 6999));
    assert_int_equal(lease(pending, &profile, STALE + 7000)->id, 3);
    pending_destroy(&pending);
}

/* However a lease ends, its request is counted once and its place comes back. */
static void test_every_end_of_a_lease(void **state)
{
    (void)state;
    static const char *const ends[] = {"polled", "unsent", "returned", "gone", "ended"};
    const struct ald_profile profile = within((struct ald_budget){.requests = 1, .per_ms = 1000});
    for (size_t i = 0; i < ALD_COUNT(ends); i++) {
        pending_t *pending = made();
        add_many(pending, &profile, 2);
        assert_int_equal(due(pending, STALE, false), 0);
        struct pending_task *task = lease(pending, &profile, STALE);
        struct pending_poll poll = i == 0 ? not_ready : never_left;
        poll.lease = pending_looked(task)->lease;
        if (i < 2)
            pending_polled(pending, task, &poll, STALE + 10);
        else if (i == 2)
            pending_return(pending, task, STALE + 10);
        else if (i == 3)
            pending_poller_gone(pending, 1, STALE + 10);
        else
            pending_end(pending, &task, STALE + 10);
        bool free = lease(pending, &profile, STALE + 1009) != NULL;
        if (free != (i == 1))
            fail_msg("%s: %d", ends[i], free);
        if (!free)
            assert_non_null(lease(pending, &profile, STALE + 1010));
        assert_int_equal(pending_account(pending, &profile)->leased, 1);
        pending_destroy(&pending);
    }
}

/* Rule 3: ten tasks are hinted, one may go; the others go when they would have gone anyway. */
static void test_hints_have_a_share(void **state)
{
    (void)state;
    const struct ald_profile profile =
        within((struct ald_budget){.requests = 10, .per_ms = STALE, .hint_share = 10});
    pending_t *pending = made();
    add_many(pending, &profile, 10);
    for (uint64_t id = 1; id <= 10; id++)
        assert_true(pending_hint(pending, pending_find(pending, id), 100));
    struct pending_task *first = lease(pending, &profile, 100);
    assert_int_equal(first->id, 1);
    assert_null(lease(pending, &profile, 100));
    pending_end(pending, &first, 200);
    assert_int_equal(due(pending, STALE - 1, false), 0);
    assert_null(lease(pending, &profile, STALE - 1));
    assert_int_equal(due(pending, STALE, false), 0);
    for (unsigned i = 2; i <= 10; i++)
        assert_false(
            pending_looked(lease(pending, &profile, STALE))->hinted); /* it was due: it counts */
    assert_null(lease(pending, &profile, STALE));
    pending_destroy(&pending);
}

/* Rule 15: the poll that brought the block is not one of the task's own. */
static void test_a_block_is_not_held_against_the_task(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_task *task = add(pending, 1, &two, "5", 0);
    struct pending_poll banned = not_ready;
    banned.block = true;
    banned.wait_ms = 1000;
    banned.code = "ERROR: 1005";
    int64_t now_ms = STALE;
    for (unsigned i = 0; i < 4 * MAX_REQUESTS; i++) {
        assert_int_equal(due(pending, now_ms, false), 0);
        assert_ptr_equal(pending_lease(pending, 1, 1, now_ms), task);
        pending_polled(pending, task, &banned, now_ms);
        now_ms = pending_due_ms(pending, task);
    }
    assert_int_equal(pending_looked(task)->requests, 0);
    assert_string_equal(pending_account_at(pending, 0)->budget.blocked_why, "ERROR: 1005");
    pending_destroy(&pending);
}

static void test_a_pause_holds_deadlines(void **state)
{
    (void)state;
    pending_t *pending = made();
    (void)add(pending, 1, &two, "5", 0);
    (void)add(pending, 2, &other, "6", 0);
    struct budget *budget = &pending_account(pending, &two)->budget;
    budget_pause(budget, true, 10);
    assert_int_equal(due(pending, GIVE_UP + GRACE, false), 1); /* of the other provider */
    assert_null(pending_find(pending, 2));
    assert_int_equal(due(pending, 10 * GIVE_UP, false), 0);
    assert_null(pending_lease(pending, 1, 1, 10 * GIVE_UP));
    budget_pause(budget, false, 10 * GIVE_UP);
    assert_int_equal(due(pending, 10 * GIVE_UP + GRACE - 1, false), 0);
    assert_non_null(pending_lease(pending, 1, 1, 10 * GIVE_UP)); /* it is polled first */
    pending_return(pending, pending_find(pending, 1), 10 * GIVE_UP);
    assert_int_equal(due(pending, 10 * GIVE_UP + GRACE + 10000, false), 1);
    pending_destroy(&pending);
}

/* A task that is only waited for has no use for a poll: a pause does not keep it. */
static void test_a_pause_keeps_nothing_else(void **state)
{
    (void)state;
    pending_t *pending = made();
    (void)add(pending, 1, &mute, "5", 0);
    budget_pause(&pending_account(pending, &mute)->budget, true, 10);
    assert_int_equal(due(pending, GIVE_UP, false), 1);
    pending_destroy(&pending);
}

static void test_budget_of_a_task(void **state)
{
    (void)state;
    const struct ald_profile profile =
        within((struct ald_budget){.per_task = true, .requests = 2, .min_gap_ms = 20000});
    pending_t *pending = made();
    struct pending_task *task = add(pending, 1, &profile, "5", 0);
    int64_t now_ms = STALE;
    for (uint64_t i = 1; i <= 2; i++) {
        assert_int_equal(due(pending, now_ms, false), 0);
        assert_ptr_equal(pending_lease(pending, 1, i, now_ms), task);
        struct pending_poll poll = not_ready;
        poll.lease = i;
        pending_polled(pending, task, &poll, now_ms);
        assert_false(pending_hint(pending, task, now_ms + 19999));
        if (i == 1)
            assert_int_equal(pending_due_ms(pending, task), now_ms + 20000);
        now_ms += 20000;
    }
    assert_false(pending_hint(pending, task, now_ms + 20000)); /* it has had its two */
    assert_int_equal(due(pending, GIVE_UP - 1, false), 0);
    assert_null(pending_lease(pending, 1, 3, GIVE_UP - 1));
    pending_destroy(&pending);
}

/* Ten tasks in a row hear nothing: then one at a time finds out. */
static void test_breaker(void **state)
{
    (void)state;
    pending_t *pending = made();
    add_many(pending, &two, 20);
    assert_int_equal(due(pending, STALE, false), 0);
    struct pending_poll trouble = no_answer;
    trouble.sign = BUDGET_TROUBLE;
    for (uint64_t i = 1; i <= BUDGET_TROUBLES; i++) {
        struct pending_task *task = pending_lease(pending, 1, i, STALE);
        trouble.lease = i;
        pending_polled(pending, task, &trouble, STALE);
    }
    assert_null(pending_lease(pending, 1, 50, STALE + EVERY - 1));
    struct pending_task *probe = pending_lease(pending, 1, 50, STALE + EVERY);
    assert_non_null(probe);
    assert_null(pending_lease(pending, 1, 51, STALE + EVERY));
    pending_end(pending, &probe, STALE + EVERY); /* its callback came: another one finds out */
    probe = pending_lease(pending, 1, 52, STALE + EVERY);
    assert_non_null(probe);
    struct pending_poll sane = not_ready;
    sane.lease = 52;
    sane.sign = BUDGET_SANE;
    pending_polled(pending, probe, &sane, STALE + EVERY + 5);
    assert_non_null(pending_lease(pending, 1, 53, STALE + EVERY + 5));
    assert_non_null(pending_lease(pending, 1, 54, STALE + EVERY + 5));
    pending_destroy(&pending);
}

/* When a queued task may go is known to the millisecond, where that is a matter of time. */
static void test_when_the_next_may_go(void **state)
{
    (void)state;
    const struct ald_profile profile = within((struct ald_budget){.requests = 2, .per_ms = 1000});
    pending_t *pending = made();
    add_many(pending, &profile, 3);
    assert_int_equal(pending_next_ms(pending), STALE);
    assert_int_equal(pending_ready_ms(pending, 0), INT64_MAX); /* none is queued */
    assert_int_equal(due(pending, STALE, false), 0);
    assert_true(pending_ready_ms(pending, STALE) <= STALE); /* a mark is to be written */
    struct pending_task *first = lease(pending, &profile, STALE);
    assert_true(pending_ready_ms(pending, STALE) <= STALE);
    assert_non_null(lease(pending, &profile, STALE));
    assert_true(pending_ready_ms(pending, STALE) <= STALE); /* nobody can say */
    struct pending_poll poll = not_ready;
    poll.lease = pending_looked(first)->lease;
    pending_polled(pending, first, &poll, STALE + 6000);
    save(pending, &profile, STALE + 6000);
    assert_int_equal(pending_ready_ms(pending, STALE + 6000), STALE + 7000);
    assert_null(lease(pending, &profile, STALE + 6999));
    assert_non_null(lease(pending, &profile, STALE + 7000));
    assert_int_equal(pending_ready_ms(pending, STALE + 7000), INT64_MAX);
    pending_destroy(&pending);
}

static void test_when_a_block_is_over(void **state)
{
    (void)state;
    pending_t *pending = made();
    add_many(pending, &two, 1);
    assert_int_equal(due(pending, STALE, false), 0);
    assert_true(pending_ready_ms(pending, STALE) <= STALE);
    budget_block(&pending_account(pending, &two)->budget, STALE + 300000, "BANNED");
    assert_int_equal(pending_ready_ms(pending, STALE), STALE + 300000);
    assert_null(lease(pending, &two, STALE + 299999));
    assert_non_null(lease(pending, &two, STALE + 300000));
    pending_destroy(&pending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_every_end_of_a_lease),
        cmocka_unit_test(test_hints_have_a_share),
        cmocka_unit_test(test_a_block_is_not_held_against_the_task),
        cmocka_unit_test(test_a_pause_holds_deadlines),
        cmocka_unit_test(test_a_pause_keeps_nothing_else),
        cmocka_unit_test(test_budget_of_a_task),
        cmocka_unit_test(test_breaker),
        cmocka_unit_test(test_when_the_next_may_go),
        cmocka_unit_test(test_when_a_block_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
