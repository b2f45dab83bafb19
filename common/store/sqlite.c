#include "common/store/sqlite.h"

#include <string.h>

#include "common/base/log.h"

bool ald_store_failed(const ald_store_t *self)
{
    return self->failed;
}

/* The engine quotes names as they stand in the file, which may have rotted. */
const char *ald_store_message(const ald_store_t *self)
{
    const char *said = self->db == NULL ? "no engine" : sqlite3_errmsg(self->db);
    size_t len = 0;
    for (; said[len] != '\0' && len < STORE_SAID_MAX - 1; len++)
        self->said[len] = said[len] >= ' ' && said[len] <= '~' ? said[len] : '?';
    self->said[len] = '\0';
    return self->said;
}

int64_t ald_store_version(const ald_store_t *self)
{
    return self->version;
}

int64_t ald_store_changes(const ald_store_t *self)
{
    return sqlite3_changes64(self->db);
}

static enum ald_rc store_constraint_rc(int code)
{
    bool taken = code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY ||
                 code == SQLITE_CONSTRAINT_ROWID;
    return taken ? ALD_EXISTS : ALD_INVALID;
}

enum ald_rc store_rc(ald_store_t *self, int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
        return ALD_OK;
    case SQLITE_DONE:
        return ALD_NOTFOUND;
    case SQLITE_CONSTRAINT:
        return store_constraint_rc(code);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return ALD_AGAIN;
    case SQLITE_FULL:
        return ALD_FULL;
    case SQLITE_TOOBIG:
        return ALD_TOOBIG;
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_AUTH:
        return ALD_INVALID;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        self->failed = true;
        return ALD_CORRUPT;
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
        ALD_ASSERT(code == SQLITE_OK); /* the engine was called wrongly: a bug */
        return ALD_INVALID;
    case SQLITE_READONLY:
        if (self->read_only)
            return ALD_INVALID;
        self->failed = true;
        return ALD_IO;
    default:
        /* I/O errors, no memory, and what is not known here: after none of them can it be told
         * what the disk has. */
        self->failed = true;
        return ALD_IO;
    }
}

/* The disk was full. SQLite may or may not have undone the transaction; make it certain, and keep
 * what follows from running outside of one. */
