/* sqlite.h - what the files of the SQLite engine share. Nobody else includes it.
 *
 * sqlite.c: statements and transactions. sqlite_open.c: start-up protocol, migrations, close.
 * sqlite_wal.c: checkpoints and copies. sqlite_checkpointer.c: checkpoints beside the commits.
 * sqlite_log.c: what the log is written through. sqlite_syncer.c: syncs beside what comes next.
 * sqlite_pages.c: sums of the file's pages.
 * sqlite_tail.c: what the engine will drop of a log.
 * sqlite_check.c: is a file whole?
 */
#ifndef ALD_STORE_SQLITE_H
#define ALD_STORE_SQLITE_H

#include <sqlite3.h>

#include "common/base/failpoint.h"
#include "common/store/store.h"

/* The engine's code for what a failpoint did. */
#define STORE_FAILED (ald_failpoint_rc() == ALD_FULL ? SQLITE_FULL : SQLITE_IOERR)

enum { STORE_BUCKETS = 2 * ALD_STORE_STATEMENTS, STORE_PARAMETERS = 64, STORE_SAID_MAX = 256 };

struct ald_stmt {
    ald_store_t *store;
    const char *sql; /* the address is the key */
    sqlite3_stmt *handle;
    int parameters;
    uint64_t bound;      /* a bit a parameter; what has none is NULL */
    bool begun;          /* stepped since it was reset */
    enum ald_rc bind_rc; /* the first value that could not be bound */
};

/* What the last round of a checkpointer did. */
struct store_round {
    int code;      /* the engine's */
    int64_t moved; /* pages of the log that are in the file, counted from its beginning */
};

struct ald_store {
    sqlite3 *db;
    int lock_fd; /* -1 when read-only */
    int file_fd; /* of the file itself, locked; -1 when read-only */
    char path[ALD_STORE_PATH_MAX];
    char *said; /* room of ald_store_message */
    bool read_only;
    bool still;
    bool failed; /* for good, until opened again */
    bool in_tx;
    bool undone; /* the disk was full: the engine's transaction is gone, the caller's not yet */
    unsigned savepoints;
    int64_t version;

    int busy_ms;
    int64_t page_bytes;
    int64_t wal_pages;     /* in the log after the last commit */
    int64_t checkpoint_at; /* pages at which a commit tries the next checkpoint */
    int64_t autocheckpoint;
    uint64_t wal_max_bytes;
    struct store_checkpointer *checkpointer; /* NULL: commits do it */
    bool copied_some;                        /* it had a round in this log */
    struct store_syncer *syncer;             /* NULL: commits do it */

    struct ald_stmt statements[ALD_STORE_STATEMENTS];
    size_t statement_count;
    uint16_t buckets[STORE_BUCKETS]; /* index + 1 into statements, 0 = free */
};

/* What an engine's code means; an error that is for good fails the store. */
enum ald_rc store_rc(ald_store_t *self, int code);

/* First column of the first row of sql. ALD_NOTFOUND: there is no row. */
enum ald_rc store_get_i64(ald_store_t *self, const char *sql, int64_t *out);

/* After a commit: checkpoint past the thresholds. An error fails the store, not the commit. */
void store_after_commit(ald_store_t *self);

/* Copies the log into the file on a thread and a handle of its own, so that commits need not wait
 * for it. It never empties the log: more is written while it copies, and only the writer, between
 * two commits, can copy the last pages and begin anew.
 * new: SQLITE_OK, or why the file can't be opened. begin: one round; not while one is under way.
 * idle: false while one is. destroy ends after the round that is under way. */
int store_checkpointer_new(const char *path, struct store_checkpointer **out);
void store_checkpointer_destroy(struct store_checkpointer **self_p);
void store_checkpointer_begin(struct store_checkpointer *self);
bool store_checkpointer_idle(struct store_checkpointer *self, struct store_round *last);
void store_checkpointer_wait(struct store_checkpointer *self, struct store_round *last);

/* The file system as a writer has it: a stretch of the log is written at once. Only for a handle
 * with synchronous=FULL. */
const char *store_log_vfs(void);

/* The log of such a handle, once it has read; NULL if it has none. beside: from now on, or no more,
 * a commit's sync is owed instead of made; owed tells whether one is since then. sync makes it, on
 * any thread, for all that was written before. */
sqlite3_file *store_log_file(sqlite3 *db);
void store_log_beside(sqlite3_file *file, bool beside);
bool store_log_owed(const sqlite3_file *file);
int store_log_sync(sqlite3_file *file);

/* Syncs the log on a thread of its own, so that the next transaction is made meanwhile.
 * new: NULL when there is no log. begin, end: around a commit; begin waits for the one before.
 * settled: how many are; never waits. wait: for all of them.
 * code: the engine's, once a sync has failed; then nothing more settles. fd: readable when more has
 * settled or a sync has failed, until heard. Destroy it before the handle is closed. */
struct store_syncer *store_syncer_new(sqlite3 *db);
void store_syncer_destroy(struct store_syncer **self_p);
void store_syncer_begin(struct store_syncer *self);
void store_syncer_end(struct store_syncer *self, bool committed);
uint64_t store_syncer_written(const struct store_syncer *self);
uint64_t store_syncer_settled(struct store_syncer *self);
void store_syncer_wait(struct store_syncer *self);
int store_syncer_code(struct store_syncer *self);
int store_syncer_fd(const struct store_syncer *self);
void store_syncer_heard(struct store_syncer *self);

/* The file system under all handles: pages of the file carry sums. ask: a file that is made by this
 * handle, or made anew by VACUUM, has them. summed: this one has, as far as it was read. like: a
 * copy that is written is to have them where its original has.
 * watch: pages that are read and are not as they were written are told to fn, not to the log.
 * read_all: read them all, also those that hold nothing; only a file that nobody writes. */
enum { STORE_PAGE_SUM_BYTES = 16 };
typedef void store_page_fn(void *context, int64_t page);
sqlite3_vfs *store_pages_system(void);
const char *store_pages_vfs(void);
int store_pages_ask(sqlite3 *db);
bool store_pages_summed(sqlite3 *db);
void store_pages_like(sqlite3 *copy, sqlite3 *original);
void store_pages_watch(sqlite3 *db, store_page_fn *fn, void *context);
int store_pages_read_all(sqlite3 *db);

/* Pages of this log that are good, behind one that is not, with a commit among them: the engine
 * will not read them. */
int64_t store_log_lost(const char *path);

/* Wait for the round that is under way, if there is one; its error fails the store. */
void store_checkpointer_settle(ald_store_t *self);

#endif
