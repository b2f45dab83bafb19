/* Tasks that are owed, as a machine: each phase against each event, on a clock that the test sets.
 */
#include "services/tracker/pending_figures.h"
#include "tests/unit/tracker/pending_fixture.h"

static void test_example(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_task *task = add(pending, 7, &two, "77", 0);
    assert_ptr_equal(pending_find_ref(pending, "two", "77"), task);
    assert_int_equal(due(pending, STALE - 1, false), 0);
    assert_int_equal(task->phase, PENDING_IDLE);
    assert_int_equal(due(pending, STALE, false), 0);
    assert_int_equal(task->phase, PENDING_QUEUED);
    assert_ptr_equal(pending_lease(pending, 1, 1, STALE), task);
    pending_polled(pending, task, &not_ready, STALE + 100);
    assert_int_equal(task->phase, PENDING_IDLE);
    assert_int_equal(pending_looked(task)->polls, 1);
    pending_end(pending, &task, STALE);
    assert_null(task);
    assert_null(pending_find(pending, 7));
    assert_null(pending_find_ref(pending, "two", "77"));
    assert_int_equal(pending_count(pending), 0);
    pending_destroy(&pending);
}

enum event {
    EVENT_HINT,
    EVENT_ATTACH_SAME,
    EVENT_RETURN,
    EVENT_GONE,
    EVENT_OTHER_GONE,
    EVENT_POLLED,
    EVENT_POLLED_OTHER_LEASE,
    EVENT_LEASE_OVER,
    EVENT_LEASE
};

static void happen(pending_t *self, struct pending_task *task, enum event event)
{
    struct pending_poll poll = not_ready;
    int64_t now_ms = STALE + 1000;
    switch (event) {
    case EVENT_HINT:
        (void)pending_hint(self, task, now_ms);
        return;
    case EVENT_ATTACH_SAME:
        assert_int_equal(pending_attach(self, task, "77", now_ms), ALD_OK);
        return;
    case EVENT_RETURN:
        pending_return(self, task, now_ms);
        return;
    case EVENT_GONE:
        pending_poller_gone(self, 1, now_ms);
        return;
    case EVENT_OTHER_GONE:
        pending_poller_gone(self, 2, now_ms);
        return;
    case EVENT_POLLED_OTHER_LEASE:
        poll.lease = 99;
        pending_polled(self, task, &poll, now_ms);
        return;
    case EVENT_POLLED:
        pending_polled(self, task, &poll, now_ms);
        return;
    case EVENT_LEASE_OVER:
        assert_int_equal(due(self, STALE + LEASE, false), 0);
        return;
    case EVENT_LEASE:
        (void)pending_lease(self, 1, 2, now_ms);
        return;
    }
}

static void test_each_phase_and_event(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum event event;
        enum pending_phase after[3]; /* of idle, queued, leased */
        unsigned polls;
    } cases[] = {
        {"hint", EVENT_HINT, {PENDING_QUEUED, PENDING_QUEUED, PENDING_LEASED}, 0},
        {"attach", EVENT_ATTACH_SAME, {PENDING_IDLE, PENDING_QUEUED, PENDING_LEASED}, 0},
        {"return", EVENT_RETURN, {PENDING_IDLE, PENDING_QUEUED, PENDING_QUEUED}, 0},
        {"poller gone", EVENT_GONE, {PENDING_IDLE, PENDING_QUEUED, PENDING_QUEUED}, 0},
        {"other gone", EVENT_OTHER_GONE, {PENDING_IDLE, PENDING_QUEUED, PENDING_LEASED}, 0},
        {"polled", EVENT_POLLED, {PENDING_IDLE, PENDING_QUEUED, PENDING_IDLE}, 1},
        {"late report",
         EVENT_POLLED_OTHER_LEASE,
         {PENDING_IDLE, PENDING_QUEUED, PENDING_LEASED},
         1},
        {"lease over", EVENT_LEASE_OVER, {PENDING_QUEUED, PENDING_QUEUED, PENDING_QUEUED}, 0},
        {"lease", EVENT_LEASE, {PENDING_IDLE, PENDING_LEASED, PENDING_LEASED}, 0},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++)
        for (unsigned phase = PENDING_IDLE; phase <= PENDING_LEASED; phase++) {
            pending_t *pending = made();
            struct pending_task *task = in_phase(pending, (enum pending_phase)phase);
            happen(pending, task, cases[i].event);
            if (task->phase != cases[i].after[phase])
                print_error("%s in phase %u: %u\n", cases[i].name, phase, task->phase);
            assert_int_equal(task->phase, cases[i].after[phase]);
            assert_int_equal(pending_looked(task)->polls, cases[i].polls);
            size_t counted = 0;
            for (unsigned p = PENDING_IDLE; p <= PENDING_LEASED; p++)
                counted += pending_count_phase(pending, (enum pending_phase)p);
            assert_int_equal(counted, 1);
            assert_int_equal(pending_count_phase(pending, task->phase), 1);
            assert_int_equal(pending_account_at(pending, 0)->queued, task->phase == PENDING_QUEUED);
            pending_end(pending, &task, STALE); /* in any phase */
            assert_int_equal(pending_account_at(pending, 0)->open, 0);
            assert_int_equal(pending_account_at(pending, 0)->queued, 0);
            assert_null(pending_lease(pending, 1, 3, STALE + 1000));
            assert_int_equal(due(pending, INT64_MAX / 2, false), 0);
            pending_destroy(&pending);
        }
}

