/* Leases, waits, blocks and fairness of polls, on a clock that the test sets. */
#include "common/config/ruled.h"
#include "services/tracker/pending_figures.h"
#include "tests/unit/tracker/pending_fixture.h"

/* Rule 2: a lease that ends is handed out again; what its holder reports later counts, but does not
 * disturb who has it now. */
static void test_a_lost_lease(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_task *task = in_phase(pending, PENDING_LEASED);
    assert_int_equal(due(pending, STALE + LEASE - 1, false), 0);
    assert_null(pending_lease(pending, 2, 2, STALE + LEASE - 1));
    assert_int_equal(due(pending, STALE + LEASE, false), 0);
    assert_ptr_equal(pending_lease(pending, 2, 2, STALE + LEASE), task);
    pending_polled(pending, task, &not_ready, STALE + LEASE + 10); /* of lease 1 */
    assert_int_equal(pending_looked(task)->polls, 1);
    assert_int_equal(task->phase, PENDING_LEASED);
    assert_int_equal(pending_looked(task)->lease, 2);
    pending_poller_gone(pending, 1, STALE + LEASE + 20);
    assert_int_equal(task->phase, PENDING_LEASED);
    pending_polled(pending, task,
                   &(struct pending_poll){.lease = 2, .left = true, .answered = true},
                   STALE + LEASE + 30);
    assert_int_equal(task->phase, PENDING_IDLE);
    pending_destroy(&pending);
}

/* A request that may take long has a lease that is longer than it, with what the poller keeps back
 * at its end; a result that is fetched after its poll takes as long again. */
static void test_a_lease_is_as_long_as_its_requests(void **state)
{
    (void)state;
    struct ald_ruled fetches = {0};
    fetches.stage[ALD_STAGE_FETCH].request.there = true;
    const struct {
        const char *name;
        int64_t timeout_ms;
        bool fetches;
        int64_t most_ms;
        int64_t want_ms;
    } cases[] = {
        {"shorter than the settings'", 10000, false, 0, LEASE},
        {"as long as the settings'", 30000, false, 0, 35333},
        {"longer", 90000, false, 0, 102000},
        {"fetched too", 45000, true, 0, 102000},
        {"never longer than the poller lets it", 900000, false, 90000, 102000},
        {"shorter than the poller lets it", 90000, false, 900000, 102000},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct pending_options options = {
            .lease_ms = LEASE, .request_max_ms = cases[i].most_ms, .last_poll_grace_ms = GRACE};
        struct ald_profile profile = two;
        profile.poll_timeout_ms = cases[i].timeout_ms;
        profile.ruled = cases[i].fetches ? &fetches : NULL;
        pending_t *pending = pending_new(&options);
        int64_t got_ms = pending_lease_ms(pending, &profile);
        if (got_ms != cases[i].want_ms)
            fail_msg("%s: %lld", cases[i].name, (long long)got_ms);
        struct pending_task *task = add(pending, 7, &profile, "77", 0);
        assert_int_equal(due(pending, STALE, false), 0);
        assert_ptr_equal(pending_lease(pending, 1, 1, STALE), task);
        assert_int_equal(due(pending, STALE + got_ms - 1, false), 0);
        assert_int_equal(task->phase, PENDING_LEASED);
        assert_int_equal(due(pending, STALE + got_ms, false), 0);
        assert_int_equal(task->phase, PENDING_QUEUED);
        pending_destroy(&pending);
    }
}

/* What never left the machine is not counted, but not tried without end either. */
static void test_waits_between_polls(void **state)
{
    (void)state;
    static const struct ald_profile told = {.name = "told",
                                            .poll_url = "https://told.example/",
                                            .schedule = {.every_ms = EVERY,
                                                         .backoff_percent = 150,
                                                         .max_every_ms = 60000,
                                                         .max_requests = MAX_REQUESTS,
                                                         .asked_when_told = true}};
    static const struct {
        const char *name;
        struct pending_poll poll;
        int64_t wait_ms[4];
        unsigned polls;
        const struct ald_profile *profile;
    } cases[] = {
        {"not ready",
         {.lease = 1, .left = true, .answered = true, .sense = true},
         {5000, 7500, 11250},
         3,
         &two},
        {"told to wait",
         {.lease = 1, .left = true, .answered = true, .sense = true, .wait_ms = 20000},
         {20000, 20000, 20000},
         3,
         &two},
        {"told sooner, where every says so",
         {.lease = 1, .left = true, .answered = true, .sense = true, .wait_ms = 2000},
         {2000, 2000, 2000},
         3,
         &told},
        {"told sooner, and it does not",
         {.lease = 1, .left = true, .answered = true, .sense = true, .wait_ms = 2000},
         {5000, 7500, 11250},
         3,
         &two},
        {"no answer", {.lease = 1, .left = true}, {5000, 10000, 20000}, 3, &two},
        {"never left", {.lease = 1}, {5000, 10000, 20000, 40000}, 0, &two},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        pending_t *pending = made();
        struct pending_task *task = add(pending, 1, cases[i].profile, "5", 0);
        int64_t now_ms = STALE;
        for (size_t j = 0; j < 4 && cases[i].wait_ms[j] > 0; j++) {
            assert_int_equal(due(pending, now_ms, false), 0);
            assert_ptr_equal(pending_lease(pending, 1, 1, now_ms), task);
            pending_polled(pending, task, &cases[i].poll, now_ms);
            if (j < 2 || cases[i].polls == 0) { /* the third is the last before the deadline */
                assert_int_equal(due(pending, now_ms + cases[i].wait_ms[j] - 1, false), 0);
                if (task->phase != PENDING_IDLE)
                    print_error("%s, wait %zu\n", cases[i].name, j);
                assert_int_equal(task->phase, PENDING_IDLE);
            }
            now_ms += cases[i].wait_ms[j];
        }
        assert_int_equal(pending_looked(task)->polls, cases[i].polls);
        pending_destroy(&pending);
    }
}

