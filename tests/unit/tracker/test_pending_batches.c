/* Several tasks in one request: who rides with whom, and what it costs. */
#include "services/tracker/pending_batch.h"
#include "services/tracker/pending_figures.h"
#include "tests/unit/tracker/pending_fixture.h"

enum { BATCH = 4, PER = 1000 };

/* One request in PER ms, for at most BATCH tasks. */
static struct ald_profile sparing(void)
{
    struct ald_profile profile = two;
    profile.batch.max = BATCH;
    profile.budgets = (struct ald_budgets){
        .count = 1, .list = {{.requests = 1, .per_ms = PER, .counts = ALD_COUNTS_POLL}}};
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

static pending_t *with_tasks(const struct ald_profile *profile, uint64_t count)
{
    pending_t *pending = made();
    for (uint64_t id = 1; id <= count; id++) {
        char provider_id[8];
        (void)snprintf(provider_id, sizeof provider_id, "%d", (int)id);
        (void)add(pending, id, profile, provider_id, 0);
    }
    assert_int_equal(due(pending, STALE, false), 0);
    save(pending, profile, STALE);
    return pending;
}

/* Lease a request: the tasks it asks for, NULL-ended. Lease numbers begin at first. */
static size_t lease_all(pending_t *pending, uint64_t first, int64_t now_ms,
                        struct pending_task *out[BATCH + 1])
{
    size_t count = 0;
    out[0] = pending_lease(pending, 1, first, now_ms);
    while (out[count]) {
        count++;
        out[count] = pending_lease_with(pending, out[0], first + count, now_ms);
    }
    return count;
}

static void polled(pending_t *pending, struct pending_task *task, struct pending_poll poll,
                   int64_t now_ms)
{
    poll.lease = pending_looked(task)->lease;
    pending_polled(pending, task, &poll, now_ms);
}

static struct budget *budget_of(pending_t *pending, const struct ald_profile *profile)
{
    return &pending_account(pending, profile)->budget;
}

static void test_example(void **state)
{
    (void)state;
    const struct ald_profile profile = sparing();
    pending_t *pending = with_tasks(&profile, 6);
    struct pending_task *task[BATCH + 1];
    assert_int_equal(lease_all(pending, 100, STALE, task), BATCH);
    for (size_t i = 0; i < BATCH; i++) {
        assert_int_equal(pending_looked(task[i])->lease, 100 + i);
        assert_int_equal(pending_looked(task[i])->batch->lead, 100);
    }
    assert_int_equal(budget_used(budget_of(pending, &profile), 0, BUDGET_ORDINARY, STALE), 1);
    assert_null(pending_lease(pending, 1, 200, STALE)); /* it was the one of this window */
    pending_destroy(&pending);
}

/* The window runs from the end of the whole request, whoever is heard of last; and so does the next
 * request. */
static void test_one_debit_settled_with_the_last(void **state)
{
    (void)state;
    const struct ald_profile profile = sparing();
    pending_t *pending = with_tasks(&profile, 6);
    struct budget *budget = budget_of(pending, &profile);
    struct pending_task *task[BATCH + 1];
    assert_int_equal(lease_all(pending, 100, STALE, task), BATCH);
    for (size_t i = BATCH; i-- > 1;)
        polled(pending, task[i], not_ready, STALE + 10);
    assert_null(pending_lease(pending, 1, 200, STALE + 10 + PER));
    assert_int_equal(budget_used(budget, 0, BUDGET_ORDINARY, STALE + 10 + PER), 1);
    polled(pending, task[0], not_ready, STALE + 20 + PER);
    assert_int_equal(budget_used(budget, 0, BUDGET_ORDINARY, STALE + 20 + PER), 1);
    save(pending, &profile, STALE + 20 + PER + PER);
    assert_int_equal(lease_all(pending, 200, STALE + 20 + PER + PER, task), 2);
    pending_destroy(&pending);
}

/* However the leases of a request end, it is counted once, or given back once. */
static void test_every_end(void **state)
{
    (void)state;
    enum end { ANSWERED, UNSENT, ENDED, LOST, GONE };
    static const struct {
        const char *name;
        enum end ends[BATCH];
        int64_t used;
    } cases[] = {
        {"all answered", {ANSWERED, ANSWERED, ANSWERED, ANSWERED}, 1},
        {"never left", {UNSENT, UNSENT, UNSENT, UNSENT}, 0},
        {"half handed back", {UNSENT, ANSWERED, UNSENT, ANSWERED}, 1},
        {"callbacks came", {ENDED, ENDED, ENDED, ENDED}, 1},
        {"one came, the rest unsent", {ENDED, UNSENT, UNSENT, UNSENT}, 1},
        {"leases lost", {LOST, LOST, LOST, LOST}, 1},
        {"its poller gone", {GONE, GONE, GONE, GONE}, 1},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct ald_profile profile = sparing();
        pending_t *pending = with_tasks(&profile, BATCH);
        struct pending_task *task[BATCH + 1];
        assert_int_equal(lease_all(pending, 100, STALE, task), BATCH);
        for (size_t k = 0; k < BATCH; k++) {
            if (cases[i].ends[k] == ANSWERED)
                polled(pending, task[k], not_ready, STALE + 1);
            else if (cases[i].ends[k] == UNSENT)
                polled(pending, task[k], never_left, STALE + 1);
            else if (cases[i].ends[k] == ENDED)
                pending_end(pending, &task[k], STALE + 1);
            else if (cases[i].ends[k] == LOST)
                pending_return(pending, task[k], STALE + 1);
        }
        if (cases[i].ends[0] == GONE)
            pending_poller_gone(pending, 1, STALE + 1);
        const struct budget *budget = budget_of(pending, &profile);
        if (budget_used(budget, 0, BUDGET_ORDINARY, STALE + 1) != cases[i].used ||
            budget->list[0].part[BUDGET_ORDINARY].under_way != 0)
            fail_msg("%s: used %d", cases[i].name,
                     (int)budget_used(budget, 0, BUDGET_ORDINARY, STALE + 1));
        assert_int_equal(pending_count_phase(pending, PENDING_LEASED), 0);
        pending_destroy(&pending);
    }
}

/* A request for many that brings nothing is one trouble, not many; and a probe is one request. */
static void test_the_breaker_counts_requests(void **state)
{
    (void)state;
    struct ald_profile profile = sparing();
    profile.budgets.count = 0;
    pending_t *pending = with_tasks(&profile, BATCH * 2);
    struct budget *budget = budget_of(pending, &profile);
    struct pending_task *task[BATCH + 1];
    struct pending_poll trouble = no_answer;
    trouble.sign = BUDGET_TROUBLE;
    assert_int_equal(lease_all(pending, 100, STALE, task), BATCH);
    for (size_t i = 0; i < BATCH; i++)
        polled(pending, task[i], trouble, STALE + 1);
    assert_int_equal(budget->troubles, 1);
    budget->breaker = BREAKER_OPEN;
    budget->open_until_ms = STALE + 2;
    assert_int_equal(lease_all(pending, 200, STALE + 2, task), BATCH);
    assert_int_equal(budget->breaker, BREAKER_HALF);
    polled(pending, task[0], never_left, STALE + 3); /* the others may yet find out */
    assert_int_equal(budget->breaker, BREAKER_HALF);
    struct pending_poll sane = not_ready;
    sane.sign = BUDGET_SANE;
    polled(pending, task[3], sane, STALE + 4);
    assert_int_equal(budget->breaker, BREAKER_CLOSED);
    pending_destroy(&pending);
}

/* Nobody found out: another request may. */
static void test_an_unsent_probe(void **state)
{
    (void)state;
    struct ald_profile profile = sparing();
    profile.budgets.count = 0;
    pending_t *pending = with_tasks(&profile, BATCH);
    struct budget *budget = budget_of(pending, &profile);
    struct pending_task *task[BATCH + 1];
    budget->breaker = BREAKER_OPEN;
    budget->open_until_ms = STALE;
    assert_int_equal(lease_all(pending, 100, STALE, task), BATCH);
    for (size_t i = 0; i < BATCH; i++)
        polled(pending, task[i], never_left, STALE + 1);
    assert_int_equal(budget->breaker, BREAKER_OPEN);
    assert_int_equal(budget->open_until_ms, STALE + 1);
    pending_destroy(&pending);
}

/* What could not be told apart is asked for alone, until an answer says something of it. */
static void test_alone(void **state)
{
    (void)state;
    const struct ald_profile profile = sparing();
    pending_t *pending = with_tasks(&profile, 3);
    struct pending_task *task[BATCH + 1];
    int64_t now_ms = STALE;
    assert_int_equal(lease_all(pending, 100, now_ms, task), 3);
    struct pending_poll mixed = {.left = true, .answered = true, .alone = true};
    for (size_t i = 0; i < 3; i++)
        polled(pending, task[i], mixed, now_ms);
    for (unsigned turn = 0; turn < 3; turn++) {
        now_ms += 60000;
        assert_int_equal(due(pending, now_ms, false), 0);
        save(pending, &profile, now_ms);
        assert_int_equal(lease_all(pending, 200 + turn, now_ms, task), 1);
        assert_null(pending_looked(task[0])->batch);
        polled(pending, task[0], turn == 0 ? no_answer : not_ready, now_ms);
        assert_int_equal(pending_looked(task[0])->alone, turn == 0);
    }
    now_ms += 60000;
    assert_int_equal(due(pending, now_ms, false), 0);
    save(pending, &profile, now_ms);
    size_t alone = 0;
    for (unsigned turn = 0; turn < 3; turn++) {
        size_t count = lease_all(pending, 300 + turn * 10, now_ms, task);
        alone += count == 1 && !pending_looked(task[0])->batch;
        for (size_t i = 0; i < count; i++)
            polled(pending, task[i], not_ready, now_ms);
        now_ms += PER;
        save(pending, &profile, now_ms);
    }
    assert_int_equal(alone, 1); /* the one that is still waited for */
    pending_destroy(&pending);
}

static void test_ids_that_hold_what_joins_them(void **state)
{
    (void)state;
    const struct ald_profile profile = sparing();
    pending_t *pending = made();
    (void)add(pending, 1, &profile, "1", 0);
    (void)add(pending, 2, &profile, "2,3", 0);
    assert_int_equal(due(pending, STALE, false), 0);
    save(pending, &profile, STALE);
    struct pending_task *task[BATCH + 1];
    assert_int_equal(lease_all(pending, 100, STALE, task), 1);
    polled(pending, task[0], not_ready, STALE);
    save(pending, &profile, STALE + PER);
    assert_int_equal(lease_all(pending, 200, STALE + PER, task), 1);
    assert_string_equal(task[0]->provider_id, "2,3");
    assert_null(pending_looked(task[0])->batch);
    pending_destroy(&pending);
}

/* A profile that says nothing of batches: each its own debit. */
static void test_without_batches(void **state)
{
    (void)state;
    pending_t *pending = with_tasks(&two, 2);
    struct pending_task *task[BATCH + 1];
    assert_int_equal(lease_all(pending, 100, STALE, task), 1);
    assert_null(pending_looked(task[0])->batch);
    assert_int_equal(lease_all(pending, 200, STALE, task), 1);
    pending_destroy(&pending);
}

/* The profile is read anew while a request is under way: it is one request still. */
static void test_a_renewed_budget(void **state)
{
    (void)state;
    const struct ald_profile profile = sparing();
    pending_t *pending = with_tasks(&profile, BATCH);
    struct budget *budget = budget_of(pending, &profile);
    struct pending_task *task[BATCH + 1];
    assert_int_equal(lease_all(pending, 100, STALE, task), BATCH);
    for (unsigned times = 0; times < 2; times++) {
        (void)budget_renew(budget, &profile);
        for (size_t i = 0; i < BATCH; i++)
            pending_batch_recount(task[i]);
        assert_int_equal(budget_used(budget, 0, BUDGET_ORDINARY, STALE), 1);
    }
    for (size_t i = 0; i < BATCH; i++)
        polled(pending, task[i], not_ready, STALE + 10);
    assert_int_equal(budget_used(budget, 0, BUDGET_ORDINARY, STALE + 10), 1);
    assert_int_equal(budget_used(budget, 0, BUDGET_ORDINARY, STALE + 10 + PER), 0);
    pending_destroy(&pending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_one_debit_settled_with_the_last),
        cmocka_unit_test(test_every_end),
        cmocka_unit_test(test_the_breaker_counts_requests),
        cmocka_unit_test(test_an_unsent_probe),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_ids_that_hold_what_joins_them),
        cmocka_unit_test(test_without_batches),
        cmocka_unit_test(test_a_renewed_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
