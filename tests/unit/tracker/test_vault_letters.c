/* Letters, their outbox, and senders: rules 5, 6, 9 and 18 of GUARANTEES.md, as far as the store
 * goes. */
#include "services/tracker/vault/vault_letters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/tracker/rows.h"

static unsigned outbox_seen;

static bool see_outbox(void *context, uint64_t num, struct ald_span message)
{
    struct msg_letter letter;
    assert_int_equal(ald_wire_decode(&MSG_LETTER, &letter, message), ALD_OK);
    assert_int_equal(letter.num, num);
    *(uint64_t *)context = num;
    outbox_seen++;
    return false;
}

/* Rule 18: a letter's row and its place in the outbox come together; numbers are not given twice,
 * also when the outbox was empty at a restart. */
static void test_letters_and_outbox(void **state)
{
    struct rows *self = *state;
    struct vault_letter letter;
    uint64_t last = 0;
    vault_begin(&self->vault);
    rows_letter(self, "L1", ALD_REASON_EXPIRED, 1, "");
    rows_letter(self, "L2", ALD_REASON_UNKNOWN_TASK, 0, "");
    rows_letter(self, "L3", ALD_REASON_UNKNOWN_TASK, 0, "");
    rows_commit(self);
    outbox_seen = 0;
    vault_outbox_each(&self->vault, 1, see_outbox, &last);
    assert_int_equal(outbox_seen, 1);
    assert_int_equal(last, 2);
    assert_int_equal(vault_outbox_floor(&self->vault), 1);
    assert_true(vault_letter_find(&self->vault, "L2", &letter));
    assert_int_equal(letter.reason, ALD_REASON_UNKNOWN_TASK);
    assert_int_equal(letter.state, VAULT_LETTER_OPEN);
    assert_int_equal(letter.arrival, 9);
    assert_int_equal(letter.size, 5);
    assert_string_equal(letter.provider, "two");
    assert_false(vault_letter_find(&self->vault, "L4", &letter));
    vault_begin(&self->vault);
    for (uint64_t num = 1; num <= 3; num++)
        vault_outbox_remove(&self->vault, num);
    rows_commit(self);
    rows_reopen(self);
    assert_int_equal(self->vault.outbox, 0);
    assert_int_equal(vault_outbox_floor(&self->vault), 4);
    vault_begin(&self->vault);
    rows_letter(self, "L4", ALD_REASON_EXPIRED, 1, "");
    rows_commit(self);
    assert_int_equal(self->vault.last_outbox, 4);
}

static void test_letters_close_once(void **state)
{
    struct rows *self = *state;
    struct vault_letter letter;
    vault_begin(&self->vault);
    rows_letter(self, "L1", ALD_REASON_EXPIRED, 1, "");
    rows_letter(self, "L2", ALD_REASON_EXPIRED, 1, "");
    vault_letter_close(&self->vault, "L1", VAULT_LETTER_RESOLVED, ALD_DISP_APPLIED);
    vault_letter_close(&self->vault, "L1", VAULT_LETTER_DROPPED, ALD_DISP_DROPPED);
    vault_letter_close(&self->vault, "L9", VAULT_LETTER_DROPPED, ALD_DISP_DROPPED);
    rows_commit(self);
    assert_true(vault_letter_find(&self->vault, "L1", &letter));
    assert_int_equal(letter.state, VAULT_LETTER_RESOLVED);
    assert_int_equal(letter.outcome, ALD_DISP_APPLIED);
    assert_int_equal(self->vault.books.value[BOOK_LETTERS_RESOLVED], 1);
    assert_int_equal(self->vault.books.value[BOOK_LETTERS_DROPPED], 0);
    rows_balanced(self, 0);
}

/* Equal sets have equal sums, whatever their order. */
static void test_sums(void **state)
{
    struct rows *self = *state;
    int64_t open = 0;
    int64_t outbox = 0;
    uint64_t open_sum = 0;
    uint64_t outbox_sum = 0;
    vault_begin(&self->vault);
    rows_letter(self, "L1", ALD_REASON_EXPIRED, 1, "");
    rows_letter(self, "L2", ALD_REASON_EXPIRED, 1, "");
    rows_letter(self, "L3", ALD_REASON_EXPIRED, 1, "");
    rows_commit(self);
    vault_letter_sums(&self->vault, &open, &open_sum, &outbox, &outbox_sum);
    assert_int_equal(open, 3);
    assert_int_equal(outbox, 3);
    assert_int_equal(open_sum, outbox_sum);
    assert_true(open_sum != 0 && open_sum < UINT64_C(1) << 53);
    vault_begin(&self->vault);
    vault_letter_close(&self->vault, "L2", VAULT_LETTER_RESOLVED, ALD_DISP_APPLIED);
    vault_outbox_remove(&self->vault, 3);
    rows_commit(self);
    vault_letter_sums(&self->vault, &open, &open_sum, &outbox, &outbox_sum);
    assert_int_equal(open, 2);
    assert_int_equal(outbox, 1); /* L2 is closed, whoever has it */
    uint64_t dlq_sum = open_sum ^ outbox_sum;
    assert_int_not_equal(dlq_sum, 0); /* of L3 */
    /* Closed here by its answer: the dlq has it open until it is told. */
    struct msg_closing closing = {.letter = "L3", .state = "resolved", .at_ms = 1};
    vault_begin(&self->vault);
    vault_letter_close(&self->vault, "L3", VAULT_LETTER_RESOLVED, ALD_DISP_APPLIED);
    vault_letter_tell(&self->vault, &closing);
    rows_commit(self);
    vault_letter_sums(&self->vault, &open, &open_sum, &outbox, &outbox_sum);
    assert_int_equal(open, outbox + 1);
    assert_int_equal(open_sum, outbox_sum ^ dlq_sum);
    vault_begin(&self->vault);
    vault_outbox_remove(&self->vault, closing.num);
    rows_commit(self);
    vault_letter_sums(&self->vault, &open, &open_sum, &outbox, &outbox_sum);
    assert_int_equal(open, outbox);
    assert_int_equal(open_sum, outbox_sum);
}

