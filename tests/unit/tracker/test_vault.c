/* What the tracker keeps on disk, written and read back. rules 8, 11 and 16 of GUARANTEES.md, as
 * far as the store goes. */
#include "services/tracker/vault/vault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/vault/vault_index.h"
#include "tests/unit/tracker/rows.h"

static void test_example(void **state)
{
    struct rows *self = *state;
    struct vault_end end;
    vault_begin(&self->vault);
    rows_task(self, 5, "77");
    uint64_t seq = rows_end(self, 5, "d1");
    rows_commit(self);
    assert_int_equal(seq, 1);
    assert_int_equal(vault_ref_find(&self->vault, "two", "77"), 5);
    assert_true(vault_end_find(&self->vault, 5, seq, &end));
    assert_int_equal(end.state, ALD_STATE_DONE);
    assert_string_equal(end.digest, "d1");
    assert_string_equal(end.provider_id, "77");
    assert_int_equal(end.seq, 1);
    assert_false(vault_end_find(&self->vault, 5, 0, &end)); /* not indexed yet */
    rows_index(self, 6);
    assert_true(vault_end_find(&self->vault, 5, 0, &end));
    assert_int_equal(vault_unindexed(&self->vault), 0);
}

/* What is open is found again, whatever is indexed. */
static void test_open_tasks(void **state)
{
    struct rows *self = *state;
    uint64_t open[16];
    vault_begin(&self->vault);
    for (uint64_t id = 1; id <= 6; id++)
        rows_task(self, id, "");
    (void)rows_end(self, 1, "");
    (void)rows_end(self, 2, "");
    (void)rows_end(self, 4, "");
    rows_commit(self);
    assert_int_equal(rows_open(self, open), 3);
    rows_index(self, 3);
    assert_int_equal(rows_open(self, open), 3);
    vault_begin(&self->vault);
    (void)rows_end(self, 3, "");
    rows_task(self, 7, "");
    rows_commit(self);
    rows_reopen(self);
    assert_int_equal(rows_open(self, open), 3);
    assert_int_equal(open[0], 5);
    assert_int_equal(open[1], 6);
    assert_int_equal(open[2], 7);
    assert_int_equal(self->vault.last_task, 7);
}

static void see_seq(void *context, uint64_t task, uint64_t seq)
{
    (void)task;
    *(uint64_t *)context = *(uint64_t *)context * 10 + seq;
}

static void test_reopened_it_is_the_same(void **state)
{
    struct rows *self = *state;
    uint64_t seqs = 0;
    vault_begin(&self->vault);
    rows_task(self, 1, "77");
    rows_task(self, 2, "78");
    (void)rows_end(self, 1, "");
    (void)rows_arrival(self, 1, ALD_DISP_APPLIED, 5);
    vault_note(&self->vault, 2, 5, "poll", "");
    rows_letter(self, "L1", ALD_REASON_EXPIRED, 2, "");
    vault_key_add(&self->vault, "k1", 2, "digest", 5);
    vault_meta_set(&self->vault, "run_ms", 4321);
    vault_block_set(&self->vault, "two", 9876);
    rows_commit(self);
    rows_index(self, 2);
    vault_begin(&self->vault);
    (void)rows_end(self, 2, "");
    rows_commit(self);
    struct vault before = self->vault;
    rows_reopen(self);
    assert_memory_equal(self->vault.books.value, before.books.value, sizeof before.books.value);
    assert_int_equal(self->vault.last_seq, 2);
    assert_int_equal(self->vault.last_arrival, 1);
    assert_int_equal(self->vault.last_note, 1);
    assert_int_equal(self->vault.last_outbox, 1);
    assert_int_equal(self->vault.indexed_seq, 1);
    assert_int_equal(self->vault.run_ms, 4321);
    assert_int_equal(vault_block(&self->vault, "two"), 9876);
    assert_int_equal(vault_block(&self->vault, "other"), 0);
    vault_each_unindexed(&self->vault, see_seq, &seqs);
    assert_int_equal(seqs, 2);
    uint64_t task = 0;
    char digest[65];
    assert_true(vault_key_find(&self->vault, "k1", &task, digest));
    assert_int_equal(task, 2);
    assert_string_equal(digest, "digest");
    assert_false(vault_key_find(&self->vault, "k2", &task, digest));
}

/* A transaction that did not commit left nothing, not even numbers or books. */
static void test_not_committed(void **state)
{
    struct rows *self = *state;
    uint64_t open[16];
    vault_begin(&self->vault);
    rows_task(self, 1, "77");
    rows_commit(self);
    vault_begin(&self->vault);
    (void)rows_end(self, 1, "");
    (void)rows_arrival(self, 1, ALD_DISP_DEAD, 5);
    rows_letter(self, "L1", ALD_REASON_CONFLICT, 1, "d");
    rows_reopen(self); /* as after a kill */
    assert_int_equal(self->vault.last_seq, 0);
    assert_int_equal(self->vault.last_outbox, 0);
    assert_int_equal(self->vault.outbox, 0);
    assert_int_equal(self->vault.books.value[BOOK_RECEIVED], 0);
    assert_int_equal(self->vault.books.value[BOOK_LETTERS_MADE], 0);
    assert_int_equal(rows_open(self, open), 1);
    rows_balanced(self, 1);
}

