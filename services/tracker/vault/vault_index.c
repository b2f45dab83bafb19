#include "services/tracker/vault/vault_index.h"

#include "services/tracker/vault/vault_sql.h"

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