static void test_known_already(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_facts facts = {.id = 1, .profile = &two, .provider_id = "77"};
    assert_int_equal(pending_add(pending, &facts), ALD_OK);
    assert_int_equal(pending_add(pending, &facts), ALD_EXISTS);
    facts.id = 2;
    assert_int_equal(pending_add(pending, &facts), ALD_EXISTS);
    assert_null(pending_find(pending, 2));
    facts.profile = &other; /* the same id of another provider is another task */
    assert_int_equal(pending_add(pending, &facts), ALD_OK);
    facts = (struct pending_facts){.id = 3, .profile = &two, .provider_id = ""};
    assert_int_equal(pending_add(pending, &facts), ALD_OK);
    assert_int_equal(pending_count_unattached(pending), 1);
    assert_null(pending_find_ref(pending, "two", ""));
    struct pending_task *task = pending_find(pending, 3);
    assert_int_equal(pending_attach(pending, task, "77", 0), ALD_EXISTS);
    assert_string_equal(task->provider_id, "");
    assert_int_equal(pending_attach(pending, task, "78", 0), ALD_OK);
    assert_int_equal(pending_count_unattached(pending), 0);
    assert_ptr_equal(pending_find_ref(pending, "two", "78"), task);
    pending_destroy(&pending);
}

/* A reserved task without an id can't be polled: it waits, and expires at its deadline. */
static void test_nothing_to_poll(void **state)
{
    (void)state;
    pending_t *pending = made();
    (void)add(pending, 1, &two, "", 0);
    (void)add(pending, 2, &mute, "5", 0);
    assert_false(pending_hint(pending, pending_find(pending, 2), 100));
    assert_int_equal(due(pending, GIVE_UP - 1, false), 0);
    assert_null(pending_lease(pending, 1, 1, GIVE_UP - 1));
    assert_int_equal(due(pending, GIVE_UP, false), 2);
    pending_destroy(&pending);
}

/* Attached late: polled at once if it is stale by then. */
static void test_attach_makes_it_due(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_task *task = add(pending, 1, &two, "", 0);
    assert_int_equal(pending_attach(pending, task, "5", STALE * 2), ALD_OK);
    assert_int_equal(due(pending, STALE * 2, false), 0);
    assert_int_equal(task->phase, PENDING_QUEUED);
    pending_destroy(&pending);
}

/* Rule 3: whoever asks, a hint costs at most one poll each `every`, and none of max_requests. */
static void test_hints_are_bounded(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_task *task = add(pending, 1, &two, "5", 0);
    unsigned polls = 0;
    for (int64_t now_ms = 1; now_ms < 40000; now_ms += 100) {
        (void)pending_hint(pending, task, now_ms);
        if (!pending_lease(pending, 1, 1, now_ms))
            continue;
        polls++;
        pending_polled(pending, task, &not_ready, now_ms + 10);
    }
    assert_int_equal(polls, 8); /* 40 s / every */
    assert_int_equal(pending_looked(task)->polls, 8);
    assert_int_equal(pending_looked(task)->requests, 0);
    pending_destroy(&pending);
}

/* Rule 3: a look that brings nothing is followed by others, which count no more than it does; the
 * task's own polls are as many, and begin when they were due. */
static void test_a_hint_uses_up_no_poll(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_task *task = add(pending, 1, &two, "5", 0);
    int64_t now_ms = 100;
    assert_true(pending_hint(pending, task, now_ms));
    for (; now_ms < STALE; now_ms = pending_due_ms(pending, task)) {
        assert_int_equal(due(pending, now_ms, false), 0);
        assert_ptr_equal(pending_lease(pending, 1, 1, now_ms), task);
        assert_true(pending_looked(task)->hinted);
        pending_polled(pending, task, &not_ready, now_ms + 10);
        assert_true(pending_due_ms(pending, task) >= now_ms + 10 + EVERY);
        assert_int_equal(pending_looked(task)->requests, 0);
        assert_false(pending_hint(pending, task, now_ms + 20)); /* one per `every` */
    }
    assert_in_range(pending_looked(task)->polls, 2, STALE / EVERY);
    assert_in_range(now_ms, STALE, STALE + 10 * EVERY);
    assert_int_equal(due(pending, now_ms, false), 0);
    assert_ptr_equal(pending_lease(pending, 1, 1, now_ms), task);
    assert_false(pending_looked(task)->hinted);
    pending_polled(pending, task, &not_ready, now_ms);
    assert_int_equal(pending_looked(task)->requests, 1);
    pending_destroy(&pending);
}

