#include "services/ctl/swap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/regular.h"
#include "common/store/disk.h"

#define SWAP_MARKER "RESTORING"

enum { SWAP_CHUNK = 1 << 18, SWAP_FILE_MAX = 64, SWAP_STAMPS = 100 };

enum swap_state swap_look(const char *place)
{
    DIR *dir = opendir(place);
    if (dir == NULL)
        return errno == ENOENT ? SWAP_ABSENT : SWAP_NO_FOLDER;
    int names = 0;
    while (readdir(dir) != NULL)
        names++;
    (void)closedir(dir);
    return names > 2 ? SWAP_FULL : SWAP_EMPTY; /* itself and the one above */
}

static enum ald_rc swap_wrong(struct ald_err *err, const char *what, const char *path)
{
    int code = errno;
    return ald_err_set(err, code == ENOSPC || code == EDQUOT ? ALD_FULL : ALD_IO, "%s %.160s: %s",
                       what, path, strerror(code));
}

static bool swap_join(char out[SWAP_PATH_MAX + SWAP_FILE_MAX], const char *dir, const char *name)
{
    int n = snprintf(out, SWAP_PATH_MAX + SWAP_FILE_MAX, "%s/%s", dir, name);
    return n > 0 && n < SWAP_PATH_MAX + SWAP_FILE_MAX;
}

/* ---- what a run that was killed left ---- */

