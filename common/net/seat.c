#include "common/net/seat.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/regular.h"
#include "common/base/text.h"

static const char SEAT_IPC[] = "ipc://";

static void seat_folder(const struct ald_seat *self, char out[ALD_SEAT_PATH])
{
    size_t len = (size_t)(strrchr(self->path, '/') - self->path);
    ald_text_cut(out, ALD_SEAT_PATH, ald_span_of(self->path, len > 0 ? len : 1));
}

/* ZeroMQ says "address in use" whatever keeps it from making a socket: so it is looked at before.
 */
static enum ald_rc seat_look(const struct ald_seat *self, const char *endpoint, struct ald_err *err)
{
    struct stat facts;
    char folder[ALD_SEAT_PATH];
    seat_folder(self, folder);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        return ald_err_set(err, ALD_IO,
                           "%s: no socket can be made in the folder %s: %s; let the user of this "
                           "process (uid %u) write there, or name another folder as bus.run",
                           endpoint, folder, strerror(errno), (unsigned)geteuid());
    if (lstat(self->path, &facts) == 0 && !S_ISSOCK(facts.st_mode))
        return ald_err_set(err, ALD_IO,
                           "%s: what is there is no socket; move it away, or name another folder "
                           "as bus.run",
                           endpoint);
    return ALD_OK;
}

static void seat_lock_path(const struct ald_seat *self, char out[PATH_MAX])
{
    (void)snprintf(out, PATH_MAX, "%s.lock", self->path);
}

static enum ald_rc seat_lock(struct ald_seat *self, const char *endpoint, struct ald_err *err)
{
    char path[PATH_MAX];
    seat_lock_path(self, path);
    int fd = ald_regular_open(path, O_CREAT | O_RDWR);
    if (fd < 0)
        return ald_err_set(err, ALD_IO, "%s: cannot open the lock file: %s", path,
                           ald_regular_why(path, errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return ald_err_set(err, ALD_EXISTS,
                           "%s: another process serves this endpoint; stop it, or give this one "
                           "its own bus.run",
                           endpoint);
    }
    self->lock = fd;
    return ALD_OK;
}

enum ald_rc ald_seat_take(struct ald_seat *self, const char *endpoint, struct ald_err *err)
{
    *self = ALD_SEAT_NONE;
    if (strncmp(endpoint, SEAT_IPC, strlen(SEAT_IPC)) != 0)
        return ALD_OK;
    if (ald_text_copy(self->path, sizeof self->path, ald_span_str(endpoint + strlen(SEAT_IPC))) !=
        ALD_OK)
        return ald_err_set(err, ALD_TOOBIG, "%s: path too long", endpoint);
    enum ald_rc rc = seat_look(self, endpoint, err);
    if (rc == ALD_OK)
        rc = seat_lock(self, endpoint, err);
    if (rc != ALD_OK)
        self->path[0] = '\0';
    return rc;
}

void ald_seat_taken(struct ald_seat *self)
{
    struct stat facts;
    if (self->path[0] == '\0')
        return;
    (void)chmod(self->path, 0600);
    if (lstat(self->path, &facts) != 0)
        return; /* removed already: inode 0 is no file's */
    self->device = facts.st_dev;
    self->inode = facts.st_ino;
}

/* Is there a file of this path, and is it that one? */
static bool seat_same(const char *path, dev_t device, ino_t inode)
{
    struct stat there;
    return lstat(path, &there) == 0 && there.st_ino == inode && there.st_dev == device;
}

static bool seat_locked(const struct ald_seat *self)
{
    struct stat lock;
    char path[PATH_MAX];
    seat_lock_path(self, path);
    return fstat(self->lock, &lock) == 0 && seat_same(path, lock.st_dev, lock.st_ino);
}

bool ald_seat_lost(const struct ald_seat *self)
{
    return self->path[0] != '\0' &&
           (!seat_same(self->path, self->device, self->inode) || !seat_locked(self));
}

enum ald_rc ald_seat_regain(struct ald_seat *self, const char *endpoint, struct ald_err *err)
{
    const int had = self->lock;
    char folder[ALD_SEAT_PATH];
    seat_folder(self, folder);
    (void)!mkdir(folder, 0700); /* there, gone, or not to be made: the look tells */
    enum ald_rc rc = seat_look(self, endpoint, err);
    if (rc != ALD_OK || seat_locked(self))
        return rc;
    rc = seat_lock(self, endpoint, err);
    if (rc == ALD_OK)
        close(had);
    return rc;
}

void ald_seat_leave(struct ald_seat *self)
{
    if (self->lock >= 0)
        close(self->lock);
    *self = ALD_SEAT_NONE;
}
