#include "services/tracker/vault/vault_pushes.h"

#include "common/base/text.h"
#include "services/tracker/vault/vault_sql.h"

/* State: 0 waits for the end, 1 due, then: */
enum { PUSH_DELIVERED = 2, PUSH_GIVEN_UP = 3 };

void vault_push_add(struct vault *self, uint64_t task, const char *url, bool json)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO pushes (task, url, json, state, tries, next_ms) VALUES (?1, ?2, ?3, 0, "
              "0, 0)");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_str(stmt, 2, url);
    ald_stmt_bind_i64(stmt, 3, json);
    vault_run(self, stmt);
}

bool vault_push_waits(struct vault *self, uint64_t task, bool *json)
{
    int64_t value = 0;
    if (!vault_of_task(self, "SELECT json FROM pushes WHERE task = ?1 AND state = 0", task, &value))
        return false;
    *json = value != 0;
    return true;
}

void vault_push_due(struct vault *self, uint64_t task, struct ald_span body, int64_t now_ms)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "UPDATE pushes SET state = 1, body = ?2, next_ms = ?3 WHERE task = ?1 AND state = 0");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_blob(stmt, 2, body);
    ald_stmt_bind_i64(stmt, 3, now_ms);
    vault_run(self, stmt);
}

bool vault_push_tries(struct vault *self, uint64_t task, unsigned *tries)
{
    int64_t value = 0;
    if (!vault_of_task(self, "SELECT tries FROM pushes WHERE task = ?1 AND state = 1", task,
                       &value))
        return false;
    *tries = (unsigned)value;
    return true;
}

bool vault_push_words(struct vault *self, uint64_t task, char provider[ALD_PROVIDER_MAX],
                      struct ald_buf *body)
{
    ald_stmt_t *stmt = vault_prepare(self, "SELECT t.provider, p.body FROM pushes p JOIN tasks t ON"
                                           " t.id = p.task WHERE p.task = ?1 AND p.state = 1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    bool found = vault_step(self, stmt);
    if (found) {
        ald_text_cut(provider, ALD_PROVIDER_MAX, ald_stmt_text(stmt, 0));
        ald_buf_put_span(body, ald_stmt_blob(stmt, 1));
    }
    ald_stmt_reset(stmt);
    return found && ald_buf_ok(body);
}

void vault_push_again(struct vault *self, uint64_t task, unsigned tries, int64_t next_ms)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "UPDATE pushes SET tries = ?2, next_ms = ?3 WHERE task = ?1 AND state = 1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, tries);
    ald_stmt_bind_i64(stmt, 3, next_ms);
    vault_run(self, stmt);
}

void vault_push_rest(struct vault *self, uint64_t task)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "UPDATE pushes SET state = ?2, body = NULL WHERE task = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, PUSH_GIVEN_UP);
    vault_run(self, stmt);
}

enum vault_push_state vault_push_state(struct vault *self, uint64_t task)
{
    enum vault_push_state state = VAULT_PUSH_NONE;
    ald_stmt_t *stmt = vault_prepare(self, "SELECT state, url FROM pushes WHERE task = ?1");
    if (!stmt)
        return state;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    if (vault_step(self, stmt)) {
        int64_t row = ald_stmt_i64(stmt, 0);
        bool rests = row == PUSH_GIVEN_UP && ald_stmt_text(stmt, 1).len > 0;
        state = row < PUSH_DELIVERED ? VAULT_PUSH_LIVE : rests ? VAULT_PUSH_RESTS : VAULT_PUSH_OVER;
    }
    ald_stmt_reset(stmt);
    return state;
}

void vault_push_revive(struct vault *self, uint64_t task, struct ald_span body, unsigned tries,
                       int64_t now_ms)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "UPDATE pushes SET state = 1, body = ?2, tries = ?3, next_ms = ?4 WHERE task = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_blob(stmt, 2, body);
    ald_stmt_bind_i64(stmt, 3, tries);
    ald_stmt_bind_i64(stmt, 4, now_ms);
    vault_run(self, stmt);
}

void vault_push_settle(struct vault *self, uint64_t task, bool delivered)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "UPDATE pushes SET state = ?2, url = '', body = NULL WHERE task = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, delivered ? PUSH_DELIVERED : PUSH_GIVEN_UP);
    vault_run(self, stmt);
}

void vault_each_due_push(struct vault *self, int64_t now_ms, size_t limit, vault_push_fn *fn,
                         void *context)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT task, tries, url, body FROM pushes WHERE state = 1 AND "
                            "next_ms <= ?1 ORDER BY next_ms LIMIT ?2");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, now_ms);
    ald_stmt_bind_i64(stmt, 2, (int64_t)limit);
    bool more = true;
    while (more && vault_step(self, stmt)) {
        const struct vault_push push = {.task = (uint64_t)ald_stmt_i64(stmt, 0),
                                        .tries = (unsigned)ald_stmt_i64(stmt, 1),
                                        .url = ald_stmt_text(stmt, 2),
                                        .body = ald_stmt_blob(stmt, 3)};
        more = fn(context, &push);
    }
    ald_stmt_reset(stmt);
}

int64_t vault_push_next(struct vault *self)
{
    int64_t next_ms = INT64_MAX;
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT next_ms FROM pushes WHERE state = 1 ORDER BY next_ms LIMIT 1");
    if (!stmt)
        return next_ms;
    if (vault_step(self, stmt))
        next_ms = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return next_ms;
}

void vault_each_waiting_push(struct vault *self, vault_push_task_fn *fn, void *context)
{
    ald_stmt_t *stmt = vault_prepare(self, "SELECT task FROM pushes WHERE state = 0");
    if (!stmt)
        return;
    while (vault_step(self, stmt))
        fn(context, (uint64_t)ald_stmt_i64(stmt, 0));
    ald_stmt_reset(stmt);
}
