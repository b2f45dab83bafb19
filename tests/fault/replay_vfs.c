#include "replay.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* The engine's file system in memory. No shared memory: a store is opened for itself alone, and its
 * log is recovered all the same. */

struct vfs_file {
    sqlite3_file base; /* first: it is what the engine has */
    int object;
};

static int object_of(sqlite3_file *file)
{
    return ((struct vfs_file *)(void *)file)->object;
}

static int file_close(sqlite3_file *file)
{
    (void)file;
    return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *out, int len, sqlite3_int64 at)
{
    int object = object_of(file);
    size_t have = disk_len(object) > (size_t)at ? disk_len(object) - (size_t)at : 0;
    size_t n = have < (size_t)len ? have : (size_t)len;
    if (n > 0)
        memcpy(out, disk_data(object) + at, n);
    memset((uint8_t *)out + n, 0, (size_t)len - n);
    return n == (size_t)len ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *data, int len, sqlite3_int64 at)
{
    disk_write(object_of(file), (size_t)at, data, (size_t)len);
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 len)
{
    disk_set_len(object_of(file), (size_t)len);
    return SQLITE_OK;
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)file;
    (void)flags;
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *len)
{
    *len = (sqlite3_int64)disk_len(object_of(file));
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int level)
{
    (void)file;
    (void)level;
    return SQLITE_OK;
}

static int file_reserved(sqlite3_file *file, int *out)
{
    (void)file;
    *out = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int what, void *arg)
{
    (void)file;
    (void)what;
    (void)arg;
    return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file)
{
    (void)file;
    return 4096;
}

static int file_device(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE; /* as on the services' own disks */
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_lock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *out, int flags, int *got)
{
    struct vfs_file *file = (struct vfs_file *)(void *)out;
    (void)vfs;
    file->base.pMethods = NULL;
    if (name == NULL)
        return SQLITE_CANTOPEN;
    file->object = disk_find(name);
    if (file->object == NOTHING && (flags & SQLITE_OPEN_CREATE) != 0)
        file->object = disk_create(name);
    if (file->object == NOTHING)
        return SQLITE_CANTOPEN;
    file->base.pMethods = &file_methods;
    if (got != NULL)
        *got = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    (void)sync;
    disk_remove(name);
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    (void)vfs;
    (void)flags;
    *out = disk_find(name) != NOTHING;
    return SQLITE_OK;
}

static int vfs_full(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
    (void)vfs;
    (void)snprintf(out, (size_t)room, "%s", name);
    return SQLITE_OK;
}

void vfs_register(void)
{
    static sqlite3_vfs vfs;
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    (void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    (void)sqlite3_initialize();
    vfs = *sqlite3_vfs_find(NULL);
    vfs.zName = REPLAY_VFS;
    vfs.szOsFile = sizeof(struct vfs_file);
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    vfs.xAccess = vfs_access;
    vfs.xFullPathname = vfs_full;
    (void)sqlite3_vfs_register(&vfs, 0);
}
