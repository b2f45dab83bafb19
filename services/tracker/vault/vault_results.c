#include <string.h>

#include "common/base/text.h"
#include "services/tracker/vault/vault_letters.h"
#include "services/tracker/vault/vault_sql.h"

/* Every now and then the bytes of all results so far, so that purging finds what lies so many bytes
 * behind the newest without reading any. */
enum { VAULT_SUM_ROWS = 1000, VAULT_SUM_BYTES = 1 << 20, VAULT_CORRECTIONS_MAX = 16 };

static void vault_sum(struct vault *self, uint64_t seq, size_t bytes)
{
    self->result_bytes += bytes;
    if (seq - self->sum_seq < VAULT_SUM_ROWS &&
        self->result_bytes - self->sum_bytes < VAULT_SUM_BYTES)
        return;
    ald_stmt_t *stmt =
        vault_prepare(self, "INSERT INTO sums (seq, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)seq);
    ald_stmt_bind_i64(stmt, 2, (int64_t)self->result_bytes);
    vault_run(self, stmt);
    self->sum_seq = seq;
    self->sum_bytes = self->result_bytes;
}

void vault_sums_read(struct vault *self)
{
    ald_stmt_t *stmt = vault_prepare(self, "SELECT seq, bytes FROM sums ORDER BY seq DESC LIMIT 1");
    if (!stmt)
        return;
    self->sum_seq = self->last_seq > VAULT_SUM_ROWS ? self->last_seq - VAULT_SUM_ROWS : 0;
    if (vault_step(self, stmt)) {
        self->sum_seq = (uint64_t)ald_stmt_i64(stmt, 0);
        self->sum_bytes = (uint64_t)ald_stmt_i64(stmt, 1);
    }
    ald_stmt_reset(stmt);
    self->result_bytes = self->sum_bytes;
    stmt = vault_prepare(self, "SELECT SUM(LENGTH(result)) FROM results WHERE seq > ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)self->sum_seq);
    if (vault_step(self, stmt))
        self->result_bytes += (uint64_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
}

uint64_t vault_seq_behind(struct vault *self, uint64_t bytes)
{
    uint64_t seq = 0;
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT seq FROM sums WHERE bytes <= ?1 ORDER BY seq DESC LIMIT 1");
    if (!stmt || bytes >= self->result_bytes)
        return 0;
    ald_stmt_bind_i64(stmt, 1, (int64_t)(self->result_bytes - bytes));
    if (vault_step(self, stmt))
        seq = (uint64_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return seq;
}

void vault_result_add(struct vault *self, struct vault_result *result)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO results (seq, task, provider, state, source, code, result_json, digest,"
              " received_ms, published_ms, arrival, trace, result, corrects)"
              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)");
    if (!stmt)
        return;
    result->seq = ++self->last_seq;
    ald_stmt_bind_i64(stmt, 1, (int64_t)result->seq);
    ald_stmt_bind_i64(stmt, 2, (int64_t)result->task);
    ald_stmt_bind_text(stmt, 3, result->provider);
    ald_stmt_bind_i64(stmt, 4, result->state);
    ald_stmt_bind_i64(stmt, 5, result->source);
    ald_stmt_bind_text(stmt, 6, result->code);
    ald_stmt_bind_i64(stmt, 7, result->result_json);
    ald_stmt_bind_text(stmt, 8, result->digest);
    ald_stmt_bind_i64(stmt, 9, result->received_ms);
    ald_stmt_bind_i64(stmt, 10, result->published_ms);
    ald_stmt_bind_i64(stmt, 11, result->arrival);
    ald_stmt_bind_text(stmt, 12, result->trace);
    ald_stmt_bind_blob(stmt, 13, result->result);
    ald_stmt_bind_i64(stmt, 14, (int64_t)result->corrects);
    vault_run(self, stmt);
    vault_sum(self, result->seq, result->result.len);
    if (result->corrects == 0) {
        books_add(&self->books, BOOK_STATE + result->state, 1);
        books_add(&self->books, BOOK_SOURCE + result->source, 1);
    } else { /* the task has ended once, and stays so */
        books_add(&self->books, BOOK_CORRECTIONS, 1);
        books_add(&self->books, BOOK_CORRECTIONS_APPLIED, result->arrival != 0);
    }
    vault_gather_add(self, result->task, GATHER_RESULT, (int64_t)result->seq);
}

static uint64_t vault_found(struct vault *self, uint64_t task)
{
    uint64_t seq = 0;
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT no FROM finds WHERE task = ?1 AND kind = 0 ORDER BY no DESC LIMIT 1");
    if (!stmt)
        return 0;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    if (vault_step(self, stmt))
        seq = (uint64_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return seq;
}

bool vault_end_find(struct vault *self, uint64_t task, uint64_t seq, struct vault_end *out)
{
    *out = (struct vault_end){0};
    if (seq == 0)
        seq = vault_found(self, task);
    if (seq == 0)
        return false;
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT r.state, r.digest, t.provider_id, r.arrival, r.corrects FROM results r"
              " LEFT JOIN tasks t ON t.id = r.task WHERE r.seq = ?1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)seq);
    bool found = vault_step(self, stmt);
    if (found) {
        out->seq = seq;
        out->state = (enum ald_state)ald_stmt_index(stmt, 0, ALD_STATE_COUNT);
        ald_text_cut(out->digest, sizeof out->digest, ald_stmt_text(stmt, 1));
        ald_text_cut(out->provider_id, sizeof out->provider_id, ald_stmt_text(stmt, 2));
        out->called = ald_stmt_i64(stmt, 3) != 0;
        out->corrects = (uint64_t)ald_stmt_i64(stmt, 4);
    }
    ald_stmt_reset(stmt);
    return found;
}

bool vault_end_was(struct vault *self, const struct vault_end *end, enum ald_state state,
                   const char *digest)
{
    uint64_t seq = end->corrects;
    for (int back = 0; seq != 0 && back < VAULT_CORRECTIONS_MAX; back++) {
        struct vault_end before;
        if (!vault_end_find(self, 0, seq, &before))
            return false;
        if (before.state == state && strcmp(before.digest, digest) == 0)
            return true;
        seq = before.corrects;
    }
    return false;
}

void vault_note(struct vault *self, uint64_t task, int64_t at_ms, const char *what,
                const char *text)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO notes (no, task, at_ms, what, said) VALUES (?1, ?2, ?3, ?4, ?5)");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, ++self->last_note);
    ald_stmt_bind_i64(stmt, 2, (int64_t)task);
    ald_stmt_bind_i64(stmt, 3, at_ms);
    ald_stmt_bind_str(stmt, 4, what);
    ald_stmt_bind_str(stmt, 5, text);
    vault_run(self, stmt);
    vault_gather_add(self, task, GATHER_NOTE, self->last_note);
}

static void vault_walk_polls(struct vault *self, ald_stmt_t *stmt, vault_polls_fn *fn,
                             void *context)
{
    while (vault_step(self, stmt)) {
        const struct vault_polls polls = {.task = (uint64_t)ald_stmt_i64(stmt, 0),
                                          .polls = (uint32_t)ald_stmt_i64(stmt, 1),
                                          .hinted = (uint32_t)ald_stmt_i64(stmt, 2),
                                          .last_ms = ald_stmt_i64(stmt, 3)};
        fn(context, &polls);
    }
    ald_stmt_reset(stmt);
}

void vault_each_polled(struct vault *self, vault_polls_fn *fn, void *context)
{
    ald_stmt_t *stmt = vault_prepare(
        self,
        "SELECT f.task, COUNT(*), SUM(n.what <> 'poll'), MAX(n.at_ms) FROM finds f JOIN notes n"
        " ON n.no = f.no WHERE f.task >= ?1 AND f.kind = 2 AND f.no <= ?2"
        " AND n.what IN ('poll', 'poll.hinted', 'poll.blocked') GROUP BY f.task");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, vault_meta(self, "lowest_open"));
    ald_stmt_bind_i64(stmt, 2, self->indexed_note); /* a run that did not end has indexed others */
    vault_walk_polls(self, stmt, fn, context);
    stmt = vault_prepare(
        self, "SELECT task, COUNT(*), SUM(what <> 'poll'), MAX(at_ms) FROM notes"
              " WHERE no > ?1 AND what IN ('poll', 'poll.hinted', 'poll.blocked') GROUP BY task");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, self->indexed_note);
    vault_walk_polls(self, stmt, fn, context);
}
