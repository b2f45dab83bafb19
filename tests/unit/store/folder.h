/* folder.h - a test's own folder, gone when the test ends. One thread. */
#ifndef ALD_TEST_FOLDER_H
#define ALD_TEST_FOLDER_H

#include <stddef.h>

enum { FOLDER_PATH_MAX = 256 };

struct folder {
    char path[FOLDER_PATH_MAX];
};

/* Fails the test when it can't be made. */
void folder_make(struct folder *self);
/* Remove it with all that is in it. */
void folder_remove(struct folder *self);
/* The two as cmocka's setup and teardown; *state is the folder. */
int folder_setup(void **state);
int folder_teardown(void **state);
/* "<folder>/<name>" in one of a few static buffers, the oldest reused. */
const char *folder_file(const struct folder *self, const char *name);

/* Turn over one bit of a file; bytes of a file; a file cut to a length. They abort on errors. */
void file_flip(const char *path, long at);
long file_bytes(const char *path);
void file_cut(const char *path, long bytes);

#endif
