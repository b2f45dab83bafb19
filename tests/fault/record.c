/* record.c - notes what a process does to its files, and what it says yes to, in one order. Loaded
 * with LD_PRELOAD into each service of a house; replay.c reads the log.
 *
 * ALD_RECORD_LOG   the log: all processes append to it, so that the order is one for all of them
 * ALD_RECORD_ROOT  files under this folder are noted; shared memory (-shm) is not: no power cut
 *                  leaves any of it
 * ALD_RECORD_WAIT  microseconds that each sync waits before it is done: who does not wait for it is
 *                  seen the better
 * ALD_RECORD_BREAK "normal": a log is synced only before its store's file is written, as the
 *                  engine does it under synchronous=NORMAL
 * ALD_RECORD_TELLS set: what this process sends is looked through, and each whole token in it is
 *                  noted, once, before it is sent
 *
 * A change is noted when it is done, the begin of a sync before it and its end after it: what was
 * noted before the begin is on disk at the end. A "yes" is noted before it is sent: an HTTP answer
 * 2xx on a connection whose request held the token k<number>-.
 *
 * Threads: any. A note is one write to a file that is appended to.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

enum { FDS = 4096, NAME_MAX_BYTES = 192, TOKENS = 1 << 16, HEX = 16 };
enum fd_kind { FD_UNKNOWN, FD_OURS, FD_OTHER };

static struct {
    int log;
    long wait_us;
    bool normal, tells;
    uint64_t told[TOKENS / 64];
    size_t root_len;
    char root[PATH_MAX];
    struct {
        enum fd_kind kind;
        char name[NAME_MAX_BYTES];
        uint64_t token;
        bool owed; /* a sync that was put off */
    } fd[FDS];
} self = {.log = -1};

/* The next definition of a function, under a type that can be called. */
#define REAL(name)                                                                                 \
    static __typeof__(name) *real;                                                                 \
    if (real == NULL)                                                                              \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void record_begin(void)
{
    const char *log = getenv("ALD_RECORD_LOG");
    const char *root = getenv("ALD_RECORD_ROOT");
    const char *wait = getenv("ALD_RECORD_WAIT");
    const char *broken = getenv("ALD_RECORD_BREAK");
    if (log == NULL || root == NULL || realpath(root, self.root) == NULL)
        return;
    self.root_len = strlen(self.root);
    self.wait_us = wait ? strtol(wait, NULL, 10) : 0;
    self.normal = broken && strcmp(broken, "normal") == 0;
    int fd =
        (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    self.log = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 700);
}

static void note(enum record_kind kind, const char *name, uint64_t at, const void *data, size_t len)
{
    int error = errno;
    struct record_head head = {.magic = RECORD_MAGIC,
                               .kind = (uint8_t)kind,
                               .name_len = (uint16_t)strlen(name),
                               .thread = (uint32_t)syscall(SYS_gettid),
                               .data_len = (uint32_t)len,
                               .at = at};
    struct iovec parts[] = {{&head, sizeof head},
                            {(void *)(uintptr_t)name, head.name_len},
                            {(void *)(uintptr_t)data, len}};
    size_t whole = sizeof head + head.name_len + len;
    if (syscall(SYS_writev, self.log, parts, len > 0 ? 3 : 2) != (long)whole)
        abort(); /* a log with a hole proves nothing */
    errno = error;
}

/* ---- which files are ours ---- */

static const char *name_of_path(const char *path)
{
    size_t len = strlen(path);
    if (self.log < 0 || strncmp(path, self.root, self.root_len) != 0)
        return NULL;
    if (path[self.root_len] != '/' && path[self.root_len] != '\0')
        return NULL;
    if (len > 4 && strcmp(path + len - 4, "-shm") == 0)
        return NULL;
    return path[self.root_len] == '/' ? path + self.root_len + 1 : ".";
}

