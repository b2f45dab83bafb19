#include "common/store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/codec.h"
#include "common/base/log.h"
#include "common/base/regular.h"
#include "common/store/disk.h"

enum {
    OPEN_AUTOCHECKPOINT = 20000, /* pages */
    OPEN_BUSY_MS = 5000,
    OPEN_ANEW_PAGES = 65536, /* 256 MiB */
    OPEN_SIDE_PATH_MAX = ALD_STORE_PATH_MAX + 16,
    OPEN_STEP_SQL_MAX = 512
};
static const uint64_t OPEN_WAL_MAX_BYTES = UINT64_C(256) << 20;

static void open_side_path(const ald_store_t *self, const char *suffix,
                           char out[OPEN_SIDE_PATH_MAX])
{
    snprintf(out, OPEN_SIDE_PATH_MAX, "%s%s", self->path, suffix);
}

static off_t open_size(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : -1;
}

static enum ald_rc open_error(ald_store_t *self, enum ald_rc rc, const char *what,
                              struct ald_err *err)
{
    return ald_err_set(err, rc, "The store %s can't be opened: %s: %s.", self->path, what,
                       ald_store_message(self));
}

static enum ald_rc open_folder(const ald_store_t *self, struct ald_err *err)
{
    char folder[ALD_STORE_PATH_MAX];
    const char *slash = strrchr(self->path, '/');
    if (slash == NULL || slash == self->path)
        return ALD_OK;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - self->path), self->path);
    return ald_disk_folder(folder, err);
}

/* Made here and not by the engine, for its mode; the side files take theirs from it. It is locked,
 * too: the lock file may be removed beneath its holder by somebody who takes it for a stale one.
 * The engine's own locks are of another kind, and are let go when a descriptor of the file is
 * closed, so this one is closed after the engine. */
static enum ald_rc open_file(ald_store_t *self, struct ald_err *err)
{
    self->file_fd = ald_regular_open(self->path, O_RDWR | O_CREAT);
    if (self->file_fd < 0)
        return ald_err_set(err, errno == ENOSPC ? ALD_FULL : ALD_IO, "%s can't be opened: %s.",
                           self->path, ald_regular_why(self->path, errno));
    if (flock(self->file_fd, LOCK_EX | LOCK_NB) == 0)
        return ALD_OK;
    if (errno == EWOULDBLOCK)
        return ald_err_set(err, ALD_EXISTS, "Another process has %s open: stop it first.",
                           self->path);
    return ald_err_set(err, ALD_IO, "%s can't be locked: %s.", self->path, strerror(errno));
}

/* The first half of the start-up protocol. What the kernel failed to write before we were started
 * is still in its cache, marked clean; what is read from here on must be what the disk has. */
static enum ald_rc open_settle(const ald_store_t *self, struct ald_err *err)
{
    static const char *const suffixes[] = {"", "-wal", "-journal"};
    char path[OPEN_SIDE_PATH_MAX];
    for (size_t i = 0; i < ALD_COUNT(suffixes); i++) {
        open_side_path(self, suffixes[i], path);
        if (ald_disk_settle(path) != ALD_OK)
            return ald_err_set(err, ALD_IO, "%s can't be synced: %s.", path,
                               ald_regular_why(path, errno));
    }
    if (ald_disk_sync_folder_of(self->path) != ALD_OK)
        return ald_err_set(err, ALD_IO, "The folder of %s can't be synced: look at the disk.",
                           self->path);
    struct stat st;
    open_side_path(self, "-shm", path);
    if (stat(path, &st) == 0 &&
        !S_ISREG(st.st_mode)) /* made by the engine, which is short of words */
        return ald_err_set(err, ALD_IO, "%s can't be opened: %s.", path,
                           ald_regular_why(path, EINVAL));
    open_side_path(self, "-wal", path);
    /* The engine would delete the log of an empty file, and acknowledged rows with it. */
    if (open_size(self->path) == 0 && open_size(path) > 0)
        return ald_err_set(err, ALD_CORRUPT, "%s is empty but has a log: restore a backup.",
                           self->path);
    int64_t lost = store_log_lost(path);
    if (lost > 0)
        ald_log(
            ALD_WARN, "store.log_cut",
            "path=%s pages=%lld text=\"the log has a page that is not as it was written, and what "
            "follows it is dropped: after a loss of power it was never acknowledged, else the "
            "disk is not to be trusted\"",
            ALD_Q(path), (long long)lost);
    return ALD_OK;
}

