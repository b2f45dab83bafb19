/* What is deleted by age, and what stays. rules 7 and 8 of GUARANTEES.md. */
#include "services/tracker/vault/vault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/vault/vault_consumers.h"
#include "services/tracker/vault/vault_purge.h"
#include "services/tracker/vault/vault_pushes.h"
#include "tests/unit/tracker/rows.h"

static void test_arrivals_of_a_task(void **state)
{
    struct rows *self = *state;
    vault_begin(&self->vault);
    rows_task(self, 1, "");
    for (int i = 0; i < 5; i++)
        (void)rows_arrival(self, 1, ALD_DISP_PROGRESS, 5);
    rows_commit(self);
    assert_int_equal(vault_arrivals_of(&self->vault, 1, 64), 0);
    rows_index(self, 1);
    assert_int_equal(vault_arrivals_of(&self->vault, 1, 64), 5);
    assert_int_equal(vault_arrivals_of(&self->vault, 1, 3), 3);
}

/* Tasks 1 and 2 have ended, 3 is open; what purging must spare is told. */
static void purge_scene(struct rows *self, int64_t *dead, int64_t *parked, int64_t *young)
{
    vault_begin(&self->vault);
    for (uint64_t id = 1; id <= 3; id++) {
        char provider_id[8];
        (void)snprintf(provider_id, sizeof provider_id, "%d", (int)id);
        rows_task(self, id, provider_id);
    }
    (void)rows_end(self, 1, "d");
    (void)rows_end(self, 2, "d"); /* published at 20 */
    (void)rows_arrival(self, 1, ALD_DISP_APPLIED, 10);
    (void)rows_arrival(self, 2, ALD_DISP_APPLIED, 11);
    *dead = rows_arrival(self, 0, ALD_DISP_DEAD, 12);
    *parked = rows_arrival(self, 0, ALD_DISP_PARKED, 13);
    (void)rows_arrival(self, 1, ALD_DISP_DUPLICATE, 14);
    *young = rows_arrival(self, 1, ALD_DISP_DUPLICATE, 1000);
    vault_note(&self->vault, 1, 5, "poll", "");
    vault_key_add(&self->vault, "k1", 1, "", 5);
    rows_letter(self, "L1", ALD_REASON_UNKNOWN_TASK, 0, "");
    rows_commit(self);
}

/* A task whose end is still being told to its caller stays, and so do those after it. */
static void test_a_push_holds_its_task(void **state)
{
    struct rows *self = *state;
    int64_t dead = 0;
    int64_t parked = 0;
    int64_t young = 0;
    const struct vault_bounds before = {.results_ms = 1000, .kept_arrival = INT64_MAX};
    purge_scene(self, &dead, &parked, &young);
    rows_index(self, 3);
    vault_begin(&self->vault);
    vault_push_add(&self->vault, 1, "http://127.0.0.1/", false);
    vault_push_due(&self->vault, 1, ald_span_str("code=d"), 30);
    rows_commit(self);
    assert_false(vault_purge(&self->vault, &before, 100, 700));
    assert_true(vault_task_known(&self->vault, 1) && vault_task_known(&self->vault, 2));
    vault_begin(&self->vault);
    vault_push_settle(&self->vault, 1, true);
    rows_commit(self);
    assert_false(vault_purge(&self->vault, &before, 100, 700));
    assert_false(vault_task_known(&self->vault, 1) || vault_task_known(&self->vault, 2));
}

/* Purging keeps the books, leaves a tomb, and spares what is not settled. */
static void test_purge(void **state)
{
    struct rows *self = *state;
    uint64_t open[16];
    int64_t dead = 0;
    int64_t parked = 0;
    int64_t young = 0;
    struct vault_end end;
    struct ald_buf buf;
    struct vault_arrival row;
    ald_buf_init(&buf, 1000);
    purge_scene(self, &dead, &parked, &young);
    const struct vault_bounds before = {.results_ms = 20,
                                        .evidence_ms = 500,
                                        .tombs_ms = 0,
                                        .keys_ms = 5,
                                        .kept_arrival = INT64_MAX};
    assert_false(vault_purge(&self->vault, &before, 100, 700)); /* not indexed: nothing goes */
    assert_true(vault_task_known(&self->vault, 1));
    rows_index(self, 3);
    assert_false(vault_purge(&self->vault, &before, 100, 700));
    assert_false(vault_task_known(&self->vault, 1));
    assert_true(vault_task_buried(&self->vault, 1));
    assert_false(vault_end_find(&self->vault, 1, 0, &end));
    assert_int_equal(vault_ref_find(&self->vault, "two", "1"), 1); /* it answers for itself yet */
    assert_true(vault_task_known(&self->vault, 2));
    assert_false(vault_task_buried(&self->vault, 2));
    assert_true(vault_arrival_get(&self->vault, dead, &row, &buf));
    assert_true(vault_arrival_get(&self->vault, parked, &row, &buf));
    assert_true(vault_arrival_get(&self->vault, young, &row, &buf));
    assert_false(vault_arrival_get(&self->vault, 1, &row, &buf));
    assert_false(vault_arrival_get(&self->vault, parked + 1, &row, &buf));
    assert_int_equal(self->vault.books.value[BOOK_PURGED + ALD_DISP_APPLIED], 2);
    assert_int_equal(self->vault.books.value[BOOK_PURGED + ALD_DISP_DUPLICATE], 1);
    assert_int_equal(self->vault.books.value[BOOK_TASKS_PURGED], 1);
    rows_balanced(self, 1);
    rows_reopen(self);
    assert_int_equal(self->vault.books.value[BOOK_PURGED + ALD_DISP_APPLIED], 2);
    assert_int_equal(self->vault.last_seq, 2);
    assert_int_equal(rows_open(self, open), 1);
    rows_balanced(self, 1);
    const struct vault_bounds later = {.tombs_ms = 701, .keys_ms = 6};
    uint64_t task = 0;
    char digest[65];
    assert_true(vault_key_find(&self->vault, "k1", &task, digest));
    assert_false(vault_purge(&self->vault, &later, 100, 800));
    assert_false(vault_task_buried(&self->vault, 1));
    assert_int_equal(vault_ref_find(&self->vault, "two", "1"), 0);
    assert_int_equal(vault_ref_find(&self->vault, "two", "2"), 2);
    assert_false(vault_key_find(&self->vault, "k1", &task, digest));
    ald_buf_free(&buf);
}