/* Paths of our settings are absolute, without links. */
static const char *name_of_fd(int fd)
{
    char link[64];
    char path[PATH_MAX];
    if (self.log < 0 || fd < 0 || fd >= FDS)
        return NULL;
    if (self.fd[fd].kind == FD_UNKNOWN) {
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t len = readlink(link, path, sizeof path - 1);
        path[len > 0 ? len : 0] = '\0';
        const char *name = name_of_path(path);
        bool ours = name != NULL && strlen(name) < NAME_MAX_BYTES;
        if (ours)
            (void)snprintf(self.fd[fd].name, NAME_MAX_BYTES, "%s", name);
        self.fd[fd].kind = ours ? FD_OURS : FD_OTHER;
    }
    return self.fd[fd].kind == FD_OURS ? self.fd[fd].name : NULL;
}

static void forget(int fd)
{
    if (fd >= 0 && fd < FDS) {
        self.fd[fd].kind = FD_UNKNOWN;
        self.fd[fd].token = 0;
        self.fd[fd].owed = false;
    }
}

/* ---- open, close ---- */

static int opened(const char *path, int flags, mode_t mode)
{
    struct stat before;
    const char *name = name_of_path(path);
    bool there = name != NULL && stat(path, &before) == 0;
    self.tells = getenv("ALD_RECORD_TELLS") != NULL;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    forget(fd);
    if (fd < 0 || name == NULL)
        return fd;
    if (!there)
        note(RECORD_CREATE, name, 0, NULL, 0);
    else if ((flags & O_TRUNC) != 0 && before.st_size > 0)
        note(RECORD_LENGTH, name, 0, NULL, 0);
    return fd;
}

static mode_t mode_of(int flags, va_list more)
{
    return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? (mode_t)va_arg(more, unsigned) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return opened(path, flags | O_LARGEFILE, mode);
}

int close(int fd)
{
    REAL(close);
    forget(fd);
    return real(fd);
}

/* ---- syncs ---- */

static bool is_log(const char *name)
{
    size_t len = strlen(name);
    return len > 4 && strcmp(name + len - 4, "-wal") == 0;
}

static int sync_noted(int fd, const char *name, int (*real)(int))
{
    note(RECORD_SYNC_BEGINS, name, 0, NULL, 0);
    struct timespec wait = {.tv_sec = self.wait_us / 1000000,
                            .tv_nsec = self.wait_us % 1000000 * 1000};
    if (self.wait_us > 0)
        (void)ppoll(NULL, 0, &wait, NULL);
    int failed = real(fd);
    if (failed == 0)
        note(RECORD_SYNC_ENDS, name, 0, NULL, 0);
    return failed;
}

static int synced(int fd, int (*real)(int))
{
    const char *name = name_of_fd(fd);
    if (name == NULL)
        return real(fd);
    if (!self.normal || !is_log(name))
        return sync_noted(fd, name, real);
    self.fd[fd].owed = true;
    return 0;
}

int fsync(int fd)
{
    REAL(fsync);
    return synced(fd, real);
}

int fdatasync(int fd)
{
    REAL(fdatasync);
    return synced(fd, real);
}

/* Before this file is written. */
static void sync_what_is_owed(const char *name)
{
    REAL(fdatasync);
    for (int fd = 0; self.normal && !is_log(name) && fd < FDS; fd++) {
        if (!self.fd[fd].owed)
            continue;
        self.fd[fd].owed = false;
        (void)sync_noted(fd, self.fd[fd].name, real);
    }
}

/* ---- changes ---- */

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
    REAL(pwrite64);
    const char *name = name_of_fd(fd);
    if (name != NULL)
        sync_what_is_owed(name);
    ssize_t done = real(fd, data, len, at);
    if (name != NULL && done > 0)
        note(RECORD_WRITE, name, (uint64_t)at, data, (size_t)done);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
    return pwrite64(fd, data, len, at);
}

ssize_t write(int fd, const void *data, size_t len)
{
    REAL(write);
    const char *name = name_of_fd(fd);
    ssize_t done = real(fd, data, len);
    if (name != NULL && done > 0)
        note(RECORD_WRITE, name, (uint64_t)lseek(fd, 0, SEEK_CUR) - (uint64_t)done, data,
             (size_t)done);
    return done;
}

