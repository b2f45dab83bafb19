/* A run of the index in steps, and a kill in the middle of it: what is in the index by then is also
 * among the rows that are read back, and nobody may take one for two. */
#include "services/tracker/vault/vault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/vault/vault_index.h"
#include "services/tracker/vault/vault_purge.h"
#include "tests/unit/tracker/rows.h"

enum { TASKS = 9 };

static int64_t in_index(struct rows *self)
{
    return rows_number(self, "SELECT COUNT(*) FROM finds");
}

static void test_example(void **state)
{
    struct rows *self = *state;
    struct vault_end end;
    vault_begin(&self->vault);
    rows_task(self, 1, "");
    (void)rows_end(self, 1, "d1");
    (void)rows_arrival(self, 1, ALD_DISP_APPLIED, 5);
    rows_commit(self);
    vault_index_begin(&self->vault);
    assert_true(vault_index_running(&self->vault));
    assert_false(vault_index_step(&self->vault, 1, 2));
    assert_true(vault_end_find(&self->vault, 1, 0, &end)); /* it is there */
    assert_int_equal(vault_unindexed(&self->vault), 2);    /* but nobody relies on it */
    assert_true(vault_index_step(&self->vault, 10, 2));
    assert_false(vault_index_running(&self->vault));
    assert_int_equal(vault_unindexed(&self->vault), 0);
}

/* Tasks 1 to 9, of which the odd ones have ended, newest first; each has a callback, two polls (one
 * of them hinted). A run has indexed `rows` of their rows. */
static void scene(struct rows *self, size_t rows)
{
    vault_begin(&self->vault);
    for (uint64_t id = 1; id <= TASKS; id++)
        rows_task(self, id, "");
    for (uint64_t id = TASKS; id >= 1; id--) {
        (void)rows_arrival(self, id, id % 2 == 1 ? ALD_DISP_APPLIED : ALD_DISP_PROGRESS, 5);
        vault_note(&self->vault, id, 5, "poll", "");
        vault_note(&self->vault, id, 5, "poll.hinted", "");
        if (id % 2 == 1)
            (void)rows_end(self, id, "d");
    }
    rows_commit(self);
    vault_index_begin(&self->vault);
    assert_false(vault_index_step(&self->vault, rows, 2));
    assert_int_equal(in_index(self), rows);
}

enum { SCENE_ROWS = 3 * TASKS + 5 };

static struct {
    uint32_t polls, hinted;
} polled[TASKS + 1];

static void see_polled(void *context, const struct vault_polls *polls)
{
    (void)context;
    polled[polls->task].polls += polls->polls;
    polled[polls->task].hinted += polls->hinted;
}

static void see_seq(void *context, uint64_t task, uint64_t seq)
{
    uint64_t *of_task = context;
    assert_int_equal(of_task[task], 0);
    of_task[task] = seq;
}

/* Nothing is lost and nothing counted twice, wherever the kill comes. */
static void check(struct rows *self)
{
    uint64_t open[16];
    uint64_t seqs[TASKS + 1] = {0};
    memset(polled, 0, sizeof polled);
    assert_int_equal(rows_open(self, open), TASKS / 2);
    for (unsigned i = 0; i < TASKS / 2; i++)
        assert_int_equal(open[i], 2 * (i + 1));
    vault_each_polled(&self->vault, see_polled, NULL);
    for (uint64_t id = 2; id <= TASKS; id++) { /* 1 has ended: nobody asks */
        assert_int_equal(polled[id].polls, 2);
        assert_int_equal(polled[id].hinted, 1);
    }
    vault_each_unindexed(&self->vault, see_seq, seqs);
    for (uint64_t id = 1; id <= TASKS; id++) {
        struct vault_end end;
        bool ended = vault_end_find(&self->vault, id, seqs[id], &end);
        assert_int_equal(ended, id % 2);
        assert_true(!ended || strcmp(end.digest, "d") == 0);
    }
    rows_balanced(self, TASKS / 2);
}

