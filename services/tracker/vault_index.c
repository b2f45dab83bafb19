#include "services/tracker/vault_again.h"
#include "services/tracker/vault_purge.h"
#include "services/tracker/vault_sql.h"

void vault_gather_add(struct vault *self, uint64_t task, enum gather_kind kind, int64_t no)
{
    const struct gather_entry entry = {.task = task, .kind = kind, .no = no};
    if (self->rc == ALD_OK && task != 0)
        gather_add(self->gather, &entry);
}

static void vault_gather_table(struct vault *self, const char *sql, enum gather_kind kind,
                               int64_t after)
{
    ald_stmt_t *stmt = vault_prepare(self, sql);
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, after);
    while (vault_step(self, stmt))
        vault_gather_add(self, (uint64_t)ald_stmt_i64(stmt, 0), kind, ald_stmt_i64(stmt, 1));
    ald_stmt_reset(stmt);
}

void vault_gather(struct vault *self)
{
    self->gather = gather_new();
    vault_gather_table(self, "SELECT task, seq FROM results WHERE seq > ?1", GATHER_RESULT,
                       self->indexed_seq);
    vault_gather_table(self, "SELECT task, no FROM arrivals WHERE no > ?1", GATHER_ARRIVAL,
                       self->indexed_arrival);
    vault_gather_table(self, "SELECT task, no FROM notes WHERE no > ?1", GATHER_NOTE,
                       self->indexed_note);
}

struct vault_each_result {
    vault_seq_fn *fn;
    void *context;
};

static void vault_unindexed_result(void *context, const struct gather_entry *entry)
{
    const struct vault_each_result *self = context;
    if (entry->kind == GATHER_RESULT)
        self->fn(self->context, entry->task, (uint64_t)entry->no);
}

void vault_each_unindexed(struct vault *self, vault_seq_fn *fn, void *context)
{
    struct vault_each_result unindexed = {.fn = fn, .context = context};
    ALD_ASSERT(!gather_running(self->gather));
    gather_each(self->gather, vault_unindexed_result, &unindexed);
}

void vault_index_begin(struct vault *self)
{
    gather_begin(self->gather);
    self->run_seq = (int64_t)self->last_seq;
    self->run_arrival = self->last_arrival;
    self->run_note = self->last_note;
}

bool vault_index_running(const struct vault *self)
{
    return gather_running(self->gather);
}

#define INDEX_ROW "(?, ?, ?)"
#define INDEX_FOUR INDEX_ROW "," INDEX_ROW "," INDEX_ROW "," INDEX_ROW
#define INDEX_SIXTEEN INDEX_FOUR "," INDEX_FOUR "," INDEX_FOUR "," INDEX_FOUR
/* Not ON CONFLICT DO NOTHING: a statement of several rows that may fail is journaled by itself. */
#define INDEX_INSERT(rows) "INSERT OR IGNORE INTO finds (task, kind, no) VALUES " rows

enum { INDEX_AT_ONCE = 16 }; /* a statement for each row costs half as much again */

static void vault_index_bind(ald_stmt_t *stmt, int at, const struct gather_entry *entry)
{
    ald_stmt_bind_i64(stmt, 3 * at + 1, (int64_t)entry->task);
    ald_stmt_bind_i64(stmt, 3 * at + 2, entry->kind);
    ald_stmt_bind_i64(stmt, 3 * at + 3, entry->no);
}

/* At most `most` of the run's rows, and not more than a statement takes; how many. */
static size_t vault_index_some(struct vault *self, size_t most)
{
    struct gather_entry entry[INDEX_AT_ONCE];
    size_t count = 0;
    while (count < INDEX_AT_ONCE && count < most && gather_next(self->gather, &entry[count]))
        count++;
    bool all = count == INDEX_AT_ONCE;
    ald_stmt_t *stmt = all ? vault_prepare(self, INDEX_INSERT(INDEX_SIXTEEN))
                           : vault_prepare(self, INDEX_INSERT(INDEX_ROW));
    for (size_t i = 0; i < count && stmt; i++) {
        vault_index_bind(stmt, all ? (int)i : 0, &entry[i]);
        if (!all || i + 1 == count)
            vault_run(self, stmt);
    }
    return count;
}

