#include "common/config/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/base/regular.h"

static enum ald_rc file_copy(int fd, struct ald_buf *out)
{
    for (;;) {
        uint8_t chunk[4096];
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ALD_IO;
        if (got == 0)
            return ALD_OK;
        ald_buf_put(out, chunk, (size_t)got);
        if (!ald_buf_ok(out))
            return ALD_TOOBIG;
    }
}

enum ald_rc ald_file_read(const char *path, struct ald_buf *out)
{
    int fd = ald_regular_open(path, O_RDONLY);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? ALD_NOTFOUND : ALD_IO;
    enum ald_rc rc = file_copy(fd, out);
    int error = errno;
    close(fd);
    errno = error;
    return rc;
}
