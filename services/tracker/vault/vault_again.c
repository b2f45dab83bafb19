#include "services/tracker/vault/vault_again.h"

#include "common/base/ident.h"
#include "common/base/text.h"
#include "services/tracker/vault/vault_sql.h"
#include "services/tracker/vault/vault_submits.h"

static void spare_put(struct vault *self, uint64_t task, int64_t bytes)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "UPDATE submits SET stage = 3, spare = ?2 WHERE task = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, bytes);
    vault_run(self, stmt);
}

bool vault_spare_keep(struct vault *self, uint64_t task, uint64_t most)
{
    int64_t bytes = 0;
    (void)vault_of_task(self, "SELECT LENGTH(body) FROM submits WHERE task = ?1", task, &bytes);
    vault_spare_forget(self, task);
    if (bytes == 0 || (uint64_t)(self->spare_bytes + bytes) > most) {
        vault_submit_settle(self, task);
        return false;
    }
    spare_put(self, task, bytes);
    self->spare_bytes += bytes;
    return true;
}

void vault_spare_forget(struct vault *self, uint64_t task)
{
    int64_t bytes = 0;
    if (self->spare_bytes == 0 ||
        !vault_of_task(self, "SELECT spare FROM submits WHERE task = ?1 AND spare > 0", task,
                       &bytes))
        return;
    self->spare_bytes -= bytes;
    ald_stmt_t *stmt = vault_prepare(self, "UPDATE submits SET spare = 0 WHERE task = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    vault_run(self, stmt);
}

enum { SPARE_PURGE_MAX = 100 };

void vault_spare_purge(struct vault *self, int64_t before_ms, size_t limit)
{
    uint64_t old[SPARE_PURGE_MAX];
    size_t count = 0;
    if (self->spare_bytes == 0)
        return;
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT task FROM submits WHERE spare > 0 ORDER BY task LIMIT ?1");
    if (!stmt)
        return;
    limit = limit < SPARE_PURGE_MAX ? limit : SPARE_PURGE_MAX;
    ald_stmt_bind_i64(stmt, 1, (int64_t)limit);
    while (count < limit && vault_step(self, stmt)) {
        old[count] = (uint64_t)ald_stmt_i64(stmt, 0);
        if (ald_task_id_wall_ms(old[count]) >= before_ms)
            break;
        count++;
    }
    ald_stmt_reset(stmt);
    for (size_t i = 0; i < count; i++)
        vault_submit_settle(self, old[i]);
}

static void again_each(struct vault *self, ald_stmt_t *stmt, vault_again_fn *fn, void *context)
{
    if (!stmt)
        return;
    while (vault_step(self, stmt))
        fn(context, (uint64_t)ald_stmt_i64(stmt, 0));
    ald_stmt_reset(stmt);
}

void vault_each_spare(struct vault *self, vault_again_fn *fn, void *context)
{
    again_each(self, vault_prepare(self, "SELECT task FROM submits WHERE spare > 0 ORDER BY task"),
               fn, context);
}

bool vault_again_find(struct vault *self, uint64_t task, struct vault_again *out,
                      struct ald_buf *body)
{
    *out = (struct vault_again){0};
    ald_buf_reset(body);
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT t.provider, t.meta, t.give_up_after_ms, s.base, s.within_ms, s.body"
              " FROM tasks t JOIN submits s ON s.task = t.id WHERE t.id = ?1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    bool found = vault_step(self, stmt);
    if (found) {
        ald_text_cut(out->provider, sizeof out->provider, ald_stmt_text(stmt, 0));
        ald_text_cut(out->meta, sizeof out->meta, ald_stmt_text(stmt, 1));
        out->give_up_after_ms = ald_stmt_i64(stmt, 2);
        ald_text_cut(out->base, sizeof out->base, ald_stmt_text(stmt, 3));
        out->within_ms = ald_stmt_i64(stmt, 4);
        ald_buf_put_span(body, ald_stmt_blob(stmt, 5));
    }
    ald_stmt_reset(stmt);
    return found;
}

void vault_again_add(struct vault *self, uint64_t task, uint64_t replaces, const char *letter)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "INSERT INTO again (task, replaces, letter) VALUES (?1, ?2, ?3)");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, (int64_t)replaces);
    ald_stmt_bind_str(stmt, 3, letter);
    vault_run(self, stmt);
}

uint64_t vault_again_of(struct vault *self, uint64_t replaces, const char *letter)
{
    uint64_t task = 0;
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT task FROM again WHERE replaces = ?1 AND letter = ?2");
    if (!stmt)
        return 0;
    ald_stmt_bind_i64(stmt, 1, (int64_t)replaces);
    ald_stmt_bind_str(stmt, 2, letter);
    if (vault_step(self, stmt))
        task = (uint64_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return task;
}

void vault_each_replaced(struct vault *self, vault_again_fn *fn, void *context)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT DISTINCT replaces FROM again WHERE replaces >= ?1");
    if (stmt)
        ald_stmt_bind_i64(stmt, 1, vault_meta(self, "lowest_open"));
    again_each(self, stmt, fn, context);
}