static void vault_index_through(struct vault *self, uint64_t lowest_open)
{
    vault_meta_set(self, "indexed_seq", self->run_seq);
    vault_meta_set(self, "last_seq", (int64_t)self->last_seq);
    vault_meta_set(self, "indexed_arrival", self->run_arrival);
    vault_meta_set(self, "indexed_note", self->run_note);
    vault_meta_set(self, "lowest_open", (int64_t)lowest_open);
}

/* A page of the index is written once for all of a step's entries in it, which follow each other.
 */
bool vault_index_step(struct vault *self, size_t rows, uint64_t lowest_open)
{
    vault_begin(self);
    for (size_t done = 0; done < rows && self->rc == ALD_OK && gather_running(self->gather);)
        done += vault_index_some(self, rows - done);
    bool through = !gather_running(self->gather);
    if (through)
        vault_index_through(self, lowest_open);
    if (vault_commit(self) != ALD_OK || !through)
        return false;
    self->indexed_seq = self->run_seq;
    self->indexed_arrival = self->run_arrival;
    self->indexed_note = self->run_note;
    return true;
}

int64_t vault_unindexed(const struct vault *self)
{
    return (int64_t)self->last_seq - self->indexed_seq + self->last_arrival -
           self->indexed_arrival + self->last_note - self->indexed_note;
}

static int64_t vault_run_bounded(struct vault *self, const char *sql, int64_t before_ms,
                                 size_t limit)
{
    ald_stmt_t *stmt = vault_prepare(self, sql);
    if (!stmt)
        return 0;
    ald_stmt_bind_i64(stmt, 1, before_ms);
    ald_stmt_bind_i64(stmt, 2, (int64_t)limit);
    vault_run(self, stmt);
    return self->rc == ALD_OK ? ald_store_changes(self->store) : 0;
}

struct vault_old {
    uint64_t task;
    uint64_t seq;
    int64_t state;
    int64_t source;
    bool corrects;  /* it is a correction */
    bool corrected; /* there is a later one of it: its task stays */
};

static void vault_count_old(struct vault *self, const struct vault_old *old)
{
    books_add(&self->books, BOOK_TASKS_PURGED, !old->corrected);
    books_add(&self->books, BOOK_CORRECTIONS_PURGED, old->corrects);
    if (old->corrects)
        return;
    if (old->state >= 0 && old->state < ALD_STATE_COUNT)
        books_add(&self->books, BOOK_STATE_PURGED + (unsigned)old->state, 1);
    if (old->source >= 0 && old->source < ALD_SOURCE_COUNT)
        books_add(&self->books, BOOK_SOURCE_PURGED + (unsigned)old->source, 1);
}

/* A result whose correction is still kept. */
static void vault_bury_result(struct vault *self, const struct vault_old *old)
{
    static const char *const sqls[] = {
        "DELETE FROM results WHERE seq = ?2 AND task = ?1",
        "DELETE FROM finds WHERE task = ?1 AND kind = 0 AND no = ?2",
    };
    for (size_t i = 0; i < ALD_COUNT(sqls); i++) {
        ald_stmt_t *stmt = vault_prepare(self, sqls[i]);
        if (!stmt)
            return;
        ald_stmt_bind_i64(stmt, 1, (int64_t)old->task);
        ald_stmt_bind_i64(stmt, 2, (int64_t)old->seq);
        vault_run(self, stmt);
    }
    vault_count_old(self, old);
}