/* Errors stick: what comes after the first one does nothing, and the commit tells it. */
static void test_errors_stick(void **state)
{
    struct rows *self = *state;
    uint64_t open[16];
    uint64_t task = 0;
    char digest[65];
    vault_begin(&self->vault);
    rows_task(self, 1, "77");
    rows_task(self, 1, "78"); /* the same id again */
    assert_int_equal(self->vault.rc, ALD_EXISTS);
    vault_key_add(&self->vault, "k1", 1, "", 5);
    assert_false(vault_key_find(&self->vault, "k1", &task, digest));
    assert_int_equal(vault_ref_find(&self->vault, "two", "77"), 0);
    assert_int_equal(vault_commit(&self->vault), ALD_EXISTS);
    rows_reopen(self);
    assert_int_equal(self->vault.rc, ALD_OK);
    assert_int_equal(rows_open(self, open), 0);
}

/* Rule 16: a newer task takes over the ref of a finished one. */
static void test_refs_are_taken_over(void **state)
{
    struct rows *self = *state;
    vault_begin(&self->vault);
    rows_task(self, 1, "77");
    (void)rows_end(self, 1, "");
    rows_task(self, 2, "77");
    rows_commit(self);
    assert_int_equal(vault_ref_find(&self->vault, "two", "77"), 2);
    assert_int_equal(vault_ref_find(&self->vault, "other", "77"), 0);
}

static void test_arrivals_move_once(void **state)
{
    struct rows *self = *state;
    const int64_t *books = self->vault.books.value;
    struct ald_buf buf;
    struct vault_arrival row;
    ald_buf_init(&buf, 1000);
    vault_begin(&self->vault);
    int64_t no = rows_arrival(self, 0, ALD_DISP_PARKED, 5);
    vault_arrival_move(&self->vault, no, ALD_DISP_PARKED, ALD_DISP_DEAD, 0, "L1");
    vault_arrival_move(&self->vault, no, ALD_DISP_PARKED, ALD_DISP_DEAD, 0, "L2");
    vault_arrival_move(&self->vault, no + 1, ALD_DISP_PARKED, ALD_DISP_DEAD, 0, "L2");
    assert_int_equal(books[BOOK_DISPOSITION + ALD_DISP_PARKED], 0);
    assert_int_equal(books[BOOK_DISPOSITION + ALD_DISP_DEAD], 1);
    vault_arrival_move(&self->vault, no, ALD_DISP_DEAD, ALD_DISP_APPLIED, 5, "");
    assert_int_equal(books[BOOK_DISPOSITION + ALD_DISP_DEAD], 0);
    assert_int_equal(books[BOOK_DISPOSITION + ALD_DISP_APPLIED], 1);
    assert_int_equal(books[BOOK_RECEIVED], 1);
    rows_commit(self);
    assert_true(vault_arrival_get(&self->vault, no, &row, &buf));
    assert_int_equal(row.task, 5);
    assert_int_equal(row.disposition, ALD_DISP_APPLIED);
    assert_int_equal(row.proof, ALD_PROOF_ID);
    assert_true(ald_span_eq_str(row.message, "message"));
    assert_false(vault_arrival_get(&self->vault, no + 1, &row, &buf));
    ald_buf_free(&buf);
}

static void see_arrival(void *context, const struct vault_arrival *arrival)
{
    int64_t *sum = context;
    *sum = *sum * 10 + arrival->no;
}

static void see_parked(void *context, const struct vault_arrival *arrival)
{
    see_arrival(context, arrival);
    assert_true(ald_span_eq_str(arrival->ref, "two/77"));
    assert_int_equal(arrival->bytes, strlen("message"));
}

static void test_walks(void **state)
{
    struct rows *self = *state;
    vault_begin(&self->vault);
    (void)rows_arrival(self, 0, ALD_DISP_PARKED, 5);
    (void)rows_arrival(self, 0, ALD_DISP_DEAD, 6);
    (void)rows_arrival(self, 0, ALD_DISP_PARKED, 7);
    rows_commit(self);
    int64_t seen = 0;
    vault_each_parked(&self->vault, see_parked, &seen);
    assert_int_equal(seen, 13);
    seen = 0;
    vault_each_arrival(&self->vault, 1, see_arrival, &seen);
    assert_int_equal(seen, 23);
}

static struct {
    uint32_t polls, hinted;
} polled[8];

static void see_polled(void *context, const struct vault_polls *polls)
{
    (void)context;
    polled[polls->task].polls += polls->polls;
    polled[polls->task].hinted += polls->hinted;
}

/* Rule 15: polls are counted over a restart, whether they are indexed or not. */
static void test_polls(void **state)
{
    struct rows *self = *state;
    memset(polled, 0, sizeof polled);
    vault_begin(&self->vault);
    rows_task(self, 1, "");
    rows_task(self, 2, "");
    vault_note(&self->vault, 1, 5, "poll", "");
    vault_note(&self->vault, 1, 5, "poll.hinted", "");
    vault_note(&self->vault, 1, 5, "poll.unsent", "");
    vault_note(&self->vault, 2, 5, "attached", "");
    rows_commit(self);
    rows_index(self, 1);
    vault_begin(&self->vault);
    vault_note(&self->vault, 1, 5, "poll", "");
    vault_note(&self->vault, 2, 5, "poll", "");
    rows_commit(self);
    rows_reopen(self);
    vault_each_polled(&self->vault, see_polled, NULL);
    assert_int_equal(polled[1].polls, 3);
    assert_int_equal(polled[1].hinted, 1);
    assert_int_equal(polled[2].polls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROWS(test_example),
        WITH_ROWS(test_open_tasks),
        WITH_ROWS(test_reopened_it_is_the_same),
        WITH_ROWS(test_not_committed),
        WITH_ROWS(test_errors_stick),
        WITH_ROWS(test_refs_are_taken_over),
        WITH_ROWS(test_arrivals_move_once),
        WITH_ROWS(test_walks),
        WITH_ROWS(test_polls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
