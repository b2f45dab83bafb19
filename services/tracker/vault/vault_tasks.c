#include <string.h>

#include "common/base/text.h"
#include "services/tracker/vault/vault_sql.h"

void vault_task_add(struct vault *self, const struct vault_task *task)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO tasks (id, provider, provider_id, task_key, meta, made_ms, created_ms,"
              " stale_after_ms, give_up_after_ms, trace)"
              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task->id);
    ald_stmt_bind_text(stmt, 2, task->provider);
    ald_stmt_bind_text(stmt, 3, task->provider_id);
    ald_stmt_bind_text(stmt, 4, task->key);
    ald_stmt_bind_text(stmt, 5, task->meta);
    ald_stmt_bind_i64(stmt, 6, task->made_ms);
    ald_stmt_bind_i64(stmt, 7, task->created_ms);
    ald_stmt_bind_i64(stmt, 8, task->stale_after_ms);
    ald_stmt_bind_i64(stmt, 9, task->give_up_after_ms);
    ald_stmt_bind_text(stmt, 10, task->trace);
    vault_run(self, stmt);
    books_add(&self->books, BOOK_CREATED, 1);
}

static void vault_ref_set(struct vault *self, const char *provider, const char *provider_id,
                          uint64_t task)
{
    /* A newer task takes over the provider's id of a finished one. */
    ald_stmt_t *stmt =
        vault_prepare(self, "INSERT INTO refs (provider, provider_id, task) VALUES (?1, ?2, ?3)"
                            " ON CONFLICT (provider, provider_id) DO UPDATE SET task = ?3");
    if (!stmt)
        return;
    ald_stmt_bind_str(stmt, 1, provider);
    ald_stmt_bind_str(stmt, 2, provider_id);
    ald_stmt_bind_i64(stmt, 3, (int64_t)task);
    vault_run(self, stmt);
}

void vault_task_attach(struct vault *self, uint64_t id, const char *provider,
                       const char *provider_id)
{
    ald_stmt_t *stmt = vault_prepare(self, "UPDATE tasks SET provider_id = ?2 WHERE id = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)id);
    ald_stmt_bind_str(stmt, 2, provider_id);
    vault_run(self, stmt);
    vault_ref_set(self, provider, provider_id, id);
}

void vault_task_words(struct vault *self, uint64_t id, struct vault_words *out)
{
    out->key[0] = out->meta[0] = out->trace[0] = '\0';
    ald_stmt_t *stmt = vault_prepare(self, "SELECT task_key, meta, trace FROM tasks WHERE id = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)id);
    if (vault_step(self, stmt)) {
        ald_text_cut(out->key, sizeof out->key, ald_stmt_text(stmt, 0));
        ald_text_cut(out->meta, sizeof out->meta, ald_stmt_text(stmt, 1));
        ald_text_cut(out->trace, sizeof out->trace, ald_stmt_text(stmt, 2));
    }
    ald_stmt_reset(stmt);
}

uint64_t vault_ref_find(struct vault *self, const char *provider, const char *provider_id)
{
    uint64_t task = 0;
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT task FROM refs WHERE provider = ?1 AND provider_id = ?2");
    if (!stmt)
        return 0;
    ald_stmt_bind_str(stmt, 1, provider);
    ald_stmt_bind_str(stmt, 2, provider_id);
    if (vault_step(self, stmt))
        task = (uint64_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return task;
}

bool vault_key_find(struct vault *self, const char *key, uint64_t *task, char *digest)
{
    bool found = false;
    ald_stmt_t *stmt = vault_prepare(self, "SELECT task, digest FROM keys WHERE task_key = ?1");
    if (!stmt)
        return false;
    ald_stmt_bind_str(stmt, 1, key);
    if (vault_step(self, stmt)) {
        *task = (uint64_t)ald_stmt_i64(stmt, 0);
        ald_text_cut(digest, 65, ald_stmt_text(stmt, 1));
        found = true;
    }
    ald_stmt_reset(stmt);
    return found;
}

void vault_key_add(struct vault *self, const char *key, uint64_t task, const char *digest,
                   int64_t at_ms)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO keys (task_key, task, digest, at_ms) VALUES (?1, ?2, ?3, ?4)");
    if (!stmt)
        return;
    ald_stmt_bind_str(stmt, 1, key);
    ald_stmt_bind_i64(stmt, 2, (int64_t)task);
    ald_stmt_bind_str(stmt, 3, digest);
    ald_stmt_bind_i64(stmt, 4, at_ms);
    vault_run(self, stmt);
}

bool vault_task_known(struct vault *self, uint64_t id)
{
    ald_stmt_t *stmt = vault_prepare(self, "SELECT 1 FROM tasks WHERE id = ?1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)id);
    bool found = vault_step(self, stmt);
    ald_stmt_reset(stmt);
    return found;
}

bool vault_task_buried(struct vault *self, uint64_t id)
{
    ald_stmt_t *stmt = vault_prepare(self, "SELECT 1 FROM tombs WHERE task = ?1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)id);
    bool found = vault_step(self, stmt);
    ald_stmt_reset(stmt);
    return found;
}
