/* All rows counted again, against the books, while rows come, move and go. rules 8 and 25 of
 * GUARANTEES.md. */
#include "services/tracker/vault/recount.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/vault/vault_purge.h"
#include "tests/unit/tracker/rows.h"

struct scene {
    struct rows *rows;
    ald_store_t *reader;
    struct recount recount;
    char problems[1024];
    int64_t received;
};

static void scene_open(struct scene *self, struct rows *rows)
{
    char path[ALD_STORE_PATH_MAX];
    struct ald_err err = {0};
    *self = (struct scene){.rows = rows};
    (void)snprintf(path, sizeof path, "%s/tracker.db", rows->folder.path);
    const struct ald_store_options options = vault_store_options(path, true);
    assert_int_equal(ald_store_open(&options, &self->reader, &err), ALD_OK);
    recount_begin(&self->recount);
}

static void scene_line(void *arg, const char *name, int64_t value, const char *problem)
{
    struct scene *self = arg;
    size_t used = strlen(self->problems);
    if (strcmp(name, "arrivals.received") == 0)
        self->received = value;
    if (problem[0] != '\0')
        (void)snprintf(self->problems + used, sizeof self->problems - used, "%s;", problem);
}

/* To the end; what it ends with. */
static enum ald_rc scene_run(struct scene *self)
{
    enum ald_rc rc = ALD_AGAIN;
    for (int i = 0; rc == ALD_AGAIN; i++) {
        assert_true(i < 1000);
        rc = recount_page(&self->recount, self->reader);
    }
    if (rc == ALD_OK)
        recount_tell(&self->recount, scene_line, self);
    return rc;
}

/* One ended, corrected and one open task, each disposition, a letter in each state. */
static void fill(struct rows *rows)
{
    vault_begin(&rows->vault);
    rows_task(rows, 1, "1");
    rows_task(rows, 2, "2");
    (void)rows_correct(rows, 1, rows_end(rows, 1, "d"));
    for (unsigned d = 0; d < ALD_DISP_COUNT; d++)
        (void)rows_arrival(rows, 1, (enum ald_disposition)d, 10);
    rows_letter(rows, "L1", ALD_REASON_UNKNOWN_TASK, 0, "");
    rows_letter(rows, "L2", ALD_REASON_UNKNOWN_TASK, 0, "");
    rows_letter(rows, "L3", ALD_REASON_UNKNOWN_TASK, 0, "");
    vault_letter_close(&rows->vault, "L2", VAULT_LETTER_RESOLVED, ALD_DISP_APPLIED);
    vault_letter_close(&rows->vault, "L3", VAULT_LETTER_DROPPED, ALD_DISP_DROPPED);
    rows_commit(rows);
}

static void add_arrivals(struct rows *rows, int count)
{
    vault_begin(&rows->vault);
    for (int i = 0; i < count; i++)
        (void)rows_arrival(rows, 1, ALD_DISP_PARKED, 10);
    rows_commit(rows);
}

static void test_example(void **state)
{
    struct scene scene;
    fill(*state);
    scene_open(&scene, *state);
    assert_int_equal(scene_run(&scene), ALD_OK);
    assert_string_equal(scene.problems, "");
    assert_int_equal(scene.received, ALD_DISP_COUNT);
    ald_store_destroy(&scene.reader);
}

/* After purging the rows are gone and the books are not. */
static void test_purged(void **state)
{
    struct rows *rows = *state;
    struct scene scene;
    fill(rows);
    rows_index(rows, 2);
    const struct vault_bounds before = {
        .results_ms = 500, .evidence_ms = 500, .kept_arrival = INT64_MAX};
    (void)vault_purge(&rows->vault, &before, 100, 700);
    assert_false(vault_task_known(&rows->vault, 1));
    scene_open(&scene, rows);
    assert_int_equal(scene_run(&scene), ALD_OK);
    assert_string_equal(scene.problems, "");
    assert_int_equal(scene.received, 2); /* the parked and the dead one stay */
    ald_store_destroy(&scene.reader);
}

/* A result goes before its correction does, and its task with the last of them. */
static void test_purged_in_between(void **state)
{
    struct rows *rows = *state;
    struct scene scene;
    fill(rows);
    rows_index(rows, 2);
    for (int64_t before_ms = 12; before_ms <= 100; before_ms += 88) {
        const struct vault_bounds before = {.results_ms = before_ms};
        (void)vault_purge(&rows->vault, &before, 100, 700);
        assert_int_equal(vault_task_known(&rows->vault, 1), before_ms == 12);
        rows_balanced(rows, 1);
        scene_open(&scene, rows);
        assert_int_equal(scene_run(&scene), ALD_OK);
        assert_string_equal(scene.problems, "");
        ald_store_destroy(&scene.reader);
        uint64_t open[16];
        rows_reopen(rows);
        assert_int_equal(rows_open(rows, open), 1); /* and it does not open again */
    }
}

