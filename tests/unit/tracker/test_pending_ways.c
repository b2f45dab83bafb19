/* Tasks of providers that can't be asked, or that forget what they were asked for. */
#include "tests/unit/tracker/pending_fixture.h"

enum { TTL = 100000, LOOK = 90000, LONG = 60000 };

/* Who is said to be late now; NULL: nobody. No task may expire. */
static struct pending_task *late(pending_t *pending, int64_t now_ms)
{
    struct pending_task *task = NULL;
    struct pending_task *found = NULL;
    enum pending_due_kind kind = pending_due(pending, now_ms, false, &task);
    for (; kind != PENDING_NOTHING; kind = pending_due(pending, now_ms, false, &task)) {
        assert_int_not_equal(kind, PENDING_EXPIRE);
        if (kind != PENDING_LATE)
            continue;
        assert_null(found);
        found = task;
    }
    return found;
}

static void test_example(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_task *task = add(pending, 7, &mute, "77", 0);
    assert_null(late(pending, STALE - 1));
    assert_ptr_equal(late(pending, STALE), task);
    assert_int_equal(task->account->late, 1);
    assert_null(late(pending, GIVE_UP - 1)); /* once */
    assert_null(pending_lease(pending, 1, 1, GIVE_UP - 1));
    assert_int_equal(due(pending, GIVE_UP, false), 1);
    assert_int_equal(pending_account(pending, &mute)->late, 0);
    pending_destroy(&pending);
}

static void test_who_is_late(void **state)
{
    (void)state;
    static const struct ald_profile told = {
        .name = "told", .poll_url = "${poll_url}", .poll_url_told = true};
    static const struct {
        const char *name;
        const struct ald_profile *profile;
        const char *provider_id;
        bool alerted, late;
    } cases[] = {
        {"nothing to poll", &mute, "77", false, true},
        {"nor an id yet", &mute, "", false, true},
        {"said before the start", &mute, "77", true, false},
        {"it is polled", &two, "77", false, false},
        {"it will be, when its id is known", &two, "", false, false},
        {"or where", &told, "77", false, false},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        pending_t *pending = made();
        const struct pending_facts facts = {.id = 7,
                                            .profile = cases[i].profile,
                                            .provider_id = cases[i].provider_id,
                                            .stale_after_ms = STALE,
                                            .give_up_after_ms = GIVE_UP,
                                            .alerted = cases[i].alerted};
        assert_int_equal(pending_add(pending, &facts), ALD_OK);
        bool said = late(pending, STALE) != NULL;
        if (said != cases[i].late)
            fail_msg("%s", cases[i].name);
        bool counted = pending_account(pending, cases[i].profile)->late == 1;
        assert_true(counted == (cases[i].late || cases[i].alerted));
        struct pending_task *task = pending_find(pending, 7);
        pending_end(pending, &task, STALE);
        assert_int_equal(pending_account(pending, cases[i].profile)->late, 0);
        pending_destroy(&pending);
    }
}

/* A spool may hold its callback: late all the same, but not expired. */
static void test_late_while_held(void **state)
{
    (void)state;
    pending_t *pending = made();
    struct pending_task *task = NULL;
    (void)add(pending, 7, &mute, "77", 0);
    assert_int_equal(pending_due(pending, STALE, true, &task), PENDING_LATE);
    assert_int_equal(due(pending, GIVE_UP, true), 0);
    assert_int_equal(due(pending, GIVE_UP + 1000, false), 1);
    pending_destroy(&pending);
}

static struct ald_profile forgetful(void)
{
    struct ald_profile profile = two;
    profile.result_ttl_ms = TTL;
    profile.schedule.every_ms = profile.schedule.max_every_ms = LONG;
    profile.schedule.backoff_percent = 100;
    return profile;
}

static int64_t next_due(pending_t *pending, uint64_t id)
{
    return pending_due_ms(pending, pending_find(pending, id));
}

/* Polled at 45 s and then each minute; but at 90 s, since at 105 s its answer may be gone. */
static void test_a_look_before_it_is_forgotten(void **state)
{
    (void)state;
    const struct ald_profile profile = forgetful();
    pending_t *pending = made();
    struct pending_task *task = add(pending, 7, &profile, "77", 0);
    static const int64_t at_ms[] = {STALE, LOOK, LOOK + LONG};
    for (uint64_t i = 0; i < ALD_COUNT(at_ms); i++) {
        assert_int_equal(next_due(pending, 7), at_ms[i]);
        assert_int_equal(due(pending, at_ms[i], false), 0);
        assert_ptr_equal(pending_lease(pending, 1, i + 1, at_ms[i]), task);
        struct pending_poll poll = not_ready;
        poll.lease = i + 1;
        pending_polled(pending, task, &poll, at_ms[i]);
    }
    assert_int_equal(next_due(pending, 7), GIVE_UP); /* that were max_requests */
    pending_destroy(&pending);
}

static void test_the_first_poll_is_before_it_is_forgotten(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t stale_ms, give_up_ms, want_ms;
    } cases[] = {
        {"stale before", STALE, GIVE_UP, STALE},
        {"stale after", 3 * TTL, GIVE_UP, LOOK},
        {"given up before", 3 * TTL, LOOK / 2, LOOK / 2},
    };
    const struct ald_profile profile = forgetful();
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        pending_t *pending = made();
        const struct pending_facts facts = {.id = 7,
                                            .profile = &profile,
                                            .provider_id = "77",
                                            .stale_after_ms = cases[i].stale_ms,
                                            .give_up_after_ms = cases[i].give_up_ms};
        assert_int_equal(pending_add(pending, &facts), ALD_OK);
        if (next_due(pending, 7) != cases[i].want_ms)
            fail_msg("%s: %d", cases[i].name, (int)next_due(pending, 7));
        pending_destroy(&pending);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_who_is_late),
        cmocka_unit_test(test_late_while_held),
        cmocka_unit_test(test_a_look_before_it_is_forgotten),
        cmocka_unit_test(test_the_first_poll_is_before_it_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
