#include "tests/unit/store/fault_vfs.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/guard.h"

enum { FAULT_NAME_MAX = 512 };

/* A file of ours: SQLite gives us room for this and for the real one behind it. */
struct fault_file {
    sqlite3_file base;
    char name[FAULT_NAME_MAX];
    sqlite3_file *real;
    unsigned seen; /* failed syncs of the file that this handle knows of */
};

/* How many syncs of a file have failed. */
struct fault_error {
    struct fault_error *next;
    char name[FAULT_NAME_MAX];
    unsigned count;
};

/* A write that the disk may not have: what was there before. */
struct fault_write {
    struct fault_write *older;
    char name[FAULT_NAME_MAX];
    sqlite3_int64 at;
    size_t len;
    bool lost; /* a sync failed since: clean for the kernel, not on the disk */
    uint8_t before[];
};

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    enum fault_kind kind;
    unsigned n;
    unsigned count;
    bool forever;
    struct fault_write *newest;
    struct fault_error *errors;
} fault;

/* A store may write on a thread beside its owner's. */
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;

static bool fault_strikes(void)
{
    fault.count++;
    return fault.kind != FAULT_NONE &&
           (fault.forever ? fault.count >= fault.n : fault.count == fault.n);
}

static sqlite3_file *fault_real(sqlite3_file *file)
{
    return ((struct fault_file *)(void *)file)->real;
}

static const char *fault_name(const sqlite3_file *file)
{
    return ((const struct fault_file *)(const void *)file)->name;
}

static void fault_remember(sqlite3_file *file, size_t len, sqlite3_int64 at)
{
    struct fault_write *entry = calloc(1, sizeof *entry + len);
    ALD_ASSERT(entry != NULL);
    snprintf(entry->name, sizeof entry->name, "%s", fault_name(file));
    entry->at = at;
    entry->len = len;
    /* Short reads fill up with zeros, as a hole would. */
    (void)fault_real(file)->pMethods->xRead(fault_real(file), entry->before, (int)len, at);
    entry->older = fault.newest;
    fault.newest = entry;
}

static bool fault_covered(const struct fault_write *old, const struct fault_write *new)
{
    return strcmp(old->name, new->name) == 0 && new->at <=
                                                    old->at &&new->at + (sqlite3_int64) new->len >=
                                                    old->at + (sqlite3_int64)old->len;
}

/* A page that was written again is dirty again, and this time the sync wrote it. */
static bool fault_rewritten(const struct fault_write *old)
{
    for (struct fault_write *new = fault.newest; new != old; new = new->older) {
        if (!new->lost && fault_covered(old, new))
            return true;
    }
    return false;
}

static void fault_synced(const char *name, bool ok)
{
    struct fault_write **link = &fault.newest;
    for (struct fault_write *entry = fault.newest; entry != NULL; entry = entry->older) {
        if (strcmp(entry->name, name) != 0)
            continue;
        if (!ok)
            entry->lost = true;
        else if (entry->lost && fault_rewritten(entry))
            entry->lost = false;
    }
    while (ok && *link != NULL) {
        struct fault_write *entry = *link;
        if (entry->lost || strcmp(entry->name, name) != 0) {
            link = &entry->older;
            continue;
        }
        *link = entry->older;
        free(entry);
    }
}

static void fault_put_back(const struct fault_write *entry)
{
    int fd = open(entry->name, O_RDWR);
    if (fd < 0)
        return; /* deleted since */
    ALD_ASSERT(pwrite(fd, entry->before, entry->len, entry->at) == (ssize_t)entry->len);
    close(fd);
}

static struct fault_error *fault_error(const char *name)
{
    struct fault_error *error = fault.errors;
    while (error != NULL && strcmp(error->name, name) != 0)
        error = error->next;
    if (error != NULL)
        return error;
    error = calloc(1, sizeof *error);
    ALD_ASSERT(error != NULL);
    snprintf(error->name, sizeof error->name, "%s", name);
    error->next = fault.errors;
    fault.errors = error;
    return error;
}

void fault_restart(void)
{
    for (struct fault_write *entry = fault.newest; entry != NULL; entry = entry->older) {
        if (entry->lost)
            fault_put_back(entry);
    }
    fault_forget();
}

void fault_powercut(void)
{
    for (struct fault_write *entry = fault.newest; entry != NULL; entry = entry->older)
        fault_put_back(entry);
    fault_forget();
}

void fault_forget(void)
{
    while (fault.newest != NULL) {
        struct fault_write *entry = fault.newest;
        fault.newest = entry->older;
        free(entry);
    }
    while (fault.errors != NULL) {
        struct fault_error *error = fault.errors;
        fault.errors = error->next;
        free(error);
    }
}

static int file_close(sqlite3_file *file)
{
    return fault_real(file)->pMethods->xClose(fault_real(file));
}

static int file_read(sqlite3_file *file, void *data, int len, sqlite3_int64 at)
{
    return fault_real(file)->pMethods->xRead(fault_real(file), data, len, at);
}

static int fault_write(sqlite3_file *file, const void *data, int len, sqlite3_int64 at)
{
    sqlite3_file *real = fault_real(file);
    bool strikes = fault_strikes();
    if (strikes && fault.kind == FAULT_KILL) {
        (void)real->pMethods->xWrite(real, data, len / 2, at);
        kill(getpid(), SIGKILL);
    }
    if (strikes)
        return fault.kind == FAULT_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    fault_remember(file, (size_t)len, at);
    return real->pMethods->xWrite(real, data, len, at);
}

