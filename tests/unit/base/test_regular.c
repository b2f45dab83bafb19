/* Files, and what else may stand in their place. */
#include "common/base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/guard.h"

static char folder[] = "/tmp/ald-regular-XXXXXX";
static char path[sizeof folder + 8];

static int begin(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/a", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    (void)remove(path);
    (void)remove(folder);
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    return 0;
}

static void test_example(void **state)
{
    (void)state;
    struct stat facts;
    int fd = ald_regular_open(path, O_RDWR | O_CREAT);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(fstat(fd, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
}

static void test_what_is_not_there(void **state)
{
    (void)state;
    assert_int_equal(ald_regular_open(path, O_RDONLY), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(ald_regular_why(path, ENOENT), strerror(ENOENT));
}

/* No end of a pipe is waited for: the test would never end. */
static void test_what_is_no_file(void **state)
{
    (void)state;
    static const struct {
        mode_t kind;
        const char *why;
    } cases[] = {{S_IFIFO, "named pipe"}, {S_IFDIR, "folder"}, {S_IFSOCK, "socket"}};
    static const int flags[] = {O_RDONLY, O_WRONLY | O_CREAT | O_TRUNC, O_RDWR | O_CREAT};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        int made =
            cases[i].kind == S_IFDIR ? mkdir(path, 0700) : mknod(path, cases[i].kind | 0600, 0);
        assert_int_equal(made, 0);
        for (size_t j = 0; j < ALD_COUNT(flags); j++) {
            assert_int_equal(ald_regular_open(path, flags[j]), -1);
            assert_non_null(strstr(ald_regular_why(path, errno), cases[i].why));
        }
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(ald_regular_open("/dev/null", O_RDWR), -1);
    assert_non_null(strstr(ald_regular_why("/dev/null", errno), "device"));
}

#define REGULAR_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGULAR_TEST(test_example),
        REGULAR_TEST(test_what_is_not_there),
        REGULAR_TEST(test_what_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
