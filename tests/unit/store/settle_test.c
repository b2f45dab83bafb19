/* What the start-up protocol asks of the kernel, and in which order: fsync and posix_fadvise are
 * wrapped when this program is linked. The engine's own calls do not pass here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/store/folder.h"
#include "tests/unit/store/schema.h"

static struct {
    char calls[1024];
    unsigned count;
    unsigned fail_at; /* 0 = never */
} kernel;

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_posix_fadvise(int fd, off_t at, off_t len, int advice);
int __wrap_posix_fadvise(int fd, off_t at, off_t len, int advice);

static void kernel_note(const char *call, int fd)
{
    char link[64];
    char path[512] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    path[len > 0 ? len : 0] = '\0';
    const char *name = strrchr(path, '/');
    size_t used = strlen(kernel.calls);
    snprintf(kernel.calls + used, sizeof kernel.calls - used, "%s %s;", call,
             name == NULL                            ? ""
             : strncmp(name, "/ald-store-", 11) == 0 ? "folder"
                                                     : name + 1);
}

int __wrap_fsync(int fd)
{
    kernel_note("sync", fd);
    if (++kernel.count == kernel.fail_at) {
        errno = EIO;
        return -1;
    }
    return __real_fsync(fd);
}

int __wrap_posix_fadvise(int fd, off_t at, off_t len, int advice)
{
    kernel_note(advice == POSIX_FADV_DONTNEED ? "drop" : "advise", fd);
    return __real_posix_fadvise(fd, at, len, advice);
}

/* A store whose log still has what was committed, as after a kill. */
static void make_killed_store(const char *path)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        ald_store_t *store = schema_open(path, 1);
        _exit(schema_commit(store, 1, 5) == ALD_OK ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void kernel_reset(unsigned fail_at)
{
    kernel.calls[0] = '\0';
    kernel.count = 0;
    kernel.fail_at = fail_at;
}

static void test_example(void **state)
{
    const char *path = folder_file(*state, "a.db");
    make_killed_store(path);
    kernel_reset(0);
    ald_store_t *store = schema_open(path, 1);
    assert_string_equal(kernel.calls, "sync a.db;drop a.db;sync a.db-wal;drop a.db-wal;"
                                      "sync folder;sync folder;");
    assert_int_equal(ald_store_wal_bytes(store), 0);
    assert_int_equal(schema_missing(store, 5), 0);
    ald_store_destroy(&store);
}

static void test_a_sync_that_fails_refuses_the_start(void **state)
{
    const char *path = folder_file(*state, "a.db");
    make_killed_store(path);
    for (unsigned n = 1; n <= 4; n++) {
        struct ald_store_options options = schema_options(path, 1);
        struct ald_err err = {0};
        ald_store_t *store = NULL;
        kernel_reset(n);
        assert_int_equal(ald_store_open(&options, &store, &err), ALD_IO);
        assert_null(store);
        assert_int_equal(kernel.count, n);
    }
    kernel_reset(0);
    ald_store_t *store = schema_open(path, 1);
    assert_int_equal(schema_missing(store, 5), 0);
    ald_store_destroy(&store);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        T(test_example),
        T(test_a_sync_that_fails_refuses_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
