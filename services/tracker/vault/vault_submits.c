#include "services/tracker/vault/vault_submits.h"

#include "common/base/text.h"
#include "services/tracker/vault/vault_again.h"
#include "services/tracker/vault/vault_sql.h"

void vault_submit_add(struct vault *self, const struct vault_submit *row)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO submits (task, stage, attempt, lease, tries, strange, made_ms, next_ms,"
              " asked_ms, within_ms, letter, base, ticket, body)"
              " VALUES (?1, 0, 0, 0, 0, 0, ?2, 0, 0, ?3, '', ?4, ?5, ?6)");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)row->task);
    ald_stmt_bind_i64(stmt, 2, row->made_ms);
    ald_stmt_bind_i64(stmt, 3, row->within_ms);
    ald_stmt_bind_text(stmt, 4, row->base);
    ald_stmt_bind_text(stmt, 5, row->ticket);
    ald_stmt_bind_blob(stmt, 6, row->body);
    vault_run(self, stmt);
}

void vault_submit_put(struct vault *self, uint64_t task, const struct submission *submit,
                      int64_t asked_ms)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "UPDATE submits SET stage = ?2, attempt = ?3, lease = ?4, tries = ?5, strange = ?6,"
              " next_ms = ?7, asked_ms = ?8, letter = ?9 WHERE task = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, submit->stage);
    ald_stmt_bind_i64(stmt, 3, (int64_t)submit->attempt);
    ald_stmt_bind_i64(stmt, 4, (int64_t)submit->lease);
    ald_stmt_bind_i64(stmt, 5, submit->tries);
    ald_stmt_bind_i64(stmt, 6, submit->strange);
    ald_stmt_bind_i64(stmt, 7, submit->next_ms);
    ald_stmt_bind_i64(stmt, 8, asked_ms);
    ald_stmt_bind_str(stmt, 9, submit->letter);
    vault_run(self, stmt);
}

void vault_submit_begin(struct vault *self, uint64_t task, int64_t now_ms)
{
    ald_stmt_t *stmt = vault_prepare(self, "UPDATE tasks SET made_ms = ?2 WHERE id = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, now_ms);
    vault_run(self, stmt);
}

void vault_submit_stale(struct vault *self, uint64_t task, int64_t stale_after_ms)
{
    ald_stmt_t *stmt = vault_prepare(self, "UPDATE tasks SET stale_after_ms = ?2 WHERE id = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, stale_after_ms);
    vault_run(self, stmt);
}

void vault_submit_settle(struct vault *self, uint64_t task)
{
    vault_spare_forget(self, task);
    ald_stmt_t *stmt =
        vault_prepare(self, "UPDATE submits SET stage = 3, body = NULL WHERE task = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    vault_run(self, stmt);
}

bool vault_submit_job(struct vault *self, uint64_t task, char *base, struct ald_buf *buf)
{
    ald_stmt_t *stmt = vault_prepare(self, "SELECT base, body FROM submits WHERE task = ?1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    bool found = vault_step(self, stmt);
    ald_buf_reset(buf);
    if (found) {
        ald_text_cut(base, ALD_BASE_MAX, ald_stmt_text(stmt, 0));
        ald_buf_put_span(buf, ald_stmt_blob(stmt, 1));
    }
    ald_stmt_reset(stmt);
    return found && ald_buf_ok(buf);
}

void vault_submit_doubt(struct vault *self, uint64_t task)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "UPDATE submits SET stage = ?2 WHERE task = ?1 AND stage = ?3");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, SUBMISSION_UNCERTAIN);
    ald_stmt_bind_i64(stmt, 3, SUBMISSION_WAITING);
    vault_run(self, stmt);
}

bool vault_submit_asked(struct vault *self, uint64_t task, int64_t *asked_ms)
{
    return vault_of_task(self, "SELECT asked_ms FROM submits WHERE task = ?1", task, asked_ms);
}

uint64_t vault_submit_ticket(struct vault *self, const char *ticket)
{
    uint64_t task = 0;
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT task FROM submits WHERE ticket = ?1 AND stage < 3 AND ticket <> ''");
    if (!stmt)
        return 0;
    ald_stmt_bind_str(stmt, 1, ticket);
    if (vault_step(self, stmt))
        task = (uint64_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return task;
}

void vault_each_submit(struct vault *self, vault_submit_fn *fn, void *context)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT task, stage, attempt, lease, tries, strange, made_ms, next_ms, within_ms,"
              " letter FROM submits WHERE stage < 3 ORDER BY task");
    if (!stmt)
        return;
    while (vault_step(self, stmt)) {
        struct submission submit = {
            .stage = (enum submission_stage)ald_stmt_index(stmt, 1, SUBMISSION_KEPT + 1),
            .attempt = (uint64_t)ald_stmt_i64(stmt, 2),
            .lease = (uint64_t)ald_stmt_i64(stmt, 3),
            .tries = (uint32_t)ald_stmt_i64(stmt, 4),
            .strange = (uint32_t)ald_stmt_i64(stmt, 5),
            .made_ms = ald_stmt_i64(stmt, 6),
            .next_ms = ald_stmt_i64(stmt, 7),
            .within_ms = ald_stmt_i64(stmt, 8)};
        ald_text_cut(submit.letter, sizeof submit.letter, ald_stmt_text(stmt, 9));
        fn(context, (uint64_t)ald_stmt_i64(stmt, 0), &submit);
    }
    ald_stmt_reset(stmt);
}
