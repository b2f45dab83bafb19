#include "services/tracker/vault/vault_purge.h"

#include "services/tracker/vault/graves.h"
#include "services/tracker/vault/vault_again.h"
#include "services/tracker/vault/vault_sql.h"

enum {
    VAULT_PURGE_MAX = 1000,
    VAULT_LIGHT = 4 /* so many results are read, or deleted where they end a row, in the time of one
                     * burial */
};

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

/* ---- results, and with them their tasks: gathered, buried, swept ---- */

/* Old, and nobody is owed it, or it is owed for too long. What is hidden was that once. */
static bool vault_purgeable(const struct vault *self, ald_stmt_t *stmt,
                            const struct vault_bounds *before, uint64_t behind)
{
    uint64_t seq = (uint64_t)ald_stmt_i64(stmt, 1);
    int64_t published_ms = ald_stmt_i64(stmt, 2);
    bool pushed = ald_stmt_i64(stmt, 3) == 0; /* else its end is still being told to its caller */
    return seq <= self->hidden_seq || (pushed && published_ms < before->results_ms &&
                                       (before->owed_seq == 0 || seq < before->owed_seq ||
                                        published_ms < before->lag_ms || seq <= behind));
}

/* Gather at most `most` more. True: there are no more that may go, or there is no room. */
static bool vault_purge_gather(struct vault *self, const struct vault_bounds *before, size_t most)
{
    const uint64_t behind = vault_seq_behind(self, before->lag_bytes);
    size_t count = 0;
    bool more = true;
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT task, seq, published_ms,"
              " EXISTS (SELECT 1 FROM pushes p WHERE p.task = results.task AND p.state = 1)"
              " FROM results WHERE seq > ?1 AND seq <= ?2 ORDER BY seq");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)graves_last(self->graves));
    ald_stmt_bind_i64(stmt, 2, self->indexed_seq);
    while (count < most && !graves_full(self->graves) &&
           (more = vault_step(self, stmt) && vault_purgeable(self, stmt, before, behind))) {
        const struct grave grave = {.task = (uint64_t)ald_stmt_i64(stmt, 0),
                                    .seq = (uint64_t)ald_stmt_i64(stmt, 1)};
        graves_add(self->graves, &grave);
        count++;
    }
    ald_stmt_reset(stmt);
    return self->rc == ALD_OK && (!more || graves_full(self->graves));
}

/* Nobody is given any of them from now on: they go in another order than that of the feed. */
static void vault_purge_hide(struct vault *self)
{
    graves_close(self->graves);
    if (graves_last(self->graves) <= self->hidden_seq)
        return;
    self->hidden_seq = graves_last(self->graves);
    vault_meta_set(self, VAULT_HIDDEN, (int64_t)self->hidden_seq);
}

enum { BURY_AT_ONCE = 16 }; /* a statement for each costs three times as much */

#define SIXTEEN "(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16)"

struct bury {
    struct grave at[BURY_AT_ONCE];
    size_t count;
};

static ald_stmt_t *vault_bury_prepare(struct vault *self, const char *sql, const struct bury *bury)
{
    ald_stmt_t *stmt = vault_prepare(self, sql);
    for (size_t i = 0; stmt && i < BURY_AT_ONCE; i++) /* no task is 0 */
        ald_stmt_bind_i64(stmt, (int)i + 1, i < bury->count ? (int64_t)bury->at[i].task : 0);
    return stmt;
}

/* How many rows it deleted. */
static int64_t vault_bury_run(struct vault *self, const char *sql, const struct bury *bury)
{
    ald_stmt_t *stmt = vault_bury_prepare(self, sql, bury);
    if (!stmt)
        return 0;
    vault_run(self, stmt);
    return self->rc == ALD_OK ? ald_store_changes(self->store) : 0;
}

static void vault_bury_tombs(struct vault *self, const struct bury *bury, int64_t now_ms)
{
    ald_stmt_t *stmt =
        vault_bury_prepare(self,
                           "INSERT INTO tombs (task, at_ms, provider, provider_id)"
                           " SELECT id, ?17, provider, provider_id FROM tasks WHERE id IN " SIXTEEN
                           " ON CONFLICT DO NOTHING",
                           bury);
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, BURY_AT_ONCE + 1, now_ms);
    vault_run(self, stmt);
}