static void test_killed_in_the_middle(void **state)
{
    struct rows *self = *state;
    for (size_t rows = 0; rows < SCENE_ROWS; rows++) {
        scene(self, rows);
        rows_reopen(self);
        assert_int_equal(self->vault.indexed_seq, 0);
        assert_int_equal(vault_unindexed(&self->vault), SCENE_ROWS);
        check(self);
        rows_index(self, 2); /* begins anew, and meets those that are there */
        assert_int_equal(in_index(self), SCENE_ROWS);
        assert_int_equal(vault_unindexed(&self->vault), 0);
        check(self);
        rows_reopen(self);
        check(self);
        assert_int_equal(vault_unindexed(&self->vault), 0);
        rows_anew(self);
    }
}

/* Rows that come while a run is under way are of the next one, also when the run is killed. */
static void test_rows_meanwhile(void **state)
{
    struct rows *self = *state;
    scene(self, 10);
    vault_begin(&self->vault);
    rows_task(self, 20, "");
    (void)rows_end(self, 20, "");
    (void)rows_arrival(self, 1, ALD_DISP_DUPLICATE, 5);
    rows_commit(self);
    assert_true(vault_index_step(&self->vault, 1000, 2));
    assert_int_equal(in_index(self), SCENE_ROWS);
    assert_int_equal(vault_unindexed(&self->vault), 2);
    assert_int_equal(vault_arrivals_of(&self->vault, 1, 10), 1);
    rows_reopen(self);
    assert_int_equal(vault_unindexed(&self->vault), 2);
    rows_index(self, 2);
    assert_int_equal(in_index(self), SCENE_ROWS + 2);
    assert_int_equal(vault_arrivals_of(&self->vault, 1, 10), 2);
}

/* What a run has brought in is not purged before the run is through. */
static void test_purging_in_the_middle(void **state)
{
    struct rows *self = *state;
    const struct vault_bounds all = {
        .results_ms = INT64_MAX, .evidence_ms = INT64_MAX, .kept_arrival = INT64_MAX};
    scene(self, SCENE_ROWS - 1);
    assert_false(vault_purge(&self->vault, &all, 100, 700));
    assert_int_equal(self->vault.books.value[BOOK_TASKS_PURGED], 0);
    assert_true(vault_index_step(&self->vault, 100, 2));
    assert_false(vault_purge(&self->vault, &all, 100, 700));
    assert_int_equal(self->vault.books.value[BOOK_TASKS_PURGED], (TASKS + 1) / 2);
    assert_int_equal(in_index(self), 3 * (TASKS / 2)); /* of those that are open */
    rows_balanced(self, TASKS / 2);
}

/* A callback that waited for its task was passed by; when it is given one, it is in the index. */
static void test_a_task_given_later(void **state)
{
    struct rows *self = *state;
    vault_begin(&self->vault);
    int64_t no = rows_arrival(self, 0, ALD_DISP_PARKED, 5);
    rows_commit(self);
    rows_index(self, 1);
    assert_int_equal(in_index(self), 0);
    assert_int_equal(vault_unindexed(&self->vault), 0);
    vault_begin(&self->vault);
    rows_task(self, 1, "77");
    vault_arrival_move(&self->vault, no, ALD_DISP_PARKED, ALD_DISP_PROGRESS, 1, "");
    rows_commit(self);
    assert_int_equal(vault_arrivals_of(&self->vault, 1, 10), 1);
    rows_reopen(self);
    rows_index(self, 1);
    assert_int_equal(vault_arrivals_of(&self->vault, 1, 10), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROWS(test_example),
        WITH_ROWS(test_killed_in_the_middle),
        WITH_ROWS(test_rows_meanwhile),
        WITH_ROWS(test_purging_in_the_middle),
        WITH_ROWS(test_a_task_given_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
