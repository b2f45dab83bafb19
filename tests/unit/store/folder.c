#include "tests/unit/store/folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/guard.h"

void folder_make(struct folder *self)
{
    /* In memory where that can be: what a disk forgets is played by fault_vfs, not by the disk. */
    const char *base = getenv("TMPDIR");
    if (base == NULL)
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(self->path, sizeof self->path, "%s/ald-store-XXXXXX", base);
    ALD_ASSERT(mkdtemp(self->path) != NULL);
}

static int folder_unlink(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

void folder_remove(struct folder *self)
{
    (void)nftw(self->path, folder_unlink, 8, FTW_DEPTH | FTW_PHYS);
}

int folder_setup(void **state)
{
    static struct folder folder;
    folder_make(&folder);
    *state = &folder;
    return 0;
}

int folder_teardown(void **state)
{
    folder_remove(*state);
    return 0;
}

const char *folder_file(const struct folder *self, const char *name)
{
    static char paths[8][FOLDER_PATH_MAX + 64];
    static unsigned next;
    char *path = paths[next++ % ALD_COUNT(paths)];
    snprintf(path, sizeof paths[0], "%s/%s", self->path, name);
    return path;
}

void file_flip(const char *path, long at)
{
    unsigned char byte = 0;
    int fd = open(path, O_RDWR);
    ALD_ASSERT(fd >= 0 && pread(fd, &byte, 1, at) == 1);
    byte ^= 1;
    ALD_ASSERT(pwrite(fd, &byte, 1, at) == 1);
    close(fd);
}

long file_bytes(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

void file_cut(const char *path, long bytes)
{
    ALD_ASSERT(truncate(path, bytes) == 0);
}
