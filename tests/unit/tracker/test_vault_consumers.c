/* Rows of durable consumers, and what is kept for them. Rule 17 of GUARANTEES.md. */
#include "services/tracker/vault/vault_consumers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "services/tracker/vault/vault_purge.h"
#include "services/tracker/vault/vault_sql.h"
#include "tests/unit/tracker/rows.h"

static void keep_row(void *arg, const struct vault_consumer *row)
{
    struct vault_consumer *out = arg;
    static char texts[3][64];
    static uint8_t flight[64];
    const struct ald_span said[] = {row->name, row->provider, row->state};
    *out = *row;
    for (size_t i = 0; i < ALD_COUNT(said); i++)
        (void)snprintf(texts[i], sizeof texts[i], "%.*s", (int)said[i].len,
                       (const char *)said[i].data);
    out->name = ald_span_str(texts[0]);
    out->provider = ald_span_str(texts[1]);
    out->state = ald_span_str(texts[2]);
    assert_true(row->flight.len <= sizeof flight);
    if (row->flight.len > 0)
        memcpy(flight, row->flight.data, row->flight.len);
    out->flight = ald_span_of(flight, row->flight.len);
}

static void test_example(void **state)
{
    struct rows *self = *state;
    struct vault_consumer row = {.no = 7,
                                 .name = ald_span_str("billing"),
                                 .provider = ald_span_str("two"),
                                 .state = ald_span_str("done"),
                                 .ordered = true,
                                 .max_deliver = 5,
                                 .ack_wait_ms = 30000,
                                 .max_ack_pending = 1000,
                                 .made_ms = 99,
                                 .lane = 3,
                                 .floor = 10,
                                 .handed = 20,
                                 .gap_before = 4,
                                 .gap_why = 1,
                                 .rejected = 2,
                                 .flight = ald_span_str("\1\2\3")};
    struct vault_consumer back = {0};
    vault_begin(&self->vault);
    vault_consumer_add(&self->vault, &row);
    rows_commit(self);
    rows_reopen(self);
    vault_each_consumer(&self->vault, keep_row, &back);
    assert_true(ald_span_eq_str(back.name, "billing") && ald_span_eq_str(back.state, "done") &&
                ald_span_eq_str(back.provider, "two") && ald_span_eq_str(back.flight, "\1\2\3"));
    assert_true(back.no == 7 && back.ordered && back.max_deliver == 5 &&
                back.ack_wait_ms == 30000 && back.max_ack_pending == 1000 && back.made_ms == 99);
    assert_true(back.lane == 3 && back.floor == 10 && back.handed == 20 && back.gap_before == 4 &&
                back.gap_why == 1 && back.rejected == 2);
    row.floor = 15;
    row.flight = ald_span_str("");
    vault_begin(&self->vault);
    vault_consumer_write(&self->vault, &row);
    rows_commit(self);
    vault_each_consumer(&self->vault, keep_row, &back);
    assert_true(back.floor == 15 && back.flight.len == 0);
    vault_begin(&self->vault);
    vault_consumer_delete(&self->vault, 7);
    rows_commit(self);
    back.no = 0;
    vault_each_consumer(&self->vault, keep_row, &back);
    assert_int_equal(back.no, 0);
}

/* Tasks 1..count have ended, at 10, 20, 30 ... */
static void ended(struct rows *self, uint64_t count)
{
    vault_begin(&self->vault);
    for (uint64_t id = 1; id <= count; id++) {
        char provider_id[16];
        (void)snprintf(provider_id, sizeof provider_id, "%d", (int)id);
        rows_task(self, id, provider_id);
        assert_int_equal(rows_end(self, id, "d"), id);
    }
    rows_commit(self);
    rows_index(self, count + 1);
}

static void test_places(void **state)
{
    struct rows *self = *state;
    assert_int_equal(vault_seq_kept(&self->vault), 0);
    assert_int_equal(vault_seq_before(&self->vault, 5), 0);
    ended(self, 100);
    static const struct {
        int64_t at_ms;
        uint64_t seq;
    } cases[] = {{0, 0},    {10, 0},    {11, 1},     {20, 1},
                 {555, 55}, {1000, 99}, {1001, 100}, {9999, 100}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++)
        assert_int_equal(vault_seq_before(&self->vault, cases[i].at_ms), cases[i].seq);
    assert_int_equal(vault_published_after(&self->vault, 41), 420);
    assert_int_equal(vault_published_after(&self->vault, 100), 0);
    const struct vault_bounds before = {.results_ms = 500};
    assert_false(vault_purge(&self->vault, &before, 100, 2000));
    assert_int_equal(vault_seq_kept(&self->vault), 49);
    assert_int_equal(vault_seq_before(&self->vault, 0), 49);
    assert_int_equal(vault_published_after(&self->vault, 3), 500);
}

static void test_an_event(void **state)
{
    struct rows *self = *state;
    struct msg_event event;
    struct ald_buf bytes;
    ald_buf_init(&bytes, 1000);
    ended(self, 2);
    assert_true(vault_event(&self->vault, 2, &event, &bytes));
    assert_true(event.seq == 2 && event.task == 2 && event.published_ms == 20);
    assert_string_equal(event.provider_id, "2");
    assert_string_equal(event.state, "done");
    assert_true(ald_span_eq_str(event.result, "an answer"));
    assert_false(vault_event(&self->vault, 3, &event, &bytes));
    ald_buf_free(&bytes);
}