/* Ended tasks and all that hangs on them, but for their results, leaving tombs. */
static void vault_bury_tasks(struct vault *self, const struct bury *bury, int64_t now_ms)
{
    static const char *const sqls[] = {
        "DELETE FROM notes WHERE no IN (SELECT no FROM finds WHERE task IN " SIXTEEN
        " AND kind = 2)",
        "DELETE FROM finds WHERE task IN " SIXTEEN,
        "DELETE FROM ways WHERE task IN " SIXTEEN,
        "DELETE FROM submits WHERE task IN " SIXTEEN,
        "DELETE FROM pushes WHERE task IN " SIXTEEN,
        "DELETE FROM again WHERE task IN " SIXTEEN,
    };
    for (size_t i = 0; i < bury->count; i++)
        vault_spare_forget(self, bury->at[i].task);
    vault_bury_tombs(self, bury, now_ms);
    for (size_t i = 0; i < ALD_COUNT(sqls); i++)
        (void)vault_bury_run(self, sqls[i], bury);
    books_add(&self->books, BOOK_TASKS_PURGED,
              vault_bury_run(self, "DELETE FROM tasks WHERE id IN " SIXTEEN, bury));
}

/* There is a correction of it: its task stays, and will go with that one. */
static bool vault_corrected(struct vault *self, uint64_t seq)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT 1 FROM results WHERE corrects = ?1 AND corrects > 0 LIMIT 1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)seq);
    bool found = vault_step(self, stmt);
    ald_stmt_reset(stmt);
    return found;
}

static void vault_bury_corrected(struct vault *self, const struct grave *grave)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "DELETE FROM finds WHERE task = ?1 AND kind = 0 AND no = ?2");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)grave->task);
    ald_stmt_bind_i64(stmt, 2, (int64_t)grave->seq);
    vault_run(self, stmt);
}

static void vault_purge_bury(struct vault *self, size_t most, int64_t now_ms)
{
    struct bury bury;
    while (most > 0 && self->rc == ALD_OK &&
           (bury.count = graves_next(self->graves, bury.at,
                                     most < BURY_AT_ONCE ? most : BURY_AT_ONCE)) > 0) {
        most -= bury.count;
        size_t tasks = 0;
        for (size_t i = 0; i < bury.count; i++)
            if (vault_corrected(self, bury.at[i].seq))
                vault_bury_corrected(self, &bury.at[i]);
            else
                bury.at[tasks++] = bury.at[i];
        bury.count = tasks;
        if (tasks > 0)
            vault_bury_tasks(self, &bury, now_ms);
    }
}

static void vault_count_old(struct vault *self, ald_stmt_t *stmt)
{
    int64_t state = ald_stmt_i64(stmt, 1);
    int64_t source = ald_stmt_i64(stmt, 2);
    bool corrects = ald_stmt_i64(stmt, 3) != 0;
    books_add(&self->books, BOOK_CORRECTIONS_PURGED, corrects);
    if (corrects)
        return;
    if (state >= 0 && state < ALD_STATE_COUNT)
        books_add(&self->books, BOOK_STATE_PURGED + (unsigned)state, 1);
    if (source >= 0 && source < ALD_SOURCE_COUNT)
        books_add(&self->books, BOOK_SOURCE_PURGED + (unsigned)source, 1);
}

static void vault_purge_upto(struct vault *self, int64_t last)
{
    ald_stmt_t *stmt = vault_prepare(self, "DELETE FROM results WHERE seq <= ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, last);
    vault_run(self, stmt);
}

/* Delete at most `most` of the hidden results; their tasks are buried. True: that was the last. */
static bool vault_purge_sweep(struct vault *self, size_t most)
{
    int64_t last = 0;
    size_t count = 0;
    ald_stmt_t *stmt = vault_prepare(self, "SELECT seq, state, source, corrects FROM results"
                                           " WHERE seq <= ?1 ORDER BY seq LIMIT ?2");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)self->hidden_seq);
    ald_stmt_bind_i64(stmt, 2, (int64_t)most);
    for (; vault_step(self, stmt); count++) {
        last = ald_stmt_i64(stmt, 0);
        vault_count_old(self, stmt);
    }
    ald_stmt_reset(stmt);
    if (last > 0) {
        vault_purge_upto(self, last);
        (void)vault_run_bounded(self,
                                "DELETE FROM sums WHERE seq IN (SELECT seq FROM sums WHERE"
                                " seq <= ?1 LIMIT ?2)",
                                last, most);
    }
    return self->rc == ALD_OK && count < most;
}

/* True while more wait. */
static bool vault_purge_results(struct vault *self, const struct vault_bounds *before, size_t limit,
                                int64_t now_ms)
{
    if (!graves_closed(self->graves)) {
        uint64_t owed = before->owed_seq > 0 ? before->owed_seq : UINT64_MAX;
        if (owed < self->graves_owed)
            graves_reset(self->graves); /* somebody is owed more than when these were gathered */
        self->graves_owed = owed;
        if (!vault_purge_gather(self, before, VAULT_LIGHT * limit))
            return true;
        vault_purge_hide(self);
    }
    bool full = graves_full(self->graves);
    vault_purge_bury(self, limit, now_ms);
    if (!graves_empty(self->graves) || !vault_purge_sweep(self, VAULT_LIGHT * limit))
        return true;
    graves_reset(self->graves);
    return full;
}