static void test_letters_of_a_task(void **state)
{
    struct rows *self = *state;
    struct vault_letters_of had;
    vault_begin(&self->vault);
    rows_letter(self, "L1", ALD_REASON_CONFLICT, 1, "d1");
    rows_letter(self, "L2", ALD_REASON_CONFLICT, 1, "d2");
    rows_letter(self, "L3", ALD_REASON_EXPIRED, 1, "d3");
    rows_letter(self, "L4", ALD_REASON_CONFLICT, 2, "d4");
    rows_letter(self, "L5", ALD_REASON_UNKNOWN_TASK, 0, "");
    vault_letter_close(&self->vault, "L1", VAULT_LETTER_DROPPED, ALD_DISP_DROPPED);
    rows_commit(self);
    static const struct {
        uint64_t task;
        const char *digest;
        unsigned all, conflicts;
        bool known;
    } cases[] = {
        {1, "d1", 3, 2, true}, /* a closed one too */
        {1, "d3", 3, 2, false}, {1, "d4", 3, 2, false}, {2, "d4", 1, 1, true}, {0, "", 0, 0, false},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        vault_letters_of(&self->vault, cases[i].task, cases[i].digest, &had);
        assert_int_equal(had.all, cases[i].all);
        assert_int_equal(had.conflicts, cases[i].conflicts);
        assert_int_equal(had.known, cases[i].known);
    }
}

static void see_unproven(void *context, const char *provider, const struct vault_letter *sum,
                         uint64_t count)
{
    assert_string_equal(provider, "two");
    assert_int_equal(sum->proof, ALD_PROOF_ID);
    if (sum->reason == ALD_REASON_UNKNOWN_TASK)
        *(uint64_t *)context = count * 100 + sum->size;
}

static void test_unproven_letters(void **state)
{
    struct rows *self = *state;
    uint64_t seen = 0;
    vault_begin(&self->vault);
    rows_letter(self, "L1", ALD_REASON_UNKNOWN_TASK, 0, "");
    rows_letter(self, "L2", ALD_REASON_UNKNOWN_TASK, 0, "");
    rows_letter(self, "L3", ALD_REASON_CONFLICT, 3, "");
    rows_letter(self, "L4", ALD_REASON_UNKNOWN_TASK, 0, "");
    vault_letter_close(&self->vault, "L4", VAULT_LETTER_DROPPED, ALD_DISP_DROPPED);
    rows_commit(self);
    vault_each_unproven(&self->vault, see_unproven, &seen);
    assert_int_equal(seen, 210);
}

static void see_sender(void *context, const struct vault_sender *sender)
{
    unsigned *count = context;
    ++*count;
    assert_int_equal(sender->no, 3);
    assert_true(ald_span_eq_str(sender->sender, "S"));
    assert_int_equal(sender->floor, 8);
    assert_int_equal(sender->marks.len, 2);
    assert_int_equal(sender->heard_ms, 10);
}

static void test_senders(void **state)
{
    struct rows *self = *state;
    unsigned count = 0;
    struct vault_sender sender = {.no = 3,
                                  .sender = ald_span_str("S"),
                                  .floor = 7,
                                  .marks = ald_span_str("abc"),
                                  .heard_ms = 9};
    vault_begin(&self->vault);
    vault_sender_put(&self->vault, &sender);
    sender.floor = 8;
    sender.marks = ald_span_str("bc");
    sender.heard_ms = 10;
    vault_sender_put(&self->vault, &sender);
    rows_commit(self);
    rows_reopen(self);
    vault_each_sender(&self->vault, see_sender, &count);
    assert_int_equal(count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROWS(test_letters_and_outbox),
        WITH_ROWS(test_letters_close_once),
        WITH_ROWS(test_sums),
        WITH_ROWS(test_letters_of_a_task),
        WITH_ROWS(test_unproven_letters),
        WITH_ROWS(test_senders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