/* A ref that a newer task took over does not go with the older one's tomb. */
static void test_a_tomb_takes_only_its_own_ref(void **state)
{
    struct rows *self = *state;
    vault_begin(&self->vault);
    rows_task(self, 1, "77");
    (void)rows_end(self, 1, "d");
    rows_task(self, 2, "77");
    rows_commit(self);
    rows_index(self, 2);
    const struct vault_bounds before = {.results_ms = 1000, .tombs_ms = 0};
    assert_false(vault_purge(&self->vault, &before, 100, 5));
    const struct vault_bounds later = {.tombs_ms = 100};
    assert_false(vault_purge(&self->vault, &later, 100, 200));
    assert_false(vault_task_buried(&self->vault, 1));
    assert_int_equal(vault_ref_find(&self->vault, "two", "77"), 2);
}

/* Rule 5: rows that still have to say which numbers were taken are not purged. */
static void test_purge_waits_for_the_snapshot(void **state)
{
    struct rows *self = *state;
    struct ald_buf buf;
    struct vault_arrival row;
    ald_buf_init(&buf, 1000);
    vault_begin(&self->vault);
    (void)rows_arrival(self, 1, ALD_DISP_APPLIED, 10);
    (void)rows_arrival(self, 1, ALD_DISP_DUPLICATE, 10);
    rows_commit(self);
    rows_index(self, 1);
    struct vault_bounds before = {.evidence_ms = 500, .kept_arrival = 1};
    assert_false(vault_purge(&self->vault, &before, 100, 700));
    assert_false(vault_arrival_get(&self->vault, 1, &row, &buf));
    assert_true(vault_arrival_get(&self->vault, 2, &row, &buf));
    before.kept_arrival = 2;
    assert_false(vault_purge(&self->vault, &before, 100, 700));
    assert_false(vault_arrival_get(&self->vault, 2, &row, &buf));
    rows_reopen(self);
    assert_int_equal(self->vault.last_arrival, 2); /* numbers go on */
    ald_buf_free(&buf);
}

static void test_purge_goes_by_pieces(void **state)
{
    struct rows *self = *state;
    vault_begin(&self->vault);
    for (uint64_t id = 1; id <= 10; id++) {
        rows_task(self, id, "");
        (void)rows_end(self, id, "");
        (void)rows_arrival(self, id, ALD_DISP_APPLIED, 1);
    }
    rows_commit(self);
    rows_index(self, 11);
    const struct vault_bounds before = {
        .results_ms = INT64_MAX, .evidence_ms = INT64_MAX, .kept_arrival = INT64_MAX};
    unsigned turns = 1;
    while (vault_purge(&self->vault, &before, 4, 5))
        turns++;
    assert_int_equal(turns, 3);
    assert_int_equal(vault_seq_kept(&self->vault), 10);
    assert_int_equal(self->vault.books.value[BOOK_TASKS_PURGED], 10);
    assert_int_equal(self->vault.books.value[BOOK_PURGED + ALD_DISP_APPLIED], 10);
    rows_balanced(self, 0);
    vault_begin(&self->vault);
    assert_int_equal(rows_end(self, 11, ""), 11); /* no number is given twice */
    rows_commit(self);
}

/* Ten tasks that end in another order than they were made. */
static void ten_ended(struct rows *self)
{
    static const uint64_t order[] = {7, 2, 9, 4, 1, 10, 3, 8, 5, 6};
    vault_begin(&self->vault);
    for (uint64_t id = 1; id <= 10; id++)
        rows_task(self, id, "");
    for (size_t i = 0; i < 10; i++) {
        (void)rows_end(self, order[i], "");
        (void)rows_arrival(self, order[i], ALD_DISP_APPLIED, 1);
    }
    rows_commit(self);
    rows_index(self, 11);
}