/* What is added while a count is under way is counted, by more pages than one. */
static void test_added_meanwhile(void **state)
{
    struct rows *rows = *state;
    struct scene scene;
    fill(rows);
    add_arrivals(rows, 2 * RECOUNT_PAGE_ROWS);
    scene_open(&scene, rows);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(recount_page(&scene.recount, scene.reader), ALD_AGAIN);
        add_arrivals(rows, 20);
    }
    assert_int_equal(scene_run(&scene), ALD_OK);
    assert_string_equal(scene.problems, "");
    assert_int_equal(scene.received, ALD_DISP_COUNT + 2 * RECOUNT_PAGE_ROWS + 40);
    assert_int_equal(scene.recount.tries, 0);
    ald_store_destroy(&scene.reader);
}

static void move_one(struct rows *rows, int64_t no)
{
    vault_begin(&rows->vault);
    vault_arrival_move(&rows->vault, no, ALD_DISP_PARKED, ALD_DISP_APPLIED, 1, "");
    rows_commit(rows);
}

/* What moves behind the count's back makes it begin again; what never stands still, give up. */
static void test_moved_meanwhile(void **state)
{
    struct rows *rows = *state;
    struct scene scene;
    fill(rows);
    add_arrivals(rows, RECOUNT_PAGE_ROWS);
    int64_t first = ALD_DISP_COUNT + 1;
    scene_open(&scene, rows);
    assert_int_equal(recount_page(&scene.recount, scene.reader), ALD_AGAIN);
    move_one(rows, first);
    assert_int_equal(scene_run(&scene), ALD_OK);
    assert_int_equal(scene.recount.tries, 1);
    assert_string_equal(scene.problems, "");
    recount_begin(&scene.recount);
    enum ald_rc rc = ALD_AGAIN;
    for (int i = 1; rc == ALD_AGAIN && i < 1000; i++) {
        rc = recount_page(&scene.recount, scene.reader);
        move_one(rows, first + i);
    }
    assert_int_equal(rc, ALD_TIMEOUT);
    ald_store_destroy(&scene.reader);
}

/* Each kind of damage has its own words. */
static void test_each_break_is_named(void **state)
{
    static const struct {
        const char *sql;
        const char *names;
    } cases[] = {
        {"DELETE FROM arrivals WHERE disposition = 0", "arrivals.applied: the books say 1,"},
        {"DELETE FROM arrivals WHERE disposition = 0", "arrivals.received"},
        {"UPDATE arrivals SET disposition = 2 WHERE disposition = 0", "arrivals.duplicate"},
        {"UPDATE arrivals SET disposition = 77 WHERE disposition = 0", "1 rows are in a state"},
        {"UPDATE books SET value = value + 1 WHERE name = 'arrivals.parked'", "arrivals.parked"},
        {"DELETE FROM results", "tasks.done"},
        {"DELETE FROM results", "tasks.open"},
        {"UPDATE results SET source = 2", "results.poll"},
        {"DELETE FROM tasks WHERE id = 1", "2 results are of tasks that are not there"},
        {"DELETE FROM tasks WHERE id = 2", "tasks.created"},
        {"INSERT INTO finds (task, kind, no) VALUES (1, 0, 7)", "of tasks that have another"},
        {"DELETE FROM results WHERE corrects > 0", "corrections.published"},
        {"UPDATE results SET task = 2 WHERE corrects > 0", "are of results of another task"},
        {"UPDATE results SET corrects = 0", "tasks.done: the books say 1, there are 2 rows"},
        {"UPDATE letters SET state = 1 WHERE letter = 'L1'", "letters.open"},
        {"UPDATE letters SET state = 0 WHERE letter = 'L2'", "letters.resolved"},
        {"DELETE FROM letters WHERE letter = 'L3'", "letters.dropped"},
        {"UPDATE letters SET letter = x'ffee' WHERE letter = 'L3'", "letters.dropped"},
        {"UPDATE letters SET letter = CAST(x'4c3300ff' AS TEXT) WHERE letter = 'L3'", "letters."},
    };
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        void *rows = NULL;
        struct scene scene;
        rows_setup(&rows);
        fill(rows);
        scene_open(&scene, rows);
        assert_int_equal(ald_store_exec(scene.rows->vault.store, cases[i].sql), ALD_OK);
        assert_int_equal(scene_run(&scene), ALD_OK);
        if (!strstr(scene.problems, cases[i].names))
            print_error("%s: %s\n", cases[i].sql, scene.problems);
        assert_non_null(strstr(scene.problems, cases[i].names));
        ald_store_destroy(&scene.reader);
        rows_teardown(&rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROWS(test_example),           WITH_ROWS(test_purged),
        WITH_ROWS(test_purged_in_between), WITH_ROWS(test_added_meanwhile),
        WITH_ROWS(test_moved_meanwhile),   cmocka_unit_test(test_each_break_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