/* Give a folder a name that nothing has: PLACE.before-TIME. */
static enum ald_rc swap_aside(const char *place, const char *folder, char out[SWAP_PATH_MAX],
                              struct ald_err *err)
{
    char stamp[32];
    struct tm tm;
    time_t now = (time_t)(ald_clock_now().wall_ms / 1000);
    (void)gmtime_r(&now, &tm);
    (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
    for (int i = 0; i < SWAP_STAMPS; i++) {
        int n = i == 0 ? snprintf(out, SWAP_PATH_MAX, "%s.before-%s", place, stamp)
                       : snprintf(out, SWAP_PATH_MAX, "%s.before-%s-%d", place, stamp, i);
        if (n < 0 || n >= SWAP_PATH_MAX)
            break;
        if (ALD_FAILPOINT("swap.aside",
                          renameat2(AT_FDCWD, folder, AT_FDCWD, out, RENAME_NOREPLACE), -1) == 0)
            return ald_disk_sync_folder_of(out) == ALD_OK
                       ? ALD_OK
                       : swap_wrong(err, "can't sync the folder of", out);
        if (errno == EINVAL && access(out, F_OK) != 0 &&
            ALD_FAILPOINT("swap.aside_plain", rename(folder, out), -1) == 0)
            return ALD_OK; /* a file system without that flag */
        if (errno != EEXIST)
            break;
    }
    return swap_wrong(err, "can't give another name to", folder);
}

/* Ours, and not finished: its files are copies. Another one is put aside. */
static enum ald_rc swap_clear(struct swap *self, const char *const *names, size_t count,
                              struct ald_err *err)
{
    char path[SWAP_PATH_MAX + SWAP_FILE_MAX];
    if (rmdir(self->beside) == 0 || errno == ENOENT)
        return ALD_OK;
    if (!swap_join(path, self->beside, SWAP_MARKER) || access(path, F_OK) != 0)
        return swap_aside(self->place, self->beside, self->broken, err);
    for (size_t i = 0; i < count; i++)
        if (swap_join(path, self->beside, names[i]))
            (void)unlink(path);
    (void)swap_join(path, self->beside, SWAP_MARKER);
    if (unlink(path) != 0 || rmdir(self->beside) != 0)
        return swap_wrong(err, "can't remove", self->beside);
    return ALD_OK;
}

/* ---- the new folder ---- */

static enum ald_rc swap_bytes(int from, int to, swap_bytes_fn *fn, void *context)
{
    static uint8_t chunk[SWAP_CHUNK];
    for (;;) {
        ssize_t got = read(from, chunk, sizeof chunk);
        if (got < 0)
            return ALD_IO;
        if (got == 0)
            return ALD_FAILPOINT("swap.sync", fsync(to), -1) == 0 ? ALD_OK : ALD_IO;
        for (ssize_t put = 0; put < got;) {
            const size_t left = (size_t)(got - put);
            ssize_t n = ALD_FAILPOINT_WRITE("swap.write", write(to, chunk + put, left),
                                            write(to, chunk + put, left / 2));
            if (n < 0)
                return ALD_IO;
            put += n;
        }
        fn(context, (uint64_t)got);
    }
}

static enum ald_rc swap_copy(const struct swap *self, const char *from_dir, const char *name,
                             swap_bytes_fn *fn, void *context, struct ald_err *err)
{
    char from_path[SWAP_PATH_MAX + SWAP_FILE_MAX];
    char to_path[SWAP_PATH_MAX + SWAP_FILE_MAX];
    if (!swap_join(from_path, from_dir, name) || !swap_join(to_path, self->beside, name))
        return ald_err_set(err, ALD_TOOBIG, "the path is too long");
    int from = ald_regular_open(from_path, O_RDONLY);
    if (from < 0)
        return swap_wrong(err, "can't open", from_path);
    int to = ald_regular_open(to_path, O_WRONLY | O_CREAT | O_EXCL);
    enum ald_rc rc = to < 0 ? ALD_IO : swap_bytes(from, to, fn, context);
    if (rc != ALD_OK)
        rc = swap_wrong(err, "can't write", to_path);
    if (to >= 0)
        close(to);
    close(from);
    return rc;
}

static enum ald_rc swap_mark(const struct swap *self, struct ald_err *err)
{
    char path[SWAP_PATH_MAX + SWAP_FILE_MAX];
    (void)swap_join(path, self->beside, SWAP_MARKER);
    int fd = ald_regular_open(path, O_WRONLY | O_CREAT);
    if (fd < 0 || ALD_FAILPOINT("swap.mark", fsync(fd), -1) != 0 || close(fd) != 0 ||
        ald_disk_sync_folder_of(path) != ALD_OK)
        return swap_wrong(err, "can't write", path);
    return ALD_OK;
}

/* As root: whoever has the folder in the place is to have the new one. */
static enum ald_rc swap_own(const struct swap *self, const char *const *names, size_t count,
                            struct ald_err *err)
{
    struct stat old;
    char path[SWAP_PATH_MAX + SWAP_FILE_MAX];
    if (geteuid() != 0 || stat(self->place, &old) != 0)
        return ALD_OK;
    for (size_t i = 0; i < count; i++)
        if (swap_join(path, self->beside, names[i]) && chown(path, old.st_uid, old.st_gid) != 0)
            return swap_wrong(err, "can't give away", path);
    return chown(self->beside, old.st_uid, old.st_gid) == 0
               ? ALD_OK
               : swap_wrong(err, "can't give away", self->beside);
}

enum ald_rc swap_prepare(struct swap *self, const char *place, const char *from,
                         const char *const *names, size_t count, swap_bytes_fn *fn, void *context,
                         struct ald_err *err)
{
    char path[SWAP_PATH_MAX + SWAP_FILE_MAX];
    *self = (struct swap){.place = place};
    int n = snprintf(self->beside, sizeof self->beside, "%s.restoring", place);
    if (n < 0 || n >= (int)sizeof self->beside - SWAP_FILE_MAX)
        return ald_err_set(err, ALD_TOOBIG, "the path of store.data is too long");
    enum ald_rc rc = swap_clear(self, names, count, err);
    if (rc == ALD_OK && mkdir(self->beside, 0700) != 0)
        rc = swap_wrong(err, "can't make the folder", self->beside);
    if (rc == ALD_OK)
        rc = swap_mark(self, err);
    for (size_t i = 0; i < count && rc == ALD_OK; i++)
        rc = swap_copy(self, from, names[i], fn, context, err);
    if (rc == ALD_OK)
        rc = swap_own(self, names, count, err);
    if (rc != ALD_OK)
        return rc;
    (void)swap_join(path, self->beside, SWAP_MARKER);
    if (ald_disk_sync_folder_of(path) != ALD_OK || unlink(path) != 0 ||
        ald_disk_sync_folder_of(path) != ALD_OK || ald_disk_sync_folder_of(self->beside) != ALD_OK)
        return swap_wrong(err, "can't sync", self->beside);
    return ALD_OK;
}

/* ---- changing places ---- */

static enum ald_rc swap_refused(struct ald_err *err, const char *place)
{
    if (errno == EBUSY || errno == EXDEV)
        return ald_err_set(err, ALD_IO,
                           "%.160s is a mount point, which can't change places with another "
                           "folder: have store.data name a folder below it, or put the files there "
                           "by hand (README, Backup and restore)",
                           place);
    return swap_wrong(err, "can't put a new folder in the place of", place);
}

enum ald_rc swap_change(struct swap *self, struct ald_err *err)
{
    if (swap_look(self->place) != SWAP_FULL) {
        if (ALD_FAILPOINT("swap.place", rename(self->beside, self->place), -1) != 0)
            return errno == ENOTEMPTY || errno == EEXIST
                       ? ald_err_set(err, ALD_EXISTS, "%.160s is not empty any more", self->place)
                       : swap_refused(err, self->place);
        return ald_disk_sync_folder_of(self->place) == ALD_OK
                   ? ALD_OK
                   : swap_wrong(err, "can't sync the folder of", self->place);
    }
    if (ALD_FAILPOINT("swap.exchange",
                      renameat2(AT_FDCWD, self->beside, AT_FDCWD, self->place, RENAME_EXCHANGE),
                      -1) == 0) {
        if (ald_disk_sync_folder_of(self->place) != ALD_OK)
            return swap_wrong(err, "can't sync the folder of", self->place);
        return swap_aside(self->place, self->beside, self->before, err);
    }
    if (errno != EINVAL && errno != ENOSYS)
        return swap_refused(err, self->place);
    /* A file system that can't exchange: between the two steps there is no folder in the place. A
     * daemon that is started just then makes an empty one, and the second step says so. */
    enum ald_rc rc = swap_aside(self->place, self->place, self->before, err);
    if (rc == ALD_OK &&
        ALD_FAILPOINT("swap.place_plain", rename(self->beside, self->place), -1) != 0)
        return swap_refused(err, self->place);
    return rc == ALD_OK ? ald_disk_sync_folder_of(self->place) : rc;
}
