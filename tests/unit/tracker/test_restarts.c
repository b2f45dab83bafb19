/* What a kill and a new start must not change: rules 1, 5, 11, 15 and 19 of GUARANTEES.md. */
#include "services/tracker/keep.h"
#include "services/tracker/keep_orphans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/vault/vault_index.h"
#include "services/tracker/vault/vault_letters.h"
#include "tests/unit/tracker/stage.h"

static void take(struct stage *stage, uint64_t task, const char *query, const char *want)
{
    const struct stage_callback callback = {.task = task, .query = query};
    struct msg_ack ack = stage_take(stage, &callback);
    assert_string_equal(ack.disposition, want);
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    uint64_t open = stage_register(stage, "two", "77");
    uint64_t ended = stage_register(stage, "two", "78");
    take(stage, ended, "id=78&code=abc", "applied");
    stage_restart(stage, NULL);
    assert_string_equal(stage_state(stage, open), "open");
    assert_string_equal(stage_state(stage, ended), "done callback");
    take(stage, ended, "id=78&code=abc", "duplicate");
    take(stage, open, "id=77&code=abc", "applied");
}

/* Service time stands still while the tracker is down: nobody's deadline passes unattended. */
static void test_time_away(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "mute", "77");
    stage_pass(100000);
    stage_tick(stage);
    stage_stop(stage);
    int64_t run_ms = tracker_now(&stage->tracker).run_ms;
    assert_int_equal(run_ms, 100000);
    stage_pass(24 * INT64_C(3600000));
    stage_restart(stage, NULL);
    assert_int_equal(tracker_now(&stage->tracker).run_ms, run_ms);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, task), "open");
}

/* And while the loop is stopped: who reads the time first sees no leap. */
static void test_time_stopped(void **state)
{
    struct stage *stage = *state;
    int64_t before_ms = tracker_now(&stage->tracker).run_ms;
    stage_pass(3600000);
    int64_t after_ms = tracker_now(&stage->tracker).run_ms;
    assert_true(after_ms - before_ms <= 1000);
    assert_true(tracker_awake(&stage->tracker));
    assert_false(tracker_awake(&stage->tracker));
    assert_true(tracker_now(&stage->tracker).run_ms - before_ms <= 1000);
    stage_pass(20);
    assert_int_equal(tracker_now(&stage->tracker).run_ms - before_ms, 20);
}

/* Rule 19: a task whose profile is taken out of the settings is found again when it is back. */
static void test_orphans(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    uint64_t other = stage_register(stage, "mute", "1");
    stage_restart(stage, "mute: {family: inphp, poll: none}\n");
    assert_int_equal(stage->tracker.orphans, 1);
    assert_string_equal(stage_state(stage, task), "none");
    const struct stage_callback answer = {
        .provider = "mute", .task = other, .query = "id=1&code=abc"};
    assert_string_equal(stage_take(stage, &answer).disposition, "applied");
    stage_pass(3600000);
    keep_tick(&stage->tracker, true); /* indexes, and tells how low open tasks lie */
    assert_int_equal(vault_unindexed(&stage->tracker.vault), 0);
    take(stage, task, "id=77&code=abc", "dead"); /* genuine, so it is kept for a person */
    stage_restart(stage, "two: {family: inphp, poll: none}\n"
                         "mute: {family: inphp, poll: none}\n");
    assert_int_equal(stage->tracker.orphans, 0);
    assert_string_equal(stage_state(stage, task), "open");
    take(stage, task, "id=77&code=abc", "applied");
}

/* Nobody could ask for it while its profile was away: however long that was, it is asked for before
 * it expires. */
static void test_orphans_have_their_last_poll(void **state)
{
    static const char asks[] =
        "two: {family: inphp, secrets: {key: {env: ALD_TEST_KEY}}, poll: {request: "
        "{url: \"https://h.example/res.php\"}, schedule: {every: 5s, give_up_after: 600s}}}\n"
        "mute: {family: inphp, poll: none}\n";
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    for (unsigned i = 0; i < 2; i++) { /* a second start without it forgets nothing */
        stage_restart(stage, "mute: {family: inphp, poll: none}\n");
        assert_false(keep_orphans_found(&stage->tracker));
        stage_pass(1800000);
        stage_stop(stage);
    }
    stage_restart(stage, asks);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, task), "open");
    stage_restart(stage, asks); /* nor does one with it */
    stage_pass(59000);
    stage_stop(stage);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, task), "open");
    stage_pass(2000);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, task), "expired manual");
}