/* What some consumer has not settled stays past its age, and those after it. */
static void test_rule_17_what_is_owed_stays(void **state)
{
    struct rows *self = *state;
    ended(self, 10);
    struct vault_bounds before = {.results_ms = 1000, .owed_seq = 4, .lag_bytes = 1 << 20};
    assert_false(vault_purge(&self->vault, &before, 100, 2000));
    assert_int_equal(vault_seq_kept(&self->vault), 3);
    assert_true(vault_task_known(&self->vault, 4) && vault_task_known(&self->vault, 10));
    before.owed_seq = 1; /* another consumer began at the beginning */
    assert_false(vault_purge(&self->vault, &before, 100, 2000));
    assert_int_equal(vault_seq_kept(&self->vault), 3);
    before.owed_seq = 11;
    before.results_ms = 80; /* settled by all, and young */
    assert_false(vault_purge(&self->vault, &before, 100, 2000));
    assert_int_equal(vault_seq_kept(&self->vault), 7);
}

static void big(struct rows *self, uint64_t id, size_t bytes)
{
    static uint8_t answer[1 << 20];
    struct vault_result result = {.task = id,
                                  .provider = ald_span_str("two"),
                                  .state = ALD_STATE_DONE,
                                  .source = ALD_SOURCE_CALLBACK,
                                  .code = ald_span_str(""),
                                  .result = ald_span_of(answer, bytes),
                                  .digest = ald_span_str("d"),
                                  .published_ms = (int64_t)id * 10,
                                  .trace = ald_span_str("")};
    rows_task(self, id, "");
    vault_result_add(&self->vault, &result);
}

/* Until it is too old, or too much has come behind it; over a restart, too. */
static void test_rule_17_not_for_ever(void **state)
{
    struct rows *self = *state;
    ended(self, 10);
    struct vault_bounds before = {
        .results_ms = 1000, .owed_seq = 1, .lag_ms = 40, .lag_bytes = UINT64_C(3) << 20};
    assert_false(vault_purge(&self->vault, &before, 100, 2000));
    assert_int_equal(vault_seq_kept(&self->vault), 3); /* published before 40 */
    before.lag_ms = 0;
    vault_begin(&self->vault);
    for (uint64_t id = 11; id <= 16; id++)
        big(self, id, 512 << 10);
    rows_commit(self);
    rows_reopen(self);
    rows_index(self, 17);
    assert_int_equal(self->vault.result_bytes, 6 * (512 << 10) + 10 * 9);
    assert_false(vault_purge(&self->vault, &before, 100, 2000));
    assert_int_equal(vault_seq_kept(&self->vault), 3); /* 3 MiB and a little: as sums tell */
    vault_begin(&self->vault);
    for (uint64_t id = 17; id <= 20; id++)
        big(self, id, 1 << 20);
    rows_commit(self);
    rows_index(self, 21);
    assert_false(vault_purge(&self->vault, &before, 100, 2000));
    uint64_t kept = vault_seq_kept(&self->vault);
    assert_true(kept >= 14 && kept <= 17);
    rows_reopen(self);
    assert_int_equal(vault_seq_behind(&self->vault, UINT64_C(1) << 40), 0);
}

static void keep_return(void *arg, const struct vault_return *row)
{
    struct vault_return *out = arg;
    *out = *row;
    out->letter = ald_span_str("");
}

static void add_id(void *arg, struct ald_span letter)
{
    ald_buf_put_span(arg, letter);
    ald_buf_put_byte(arg, ' ');
}

static void test_returns_and_letters(void **state)
{
    struct rows *self = *state;
    struct ald_buf out;
    const struct vault_return row = {
        .letter = ald_span_str("L1"), .consumer = 7, .lane = 2, .seq = 5};
    struct vault_return back = {0};
    ald_buf_init(&out, 1000);
    vault_begin(&self->vault);
    vault_return_put(&self->vault, &row, ald_span_str("first"));
    vault_return_put(&self->vault, &row, ald_span_str("edited"));
    rows_letter(self, "A", ALD_REASON_CONSUMER_REJECTED, 1, "billing 0:5");
    rows_letter(self, "B", ALD_REASON_CONSUMER_REJECTED, 2, "billing 0:6");
    rows_letter(self, "C", ALD_REASON_CONSUMER_REJECTED, 2, "billing-2 0:6");
    rows_letter(self, "D", ALD_REASON_CONSUMER_REJECTED, 3, "bill 0:6");
    rows_letter(self, "E", ALD_REASON_CONSUMER_REJECTED, 4, "");
    vault_letter_close(&self->vault, "B", VAULT_LETTER_RESOLVED, ALD_DISP_APPLIED);
    rows_commit(self);
    assert_true(vault_return_event(&self->vault, "L1", &out));
    assert_string_equal(ald_buf_str(&out), "edited");
    vault_each_return(&self->vault, keep_return, &back);
    assert_true(back.consumer == 7 && back.lane == 2 && back.seq == 5);
    ald_buf_reset(&out);
    vault_each_letter_of(&self->vault, "billing", add_id, &out);
    assert_string_equal(ald_buf_str(&out), "A ");
    char id[ALD_ULID_MAX];
    assert_false(vault_letter_of(&self->vault, 1, ALD_REASON_CONSUMER_REJECTED, id));
    assert_true(vault_letter_of(&self->vault, 4, ALD_REASON_CONSUMER_REJECTED, id));
    vault_begin(&self->vault);
    vault_consumer_delete(&self->vault, 7);
    rows_commit(self);
    assert_false(vault_return_event(&self->vault, "L1", &out));
    ald_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROWS(test_example),
        WITH_ROWS(test_places),
        WITH_ROWS(test_an_event),
        WITH_ROWS(test_rule_17_what_is_owed_stays),
        WITH_ROWS(test_rule_17_not_for_ever),
        WITH_ROWS(test_returns_and_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
