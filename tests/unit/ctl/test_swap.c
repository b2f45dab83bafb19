/* A new folder in the place of an old one, killed at each call that changes something on the disk.
 */
#include "services/ctl/swap.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/store/folder.h"

static const char *const NAMES[] = {"tracker.db", "letters.db"};

/* ---- a kill at the n-th call ---- */

static long kill_at; /* 0: never */
static long kill_count;

static void kill_point(void)
{
    if (kill_at > 0 && ++kill_count == kill_at)
        _exit(99);
}

int __real_rename(const char *from, const char *to);
int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __real_unlink(const char *path);
int __real_rmdir(const char *path);
int __real_mkdir(const char *path, mode_t mode);
int __real_fsync(int fd);
ssize_t __real_write(int fd, const void *bytes, size_t len);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __wrap_unlink(const char *path);
int __wrap_rmdir(const char *path);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_fsync(int fd);
ssize_t __wrap_write(int fd, const void *bytes, size_t len);

int __wrap_rename(const char *from, const char *to)
{
    kill_point();
    return __real_rename(from, to);
}

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    kill_point();
    return __real_renameat2(from_dir, from, to_dir, to, flags);
}

int __wrap_unlink(const char *path)
{
    kill_point();
    return __real_unlink(path);
}

int __wrap_rmdir(const char *path)
{
    kill_point();
    return __real_rmdir(path);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    kill_point();
    return __real_mkdir(path, mode);
}

int __wrap_fsync(int fd)
{
    kill_point();
    return __real_fsync(fd);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t len)
{
    kill_point();
    return __real_write(fd, bytes, len);
}

/* ---- folders ---- */

static void put(const char *dir, const char *name, const char *text)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(__real_write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static const char *got(const char *dir, const char *name)
{
    static char text[64];
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n < 0 ? "nothing" : text;
}

static void fill(const char *dir, const char *first, const char *second)
{
    assert_int_equal(__real_mkdir(dir, 0700), 0);
    put(dir, NAMES[0], first);
    put(dir, NAMES[1], second);
}

static bool whole(const char *dir, const char *first, const char *second)
{
    return strcmp(got(dir, NAMES[0]), first) == 0 && strcmp(got(dir, NAMES[1]), second) == 0;
}

static void bytes_none(void *context, uint64_t bytes)
{
    (void)context;
    (void)bytes;
}

static enum ald_rc run(struct swap *swap, const char *place, const char *from, struct ald_err *err)
{
    enum ald_rc rc = swap_prepare(swap, place, from, NAMES, 2, bytes_none, NULL, err);
    return rc == ALD_OK ? swap_change(swap, err) : rc;
}

static void test_example(void **state)
{
    struct folder folder;
    struct swap swap;
    struct ald_err err = {0};
    (void)state;
    folder_make(&folder);
    const char *place = folder_file(&folder, "data");
    const char *from = folder_file(&folder, "copy");
    fill(place, "old1", "old2");
    put(place, "spool", "kept");
    fill(from, "new1", "new2");
    if (run(&swap, place, from, &err) != ALD_OK)
        fail_msg("%s", err.text);
    assert_true(whole(place, "new1", "new2"));
    assert_true(whole(swap.before, "old1", "old2"));
    assert_string_equal(got(swap.before, "spool"), "kept");
    assert_true(whole(from, "new1", "new2"));
    assert_true(swap_look(swap.beside) == SWAP_ABSENT);
    assert_string_equal(swap.broken, "");
    folder_remove(&folder);
}

static void test_no_folder_or_an_empty_one(void **state)
{
    (void)state;
    for (int made = 0; made < 2; made++) {
        struct folder folder;
        struct swap swap;
        struct ald_err err = {0};
        folder_make(&folder);
        const char *place = folder_file(&folder, "data");
        const char *from = folder_file(&folder, "copy");
        fill(from, "new1", "new2");
        if (made)
            assert_int_equal(__real_mkdir(place, 0700), 0);
        assert_true(swap_look(place) == (made ? SWAP_EMPTY : SWAP_ABSENT));
        assert_int_equal(run(&swap, place, from, &err), ALD_OK);
        assert_true(whole(place, "new1", "new2") && swap.before[0] == '\0');
        folder_remove(&folder);
    }
}

/* Somebody starts a daemon in the empty folder while the copy is made: it has the place. */
static void test_the_place_is_taken_meanwhile(void **state)
{
    struct folder folder;
    struct swap swap;
    struct ald_err err = {0};
    (void)state;
    folder_make(&folder);
    const char *place = folder_file(&folder, "data");
    const char *from = folder_file(&folder, "copy");
    fill(from, "new1", "new2");
    assert_int_equal(swap_prepare(&swap, place, from, NAMES, 2, bytes_none, NULL, &err), ALD_OK);
    fill(place, "x1", "x2");
    /* It is full now, so it is exchanged: what is there is kept. */
    assert_int_equal(swap_change(&swap, &err), ALD_OK);
    assert_true(whole(place, "new1", "new2") && whole(swap.before, "x1", "x2"));
    folder_remove(&folder);
}

/* Is the old folder, whole, under any name in the test's folder? */
static bool old_is_kept(const struct folder *folder)
{
    DIR *dir = opendir(folder->path);
    bool kept = false;
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        kept = kept || (strncmp(entry->d_name, "data", 4) == 0 &&
                        whole(folder_file(folder, entry->d_name), "old1", "old2"));
    (void)closedir(dir);
    return kept;
}

/* True: the child came to its end, so there are no more calls to be killed at. */
static bool killed_run(const char *place, const char *from, long at)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct swap swap;
        struct ald_err err = {0};
        kill_at = at;
        enum ald_rc rc = run(&swap, place, from, &err);
        _exit(rc == ALD_OK ? 0 : 98);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 98);
    return WEXITSTATUS(status) == 0;
}

static void test_killed_at_any_call(void **state)
{
    long at = 1;
    bool ended = false;
    (void)state;
    for (; !ended; at++) {
        struct folder folder;
        struct swap swap;
        struct ald_err err = {0};
        folder_make(&folder);
        const char *place = folder_file(&folder, "data");
        const char *from = folder_file(&folder, "copy");
        fill(place, "old1", "old2");
        fill(from, "new1", "new2");
        ended = killed_run(place, from, at);
        bool old = whole(place, "old1", "old2");
        if (!old && !whole(place, "new1", "new2"))
            fail_msg("killed at call %ld the folder is neither the old nor the new one", at);
        if (!old_is_kept(&folder))
            fail_msg("killed at call %ld the old folder is gone", at);
        assert_int_equal(run(&swap, place, from, &err), ALD_OK); /* run again, to the end */
        assert_true(whole(place, "new1", "new2"));
        if (!old_is_kept(&folder))
            fail_msg("killed at call %ld the old folder is gone after the next run", at);
        assert_true(swap_look(swap.beside) == SWAP_ABSENT);
        folder_remove(&folder);
    }
    assert_true(at > 12); /* that many points were there, at least */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_no_folder_or_an_empty_one),
        cmocka_unit_test(test_the_place_is_taken_meanwhile),
        cmocka_unit_test(test_killed_at_any_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
