/* folder.h - a folder of its own for a test that needs files. */
#ifndef ALD_TESTS_CONFIG_FOLDER_H
#define ALD_TESTS_CONFIG_FOLDER_H

struct folder {
    char path[64];
};

void folder_make(struct folder *self);
void folder_remove(struct folder *self);

/* The path of a name in it; static, until the fourth call after. */
const char *folder_path(const struct folder *self, const char *name);

/* Write a file; a folder in its name is made. */
void folder_write(const struct folder *self, const char *name, const char *text);

#endif