static void store_undo(ald_store_t *self)
{
    self->undone = self->in_tx;
    if (sqlite3_get_autocommit(self->db) == 0 &&
        sqlite3_exec(self->db, "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK)
        self->failed = true;
}

static enum ald_rc store_ready(const ald_store_t *self)
{
    if (self->failed)
        return ALD_IO;
    return self->undone ? ALD_FULL : ALD_OK;
}

static enum ald_rc store_note(ald_store_t *self, int code)
{
    enum ald_rc rc = store_rc(self, code);
    if (rc == ALD_FULL)
        store_undo(self);
    return rc;
}

enum ald_rc ald_store_exec(ald_store_t *self, const char *sql)
{
    enum ald_rc rc = store_ready(self);
    if (rc != ALD_OK)
        return rc;
    return store_note(self, sqlite3_exec(self->db, sql, NULL, NULL, NULL));
}

static enum ald_rc store_command(ald_store_t *self, const char *sql)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = ald_store_prepare(self, sql, &stmt);
    return rc == ALD_OK ? ald_stmt_run(stmt) : rc;
}

enum ald_rc ald_store_begin(ald_store_t *self)
{
    ALD_ASSERT(!self->in_tx);
    enum ald_rc rc = store_command(self, self->read_only ? "BEGIN" : "BEGIN IMMEDIATE");
    self->in_tx = rc == ALD_OK;
    return rc;
}

static void store_end_tx(ald_store_t *self)
{
    self->in_tx = false;
    self->undone = false;
    self->savepoints = 0;
}

/* A sync that failed fails the store, when that is found, whatever its error was: no later one of
 * that log is believed. */
static enum ald_rc store_settled_so_far(ald_store_t *self)
{
    if (self->syncer != NULL && store_syncer_code(self->syncer) != SQLITE_OK) {
        (void)store_rc(self, store_syncer_code(self->syncer));
        self->failed = true;
    }
    return self->failed ? ALD_IO : ALD_OK;
}

uint64_t ald_store_written(const ald_store_t *self)
{
    return self->syncer == NULL ? 0 : store_syncer_written(self->syncer);
}

uint64_t ald_store_settled(ald_store_t *self)
{
    (void)store_settled_so_far(self);
    return self->syncer == NULL ? 0 : store_syncer_settled(self->syncer);
}

enum ald_rc ald_store_settle(ald_store_t *self)
{
    if (self->syncer != NULL)
        store_syncer_wait(self->syncer);
    return store_settled_so_far(self);
}

int ald_store_settle_fd(const ald_store_t *self)
{
    return self->syncer == NULL ? -1 : store_syncer_fd(self->syncer);
}

void ald_store_settle_heard(ald_store_t *self)
{
    if (self->syncer != NULL)
        store_syncer_heard(self->syncer);
}

enum ald_rc ald_store_commit(ald_store_t *self)
{
    ALD_ASSERT(self->in_tx);
    ALD_ASSERT(self->savepoints == 0 || self->undone || self->failed);
    if (self->syncer != NULL)
        store_syncer_begin(self->syncer);
    enum ald_rc rc = store_settled_so_far(self);
    if (rc == ALD_OK)
        rc = ALD_FAILPOINT("store.commit", store_command(self, "COMMIT"),
                           store_rc(self, STORE_FAILED));
    if (self->syncer != NULL)
        store_syncer_end(self->syncer, rc == ALD_OK);
    if (rc == ALD_AGAIN)
        return rc;
    if (rc != ALD_OK)
        ald_store_rollback(self);
    store_end_tx(self);
    if (rc == ALD_OK)
        store_after_commit(self);
    return rc;
}

void ald_store_rollback(ald_store_t *self)
{
    ALD_ASSERT(self->in_tx);
    if (!self->failed && sqlite3_get_autocommit(self->db) == 0 &&
        sqlite3_exec(self->db, "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK)
        self->failed = true;
    store_end_tx(self);
}

enum ald_rc ald_store_savepoint(ald_store_t *self)
{
    ALD_ASSERT(self->in_tx);
    enum ald_rc rc = store_command(self, "SAVEPOINT event");
    if (rc == ALD_OK)
        self->savepoints++;
    return rc;
}

/* The innermost of one name is meant, so that all may have the same. */
enum ald_rc ald_store_release(ald_store_t *self)
{
    enum ald_rc rc = store_ready(self);
    if (rc != ALD_OK)
        return rc;
    ALD_ASSERT(self->savepoints > 0);
    rc = store_command(self, "RELEASE event");
    if (rc == ALD_OK)
        self->savepoints--;
    return rc;
}

enum ald_rc ald_store_rollback_to(ald_store_t *self)
{
    enum ald_rc rc = store_ready(self);
    if (rc != ALD_OK)
        return rc;
    ALD_ASSERT(self->savepoints > 0);
    rc = store_command(self, "ROLLBACK TO event");
    return rc == ALD_OK ? ald_store_release(self) : rc;
}

static size_t store_bucket(const char *sql)
{
    uint64_t hash = (uint64_t)(uintptr_t)sql * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) % STORE_BUCKETS;
}

/* The bucket of sql, or the free one where it belongs; there are twice as many as statements. */
static size_t store_find(const ald_store_t *self, const char *sql)
{
    size_t at = store_bucket(sql);
    while (self->buckets[at] != 0 && self->statements[self->buckets[at] - 1].sql != sql)
        at = (at + 1) % STORE_BUCKETS;
    return at;
}

static enum ald_rc store_compile(ald_store_t *self, const char *sql, size_t bucket)
{
    ALD_ASSERT(self->statement_count < ALD_STORE_STATEMENTS);
    sqlite3_stmt *handle = NULL;
    int code = sqlite3_prepare_v3(self->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, NULL);
    if (code != SQLITE_OK)
        return store_rc(self, code);
    ALD_ASSERT(handle != NULL);
    int parameters = sqlite3_bind_parameter_count(handle);
    ALD_ASSERT(parameters <= STORE_PARAMETERS);
    self->statements[self->statement_count++] =
        (struct ald_stmt){.store = self, .sql = sql, .handle = handle, .parameters = parameters};
    self->buckets[bucket] = (uint16_t)self->statement_count;
    return ALD_OK;
}

enum ald_rc ald_store_prepare(ald_store_t *self, const char *sql, ald_stmt_t **out)
{
    *out = NULL;
    if (self->failed)
        return ALD_IO;
    size_t bucket = store_find(self, sql);
    if (self->buckets[bucket] == 0) {
        enum ald_rc rc = store_compile(self, sql, bucket);
        if (rc != ALD_OK)
            return rc;
    }
    *out = &self->statements[self->buckets[bucket] - 1];
    ald_stmt_reset(*out);
    return ALD_OK;
}

static void stmt_bound(ald_stmt_t *stmt, int index, int code)
{
    if (code == SQLITE_OK)
        stmt->bound |= UINT64_C(1) << (index - 1);
    else if (stmt->bind_rc == ALD_OK)
        stmt->bind_rc = store_rc(stmt->store, code);
}

/* The engine keeps what was bound before. Nearly every statement has all bound anew each time, so
 * that to set the others here costs nothing, and to clear all of them at each reset would. */
static void stmt_begin(ald_stmt_t *stmt)
{
    stmt->begun = true;
    for (int i = 0; i < stmt->parameters; i++)
        if ((stmt->bound >> i & 1) == 0)
            (void)sqlite3_bind_null(stmt->handle, i + 1);
}

void ald_stmt_bind_i64(ald_stmt_t *stmt, int index, int64_t value)
{
    stmt_bound(stmt, index, sqlite3_bind_int64(stmt->handle, index, value));
}

/* A null pointer would bind NULL, which no NOT NULL column takes; an empty span is a value. */
static const char *stmt_data(struct ald_span value)
{
    return value.data == NULL ? "" : (const char *)value.data;
}

void ald_stmt_bind_text(ald_stmt_t *stmt, int index, struct ald_span value)
{
    stmt_bound(stmt, index,
               sqlite3_bind_text64(stmt->handle, index, stmt_data(value), value.len, SQLITE_STATIC,
                                   SQLITE_UTF8));
}

void ald_stmt_bind_str(ald_stmt_t *stmt, int index, const char *value)
{
    ald_stmt_bind_text(stmt, index, ald_span_str(value));
}

void ald_stmt_bind_blob(ald_stmt_t *stmt, int index, struct ald_span value)
{
    stmt_bound(
        stmt, index,
        sqlite3_bind_blob64(stmt->handle, index, stmt_data(value), value.len, SQLITE_STATIC));
}

void ald_stmt_bind_null(ald_stmt_t *stmt, int index)
{
    stmt_bound(stmt, index, sqlite3_bind_null(stmt->handle, index));
}

enum ald_rc ald_stmt_step(ald_stmt_t *stmt)
{
    enum ald_rc rc = store_ready(stmt->store);
    if (rc != ALD_OK)
        return rc;
    if (stmt->bind_rc != ALD_OK)
        return stmt->bind_rc;
    if (!stmt->begun)
        stmt_begin(stmt);
    return store_note(stmt->store, sqlite3_step(stmt->handle));
}

void ald_stmt_reset(ald_stmt_t *stmt)
{
    if (stmt->begun)
        (void)sqlite3_reset(stmt->handle); /* repeats an error that the step has told already */
    stmt->begun = false;
    stmt->bound = 0;
    stmt->bind_rc = ALD_OK;
}

enum ald_rc ald_stmt_run(ald_stmt_t *stmt)
{
    enum ald_rc rc = ALD_OK;
    while (rc == ALD_OK)
        rc = ald_stmt_step(stmt);
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

int64_t ald_stmt_i64(ald_stmt_t *stmt, int column)
{
    return sqlite3_column_int64(stmt->handle, column);
}

unsigned ald_stmt_index(ald_stmt_t *stmt, int column, unsigned count)
{
    int64_t value = ald_stmt_i64(stmt, column);
    if (value >= 0 && value < (int64_t)count)
        return (unsigned)value;
    stmt->store->failed = true;
    ald_log(
        ALD_ERROR, "store.damaged",
        "path=%s value=%lld text=\"a row holds what was never written: look with aldaba fsck, and "
        "put back a backup\"",
        ALD_Q(stmt->store->path), (long long)value);
    return 0;
}

/* The length is asked for after the pointer: a conversion would change it. */
struct ald_span ald_stmt_text(ald_stmt_t *stmt, int column)
{
    const unsigned char *data = sqlite3_column_text(stmt->handle, column);
    return ald_span_of(data, (size_t)sqlite3_column_bytes(stmt->handle, column));
}

struct ald_span ald_stmt_blob(ald_stmt_t *stmt, int column)
{
    const void *data = sqlite3_column_blob(stmt->handle, column);
    return ald_span_of(data, (size_t)sqlite3_column_bytes(stmt->handle, column));
}

bool ald_stmt_is_null(ald_stmt_t *stmt, int column)
{
    return sqlite3_column_type(stmt->handle, column) == SQLITE_NULL;
}

enum ald_rc store_get_i64(ald_store_t *self, const char *sql, int64_t *out)
{
    sqlite3_stmt *handle = NULL;
    int code = sqlite3_prepare_v2(self->db, sql, -1, &handle, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(handle);
    if (code == SQLITE_ROW)
        *out = sqlite3_column_int64(handle, 0);
    sqlite3_finalize(handle);
    return store_rc(self, code);
}
