/* store.h - a transactional store in one file: what services keep on disk stands behind this.
 *
 * The engine is SQLite (WAL, synchronous FULL); the interface says no word of it, so that another
 * one may stand here later. SQL keeps to the portable subset: ON CONFLICT DO NOTHING, RETURNING,
 * text and BIGINT keys, milliseconds as BIGINT; no triggers, no rowid tricks. Foreign keys are off.
 *
 * - A commit that returned ALD_OK is on disk; or with options.sync_beside, once it has settled.
 * - One process writes a file: `<path>.lock`, and the file with it, is locked for as long as it is
 *   open. Readers open it read-only, on a handle of their own, and keep their transactions short.
 * - Nothing is accepted before the start-up protocol has run: fsync and drop from the page cache,
 *   then a whole checkpoint. A plain restart after a transient disk error would lose acknowledged
 *   rows, because the kernel forgets which pages it could not write.
 * - ALD_IO and ALD_CORRUPT are for good: the store has failed, every later call returns ALD_IO, and
 *   only destroy and open, which is the protocol, bring it back. ALD_FULL is not: the transaction
 *   is gone, and the next may succeed when there is room.
 *
 * Close a process's own readers before its writer is opened again: POSIX drops the locks of a file
 * whenever a process closes any descriptor of it.
 * Programs must ignore SIGXFSZ, or a file size limit kills them where it should be ALD_IO.
 * Threads: a handle and its statements belong to one thread at a time.
 */
#ifndef ALD_STORE_STORE_H
#define ALD_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum { ALD_STORE_PATH_MAX = 512, ALD_STORE_STATEMENTS = 256 };

/* A condition: the column is a text of letters and digits, at most 26 of them, as ids are. Whoever
 * reads rows in pages after the last id says it: after any other value that a damaged file holds a
 * page may begin where it began before. */
#define ALD_STORE_IS_ID(column)                                                                    \
    "typeof(" column ") = 'text' AND " column " <> '' AND length(" column                          \
    ") < 27 AND length(CAST(" column " AS BLOB)) = length(" column ") AND " column                 \
    " NOT GLOB '*[^0-9A-Za-z]*'"

typedef struct ald_store ald_store_t;
typedef struct ald_stmt ald_stmt_t;
typedef struct ald_backup ald_backup_t;

/* One step of the schema: brings a file from the version before to `version`. Steps are numbered
 * 1, 2, 3 ... and never change once released. */
struct ald_store_step {
    int64_t version;
    int64_t min_reader; /* the oldest program version that may still open the file afterwards */
    const char *sql;    /* one or more statements, run in one transaction */
};

struct ald_store_options {
    const char *path;
    uint32_t application_id; /* which kind of store this is; another kind is refused */
    const struct ald_store_step *steps;
    size_t step_count; /* the program's version is the last step's */
    bool read_only;    /* no lock, no protocol, no migration; the file must be there and migrated */
    bool older;        /* with read_only: or not migrated yet; ald_store_version tells */
    bool still;        /* with read_only: nobody writes it, and its log is empty. Nothing is made or
                        * touched beside it */
    bool shrink;       /* a new file can give room back to the disk: ald_store_shrink */
    uint64_t cache_bytes;       /* 0 = the engine's */
    int64_t wal_autocheckpoint; /* pages; 0 = 20000 */
    uint64_t wal_max_bytes;     /* past this a commit checkpoints the whole log; 0 = 256 MiB */
    bool checkpoint_beside; /* on a thread of the store's: commits wait for the last pages only */
    bool sync_beside;       /* on a thread of the store's: commits return when they are written */
    int64_t busy_ms;        /* how long to wait for a lock; 0 = 5000 */
};

/* Open, creating the folder (0700) and the file (0600); recover; migrate. A kill at any moment
 * leaves a file that opens again.
 * ALD_OK: *out is the caller's. ALD_EXISTS: another process has it. ALD_AGAIN: a reader holds an
 * old snapshot. ALD_VERSION: a file of another kind, or of a newer program (or, read-only, not yet
 * migrated). ALD_NOTFOUND: read-only and not there. ALD_CORRUPT, ALD_FULL, ALD_IO, ALD_INVALID.
 * err says in one sentence what is wrong and what to do. */