/* One ended task and all that hangs on it, leaving a tomb. */
static void vault_bury(struct vault *self, const struct vault_old *old, int64_t now_ms)
{
    static const char tomb[] =
        "INSERT INTO tombs (task, at_ms, provider, provider_id)"
        " SELECT id, ?3, provider, provider_id FROM tasks WHERE id = ?1 ON CONFLICT DO NOTHING";
    static const char *const sqls[] = {
        tomb,
        "DELETE FROM notes WHERE no IN (SELECT no FROM finds WHERE task = ?1 AND kind = 2)",
        "DELETE FROM finds WHERE task = ?1",
        "DELETE FROM tasks WHERE id = ?1",
        "DELETE FROM results WHERE seq = ?2",
        "DELETE FROM ways WHERE task = ?1",
        "DELETE FROM submits WHERE task = ?1",
        "DELETE FROM pushes WHERE task = ?1",
        "DELETE FROM again WHERE task = ?1",
    };
    vault_spare_forget(self, old->task);
    for (size_t i = 0; i < ALD_COUNT(sqls); i++) {
        ald_stmt_t *stmt = vault_prepare(self, sqls[i]);
        if (!stmt)
            return;
        ald_stmt_bind_i64(stmt, 1, (int64_t)old->task);
        if (i == 4 || i == 0)
            ald_stmt_bind_i64(stmt, 2, (int64_t)old->seq);
        if (i == 0)
            ald_stmt_bind_i64(stmt, 3, now_ms);
        vault_run(self, stmt);
    }
    vault_count_old(self, old);
}

enum { VAULT_PURGE_MAX = 1000 };

/* Old, and nobody is owed it, or it is owed for too long. */
static bool vault_purgeable(ald_stmt_t *stmt, const struct vault_bounds *before, uint64_t behind)
{
    uint64_t seq = (uint64_t)ald_stmt_i64(stmt, 1);
    int64_t published_ms = ald_stmt_i64(stmt, 2);
    bool pushed = ald_stmt_i64(stmt, 5) == 0; /* else its end is still being told to its caller */
    return pushed && published_ms < before->results_ms &&
           (before->owed_seq == 0 || seq < before->owed_seq || published_ms < before->lag_ms ||
            seq <= behind);
}

static size_t vault_purge_results(struct vault *self, const struct vault_bounds *before,
                                  size_t limit, int64_t now_ms)
{
    const uint64_t behind = vault_seq_behind(self, before->lag_bytes);
    struct vault_old old[VAULT_PURGE_MAX];
    size_t count = 0;
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT task, seq, published_ms, state, source,"
              " EXISTS (SELECT 1 FROM pushes p WHERE p.task = results.task AND p.state = 1),"
              " corrects, EXISTS (SELECT 1 FROM results c WHERE c.corrects = results.seq"
              " AND c.corrects > 0) FROM results WHERE seq <= ?1 ORDER BY seq LIMIT ?2");
    if (!stmt)
        return 0;
    ald_stmt_bind_i64(stmt, 1, self->indexed_seq);
    ald_stmt_bind_i64(stmt, 2, (int64_t)limit);
    while (count < limit && vault_step(self, stmt) && vault_purgeable(stmt, before, behind)) {
        old[count++] = (struct vault_old){.task = (uint64_t)ald_stmt_i64(stmt, 0),
                                          .seq = (uint64_t)ald_stmt_i64(stmt, 1),
                                          .state = ald_stmt_i64(stmt, 3),
                                          .source = ald_stmt_i64(stmt, 4),
                                          .corrects = ald_stmt_i64(stmt, 6) != 0,
                                          .corrected = ald_stmt_i64(stmt, 7) != 0};
    }
    ald_stmt_reset(stmt);
    for (size_t i = 0; i < count; i++)
        if (old[i].corrected)
            vault_bury_result(self, &old[i]);
        else
            vault_bury(self, &old[i], now_ms);
    if (count > 0)
        (void)vault_run_bounded(self,
                                "DELETE FROM sums WHERE seq IN (SELECT seq FROM sums WHERE"
                                " seq <= ?1 LIMIT ?2)",
                                (int64_t)old[count - 1].seq, limit);
    return count;
}

