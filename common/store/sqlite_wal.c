#include "common/store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/store/disk.h"

enum { BACKUP_PATH_MAX = ALD_STORE_PATH_MAX + 16 };

struct ald_backup {
    ald_store_t *store;
    sqlite3 *db;
    sqlite3_backup *copy;
    bool whole;
    bool full; /* its disk, at the last step */
    char path[ALD_STORE_PATH_MAX];
    char partial[BACKUP_PATH_MAX];
};

uint64_t ald_store_wal_bytes(const ald_store_t *self)
{
    char path[ALD_STORE_PATH_MAX + 8];
    struct stat st;
    snprintf(path, sizeof path, "%s-wal", self->path);
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static enum ald_rc wal_checkpoint(ald_store_t *self, int mode)
{
    enum ald_rc rc =
        store_rc(self, ALD_FAILPOINT("store.checkpoint",
                                     sqlite3_wal_checkpoint_v2(self->db, NULL, mode, NULL, NULL),
                                     STORE_FAILED));
    if (rc == ALD_OK && mode == SQLITE_CHECKPOINT_TRUNCATE)
        self->wal_pages = 0;
    return rc;
}

void store_checkpointer_settle(ald_store_t *self)
{
    struct store_round round;
    if (self->checkpointer == NULL)
        return;
    store_checkpointer_wait(self->checkpointer, &round);
    (void)store_rc(self, round.code);
}

enum ald_rc ald_store_checkpoint(ald_store_t *self, enum ald_checkpoint how)
{
    ALD_ASSERT(!self->in_tx && !self->read_only);
    store_checkpointer_settle(self);
    if (self->failed)
        return ALD_IO;
    bool all = how == ALD_CHECKPOINT_TRUNCATE;
    return wal_checkpoint(self, all ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE);
}

static void wal_checkpoint_now(ald_store_t *self, int mode)
{
    /* A commit does not wait for readers; when one is in the way, the log grows by a tenth first.
     */
    sqlite3_busy_timeout(self->db, 0);
    (void)wal_checkpoint(self, mode);
    sqlite3_busy_timeout(self->db, self->busy_ms);
    self->checkpoint_at = self->wal_pages + self->autocheckpoint / 10 + 1;
}

/* The checkpointer copies the bulk; what is little is copied here, and the log begins anew. */
static void wal_beside(ald_store_t *self)
{
    struct store_round round;
    if (!store_checkpointer_idle(self->checkpointer, &round))
        return;
    (void)store_rc(self, round.code);
    if (self->failed)
        return;
    bool little = round.moved > 0 && self->wal_pages >= round.moved &&
                  self->wal_pages - round.moved <= self->autocheckpoint / 4;
    if (little && self->copied_some) {
        self->copied_some = false;
        wal_checkpoint_now(self, SQLITE_CHECKPOINT_PASSIVE);
    } else if (self->wal_pages >= self->checkpoint_at) {
        self->copied_some = true;
        store_checkpointer_begin(self->checkpointer);
        self->checkpoint_at = self->wal_pages + self->autocheckpoint / 10 + 1;
    }
}

/* SQLite's own automatic checkpoint drops its error. Here an I/O error fails the store, as any
 * other does: it is the first that is seen of a disk that goes. */
void store_after_commit(ald_store_t *self)
{
    ALD_FAILPOINT_STEP("store.committed");
    if (self->wal_pages < self->autocheckpoint) {
        self->checkpoint_at = self->autocheckpoint;
        self->copied_some = false;
        return;
    }
    bool long_log = (uint64_t)self->wal_pages > self->wal_max_bytes / (uint64_t)self->page_bytes;
    if (self->checkpointer != NULL && !long_log) {
        wal_beside(self);
        return;
    }
    if (self->wal_pages < self->checkpoint_at)
        return;
    store_checkpointer_settle(self);
    if (self->failed)
        return;
    wal_checkpoint_now(self, long_log ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE);
}

enum ald_rc ald_store_shrink(ald_store_t *self, int64_t spare_pages, int64_t max_pages)
{
    ALD_ASSERT(!self->in_tx && !self->read_only);
    if (self->failed)
        return ALD_IO;
    int64_t unused = 0;
    enum ald_rc rc = store_get_i64(self, "PRAGMA freelist_count", &unused);
    if (rc != ALD_OK || unused <= spare_pages)
        return rc;
    char sql[64];
    int64_t pages = unused - spare_pages < max_pages ? unused - spare_pages : max_pages;
    snprintf(sql, sizeof sql, "PRAGMA incremental_vacuum(%lld)", (long long)pages);
    rc = ald_store_exec(self, sql);
    if (rc == ALD_OK)
        store_after_commit(self);
    return rc;
}

static enum ald_rc backup_rc(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ALD_AGAIN;
    case SQLITE_DONE:
        return ALD_OK;
    case SQLITE_FULL:
        return ALD_FULL;
    default:
        return ALD_IO;
    }
}

