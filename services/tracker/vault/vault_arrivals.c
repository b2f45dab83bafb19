#include <string.h>

#include "services/tracker/vault/vault_sql.h"

static void vault_bind_maybe(ald_stmt_t *stmt, int index, struct ald_span text)
{
    if (text.len > 0)
        ald_stmt_bind_text(stmt, index, text);
    else
        ald_stmt_bind_null(stmt, index);
}

void vault_arrival_add(struct vault *self, struct vault_arrival *arrival)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO arrivals (no, sender, num, task, disposition, proof, at_ms, made_ms,"
              " ref, letter, message) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
    if (!stmt)
        return;
    arrival->no = ++self->last_arrival;
    ald_stmt_bind_i64(stmt, 1, arrival->no);
    ald_stmt_bind_i64(stmt, 2, arrival->sender);
    ald_stmt_bind_i64(stmt, 3, (int64_t)arrival->num);
    ald_stmt_bind_i64(stmt, 4, (int64_t)arrival->task);
    ald_stmt_bind_i64(stmt, 5, arrival->disposition);
    ald_stmt_bind_i64(stmt, 6, arrival->proof);
    ald_stmt_bind_i64(stmt, 7, arrival->at_ms);
    ald_stmt_bind_i64(stmt, 8, arrival->made_ms);
    vault_bind_maybe(stmt, 9, arrival->ref);
    vault_bind_maybe(stmt, 10, arrival->letter);
    ald_stmt_bind_blob(stmt, 11, arrival->message);
    vault_run(self, stmt);
    books_add(&self->books, BOOK_RECEIVED, 1);
    books_add(&self->books, BOOK_DISPOSITION + arrival->disposition, 1);
    vault_gather_add(self, arrival->task, GATHER_ARRIVAL, arrival->no);
}

/* It may have been passed by without a task. */
static void vault_arrival_index(struct vault *self, uint64_t task, int64_t no)
{
    ald_stmt_t *stmt = vault_prepare(self, "INSERT INTO finds (task, kind, no) VALUES (?1, ?2, ?3)"
                                           " ON CONFLICT DO NOTHING");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, GATHER_ARRIVAL);
    ald_stmt_bind_i64(stmt, 3, no);
    vault_run(self, stmt);
}

void vault_arrival_move(struct vault *self, int64_t no, enum ald_disposition from,
                        enum ald_disposition to, uint64_t task, const char *letter)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "UPDATE arrivals SET disposition = ?3, task = CASE WHEN ?4 = 0 THEN task ELSE ?4 END,"
              " letter = CASE WHEN ?5 = '' THEN letter ELSE ?5 END"
              " WHERE no = ?1 AND disposition = ?2");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, no);
    ald_stmt_bind_i64(stmt, 2, from);
    ald_stmt_bind_i64(stmt, 3, to);
    ald_stmt_bind_i64(stmt, 4, (int64_t)task);
    ald_stmt_bind_str(stmt, 5, letter);
    vault_run(self, stmt);
    if (self->rc != ALD_OK || ald_store_changes(self->store) == 0)
        return; /* purged, or moved before: the books say so already */
    books_add(&self->books, BOOK_DISPOSITION + from, -1);
    books_add(&self->books, BOOK_DISPOSITION + to, 1);
    books_add(&self->books, BOOK_MOVED, 1);
    if (task != 0)
        vault_arrival_index(self, task, no);
}

void vault_arrival_about(struct vault *self, int64_t no, uint64_t task)
{
    ald_stmt_t *stmt = vault_prepare(self, "UPDATE arrivals SET task = ?2 WHERE no = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, no);
    ald_stmt_bind_i64(stmt, 2, (int64_t)task);
    vault_run(self, stmt);
    if (self->rc == ALD_OK && ald_store_changes(self->store) > 0)
        vault_arrival_index(self, task, no);
}

uint32_t vault_arrivals_of(struct vault *self, uint64_t task, uint32_t most)
{
    uint32_t count = 0;
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT COUNT(*) FROM (SELECT 1 FROM finds WHERE task = ?1 AND kind = 1 LIMIT ?2)");
    if (!stmt)
        return 0;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, most);
    if (vault_step(self, stmt))
        count = (uint32_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return count;
}

static void vault_arrival_read(ald_stmt_t *stmt, struct vault_arrival *out)
{
    *out = (struct vault_arrival){.no = ald_stmt_i64(stmt, 0),
                                  .sender = ald_stmt_i64(stmt, 1),
                                  .num = (uint64_t)ald_stmt_i64(stmt, 2),
                                  .task = (uint64_t)ald_stmt_i64(stmt, 3),
                                  .disposition =
                                      (enum ald_disposition)ald_stmt_index(stmt, 4, ALD_DISP_COUNT),
                                  .proof = (enum ald_proof)ald_stmt_index(stmt, 5, ALD_PROOF_COUNT),
                                  .at_ms = ald_stmt_i64(stmt, 6),
                                  .made_ms = ald_stmt_i64(stmt, 7),
                                  .ref = ald_stmt_text(stmt, 8)};
}

bool vault_arrival_get(struct vault *self, int64_t no, struct vault_arrival *out,
                       struct ald_buf *buf)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT no, sender, num, task, disposition, proof, at_ms, made_ms, ref, message"
              " FROM arrivals WHERE no = ?1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, no);
    bool found = vault_step(self, stmt);
    if (found) {
        vault_arrival_read(stmt, out);
        struct ald_span message = ald_stmt_blob(stmt, 9);
        ald_buf_reset(buf);
        ald_buf_put(buf, message.data, message.len);
        out->message = ald_buf_span(buf);
        out->ref = ald_span_of(NULL, 0);
    }
    ald_stmt_reset(stmt);
    return found;
}

static void vault_walk(struct vault *self, ald_stmt_t *stmt, vault_arrival_fn *fn, void *context)
{
    while (vault_step(self, stmt)) {
        struct vault_arrival arrival;
        vault_arrival_read(stmt, &arrival);
        arrival.bytes = (uint64_t)ald_stmt_i64(stmt, 9);
        fn(context, &arrival);
    }
    ald_stmt_reset(stmt);
}

void vault_each_arrival(struct vault *self, int64_t after, vault_arrival_fn *fn, void *context)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT no, sender, num, task, disposition, proof, at_ms, made_ms, ref,"
                            " 0 FROM arrivals WHERE no > ?1 ORDER BY no");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, after);
    vault_walk(self, stmt, fn, context);
}

void vault_each_parked(struct vault *self, vault_arrival_fn *fn, void *context)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT no, sender, num, task, disposition, proof, at_ms, made_ms, ref,"
                            " LENGTH(message) FROM arrivals WHERE disposition = 3 ORDER BY no");
    if (stmt)
        vault_walk(self, stmt, fn, context);
}
