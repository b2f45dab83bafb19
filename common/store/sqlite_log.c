#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bug.h"
#include "common/store/sqlite.h"

/* The engine writes a page of its log in two calls, and a commit is a dozen pages. Here a stretch
 * of the log gathers in memory and is written when the engine syncs it, reads or measures the file,
 * goes elsewhere in it, or when the room is full.
 *
 * Nobody else can miss what is not written yet: pages of a commit are told to other handles after
 * the engine's sync (synchronous=FULL), which writes them, also where it is owed; before that they
 * are nothing but its handle's own.
 *
 * With a syncer the sync of a commit only writes, and is owed. All other syncs stay as they are:
 * those of a checkpoint, and that of the log's first bytes when it begins anew. Without the latter
 * old pages could be taken for newer ones after a cut: some of the new ones may be on disk before
 * the bytes that tell them apart. */

enum { LOG_ROOM_BYTES = 120 * 1024 }; /* the engine's own files take less than 128 KiB at once */

struct log_file {
    sqlite3_file base; /* first: it is what the engine has */
    sqlite3_file *real;
    sqlite3_int64 at; /* where in the file the gathered bytes belong */
    int len;
    uint8_t *room;
    bool beside; /* a commit goes on whose sync is owed */
    bool begun;  /* anew, and that is not synced */
    bool owed;
    pthread_mutex_t lock; /* of a sync, and of what is below */
    int failed;           /* code of the first sync that failed */
};

static struct {
    pthread_mutex_t lock;
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
} log_system = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct log_file *log_of(sqlite3_file *file)
{
    return (struct log_file *)(void *)file;
}

#ifdef ALDABA_FAILPOINTS
static int log_fail(struct log_file *self, int len)
{
    if (ald_failpoint_short())
        (void)self->real->pMethods->xWrite(self->real, self->room, len / 2, self->at);
    return STORE_FAILED;
}
#endif

/* What can't be written is forgotten: its transaction fails, and nothing of it may come later. */
static int log_flush(struct log_file *self)
{
    int len = self->len;
    self->len = 0;
    if (len == 0)
        return SQLITE_OK;
    return ALD_FAILPOINT("log.write",
                         self->real->pMethods->xWrite(self->real, self->room, len, self->at),
                         log_fail(self, len));
}

static int log_write(sqlite3_file *file, const void *data, int len, sqlite3_int64 at)
{
    struct log_file *self = log_of(file);
    bool follows = self->len > 0 && at == self->at + self->len;
    if (!follows || len > LOG_ROOM_BYTES - self->len) {
        int code = log_flush(self);
        if (code != SQLITE_OK)
            return code;
        self->at = at;
    }
    self->begun = self->begun || at == 0;
    if (len > LOG_ROOM_BYTES)
        return self->real->pMethods->xWrite(self->real, data, len, at);
    memcpy(self->room + self->len, data, (size_t)len);
    self->len += len;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *data, int len, sqlite3_int64 at)
{
    struct log_file *self = log_of(file);
    int code = log_flush(self);
    return code == SQLITE_OK ? self->real->pMethods->xRead(self->real, data, len, at) : code;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 len)
{
    struct log_file *self = log_of(file);
    int code = log_flush(self);
    return code == SQLITE_OK ? self->real->pMethods->xTruncate(self->real, len) : code;
}

/* The kernel tells a handle once that what was written is lost; the next sync succeeds. Whichever
 * thread hears of it, no later sync of this log may be believed. */
static int log_sync_now(struct log_file *self, int flags)
{
    (void)pthread_mutex_lock(&self->lock);
    if (self->failed == SQLITE_OK && !ALD_BUG(sync_normal))
        self->failed =
            ALD_FAILPOINT("log.sync", self->real->pMethods->xSync(self->real, flags),
                          SQLITE_IOERR_FSYNC); /* as the engine says of any error of a sync */
    int code = self->failed;
    (void)pthread_mutex_unlock(&self->lock);
    return code;
}

static int log_sync(sqlite3_file *file, int flags)
{
    struct log_file *self = log_of(file);
    int code = log_flush(self);
    if (code == SQLITE_OK && self->beside && !self->begun) {
        self->owed = true;
        return SQLITE_OK;
    }
    if (code == SQLITE_OK)
        code = log_sync_now(self, flags);
    self->begun = self->begun && code != SQLITE_OK;
    return code;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *len)
{
    struct log_file *self = log_of(file);
    int code = log_flush(self);
    return code == SQLITE_OK ? self->real->pMethods->xFileSize(self->real, len) : code;
}

/* What was not synced is of no commit. */
static int log_close(sqlite3_file *file)
{
    struct log_file *self = log_of(file);
    free(self->room);
    (void)pthread_mutex_destroy(&self->lock);
    return self->real->pMethods->xClose(self->real);
}

static int log_control(sqlite3_file *file, int what, void *arg)
{
    return log_of(file)->real->pMethods->xFileControl(log_of(file)->real, what, arg);
}

static int log_sector(sqlite3_file *file)
{
    return log_of(file)->real->pMethods->xSectorSize(log_of(file)->real);
}

static int log_device(sqlite3_file *file)
{
    return log_of(file)->real->pMethods->xDeviceCharacteristics(log_of(file)->real);
}

/* Locks and shared memory are of the store's file, never of its log. */
static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xFileControl = log_control,
    .xSectorSize = log_sector,
    .xDeviceCharacteristics = log_device,
};

static int log_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *out, int flags, int *got)
{
    struct log_file *self = log_of(out);
    (void)vfs;
    if ((flags & SQLITE_OPEN_WAL) == 0)
        return log_system.real->xOpen(log_system.real, name, out, flags, got);
    *self = (struct log_file){.real = (sqlite3_file *)(void *)(self + 1)};
    int code = log_system.real->xOpen(log_system.real, name, self->real, flags, got);
    if (self->real->pMethods == NULL)
        return code;
    self->room = malloc(LOG_ROOM_BYTES);
    ALD_ASSERT(self->room != NULL);
    (void)pthread_mutex_init(&self->lock, NULL);
    self->base.pMethods = &log_methods;
    return code;
}

sqlite3_file *store_log_file(sqlite3 *db)
{
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    return code == SQLITE_OK && file != NULL && file->pMethods == &log_methods ? file : NULL;
}

void store_log_beside(sqlite3_file *file, bool beside)
{
    log_of(file)->beside = beside;
    log_of(file)->owed = log_of(file)->owed && !beside;
}

bool store_log_owed(const sqlite3_file *file)
{
    return ((const struct log_file *)(const void *)file)->owed;
}

int store_log_sync(sqlite3_file *file)
{
    return log_sync_now(log_of(file), SQLITE_SYNC_NORMAL);
}

const char *store_log_vfs(void)
{
    (void)pthread_mutex_lock(&log_system.lock);
    sqlite3_vfs *real = store_pages_system();
    int bytes = (int)sizeof(struct log_file) + real->szOsFile;
    if (log_system.real != real || log_system.vfs.szOsFile != bytes) {
        if (log_system.real != NULL)
            (void)sqlite3_vfs_unregister(&log_system.vfs);
        log_system.real = real;
        log_system.vfs = *real;
        log_system.vfs.zName = "aldaba-log";
        log_system.vfs.szOsFile = bytes;
        log_system.vfs.xOpen = log_open;
        ALD_ASSERT(sqlite3_vfs_register(&log_system.vfs, 0) == SQLITE_OK);
    }
    (void)pthread_mutex_unlock(&log_system.lock);
    return log_system.vfs.zName;
}