ALD_NODISCARD enum ald_rc ald_store_open(const struct ald_store_options *options, ald_store_t **out,
                                         struct ald_err *err);
/* Close; an open transaction is rolled back. */
void ald_store_destroy(ald_store_t **self_p);

/* True once ALD_IO or ALD_CORRUPT was met. */
bool ald_store_failed(const ald_store_t *self);
/* What the engine said last, for the log; borrowed until the next call. */
const char *ald_store_message(const ald_store_t *self);
/* Version of the file; may be above the program's. */
int64_t ald_store_version(const ald_store_t *self);

/* Transactions. begin takes the write lock at once (read-only: a
 * snapshot, from its first read). Calling begin inside a
 * transaction, or the others outside of one, is a bug.
 * begin, commit: ALD_OK, ALD_AGAIN, ALD_FULL, ALD_IO, ALD_CORRUPT. After ALD_FULL from any call
 * within it the transaction is already undone: its later steps and its commit return ALD_FULL. A
 * commit that failed has ended the transaction; with ALD_IO its rows may or may not be there after
 * the next open. ALD_AGAIN from a commit leaves it open: commit again, or roll back. */
ALD_NODISCARD enum ald_rc ald_store_begin(ald_store_t *self);
ALD_NODISCARD enum ald_rc ald_store_commit(ald_store_t *self);
void ald_store_rollback(ald_store_t *self);

/* With sync_beside a commit returns when it is written, and its sync goes on while the next
 * transaction is made; the next commit waits for it. Other handles see it at once, so
 * what they read, too, may not be told before it has settled: a cut of power may take it back, and
 * with it all that was written later. written: how many commits there were since the open; settled:
 * how many of these are on disk, in their order. Without sync_beside both are 0.
 * settle waits for all. ALD_OK; ALD_IO: a sync has failed, and with it the store.
 * fd: readable when more has settled or a sync has failed, until heard; -1 without sync_beside. */
uint64_t ald_store_written(const ald_store_t *self);
uint64_t ald_store_settled(ald_store_t *self);
ALD_NODISCARD enum ald_rc ald_store_settle(ald_store_t *self);
int ald_store_settle_fd(const ald_store_t *self);
void ald_store_settle_heard(ald_store_t *self);

/* A savepoint for one event in a batch; they nest. release keeps what came after it; rollback_to
 * undoes that and ends the savepoint. Every savepoint is ended by one of the two. */
ALD_NODISCARD enum ald_rc ald_store_savepoint(ald_store_t *self);
ALD_NODISCARD enum ald_rc ald_store_release(ald_store_t *self);
ALD_NODISCARD enum ald_rc ald_store_rollback_to(ald_store_t *self);

/* Run statements that give no rows, such as a migration's. */
ALD_NODISCARD enum ald_rc ald_store_exec(ald_store_t *self, const char *sql);

/* The prepared statement of sql, reset and unbound. sql is a literal: statements are kept by its
 * address, at most ALD_STORE_STATEMENTS. *out is the store's.
 * ALD_OK, ALD_IO; ALD_INVALID: the SQL is wrong, ald_store_message says how. */
ALD_NODISCARD enum ald_rc ald_store_prepare(ald_store_t *self, const char *sql, ald_stmt_t **out);

/* Bind parameter 1, 2, 3 ... Bytes are borrowed until ald_stmt_reset or ald_stmt_run returns. A
 * value that can't be bound makes the next step fail. A span without data is an empty value. */
void ald_stmt_bind_i64(ald_stmt_t *stmt, int index, int64_t value);
void ald_stmt_bind_text(ald_stmt_t *stmt, int index, struct ald_span value);
void ald_stmt_bind_str(ald_stmt_t *stmt, int index, const char *value);
void ald_stmt_bind_blob(ald_stmt_t *stmt, int index, struct ald_span value);
void ald_stmt_bind_null(ald_stmt_t *stmt, int index);

