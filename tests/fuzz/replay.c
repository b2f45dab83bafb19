/* The main() of a fuzz target without libFuzzer: `corpus_NAME FOLDER` feeds it what the project
 * keeps for it: FOLDER/corpus/NAME.pack, and the files of FOLDER/seeds/NAME and FOLDER/broke/NAME.
 * `corpus_NAME -- FILE...` feeds it these. An input that ends the program is named on stderr. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/input.h"

enum { REPLAY_PATH_MAX = 1024, REPLAY_SECONDS = 20, REPLAY_BYTES_MAX = 64 << 20 };

/* What is fed now, for whoever must tell why the program ended. */
static char replay_now[REPLAY_PATH_MAX + 64];
static size_t replay_count;

static void replay_died(int number)
{
    static const char text[] = "\nThis input ended the program: ";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    (void)!write(STDERR_FILENO, replay_now, strlen(replay_now));
    (void)!write(STDERR_FILENO, "\n", 1);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void replay_feed(const char *path, size_t index, const uint8_t *data, size_t len)
{
    (void)snprintf(replay_now, sizeof replay_now, "%s, item %zu, %zu bytes", path, index, len);
    /* A copy of its own, so that the sanitizer sees a read past the end. */
    uint8_t *copy = malloc(len > 0 ? len : 1);
    ALD_ASSERT(copy);
    if (len > 0)
        memcpy(copy, data, len);
    (void)alarm(REPLAY_SECONDS);
    (void)LLVMFuzzerTestOneInput(copy, len);
    (void)alarm(0);
    free(copy);
    replay_count++;
}

static uint8_t *replay_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    uint8_t *bytes = malloc(REPLAY_BYTES_MAX);
    ALD_ASSERT(bytes);
    *len = fread(bytes, 1, REPLAY_BYTES_MAX, file);
    (void)fclose(file);
    return bytes;
}

/* A pack: each input is its length in decimal, a line feed, its bytes. */
static void replay_pack(const char *path)
{
    size_t len = 0;
    uint8_t *bytes = replay_file(path, &len);
    if (!bytes)
        return;
    size_t index = 0;
    for (size_t at = 0; at < len; index++) {
        size_t item = 0;
        for (; at < len && bytes[at] >= '0' && bytes[at] <= '9' && item < REPLAY_BYTES_MAX; at++)
            item = item * 10 + (size_t)(bytes[at] - '0');
        ALD_ASSERT(at < len && bytes[at] == '\n' && item <= len - at - 1);
        replay_feed(path, index, bytes + at + 1, item);
        at += 1 + item;
    }
    free(bytes);
}

static void replay_one(const char *path)
{
    size_t len = 0;
    uint8_t *bytes = replay_file(path, &len);
    ALD_ASSERT(bytes);
    replay_feed(path, 0, bytes, len);
    free(bytes);
}

static void replay_folder(const char *path)
{
    char file[REPLAY_PATH_MAX];
    DIR *folder = opendir(path);
    if (!folder)
        return;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (entry->d_name[0] == '.')
            continue;
        ALD_ASSERT(snprintf(file, sizeof file, "%s/%s", path, entry->d_name) < (int)sizeof file);
        replay_one(file);
    }
    (void)closedir(folder);
}

static void replay_kept(const char *folder, const char *name)
{
    char path[REPLAY_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/corpus/%s.pack", folder, name);
    replay_pack(path);
    (void)snprintf(path, sizeof path, "%s/seeds/%s", folder, name);
    replay_folder(path);
    (void)snprintf(path, sizeof path, "%s/broke/%s", folder, name);
    replay_folder(path);
}

int main(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/');
    name = name ? name + 1 : argv[0];
    if (argc < 2 || strncmp(name, "corpus_", 7) != 0) {
        (void)fprintf(stderr, "usage: corpus_NAME FOLDER | corpus_NAME -- FILE...\n");
        return 64;
    }
    (void)signal(SIGABRT, replay_died);
    (void)signal(SIGALRM, replay_died);
    if (strcmp(argv[1], "--") == 0)
        for (int i = 2; i < argc; i++)
            replay_one(argv[i]);
    else
        replay_kept(argv[1], name + 7);
    printf("%s: %zu inputs\n", name, replay_count);
    return replay_count > 0 ? 0 : 1;
}