/* Rule 15: a blocked account gets no lease, its neighbour does; and deadlines run on through it. */
static void test_a_blocked_account(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_task *task = add(pending, 1, &two, "5", 0);
    (void)add(pending, 2, &two, "6", 0);
    struct pending_task *neighbour = add(pending, 3, &other, "7", 0);
    assert_int_equal(due(pending, STALE, false), 0);
    assert_ptr_equal(pending_lease(pending, 1, 1, STALE), task);
    struct pending_poll banned = not_ready;
    banned.block = true;
    banned.wait_ms = 2 * GIVE_UP;
    pending_polled(pending, task, &banned, STALE);
    banned.wait_ms = 1; /* a shorter one takes nothing back */
    pending_polled(pending, task, &banned, STALE);
    assert_ptr_equal(pending_lease(pending, 1, 2, STALE), neighbour);
    assert_null(pending_lease(pending, 1, 3, STALE));
    assert_null(pending_lease(pending, 1, 3, GIVE_UP));
    assert_int_equal(due(pending, GIVE_UP + GRACE - 1, false), 0);
    assert_int_equal(due(pending, GIVE_UP + GRACE, false), 3);
    pending_destroy(&pending);
}

static void test_a_block_from_before_the_start(void **state)
{
    (void)state;
    pending_t *pending = made();
    budget_block(&pending_account(pending, &two)->budget, STALE + 100, "");
    (void)add(pending, 1, &two, "5", 0);
    assert_int_equal(due(pending, STALE, false), 0);
    assert_null(pending_lease(pending, 1, 1, STALE + 99));
    assert_non_null(pending_lease(pending, 1, 1, STALE + 100));
    pending_destroy(&pending);
}

/* One account with many tasks does not keep another one waiting; within one, first come first. */
static void test_leases_are_fair(void **state)
{
    (void)state;
    pending_t *pending = made();
    for (uint64_t id = 1; id <= 6; id++) {
        char provider_id[8];
        (void)snprintf(provider_id, sizeof provider_id, "%d", (int)id);
        (void)add(pending, id, id < 5 ? &two : &other, provider_id, (int64_t)id);
    }
    assert_int_equal(due(pending, STALE + 10, false), 0);
    static const uint64_t want[] = {1, 5, 2, 6, 3, 4};
    for (size_t i = 0; i < ALD_COUNT(want); i++)
        assert_int_equal(pending_lease(pending, 1, i + 1, STALE + 10)->id, want[i]);
    assert_null(pending_lease(pending, 1, 9, STALE + 10));
    pending_destroy(&pending);
}

/* Read back after a restart: polls that were made still count. */
static void test_polls_read_back(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_task *task = add(pending, 1, &two, "5", 0);
    pending_polls(pending, task, 5, 5 - MAX_REQUESTS, 0);
    assert_int_equal(pending_looked(task)->polls, 5);
    assert_int_equal(due(pending, GIVE_UP - 1, false), 0);
    assert_int_equal(task->phase, PENDING_IDLE);
    assert_int_equal(due(pending, GIVE_UP, false), 0);
    assert_int_equal(task->phase, PENDING_QUEUED); /* the last one */
    pending_destroy(&pending);
}

static void test_the_lowest(void **state)
{
    (void)state;
    pending_t *pending = made();
    assert_int_equal(pending_lowest(pending), 0);
    static const uint64_t ids[] = {5, 9, 2, 7};
    for (size_t i = 0; i < ALD_COUNT(ids); i++)
        (void)add(pending, ids[i], &two, "", 0);
    static const uint64_t want[] = {2, 5, 7, 9};
    for (size_t i = 0; i < ALD_COUNT(want); i++) {
        assert_int_equal(pending_lowest(pending), want[i]);
        struct pending_task *task = pending_find(pending, want[i]);
        pending_end(pending, &task, STALE);
    }
    assert_int_equal(pending_lowest(pending), 0);
    (void)add(pending, 3, &two, "", 0);
    assert_int_equal(pending_lowest(pending), 3);
    pending_destroy(&pending);
}

enum { MANY = 100000 };

/* What is not due costs nothing: a turn looks at the tasks that are due and at no other. */
static void test_many_tasks(void **state)
{
    (void)state;
    pending_t *pending = made();
    for (uint64_t id = 1; id <= MANY; id++) {
        char provider_id[16];
        (void)snprintf(provider_id, sizeof provider_id, "%d", (int)id);
        (void)add(pending, id, &two, provider_id, (int64_t)id * 10);
    }
    unsigned looks = 0;
    struct pending_task *task = NULL;
    while (pending_due(pending, STALE + 100, false, &task) != PENDING_NOTHING)
        looks++;
    assert_int_equal(looks, 10);
    assert_int_equal(pending_count_phase(pending, PENDING_QUEUED), 10);
    assert_int_equal(pending_due(pending, STALE + 109, false, &task), PENDING_NOTHING);
    pending_destroy(&pending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lost_lease),
        cmocka_unit_test(test_a_lease_is_as_long_as_its_requests),
        cmocka_unit_test(test_waits_between_polls),
        cmocka_unit_test(test_a_blocked_account),
        cmocka_unit_test(test_a_block_from_before_the_start),
        cmocka_unit_test(test_leases_are_fair),
        cmocka_unit_test(test_polls_read_back),
        cmocka_unit_test(test_the_lowest),
        cmocka_unit_test(test_many_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
