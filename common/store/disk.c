#include "common/store/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/bug.h"
#include "common/base/regular.h"

enum { PRIVATE_FOLDER = 0700 };

static enum ald_rc disk_errno_rc(int code)
{
    return code == ENOSPC || code == EDQUOT ? ALD_FULL : ALD_IO;
}

enum ald_rc ald_disk_room(const char *path, const struct ald_disk_limit *limit, uint64_t bytes)
{
    struct statvfs fs;
    if (statvfs(path, &fs) != 0)
        return ALD_IO;

    uint64_t total = (uint64_t)fs.f_blocks * fs.f_frsize;
    uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (total == 0)
        return ALD_OK; /* a file system that does not count */
    if (free_bytes < bytes)
        return ALD_FULL;
    uint64_t left = free_bytes - bytes;
    if (left < limit->min_free_bytes || left < total / 100 * limit->min_free_percent)
        return ALD_FULL;
    return ALD_OK;
}

/* A reserve of the wrong length is what a kill left half made. */
static bool reserve_is_whole(const char *path, uint64_t bytes)
{
    struct stat st;
    return stat(path, &st) == 0 && (uint64_t)st.st_size == bytes;
}

enum ald_rc ald_store_reserve(const char *path, uint64_t bytes)
{
    if (bytes > INT64_MAX)
        return ALD_INVALID;
    if (bytes == 0 || reserve_is_whole(path, bytes))
        return ALD_OK;
    int fd = ald_regular_open(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (fd < 0)
        return disk_errno_rc(errno);
    int code = ALD_FAILPOINT("reserve.take", posix_fallocate(fd, 0, (off_t)bytes), errno);
    if (code == 0 && ALD_FAILPOINT("reserve.sync", fsync(fd), -1) != 0)
        code = errno;
    close(fd);
    if (code == 0)
        return ALD_OK;
    unlink(path);
    return disk_errno_rc(code);
}

bool ald_store_unreserve(const char *path)
{
    return unlink(path) == 0;
}

static enum ald_rc folder_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return ALD_IO;
    int failed = ALD_BUG(no_dirsync) ? 0 : ALD_FAILPOINT("folder.sync", fsync(fd), -1);
    close(fd);
    return failed == 0 ? ALD_OK : ALD_IO;
}

enum ald_rc ald_disk_sync_folder_of(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return folder_sync(".");
    size_t len = slash == path ? 1 : (size_t)(slash - path);
    if (len >= sizeof folder)
        return ALD_TOOBIG;
    memcpy(folder, path, len);
    folder[len] = '\0';
    return folder_sync(folder);
}

static enum ald_rc folder_make(const char *path, struct ald_err *err)
{
    if (ALD_FAILPOINT("folder.make", mkdir(path, PRIVATE_FOLDER), -1) == 0) {
        if (ald_disk_sync_folder_of(path) == ALD_OK)
            return ALD_OK;
        return ald_err_set(err, ALD_IO, "The folder above %s can't be synced.", path);
    }
    int code = errno;
    struct stat st;
    if (code == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return ALD_OK;
    return ald_err_set(err, disk_errno_rc(code), "The folder %s can't be made: %s.", path,
                       strerror(code));
}

enum ald_rc ald_disk_folder(const char *path, struct ald_err *err)
{
    char part[PATH_MAX];
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof part)
        return ald_err_set(err, ALD_TOOBIG, "A folder's path has %zu bytes; 1 to %zu are allowed.",
                           len, sizeof part - 1);
    memcpy(part, path, len + 1);
    for (size_t i = 1; i < len; i++) {
        if (part[i] != '/' || part[i - 1] == '/')
            continue;
        part[i] = '\0';
        enum ald_rc rc = folder_make(part, err);
        if (rc != ALD_OK)
            return rc;
        part[i] = '/';
    }
    return folder_make(part, err);
}

enum ald_rc ald_disk_settle(const char *path)
{
    int fd = ald_regular_open(path, O_RDONLY);
    if (fd < 0)
        return errno == ENOENT ? ALD_OK : ALD_IO;
    /* Drop only after the sync: dirty pages would stay, and with them what the disk has not. */
    bool settled = ALD_FAILPOINT("settle.sync", fsync(fd), -1) == 0 &&
                   posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
    int code = errno;
    close(fd);
    errno = code;
    return settled ? ALD_OK : ALD_IO;
}

enum ald_rc ald_disk_lock(const char *path, int *fd, struct ald_err *err)
{
    int file = ald_regular_open(path, O_RDWR | O_CREAT);
    if (file < 0) {
        int code = errno;
        return ald_err_set(err, disk_errno_rc(code), "The lock file %s can't be opened: %s.", path,
                           ald_regular_why(path, code));
    }
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
        *fd = file;
        return ALD_OK;
    }
    int code = errno;
    close(file);
    if (code == EWOULDBLOCK)
        return ald_err_set(err, ALD_EXISTS, "Another process holds %s: stop it first.", path);
    return ald_err_set(err, ALD_IO, "The lock file %s can't be locked: %s.", path, strerror(code));
}

bool ald_disk_locked(const char *path)
{
    int file = ald_regular_open(path, O_RDONLY);
    if (file < 0)
        return false;
    bool held = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(file);
    return held;
}
