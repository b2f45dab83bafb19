#include "tests/unit/config/folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/guard.h"

void folder_make(struct folder *self)
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(self->path, sizeof self->path, "%.40s/ald-XXXXXX", base == NULL ? "/tmp" : base);
    ALD_ASSERT(mkdtemp(self->path) != NULL);
}

static int folder_unlink(const char *path, const struct stat *facts, int kind, struct FTW *walk)
{
    (void)facts;
    (void)kind;
    (void)walk;
    return remove(path);
}

void folder_remove(struct folder *self)
{
    (void)nftw(self->path, folder_unlink, 8, FTW_DEPTH | FTW_PHYS);
}

const char *folder_path(const struct folder *self, const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % ALD_COUNT(paths)];
    (void)snprintf(path, sizeof paths[0], "%s/%s", self->path, name);
    return path;
}

void folder_write(const struct folder *self, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s", folder_path(self, name));
    char *slash = strrchr(path, '/');
    *slash = '\0';
    (void)mkdir(path, 0755);
    *slash = '/';
    FILE *file = fopen(path, "w");
    ALD_ASSERT(file != NULL);
    ALD_ASSERT(fputs(text, file) >= 0);
    ALD_ASSERT(fclose(file) == 0);
}
