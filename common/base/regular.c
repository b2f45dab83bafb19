#include "common/base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ald_regular_open(const char *path, int flags)
{
    struct stat facts;
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0)
        return -1;
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

const char *ald_regular_why(const char *path, int code)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return strerror(code);
    switch (facts.st_mode & S_IFMT) {
    case S_IFREG:
        return strerror(code);
    case S_IFIFO:
        return "it is a named pipe and not a file; move it away";
    case S_IFDIR:
        return "it is a folder and not a file; move it away";
    case S_IFSOCK:
        return "it is a socket and not a file; move it away";
    default:
        return "it is a device and not a file; move it away";
    }
}