/* Made here and not by the engine, for its mode: a copy is as private as the store. */
static enum ald_rc backup_create(const char *path, struct ald_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return ald_err_set(err, errno == ENOSPC ? ALD_FULL : ALD_IO,
                           "The copy %s can't be made: %s.", path, strerror(errno));
    close(fd);
    return ALD_OK;
}

static enum ald_rc backup_connect(ald_backup_t *self, struct ald_err *err)
{
    /* Nothing is durable or atomic before finish, which syncs and renames. */
    static const char pragmas[] = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF";
    int code = sqlite3_open_v2(self->partial, &self->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, store_pages_vfs());
    if (code == SQLITE_OK)
        code = sqlite3_exec(self->db, pragmas, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        store_pages_like(self->db, self->store->db);
    if (code == SQLITE_OK)
        self->copy = sqlite3_backup_init(self->db, "main", self->store->db, "main");
    if (self->copy != NULL)
        return ALD_OK;
    return ald_err_set(err, ALD_IO, "The copy %s can't be begun: %s.", self->partial,
                       sqlite3_errmsg(self->db));
}

static void backup_free(ald_backup_t **self_p)
{
    ald_backup_t *self = *self_p;
    *self_p = NULL;
    if (self->copy != NULL)
        (void)sqlite3_backup_finish(self->copy);
    sqlite3_close(self->db);
    unlink(self->partial);
    free(self);
}

enum ald_rc ald_store_backup_begin(ald_store_t *store, const char *path, ald_backup_t **out,
                                   struct ald_err *err)
{
    *out = NULL;
    if (store->failed)
        return ald_err_set(err, ALD_IO, "The store %s has failed; open it again first.",
                           store->path);
    if (strlen(path) >= ALD_STORE_PATH_MAX)
        return ald_err_set(err, ALD_TOOBIG, "The path of the copy is too long.");
    if (access(path, F_OK) == 0)
        return ald_err_set(err, ALD_EXISTS, "%s is there already: name a new file.", path);

    ald_backup_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self != NULL);
    self->store = store;
    snprintf(self->path, sizeof self->path, "%s", path);
    snprintf(self->partial, sizeof self->partial, "%s.partial", path);
    enum ald_rc rc = backup_create(self->partial, err);
    if (rc == ALD_OK)
        rc = backup_connect(self, err);
    if (rc != ALD_OK)
        backup_free(&self);
    *out = self;
    return rc;
}

enum ald_rc ald_store_backup_step(ald_backup_t *self, int pages)
{
    ALD_ASSERT(!self->store->in_tx);
    if (self->store->failed)
        return ALD_IO;
    if (self->whole)
        return ALD_OK;
    enum ald_rc rc = backup_rc(sqlite3_backup_step(self->copy, pages));
    self->whole = rc == ALD_OK;
    self->full = rc == ALD_FULL;
    return rc;
}

static enum ald_rc backup_keep(ald_backup_t *self)
{
    int code = sqlite3_backup_finish(self->copy);
    self->copy = NULL;
    if (sqlite3_close(self->db) != SQLITE_OK || code != SQLITE_OK)
        return ALD_IO;
    self->db = NULL;
    if (ald_disk_settle(self->partial) != ALD_OK ||
        ALD_FAILPOINT("copy.rename", rename(self->partial, self->path), -1) != 0)
        return errno == ENOSPC || errno == EDQUOT ? ALD_FULL : ALD_IO;
    return ald_disk_sync_folder_of(self->path);
}

enum ald_rc ald_store_backup_finish(ald_backup_t **self_p, struct ald_err *err)
{
    enum ald_rc rc = (*self_p)->whole ? backup_keep(*self_p) : ALD_AGAIN;
    if ((*self_p)->full || rc == ALD_FULL)
        rc = ald_err_set(err, ALD_FULL, "The disk is full: there is no room for the copy %s.",
                         (*self_p)->path);
    else if (rc == ALD_AGAIN)
        rc = ald_err_set(err, ALD_AGAIN, "The copy %s was not whole and is removed.",
                         (*self_p)->path);
    else if (rc != ALD_OK)
        rc = ald_err_set(err, rc, "The copy %s could not be made durable.", (*self_p)->path);
    backup_free(self_p);
    return rc;
}
