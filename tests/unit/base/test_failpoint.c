/* Failpoints, in a program that has them. What the environment says is read once in a process, so
 * each case has a child of its own. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/failpoint.h"

enum { CALLS = 4 };

/* How the child ended, as wait() tells it. */
static int in_child(const char *rules, int (*run)(const void *), const void *arg)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL || setenv("ALDABA_FAILPOINT", rules, 1) != 0)
            _exit(100);
        _exit(run(arg));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int example(const void *arg)
{
    (void)arg;
    int rc = ALD_FAILPOINT("mark.sync", 5, -1);
    return rc == -1 && errno == EIO && ALD_FAILPOINT("mark.sync", 5, -1) == 5 ? 0 : 1;
}

static void test_example(void **state)
{
    (void)state;
    assert_int_equal(in_child("mark.sync:eio:1", example, NULL), 0);
}

/* A bit for each call that failed, of mark.sync and then of mark.write. */
static int which(const void *arg)
{
    static const char *const names[] = {"mark.sync", "mark.write"};
    unsigned bits = 0;
    (void)arg;
    for (unsigned i = 0; i < CALLS; i++)
        for (unsigned name = 0; name < 2; name++)
            bits |= (unsigned)ald_failpoint(names[name]) << (i + CALLS * name);
    return (int)bits;
}

static void test_when(void **state)
{
    (void)state;
    static const struct {
        const char *rules;
        int want;
    } cases[] = {
        {"", 0},
        {"mark.sync:error:2", 0x02},
        {"mark.sync:error:2+", 0x0e},
        {"mark.sync:error:1,mark.sync:error:3", 0x05},
        {"mark.write:error:4,mark.sync:enospc:1", 0x81},
        {"mark.sync:note:1+", 0},
        {"mark.sync:delay=1:1", 0},
        {"*:error:1", 0x11},
        {"store.commit:crash:1", 0},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        int status = in_child(cases[i].rules, which, NULL);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), cases[i].want);
    }
}

struct how {
    const char *rules;
    int error;
    enum ald_rc rc;
    bool half, lost;
};

static int look(const void *arg)
{
    const struct how *want = arg;
    bool same = ald_failpoint("log.write") && errno == want->error &&
                ald_failpoint_rc() == want->rc && ald_failpoint_short() == want->half &&
                ald_failpoint_drop() == want->lost;
    return same ? 0 : 1;
}

static void test_how(void **state)
{
    (void)state;
    static const struct how cases[] = {
        {"log.write:error:1", EIO, ALD_IO, false, false},
        {"log.write:eio:1", EIO, ALD_IO, false, false},
        {"log.write:enospc:1", ENOSPC, ALD_FULL, false, false},
        {"log.write:short:1", ENOSPC, ALD_FULL, true, false},
        {"log.write:drop:1", EIO, ALD_IO, false, true},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++)
        assert_int_equal(in_child(cases[i].rules, look, &cases[i]), 0);
}

static void test_crash(void **state)
{
    (void)state;
    int status = in_child("mark.write:crash:2", which, NULL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static int slow(const void *arg)
{
    (void)arg;
    int64_t begun_ms = ald_clock_now().mono_ms;
    bool failed = ald_failpoint("mark.sync");
    return !failed && ald_clock_now().mono_ms - begun_ms >= 29 ? 0 : 1;
}

static void test_delay(void **state)
{
    (void)state;
    assert_int_equal(in_child("mark.sync:delay=30:1", slow, NULL), 0);
}

static void test_not_understood(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "mark.sink:error:1", "mark.sync",           "mark.sync:error",
        "mark.sync:error:0", "mark.sync:error:x",   "mark.sync:oops:1",
        "mark.sync:delay:1", "mark.sync:error:1:2", "mark.sync:delay=x:1"};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        int status = in_child(cases[i], which, NULL);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_when),
        cmocka_unit_test(test_how),     cmocka_unit_test(test_crash),
        cmocka_unit_test(test_delay),   cmocka_unit_test(test_not_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