/* Rule 11: ids rise over a restart, also when the clock is behind and the mark is gone. */
static void test_ids_rise(void **state)
{
    struct stage *stage = *state;
    uint64_t first = stage_register(stage, "two", "77");
    take(stage, first, "id=77&code=abc", "applied");
    assert_int_equal(remove(folder_file(&stage->folder, "mark")), 0);
    stage_pass(-24 * INT64_C(3600000));
    stage_restart(stage, NULL);
    uint64_t second = stage_register(stage, "two", "78");
    assert_true(second > first);
    stage_pass(24 * INT64_C(3600000));
}

/* Rule 11: a store older than its mark goes on in a new lane, above all numbers ever seen. */
static void test_a_store_behind_its_mark(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    take(stage, task, "id=77&code=abc", "applied");
    const struct ald_mark_values mark = {.lane = 0, .seq = 50, .last_n = task + 3200};
    assert_int_equal(ald_mark_write(stage->tracker.mark, &mark), ALD_OK);
    assert_int_equal(ald_mark_sync(stage->tracker.mark), ALD_OK);
    stage_restart(stage, NULL);
    uint64_t lane = stage->tracker.vault.lane;
    assert_true(lane > 0);
    assert_int_equal(stage->tracker.vault.last_seq, 50);
    uint64_t next = stage_register(stage, "two", "78");
    assert_true(next > task + 3200);
    take(stage, next, "id=78&code=abc", "applied");
    assert_int_equal(stage->tracker.vault.last_seq, 51);
    stage_stop(stage);
    stage_restart(stage, NULL);
    assert_int_equal(stage->tracker.vault.lane, lane); /* once */
    assert_int_equal(stage->tracker.vault.last_seq, 51);
}

/* A restored backup has no mark beside it; each time that it is put back, its lane is another. */
static void test_a_store_without_its_mark(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    take(stage, task, "id=77&code=abc", "applied");
    uint64_t lanes[3] = {stage->tracker.vault.lane};
    for (size_t i = 1; i < ALD_COUNT(lanes); i++) {
        stage_stop(stage);
        assert_int_equal(remove(folder_file(&stage->folder, "mark")), 0);
        stage_pass(2);
        stage_restart(stage, NULL);
        lanes[i] = stage->tracker.vault.lane;
        assert_true(lanes[i] > lanes[i - 1]);
        assert_int_equal(stage->tracker.vault.last_seq, 1);
    }
}

/* Rule 5: evidence that is deleted by age does not make a repeat into news. */
static void test_repeats_of_what_was_purged(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    uint64_t num = stage->num + 1;
    take(stage, task, "id=77&code=abc", "applied");
    for (int i = 0; i < 3; i++) { /* ten days later, without load */
        stage_pass(10 * 24 * INT64_C(3600000));
        stage->tracker.turned_ms += 10 * 24 * INT64_C(3600000);
        keep_tick(&stage->tracker, true);
    }
    assert_int_equal(stage_book(stage, BOOK_PURGED + ALD_DISP_APPLIED), 1);
    stage_restart(stage, NULL);
    const struct stage_callback again = {.num = num, .task = task, .query = "id=77&code=abc"};
    assert_string_equal(stage_take(stage, &again).disposition, "applied");
    assert_int_equal(stage_book(stage, BOOK_RECEIVED), 1);
}

/* Nor what lay in a spool for so long that it is old when it comes. */
static void test_repeats_of_what_came_late(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    struct stage_callback old = {
        .task = task, .query = "id=77", .age_ms = 10 * 24 * INT64_C(3600000), .spooled = true};
    assert_string_equal(stage_take(stage, &old).disposition, "progress");
    stage_pass(1000000);
    stage->tracker.turned_ms += 1000000;
    keep_tick(&stage->tracker, true); /* a snapshot; the next one is a minute away */
    assert_int_equal(stage->tracker.kept_arrival, 1);
    old.num = 9;
    old.query = "id=77&code=abc";
    assert_string_equal(stage_take(stage, &old).disposition, "applied");
    for (int i = 0; i < 2; i++) {
        stage_pass(15000);
        stage->tracker.turned_ms += 15000;
        keep_tick(&stage->tracker, true);
    }
    assert_int_equal(vault_unindexed(&stage->tracker.vault), 0);
    assert_int_equal(stage->tracker.kept_arrival, 1);
    stage_restart(stage, NULL);
    assert_string_equal(stage_take(stage, &old).disposition, "applied");
    assert_int_equal(stage_book(stage, BOOK_RECEIVED), 2);
}

