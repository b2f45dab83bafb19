#include "tests/unit/tracker/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "services/tracker/vault/vault_index.h"
#include "services/tracker/vault/vault_open.h"

static void rows_start(struct rows *self)
{
    struct ald_err err = {0};
    const struct vault_options options = {.data = self->folder.path, .sync_beside = true};
    enum ald_rc rc = vault_open(&self->vault, &options, &err);
    if (rc != ALD_OK)
        print_error("%s\n", err.text);
    assert_int_equal(rc, ALD_OK);
}

int rows_setup(void **state)
{
    struct rows *self = calloc(1, sizeof *self);
    folder_make(&self->folder);
    rows_start(self);
    *state = self;
    return 0;
}

int rows_teardown(void **state)
{
    struct rows *self = *state;
    vault_close(&self->vault);
    folder_remove(&self->folder);
    free(self);
    return 0;
}

void rows_reopen(struct rows *self)
{
    vault_close(&self->vault);
    rows_start(self);
}

void rows_anew(struct rows *self)
{
    vault_close(&self->vault);
    folder_remove(&self->folder);
    folder_make(&self->folder);
    rows_start(self);
}

void rows_commit(struct rows *self)
{
    assert_int_equal(vault_commit(&self->vault), ALD_OK);
}

void rows_index(struct rows *self, uint64_t lowest_open)
{
    vault_index_begin(&self->vault);
    assert_true(vault_index_step(&self->vault, SIZE_MAX, lowest_open));
}

void rows_task(struct rows *self, uint64_t id, const char *provider_id)
{
    struct vault_task task = {.id = id,
                              .provider = ald_span_str("two"),
                              .provider_id = ald_span_str(provider_id),
                              .key = ald_span_str("a key"),
                              .meta = ald_span_str("{}"),
                              .made_ms = (int64_t)id,
                              .created_ms = 1000 + (int64_t)id,
                              .stale_after_ms = 45,
                              .give_up_after_ms = 600};
    vault_task_add(&self->vault, &task);
    if (provider_id[0] != '\0')
        vault_task_attach(&self->vault, id, "two", provider_id);
}

uint64_t rows_end(struct rows *self, uint64_t id, const char *digest)
{
    struct vault_result result = {.task = id,
                                  .provider = ald_span_str("two"),
                                  .state = ALD_STATE_DONE,
                                  .source = ALD_SOURCE_CALLBACK,
                                  .code = ald_span_str(""),
                                  .result = ald_span_str("an answer"),
                                  .digest = ald_span_str(digest),
                                  .published_ms = (int64_t)id * 10,
                                  .trace = ald_span_str("")};
    vault_result_add(&self->vault, &result);
    return result.seq;
}

uint64_t rows_correct(struct rows *self, uint64_t id, uint64_t corrects)
{
    struct vault_result result = {.task = id,
                                  .provider = ald_span_str("two"),
                                  .state = ALD_STATE_DONE,
                                  .source = ALD_SOURCE_LATE,
                                  .published_ms = (int64_t)id * 10 + 5,
                                  .corrects = corrects};
    vault_result_add(&self->vault, &result);
    return result.seq;
}

int64_t rows_arrival(struct rows *self, uint64_t task, enum ald_disposition disposition,
                     int64_t at_ms)
{
    struct vault_arrival arrival = {.sender = 1,
                                    .num = (uint64_t)self->vault.last_arrival + 1,
                                    .task = task,
                                    .disposition = disposition,
                                    .proof = ALD_PROOF_ID,
                                    .at_ms = at_ms,
                                    .made_ms = at_ms,
                                    .ref = ald_span_str("two/77"),
                                    .message = ald_span_str("message")};
    vault_arrival_add(&self->vault, &arrival);
    return arrival.no;
}

void rows_letter(struct rows *self, const char *id, enum ald_reason reason, uint64_t task,
                 const char *digest)
{
    struct msg_letter letter = {.task = task, .made_at_ms = 5, .original = ald_span_str("12345")};
    ald_text_cut(letter.letter, sizeof letter.letter, ald_span_str(id));
    ald_text_cut(letter.reason, sizeof letter.reason, ald_span_str(ald_reason_name(reason)));
    ald_text_cut(letter.provider, sizeof letter.provider, ald_span_str("two"));
    ald_text_cut(letter.proof, sizeof letter.proof, ald_span_str("id"));
    vault_letter_add(&self->vault, &letter, 9, digest);
    assert_int_equal(letter.num, self->vault.last_outbox);
}

int64_t rows_number(struct rows *self, const char *sql)
{
    ald_stmt_t *stmt = NULL;
    assert_int_equal(ald_store_prepare(self->vault.store, sql, &stmt), ALD_OK);
    assert_int_equal(ald_stmt_step(stmt), ALD_OK);
    int64_t value = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return value;
}

void rows_balanced(struct rows *self, int64_t open)
{
    const char *which = "";
    int64_t letters = 0;
    int64_t outbox = 0;
    uint64_t sums[2];
    vault_letter_sums(&self->vault, &letters, &sums[0], &outbox, &sums[1]);
    if (!books_balance(&self->vault.books, open, letters, &which))
        print_error("%s\n", which);
    assert_string_equal(which, "");
}

struct rows_seen {
    unsigned count;
    uint64_t *ids;
};

static void rows_see(void *context, const struct vault_open *task)
{
    struct rows_seen *seen = context;
    assert_true(seen->count < 16);
    seen->ids[seen->count++] = task->id;
    assert_true(ald_span_eq_str(task->provider, "two"));
    assert_int_equal(task->stale_after_ms, 45);
    assert_int_equal(task->give_up_after_ms, 600);
}

unsigned rows_open(struct rows *self, uint64_t *out)
{
    struct rows_seen seen = {.ids = out};
    vault_each_open(&self->vault, rows_see, &seen);
    return seen.count;
}