/* Tasks go in their own order, so that from the first one on no result of theirs may be given.
 * Killed after any step, the rest goes later, and each is counted once. */
static void test_killed_while_it_purges(void **state)
{
    struct rows *self = *state;
    const struct vault_bounds before = {.results_ms = INT64_MAX};
    const struct vault_bounds none = {0};
    struct msg_event event;
    struct ald_buf bytes;
    ald_buf_init(&bytes, 1000);
    for (unsigned steps = 1; steps < 7; steps++) {
        rows_anew(self);
        ten_ended(self);
        bool more = true;
        for (unsigned i = 0; i < steps && more; i++)
            more = vault_purge(&self->vault, &before, 2, 5);
        bool hidden = rows_number(self, "SELECT COUNT(*) FROM tasks") < 10;
        assert_int_equal(vault_event(&self->vault, 10, &event, &bytes), !hidden);
        assert_int_equal(vault_seq_kept(&self->vault), hidden ? 10 : 0);
        rows_reopen(self);
        assert_int_equal(vault_event(&self->vault, 10, &event, &bytes), !hidden);
        assert_int_equal(vault_seq_kept(&self->vault), hidden ? 10 : 0);
        assert_int_equal(self->vault.books.value[BOOK_TASKS_PURGED],
                         10 - rows_number(self, "SELECT COUNT(*) FROM tasks"));
        /* What was hidden once may go, whatever is owed by now. */
        while (vault_purge(&self->vault, hidden ? &none : &before, 2, 5)) {
        }
        assert_int_equal(rows_number(self, "SELECT (SELECT COUNT(*) FROM tasks)"
                                           " + (SELECT COUNT(*) FROM results)"
                                           " + (SELECT COUNT(*) FROM finds)"),
                         0);
        assert_int_equal(rows_number(self, "SELECT COUNT(*) FROM tombs"), 10);
        assert_int_equal(self->vault.books.value[BOOK_TASKS_PURGED], 10);
        assert_int_equal(self->vault.books.value[BOOK_STATE_PURGED + ALD_STATE_DONE], 10);
        rows_balanced(self, 0);
    }
    ald_buf_free(&bytes);
}

/* It comes after the end was gathered and before its task went: the task goes with the correction.
 */
static void test_corrected_while_it_purges(void **state)
{
    struct rows *self = *state;
    struct vault_end end;
    const struct vault_bounds before = {.results_ms = 1000};
    ten_ended(self);
    assert_true(vault_purge(&self->vault, &before, 2, 5)); /* gathers 8 of 10 */
    assert_true(vault_purge(&self->vault, &before, 2, 5)); /* 1 and 2 are gone */
    assert_false(vault_task_known(&self->vault, 2));
    assert_true(vault_task_known(&self->vault, 9));
    vault_begin(&self->vault);
    assert_int_equal(rows_correct(self, 9, 3), 11);
    rows_commit(self);
    while (vault_purge(&self->vault, &before, 2, 5)) {
    }
    assert_true(vault_task_known(&self->vault, 9)); /* not indexed: it stays */
    rows_index(self, 11);
    assert_true(vault_end_find(&self->vault, 9, 0, &end));
    assert_int_equal(end.seq, 11);
    assert_int_equal(self->vault.books.value[BOOK_TASKS_PURGED], 9);
    assert_int_equal(self->vault.books.value[BOOK_STATE_PURGED + ALD_STATE_DONE], 10);
    while (vault_purge(&self->vault, &before, 2, 5)) {
    }
    assert_false(vault_task_known(&self->vault, 9));
    assert_int_equal(self->vault.books.value[BOOK_TASKS_PURGED], 10);
    assert_int_equal(self->vault.books.value[BOOK_CORRECTIONS_PURGED], 1);
    rows_balanced(self, 0);
}

/* A consumer that is made while old ones are gathered is owed them, and gets them. */
static void test_owed_while_it_gathers(void **state)
{
    struct rows *self = *state;
    struct vault_bounds before = {.results_ms = 1000};
    ten_ended(self);
    assert_true(vault_purge(&self->vault, &before, 2, 5));
    before.owed_seq = 4;
    while (vault_purge(&self->vault, &before, 2, 5)) {
    }
    assert_int_equal(vault_seq_kept(&self->vault), 3);
    assert_int_equal(rows_number(self, "SELECT COUNT(*) FROM tasks"), 7);
    rows_balanced(self, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROWS(test_arrivals_of_a_task),           WITH_ROWS(test_purge),
        WITH_ROWS(test_a_push_holds_its_task),        WITH_ROWS(test_a_tomb_takes_only_its_own_ref),
        WITH_ROWS(test_purge_waits_for_the_snapshot), WITH_ROWS(test_purge_goes_by_pieces),
        WITH_ROWS(test_killed_while_it_purges),       WITH_ROWS(test_corrected_while_it_purges),
        WITH_ROWS(test_owed_while_it_gathers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