static enum ald_rc open_prepare_disk(ald_store_t *self, struct ald_err *err)
{
    char lock[OPEN_SIDE_PATH_MAX];
    enum ald_rc rc = open_folder(self, err);
    if (rc != ALD_OK)
        return rc;
    open_side_path(self, ".lock", lock);
    rc = ald_disk_lock(lock, &self->lock_fd, err);
    if (rc == ALD_OK)
        rc = open_file(self, err);
    return rc == ALD_OK ? open_settle(self, err) : rc;
}

static int open_wal_hook(void *context, sqlite3 *db, const char *name, int pages)
{
    ald_store_t *self = context;
    (void)db;
    (void)name;
    self->wal_pages = pages;
    return SQLITE_OK;
}

/* Nobody asks the engine how much memory it has; to count it takes a lock at each piece. Where it
 * runs already it goes on counting. */
static void open_library(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* A file that stands still is read without its log and without locks, for which files would be made
 * beside it. */
static int open_still(ald_store_t *self)
{
    struct ald_buf uri;
    ald_buf_init(&uri, 4 * ALD_STORE_PATH_MAX);
    ald_buf_put_str(&uri, "file:");
    ald_percent_encode(&uri, ald_span_str(self->path));
    ald_buf_put_str(&uri, "?immutable=1");
    int code = sqlite3_open_v2(ald_buf_str(&uri), &self->db,
                               SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                               store_pages_vfs());
    ald_buf_free(&uri);
    return code;
}

static enum ald_rc open_engine(ald_store_t *self, bool still, struct ald_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ALD_ASSERT(pthread_once(&once, open_library) == 0);
    int flags = self->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    const char *vfs = self->read_only ? store_pages_vfs() : store_log_vfs();
    int code = still ? open_still(self)
                     : sqlite3_open_v2(self->path, &self->db, flags | SQLITE_OPEN_NOMUTEX, vfs);
    if (code != SQLITE_OK)
        return open_error(self, store_rc(self, code), "open", err);
    (void)sqlite3_extended_result_codes(self->db, 1);
    (void)sqlite3_busy_timeout(self->db, self->busy_ms);
    (void)sqlite3_db_config(self->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(self->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_wal_hook(self->db, open_wal_hook, self);
    return ALD_OK;
}

/* Nothing of the file is changed before it is known to be ours. */
static enum ald_rc open_identify(ald_store_t *self, const struct ald_store_options *options,
                                 bool *fresh, struct ald_err *err)
{
    int64_t application = 0;
    int64_t tables = 0;
    enum ald_rc rc = store_get_i64(self, "SELECT count(*) FROM sqlite_schema", &tables);
    if (rc == ALD_OK)
        rc = store_get_i64(self, "PRAGMA application_id", &application);
    if (rc == ALD_OK)
        rc = store_get_i64(self, "PRAGMA user_version", &self->version);
    if (rc != ALD_OK)
        return open_error(self, rc, "header", err);
    *fresh = tables == 0 && application == 0;
    if (*fresh || (uint32_t)application == options->application_id)
        return ALD_OK;
    return ald_err_set(err, ALD_VERSION,
                       "%s is another kind of file (application id %08x, wanted %08x): name the "
                       "right one.",
                       self->path, (unsigned)application, (unsigned)options->application_id);
}

static enum ald_rc open_pragmas(ald_store_t *self, const struct ald_store_options *options,
                                bool fresh, struct ald_err *err)
{
    char sql[OPEN_STEP_SQL_MAX];
    int64_t cache_kib = (int64_t)(options->cache_bytes / 1024);
    snprintf(sql, sizeof sql,
             "PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF; PRAGMA temp_store=MEMORY;"
             "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-%lld;"
             "PRAGMA journal_size_limit=%lld; %s",
             (long long)(cache_kib > 0 ? cache_kib : 2000), (long long)self->wal_max_bytes,
             fresh && options->shrink ? "PRAGMA auto_vacuum=INCREMENTAL;" : "");
    int code = self->read_only ? SQLITE_OK : store_pages_ask(self->db);
    if (code == SQLITE_OK)
        code = sqlite3_exec(self->db, sql, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return open_error(self, store_rc(self, code), "settings", err);
    enum ald_rc rc = store_get_i64(self, "PRAGMA page_size", &self->page_bytes);
    return rc == ALD_OK ? ALD_OK : open_error(self, rc, "settings", err);
}

/* The second half of the protocol: the whole log into the file, and both synced. */
static enum ald_rc open_recover(ald_store_t *self, struct ald_err *err)
{
    int64_t is_wal = 0;
    int code = sqlite3_exec(self->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return open_error(self, store_rc(self, code), "log", err);
    enum ald_rc rc =
        store_get_i64(self, "SELECT journal_mode='wal' FROM pragma_journal_mode", &is_wal);
    if (rc != ALD_OK || is_wal != 1)
        return open_error(self, rc == ALD_OK ? ALD_IO : rc, "no log", err);
    rc = ald_store_checkpoint(self, ALD_CHECKPOINT_TRUNCATE);
    if (rc != ALD_OK)
        return open_error(self, rc, "first checkpoint", err);
    rc = ald_disk_sync_folder_of(self->path);
    return rc == ALD_OK ? ALD_OK : open_error(self, rc, "folder", err);
}

/* A file that an older program made has no sums of its pages: it is made anew, with them. A large
 * one would keep its service waiting, and one on a full disk has no room: they stay as they are,
 * which who looks at them is told. */
static enum ald_rc open_sums(ald_store_t *self, struct ald_err *err)
{
    int64_t pages = 0;
    if (store_pages_summed(self->db))
        return ALD_OK;
    enum ald_rc rc = store_get_i64(self, "PRAGMA page_count", &pages);
    if (rc == ALD_OK && pages <= OPEN_ANEW_PAGES)
        rc = ald_store_exec(self, "VACUUM");
    if (rc == ALD_OK)
        rc = ald_store_checkpoint(self, ALD_CHECKPOINT_TRUNCATE);
    return rc == ALD_OK || rc == ALD_FULL ? ALD_OK : open_error(self, rc, "sums", err);
}

static int64_t open_program_version(const struct ald_store_options *options)
{
    return options->step_count == 0 ? 0 : options->steps[options->step_count - 1].version;
}

static enum ald_rc open_check_version(ald_store_t *self, const struct ald_store_options *options,
                                      struct ald_err *err)
{
    int64_t program = open_program_version(options);
    int64_t min_reader = 0;
    if (self->version > 0) {
        enum ald_rc rc = store_get_i64(self, "SELECT min_reader FROM meta", &min_reader);
        if (rc != ALD_OK)
            return open_error(self, rc == ALD_IO ? ALD_IO : ALD_CORRUPT, "version", err);
    }
    if (min_reader > program)
        return ald_err_set(err, ALD_VERSION,
                           "%s was written by a newer program (schema %lld, readable from %lld on; "
                           "this program knows %lld): install that program again or restore a "
                           "backup.",
                           self->path, (long long)self->version, (long long)min_reader,
                           (long long)program);
    if (self->read_only && !options->older && self->version < program)
        return ald_err_set(err, ALD_VERSION,
                           "%s has schema %lld, this program needs %lld: start its owner first.",
                           self->path, (long long)self->version, (long long)program);
    return ALD_OK;
}

static enum ald_rc open_step(ald_store_t *self, uint32_t application_id,
                             const struct ald_store_step *step, struct ald_err *err)
{
    char books[OPEN_STEP_SQL_MAX];
    snprintf(books, sizeof books,
             "CREATE TABLE IF NOT EXISTS meta(version BIGINT NOT NULL, min_reader BIGINT NOT NULL);"
             "DELETE FROM meta; INSERT INTO meta VALUES(%lld, %lld);"
             "PRAGMA application_id=%d; PRAGMA user_version=%lld;",
             (long long)step->version, (long long)step->min_reader, (int)application_id,
             (long long)step->version);
    enum ald_rc rc = ald_store_begin(self);
    bool begun = rc == ALD_OK;
    if (rc == ALD_OK)
        rc = ald_store_exec(self, step->sql);
    if (rc == ALD_OK)
        rc = ald_store_exec(self, books);
    if (rc == ALD_OK)
        rc = ald_store_commit(self);
    if (rc == ALD_OK) {
        self->version = step->version;
        return ALD_OK;
    }
    rc = ald_err_set(err, rc, "%s can't be brought to schema %lld: %s.", self->path,
                     (long long)step->version, ald_store_message(self));
    if (begun && self->in_tx)
        ald_store_rollback(self);
    return rc;
}

static enum ald_rc open_migrate(ald_store_t *self, const struct ald_store_options *options,
                                struct ald_err *err)
{
    for (size_t i = 0; i < options->step_count; i++) {
        const struct ald_store_step *step = &options->steps[i];
        if (step->version <= self->version)
            continue;
        enum ald_rc rc = open_step(self, options->application_id, step, err);
        if (rc != ALD_OK)
            return rc;
    }
    return ALD_OK;
}

static enum ald_rc open_all(ald_store_t *self, const struct ald_store_options *options,
                            struct ald_err *err)
{
    bool fresh = false;
    enum ald_rc rc = self->read_only ? ALD_OK : open_prepare_disk(self, err);
    if (rc == ALD_OK)
        rc = open_engine(self, options->still, err);
    if (rc == ALD_OK)
        rc = open_identify(self, options, &fresh, err);
    if (rc == ALD_OK)
        rc = open_pragmas(self, options, fresh, err);
    if (rc == ALD_OK)
        rc = open_check_version(self, options, err);
    if (rc == ALD_OK && !self->read_only)
        rc = open_recover(self, err);
    if (rc == ALD_OK && !self->read_only)
        rc = open_sums(self, err);
    if (rc == ALD_OK && !self->read_only)
        rc = open_migrate(self, options, err);
    if (rc == ALD_OK && options->checkpoint_beside && !self->read_only) {
        int code = store_checkpointer_new(self->path, &self->checkpointer);
        if (code != SQLITE_OK)
            rc = open_error(self, store_rc(self, code), "checkpointer", err);
    }
    if (rc == ALD_OK && options->sync_beside && !self->read_only)
        self->syncer = store_syncer_new(self->db);
    return rc;
}

static void open_check_options(const struct ald_store_options *options)
{
    ALD_ASSERT(options->path != NULL && options->path[0] != '\0');
    ALD_ASSERT(options->read_only || (!options->still && !options->older));
    for (size_t i = 0; i < options->step_count; i++) {
        const struct ald_store_step *step = &options->steps[i];
        ALD_ASSERT(step->version == (int64_t)i + 1 && step->version <= INT32_MAX);
        ALD_ASSERT(step->min_reader >= 1 && step->min_reader <= step->version);
    }
}

static ald_store_t *open_new(const struct ald_store_options *options)
{
    ald_store_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self != NULL);
    self->said = calloc(1, STORE_SAID_MAX);
    ALD_ASSERT(self->said != NULL);
    self->lock_fd = self->file_fd = -1;
    self->read_only = options->read_only;
    self->still = options->still;
    self->busy_ms = options->busy_ms > 0 ? (int)options->busy_ms : OPEN_BUSY_MS;
    self->autocheckpoint =
        options->wal_autocheckpoint > 0 ? options->wal_autocheckpoint : OPEN_AUTOCHECKPOINT;
    self->wal_max_bytes = options->wal_max_bytes > 0 ? options->wal_max_bytes : OPEN_WAL_MAX_BYTES;
    self->page_bytes = 4096;
    snprintf(self->path, sizeof self->path, "%s", options->path);
    return self;
}

enum ald_rc ald_store_open(const struct ald_store_options *options, ald_store_t **out,
                           struct ald_err *err)
{
    *out = NULL;
    open_check_options(options);
    if (strlen(options->path) >= ALD_STORE_PATH_MAX)
        return ald_err_set(err, ALD_TOOBIG, "The path of a store may have %d bytes.",
                           ALD_STORE_PATH_MAX - 1);
    if (options->read_only && access(options->path, F_OK) != 0)
        return ald_err_set(err, ALD_NOTFOUND, "There is no store %s.", options->path);
    ald_store_t *self = open_new(options);
    enum ald_rc rc = open_all(self, options, err);
    if (rc != ALD_OK)
        ald_store_destroy(&self);
    *out = self;
    return rc;
}

void ald_store_destroy(ald_store_t **self_p)
{
    ald_store_t *self = *self_p;
    if (self == NULL)
        return;
    *self_p = NULL;
    (void)!ald_store_settle(self);
    store_syncer_destroy(&self->syncer);
    store_checkpointer_settle(self);
    store_checkpointer_destroy(&self->checkpointer);
    for (size_t i = 0; i < self->statement_count; i++)
        sqlite3_finalize(self->statements[i].handle);
    /* Closing checkpoints. After a disk error that is the next start's, which first drops what the
     * kernel only believes to have written. */
    if (self->failed && self->db != NULL)
        (void)sqlite3_db_config(self->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    int code = sqlite3_close(self->db);
    ALD_ASSERT(code == SQLITE_OK); /* else a copy of it was not finished */
    if (self->file_fd >= 0)
        close(self->file_fd);
    if (self->lock_fd >= 0)
        close(self->lock_fd);
    free(self->said);
    free(self);
}