int ftruncate64(int fd, off64_t len)
{
    REAL(ftruncate64);
    int failed = real(fd, len);
    const char *name = name_of_fd(fd);
    if (name != NULL && failed == 0)
        note(RECORD_LENGTH, name, (uint64_t)len, NULL, 0);
    return failed;
}

int ftruncate(int fd, off_t len)
{
    return ftruncate64(fd, len);
}

int posix_fallocate(int fd, off_t at, off_t len)
{
    REAL(posix_fallocate);
    struct stat before = {0};
    (void)fstat(fd, &before);
    int failed = real(fd, at, len);
    const char *name = name_of_fd(fd);
    if (name != NULL && failed == 0 && before.st_size < at + len)
        note(RECORD_LENGTH, name, (uint64_t)(at + len), NULL, 0);
    return failed;
}

int unlink(const char *path)
{
    REAL(unlink);
    int failed = real(path);
    const char *name = name_of_path(path);
    if (name != NULL && failed == 0)
        note(RECORD_UNLINK, name, 0, NULL, 0);
    return failed;
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    const char *old = name_of_path(from);
    const char *new = name_of_path(to);
    int failed = real(from, to);
    if (old == NULL || new == NULL || failed != 0)
        return failed;
    note(RECORD_RENAME, old, 0, new, strlen(new));
    for (int fd = 0; fd < FDS; fd++) {
        if (self.fd[fd].kind == FD_OURS && strcmp(self.fd[fd].name, old) == 0)
            self.fd[fd].kind = FD_UNKNOWN;
    }
    return failed;
}

int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir);
    int failed = real(path, mode);
    const char *name = name_of_path(path);
    if (name != NULL && failed == 0)
        note(RECORD_FOLDER, name, 0, NULL, 0);
    return failed;
}

/* ---- what is asked, and what is said ---- */

/* The token at or behind *at, which goes on behind it. False: there is none. */
static bool next_token(const uint8_t *data, size_t len, size_t *at, uint64_t *number)
{
    for (; *at + 1 < len; ++*at) {
        size_t end = *at + 1;
        if (data[*at] != 'k')
            continue;
        for (*number = 0; end < len && data[end] >= '0' && data[end] <= '9' && end < *at + 18;
             end++)
            *number = *number * 10 + (uint64_t)(data[end] - '0');
        if (end == *at + 1 || end >= len || data[end] != '-')
            continue;
        *at = end + 1;
        return true;
    }
    return false;
}

static void heard(int fd, const void *data, ssize_t len)
{
    size_t at = 0;
    uint64_t number = 0;
    if (self.log >= 0 && fd >= 0 && fd < FDS && len > 0 &&
        next_token(data, (size_t)len, &at, &number))
        self.fd[fd].token = number + 1;
}

/* Threads that tell the same at once note it twice, which does no harm. */
static void tells(const uint8_t *data, size_t len)
{
    size_t at = 0;
    uint64_t number = 0;
    while (next_token(data, len, &at, &number)) {
        if (number >= TOKENS || len - at < HEX || !record_hex_is(data + at, record_mixed(number)) ||
            (self.told[number / 64] >> number % 64 & 1) != 0)
            continue;
        note(RECORD_TOLD, "", number, NULL, 0);
        self.told[number / 64] |= UINT64_C(1) << number % 64;
    }
}

ssize_t recv(int fd, void *data, size_t len, int flags)
{
    REAL(recv);
    ssize_t got = real(fd, data, len, flags);
    if ((flags & MSG_PEEK) == 0)
        heard(fd, data, got);
    return got;
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
    static const char yes[] = "HTTP/1.1 2";
    REAL(send);
    if (self.log >= 0 && fd >= 0 && fd < FDS && self.fd[fd].token > 0 && len > sizeof yes &&
        memcmp(data, yes, sizeof yes - 1) == 0) {
        note(RECORD_YES, "", self.fd[fd].token - 1, NULL, 0);
        self.fd[fd].token = 0;
    }
    if (self.log >= 0 && self.tells)
        tells(data, len);
    return real(fd, data, len, flags);
}