/* The last of the next rows that is old enough, or 0. */
static int64_t vault_purge_reach(struct vault *self, const struct vault_bounds *before,
                                 size_t limit)
{
    int64_t reach = 0;
    int64_t last = self->indexed_arrival;
    if (before->kept_arrival < last)
        last = before->kept_arrival; /* the rest must still tell which numbers were taken */
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT no, at_ms FROM arrivals WHERE no > ?1 AND no <= ?2 ORDER BY no LIMIT ?3");
    if (!stmt)
        return 0;
    ald_stmt_bind_i64(stmt, 1, self->purged_arrival);
    ald_stmt_bind_i64(stmt, 2, last);
    ald_stmt_bind_i64(stmt, 3, (int64_t)limit);
    while (vault_step(self, stmt) && ald_stmt_i64(stmt, 1) < before->evidence_ms)
        reach = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return reach;
}

/* Parked and dead ones are not settled: they stay, and are met again after the next start. */
static size_t vault_purge_arrivals(struct vault *self, const struct vault_bounds *before,
                                   size_t limit)
{
    int64_t reach = vault_purge_reach(self, before, limit);
    size_t count = 0;
    for (unsigned d = 0; d < ALD_DISP_COUNT && reach > 0; d++) {
        if (d == ALD_DISP_PARKED || d == ALD_DISP_DEAD)
            continue;
        ald_stmt_t *stmt = vault_prepare(
            self, "DELETE FROM arrivals WHERE no > ?1 AND no <= ?2 AND disposition = ?3");
        if (!stmt)
            return 0;
        ald_stmt_bind_i64(stmt, 1, self->purged_arrival);
        ald_stmt_bind_i64(stmt, 2, reach);
        ald_stmt_bind_i64(stmt, 3, d);
        vault_run(self, stmt);
        int64_t gone = self->rc == ALD_OK ? ald_store_changes(self->store) : 0;
        if (gone > 0)
            books_add(&self->books, BOOK_PURGED + d, gone);
        count += (size_t)gone;
    }
    if (reach > 0)
        self->purged_arrival = reach;
    return count;
}

bool vault_purge(struct vault *self, const struct vault_bounds *before, size_t limit,
                 int64_t now_ms)
{
    if (limit > VAULT_PURGE_MAX)
        limit = VAULT_PURGE_MAX;
    vault_begin(self);
    size_t most = vault_purge_results(self, before, limit, now_ms);
    size_t arrivals = vault_purge_arrivals(self, before, limit);
    if (arrivals > most)
        most = arrivals;
    (void)vault_run_bounded(self,
                            "DELETE FROM refs WHERE (provider, provider_id, task) IN (SELECT"
                            " provider, provider_id, task FROM tombs WHERE at_ms < ?1 LIMIT ?2)",
                            before->tombs_ms, limit);
    (void)vault_run_bounded(self,
                            "DELETE FROM refs WHERE (provider, provider_id, task) IN (SELECT"
                            " t.provider, r.provider_id, r.task FROM (SELECT task, provider FROM"
                            " tombs WHERE at_ms < ?1 LIMIT ?2) t JOIN resubmits r"
                            " ON r.task = t.task)",
                            before->tombs_ms, limit);
    (void)vault_run_bounded(self,
                            "DELETE FROM resubmits WHERE task IN (SELECT task FROM tombs WHERE"
                            " at_ms < ?1 LIMIT ?2)",
                            before->tombs_ms, limit);
    (void)vault_run_bounded(self,
                            "DELETE FROM tombs WHERE task IN (SELECT task FROM tombs WHERE"
                            " at_ms < ?1 LIMIT ?2)",
                            before->tombs_ms, limit);
    (void)vault_run_bounded(self,
                            "DELETE FROM keys WHERE task_key IN (SELECT task_key FROM keys WHERE"
                            " at_ms < ?1 LIMIT ?2)",
                            before->keys_ms, limit);
    vault_spare_purge(self, before->spare_ms, limit);
    if (vault_commit(self) != ALD_OK)
        return false;
    return most >= limit;
}