static int file_write(sqlite3_file *file, const void *data, int len, sqlite3_int64 at)
{
    (void)pthread_mutex_lock(&fault_lock);
    int code = fault_write(file, data, len, at);
    (void)pthread_mutex_unlock(&fault_lock);
    return code;
}

/* What was cut off can't come back. */
static void fault_cut(const char *name, sqlite3_int64 len)
{
    struct fault_write **link = &fault.newest;
    while (*link != NULL) {
        struct fault_write *entry = *link;
        if (entry->at < len || strcmp(entry->name, name) != 0) {
            link = &entry->older;
            continue;
        }
        *link = entry->older;
        free(entry);
    }
}

/* A full disk refuses writes only. */
static int fault_truncate(sqlite3_file *file, sqlite3_int64 len)
{
    bool strikes = fault.kind != FAULT_FULL && fault_strikes();
    if (strikes && fault.kind == FAULT_KILL)
        kill(getpid(), SIGKILL);
    if (strikes)
        return SQLITE_IOERR_TRUNCATE;
    fault_cut(fault_name(file), len);
    return fault_real(file)->pMethods->xTruncate(fault_real(file), len);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 len)
{
    (void)pthread_mutex_lock(&fault_lock);
    int code = fault_truncate(file, len);
    (void)pthread_mutex_unlock(&fault_lock);
    return code;
}

static int fault_sync(sqlite3_file *file, int flags)
{
    struct fault_file *self = (struct fault_file *)(void *)file;
    struct fault_error *error = fault_error(self->name);
    int code = SQLITE_IOERR_FSYNC;
    if (fault.kind == FAULT_FULL || !fault_strikes())
        code = self->real->pMethods->xSync(self->real, flags);
    else if (fault.kind == FAULT_KILL)
        kill(getpid(), SIGKILL);
    fault_synced(self->name, code == SQLITE_OK);
    if (code != SQLITE_OK)
        error->count++;
    else if (self->seen != error->count)
        code = SQLITE_IOERR_FSYNC;
    self->seen = error->count;
    return code;
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)pthread_mutex_lock(&fault_lock);
    int code = fault_sync(file, flags);
    (void)pthread_mutex_unlock(&fault_lock);
    return code;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *len)
{
    return fault_real(file)->pMethods->xFileSize(fault_real(file), len);
}

static int file_lock(sqlite3_file *file, int how)
{
    return fault_real(file)->pMethods->xLock(fault_real(file), how);
}

static int file_unlock(sqlite3_file *file, int how)
{
    return fault_real(file)->pMethods->xUnlock(fault_real(file), how);
}

static int file_check_lock(sqlite3_file *file, int *out)
{
    return fault_real(file)->pMethods->xCheckReservedLock(fault_real(file), out);
}

static int file_control(sqlite3_file *file, int what, void *arg)
{
    return fault_real(file)->pMethods->xFileControl(fault_real(file), what, arg);
}

static int file_sector(sqlite3_file *file)
{
    return fault_real(file)->pMethods->xSectorSize(fault_real(file));
}

static int file_device(sqlite3_file *file)
{
    return fault_real(file)->pMethods->xDeviceCharacteristics(fault_real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int len, int extend, void volatile **out)
{
    return fault_real(file)->pMethods->xShmMap(fault_real(file), page, len, extend, out);
}

static int file_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
    return fault_real(file)->pMethods->xShmLock(fault_real(file), at, n, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    fault_real(file)->pMethods->xShmBarrier(fault_real(file));
}

static int file_shm_unmap(sqlite3_file *file, int drop)
{
    return fault_real(file)->pMethods->xShmUnmap(fault_real(file), drop);
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *out, int flags, int *got)
{
    struct fault_file *file = (struct fault_file *)(void *)out;
    (void)vfs;
    memset(file, 0, sizeof *file);
    file->real = (sqlite3_file *)(void *)(file + 1);
    if (name != NULL)
        snprintf(file->name, sizeof file->name, "%s", name);
    (void)pthread_mutex_lock(&fault_lock);
    file->seen = fault_error(file->name)->count;
    (void)pthread_mutex_unlock(&fault_lock);
    int code = fault.real->xOpen(fault.real, name, file->real, flags, got);
    if (file->real->pMethods != NULL)
        file->base.pMethods = &file_methods;
    return code;
}

void fault_install(void)
{
    if (fault.real != NULL)
        return;
    fault.real = sqlite3_vfs_find(NULL);
    fault.vfs = *fault.real;
    fault.vfs.zName = "fault";
    fault.vfs.szOsFile = (int)sizeof(struct fault_file) + fault.real->szOsFile;
    fault.vfs.xOpen = fault_open;
    ALD_ASSERT(sqlite3_vfs_register(&fault.vfs, 1) == SQLITE_OK);
}

void fault_plan(enum fault_kind kind, unsigned n, bool forever)
{
    (void)pthread_mutex_lock(&fault_lock);
    fault.kind = kind;
    fault.n = n;
    fault.forever = forever;
    fault.count = 0;
    (void)pthread_mutex_unlock(&fault_lock);
}

bool fault_heal(void)
{
    (void)pthread_mutex_lock(&fault_lock);
    fault.kind = FAULT_NONE;
    bool reached = fault.count >= fault.n;
    (void)pthread_mutex_unlock(&fault_lock);
    return reached;
}