/* Rule 3: after max_requests the task waits for its callback; hints are heeded all the same. */
static void test_max_requests(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_task *task = add(pending, 1, &two, "5", 0);
    unsigned polls = 0;
    int64_t now_ms = 0;
    for (; now_ms < GIVE_UP; now_ms += 500) {
        assert_int_equal(due(pending, now_ms, false), 0);
        if (pending_lease(pending, 1, 1, now_ms)) {
            polls++;
            pending_polled(pending, task, &not_ready, now_ms);
        }
    }
    assert_int_equal(polls, MAX_REQUESTS);
    assert_true(pending_hint(pending, task, GIVE_UP - 1));
    assert_ptr_equal(pending_lease(pending, 1, 1, GIVE_UP - 1), task);
    pending_polled(pending, task, &not_ready, GIVE_UP - 1);
    assert_false(pending_looked(task)->deadline_polled);
    /* And the last poll is outside of them. */
    assert_int_equal(due(pending, GIVE_UP, false), 0);
    assert_ptr_equal(pending_lease(pending, 1, 1, GIVE_UP), task);
    pending_destroy(&pending);
}

/* Rule 1 and its correction: expired after a poll that was answered past the deadline, or once the
 * grace is over, whichever is first. */
static void test_the_last_poll(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool leased;
        struct pending_poll poll;
        bool expires_now;
    } cases[] = {
        {"answered", true, {.lease = 1, .left = true, .answered = true, .sense = true}, true},
        {"answered nonsense", true, {.lease = 1, .left = true, .answered = true}, true},
        {"no answer", true, {.lease = 1, .left = true}, false},
        {"never left", true, {.lease = 1}, false},
        {"no poller", false, {0}, false},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        pending_t *pending = made();
        struct pending_task *task = add(pending, 1, &two, "5", 0);
        assert_int_equal(due(pending, GIVE_UP, false), 0);
        assert_int_equal(task->phase, PENDING_QUEUED);
        if (cases[i].leased) {
            assert_ptr_equal(pending_lease(pending, 1, 1, GIVE_UP), task);
            pending_polled(pending, task, &cases[i].poll, GIVE_UP + 10);
        }
        if (due(pending, GIVE_UP + 10, false) != cases[i].expires_now) {
            print_error("%s\n", cases[i].name);
            fail();
        }
        if (!cases[i].expires_now) {
            assert_int_equal(due(pending, GIVE_UP + GRACE - 1, false), 0);
            assert_int_equal(due(pending, GIVE_UP + GRACE, false), 1);
        }
        pending_destroy(&pending);
    }
}

/* A poll under way at the deadline was asked before it: it is not the last one. */
static void test_a_poll_across_the_deadline(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_task *task = add(pending, 1, &two, "5", 0);
    assert_true(pending_hint(pending, task, GIVE_UP - 10));
    assert_ptr_equal(pending_lease(pending, 1, 1, GIVE_UP - 10), task);
    assert_int_equal(due(pending, GIVE_UP + 5, false), 0);
    pending_polled(pending, task, &no_answer, GIVE_UP + 5);
    assert_int_equal(due(pending, GIVE_UP + 6, false), 0);
    assert_int_equal(due(pending, GIVE_UP + 5 + 2 * EVERY, false), 0);
    assert_int_equal(task->phase, PENDING_QUEUED); /* asked again */
    pending_destroy(&pending);
}

/* Rule 1: while spools may hold the answer nothing expires; after that it does. */
static void test_hold(void **state)
{
    (void)state;
    pending_t *pending = made();
    (void)add(pending, 1, &mute, "5", 0);
    (void)add(pending, 2, &two, "6", 0);
    int64_t far = GIVE_UP + GRACE + 3600000;
    for (int64_t now_ms = far; now_ms < far + 10000; now_ms += 250)
        assert_int_equal(due(pending, now_ms, true), 0);
    assert_int_equal(pending_count(pending), 2);
    assert_int_equal(due(pending, far + 12000, false), 2);
    pending_destroy(&pending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_each_phase_and_event),
        cmocka_unit_test(test_known_already),
        cmocka_unit_test(test_nothing_to_poll),
        cmocka_unit_test(test_attach_makes_it_due),
        cmocka_unit_test(test_hints_are_bounded),
        cmocka_unit_test(test_a_hint_uses_up_no_poll),
        cmocka_unit_test(test_max_requests),
        cmocka_unit_test(test_the_last_poll),
        cmocka_unit_test(test_a_poll_across_the_deadline),
        cmocka_unit_test(test_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