/* ALD_OK: a row. ALD_NOTFOUND: done, or there is none. ALD_EXISTS: a unique key is taken.
 * ALD_INVALID: another constraint. ALD_TOOBIG, ALD_AGAIN, ALD_FULL, ALD_IO, ALD_CORRUPT. */
ALD_NODISCARD enum ald_rc ald_stmt_step(ald_stmt_t *stmt);
/* Make ready for other values; ends the read that a step began. Keeps no bindings. */
void ald_stmt_reset(ald_stmt_t *stmt);
/* Step to the end, rows unseen, and reset. ALD_OK: done. Else as ald_stmt_step. */
ALD_NODISCARD enum ald_rc ald_stmt_run(ald_stmt_t *stmt);

/* Columns 0, 1, 2 ... of the row; spans are borrowed until the next step or reset. NULL is 0 or an
 * empty span. */
int64_t ald_stmt_i64(ald_stmt_t *stmt, int column);
/* The same for a number of a fixed set, which is below count. Another one is damage: 0 is returned,
 * and the store has failed as by ALD_CORRUPT, so that nothing that follows from it is kept. */
unsigned ald_stmt_index(ald_stmt_t *stmt, int column, unsigned count);
struct ald_span ald_stmt_text(ald_stmt_t *stmt, int column);
struct ald_span ald_stmt_blob(ald_stmt_t *stmt, int column);
bool ald_stmt_is_null(ald_stmt_t *stmt, int column);

/* Do the pages of the file carry sums, so that any flipped bit is found? Those of a file that an
 * older program made do not, until it is made anew. */
bool ald_store_summed(ald_store_t *self);

/* Read the whole file and say what is wrong in it: pages, order, indexes, constraints. Takes as
 * long as reading it takes; within one snapshot. fn is called with each fault, up to a bound.
 * ALD_OK: it was read, whole or not. ALD_IO, ALD_CORRUPT: it can't be read to its end. */
typedef void ald_store_fault_fn(void *context, struct ald_span fault);
ALD_NODISCARD enum ald_rc ald_store_check(ald_store_t *self, ald_store_fault_fn *fn, void *context);
/* Has this store a log with something in it? Then it was not closed, or somebody has it open. */
bool ald_store_has_log(const char *path);

/* Rows written by the last insert, update or delete. */
int64_t ald_store_changes(const ald_store_t *self);

enum ald_checkpoint {
    ALD_CHECKPOINT_PASSIVE, /* as far as readers allow */
    ALD_CHECKPOINT_TRUNCATE /* all of it, and the log cut to nothing; waits for readers */
};

/* Move the log into the file; not inside a transaction. Commits do it by themselves past the
 * thresholds. ALD_OK; ALD_AGAIN: a reader is in the way; ALD_FULL, ALD_IO, ALD_CORRUPT. */
ALD_NODISCARD enum ald_rc ald_store_checkpoint(ald_store_t *self, enum ald_checkpoint how);
/* Bytes of the log file now. */
uint64_t ald_store_wal_bytes(const ald_store_t *self);
/* Give up to max_pages unused pages back to the disk (with options.shrink), when there are more
 * than spare_pages; not inside a transaction. */
ALD_NODISCARD enum ald_rc ald_store_shrink(ald_store_t *self, int64_t spare_pages,
                                           int64_t max_pages);

/* Copy the store while it works. The writer itself steps the copy between its transactions: on any
 * other connection every commit would start it over. begin: ALD_EXISTS when path is there already.
 * step copies so many pages: ALD_AGAIN: more to do; ALD_OK: all is copied, call finish. finish
 * makes the copy durable under its name, or removes what there is of it; *self_p is NULL after. A
 * failed copy says nothing about the store. */
ALD_NODISCARD enum ald_rc ald_store_backup_begin(ald_store_t *store, const char *path,
                                                 ald_backup_t **out, struct ald_err *err);
ALD_NODISCARD enum ald_rc ald_store_backup_step(ald_backup_t *self, int pages);
ALD_NODISCARD enum ald_rc ald_store_backup_finish(ald_backup_t **self_p, struct ald_err *err);

#endif