/* ---- arrivals ---- */

/* The last of the next rows that is old enough, or 0; how many that are is counted. */
static int64_t vault_purge_reach(struct vault *self, const struct vault_bounds *before,
                                 size_t limit, size_t *count)
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
    for (; vault_step(self, stmt) && ald_stmt_i64(stmt, 1) < before->evidence_ms; ++*count)
        reach = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return reach;
}

/* Parked and dead ones are not settled: they stay, and are met again after the next start. */
#define ARRIVALS_SETTLED "no > ?1 AND no <= ?2 AND disposition NOT IN (3, 4)"
_Static_assert(ALD_DISP_PARKED == 3 && ALD_DISP_DEAD == 4, "as in ARRIVALS_SETTLED");

static ald_stmt_t *vault_arrivals_until(struct vault *self, const char *sql, int64_t reach)
{
    ald_stmt_t *stmt = vault_prepare(self, sql);
    if (stmt) {
        ald_stmt_bind_i64(stmt, 1, self->purged_arrival);
        ald_stmt_bind_i64(stmt, 2, reach);
    }
    return stmt;
}

/* True while more wait. */
static bool vault_purge_arrivals(struct vault *self, const struct vault_bounds *before,
                                 size_t limit)
{
    int64_t gone[ALD_DISP_COUNT] = {0};
    size_t count = 0;
    int64_t reach = vault_purge_reach(self, before, limit, &count);
    ald_stmt_t *stmt =
        reach == 0 ? NULL
                   : vault_arrivals_until(
                         self, "SELECT disposition FROM arrivals WHERE " ARRIVALS_SETTLED, reach);
    if (!stmt)
        return false;
    while (vault_step(self, stmt))
        gone[ald_stmt_index(stmt, 0, ALD_DISP_COUNT)]++;
    ald_stmt_reset(stmt);
    stmt = vault_arrivals_until(self, "DELETE FROM arrivals WHERE " ARRIVALS_SETTLED, reach);
    if (!stmt)
        return false;
    vault_run(self, stmt);
    for (unsigned d = 0; d < ALD_DISP_COUNT; d++)
        if (gone[d] > 0)
            books_add(&self->books, BOOK_PURGED + d, gone[d]);
    self->purged_arrival = reach;
    return count == limit;
}

/* ---- what is remembered of purged tasks ---- */

/* True while more wait. */
static bool vault_purge_tombs(struct vault *self, int64_t before_ms, size_t limit)
{
    (void)vault_run_bounded(self,
                            "DELETE FROM refs WHERE (provider, provider_id, task) IN (SELECT"
                            " provider, provider_id, task FROM tombs WHERE at_ms < ?1 LIMIT ?2)",
                            before_ms, limit);
    (void)vault_run_bounded(self,
                            "DELETE FROM refs WHERE (provider, provider_id, task) IN (SELECT"
                            " t.provider, r.provider_id, r.task FROM (SELECT task, provider FROM"
                            " tombs WHERE at_ms < ?1 LIMIT ?2) t JOIN resubmits r"
                            " ON r.task = t.task)",
                            before_ms, limit);
    (void)vault_run_bounded(self,
                            "DELETE FROM resubmits WHERE task IN (SELECT task FROM tombs WHERE"
                            " at_ms < ?1 LIMIT ?2)",
                            before_ms, limit);
    return vault_run_bounded(self,
                             "DELETE FROM tombs WHERE task IN (SELECT task FROM tombs WHERE"
                             " at_ms < ?1 LIMIT ?2)",
                             before_ms, limit) >= (int64_t)limit;
}

bool vault_purge(struct vault *self, const struct vault_bounds *before, size_t limit,
                 int64_t now_ms)
{
    if (limit > VAULT_PURGE_MAX)
        limit = VAULT_PURGE_MAX;
    vault_begin(self);
    bool more = vault_purge_results(self, before, limit, now_ms);
    if (vault_purge_arrivals(self, before, limit))
        more = true;
    if (vault_purge_tombs(self, before->tombs_ms, limit))
        more = true;
    if (vault_run_bounded(self,
                          "DELETE FROM keys WHERE task_key IN (SELECT task_key FROM keys WHERE"
                          " at_ms < ?1 LIMIT ?2)",
                          before->keys_ms, limit) >= (int64_t)limit)
        more = true;
    vault_spare_purge(self, before->spare_ms, limit);
    return vault_commit(self) == ALD_OK && more;
}