/* Four tasks, two of which end before a run of the index begins; of these, some rows are indexed
 * when the third ends. Whether the tracker dies then or goes on, it knows which have ended. */
static void index_scene(struct stage *stage, size_t rows, bool die)
{
    static const char *const ids[] = {"1", "2", "3", "4"};
    uint64_t task[4];
    char query[64];
    for (size_t i = 0; i < 4; i++)
        task[i] = stage_register(stage, "two", ids[i]);
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(query, sizeof query, "id=%s&code=abc", ids[i]);
        take(stage, task[i], query, "applied");
        if (i != 1)
            continue;
        vault_index_begin(&stage->tracker.vault);
        tail_turn(stage->tracker.tail);
        assert_false(vault_index_step(&stage->tracker.vault, rows, task[2]));
    }
    if (die)
        stage_restart(stage, NULL);
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(query, sizeof query, "id=%s&code=abc", ids[i]);
        take(stage, task[i], query, "duplicate");
        (void)snprintf(query, sizeof query, "id=%s&code=other", ids[i]);
        take(stage, task[i], query, "dead");
    }
    assert_string_equal(stage_state(stage, task[3]), "open");
    stage_pass(1000);
    stage->tracker.turned_ms += 1000;
    keep_tick(&stage->tracker, true); /* goes on with the run, or begins another */
    stage_pass(1000);
    stage->tracker.turned_ms += 1000;
    keep_tick(&stage->tracker, true);
    assert_int_equal(vault_unindexed(&stage->tracker.vault), 0);
    assert_int_equal(tail_count(stage->tracker.tail), 0);
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(query, sizeof query, "id=%s&code=abc", ids[i]);
        take(stage, task[i], query, "duplicate");
    }
    take(stage, task[3], "id=4&code=abc", "applied");
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(query, sizeof query, "id=%s&code=abc", ids[i]);
        take(stage, task[i], query, "duplicate");
        assert_string_equal(stage_state(stage, task[i]), "done callback");
    }
}

static void test_while_indexing(void **state)
{
    for (size_t rows = 0; rows < 4; rows++) {
        index_scene(*state, rows, false);
        assert_int_equal(stage_teardown(state), 0);
        assert_int_equal(stage_setup(state), 0);
    }
}

static void test_killed_while_indexing(void **state)
{
    for (size_t rows = 0; rows < 4; rows++) {
        index_scene(*state, rows, true);
        assert_int_equal(stage_teardown(state), 0);
        assert_int_equal(stage_setup(state), 0);
    }
}

/* A tracker that is never idle still deletes what is old. */
static void test_purging_under_load(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    take(stage, task, "id=77&code=abc", "applied");
    stage_index(stage);
    for (int i = 0; i < 3 && stage_book(stage, BOOK_TASKS_PURGED) == 0; i++) {
        stage_pass(20 * 24 * INT64_C(3600000));
        stage->tracker.turned_ms += 20 * 24 * INT64_C(3600000);
        keep_tick(&stage->tracker, false);
    }
    assert_int_equal(stage_book(stage, BOOK_TASKS_PURGED), 1);
    assert_string_equal(stage_state(stage, task), "none");
    take(stage, task, "id=77&code=abc", "duplicate"); /* out of its tomb */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STAGE(test_example),
        ON_STAGE(test_time_away),
        ON_STAGE(test_time_stopped),
        ON_STAGE(test_orphans),
        ON_STAGE(test_orphans_have_their_last_poll),
        ON_STAGE(test_ids_rise),
        ON_STAGE(test_a_store_behind_its_mark),
        ON_STAGE(test_a_store_without_its_mark),
        ON_STAGE(test_repeats_of_what_was_purged),
        ON_STAGE(test_repeats_of_what_came_late),
        ON_STAGE(test_while_indexing),
        ON_STAGE(test_killed_while_indexing),
        ON_STAGE(test_purging_under_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
