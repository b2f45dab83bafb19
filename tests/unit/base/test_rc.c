#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"
#include "common/base/text.h"

static void test_example(void **state)
{
    (void)state;
    struct ald_err err = {.line = 7};
    assert_int_equal(ald_err_set(&err, ALD_INVALID, "%s is not a port", "x"), ALD_INVALID);
    assert_int_equal(err.rc, ALD_INVALID);
    assert_int_equal(err.line, 7);
    assert_string_equal(err.text, "x is not a port");
}

static void test_err_may_be_null(void **state)
{
    (void)state;
    assert_int_equal(ald_err_set(NULL, ALD_IO, "%s", "text"), ALD_IO);
}

static void test_long_text_ends_at_a_character(void **state)
{
    (void)state;
    char in[300];
    struct ald_err err = {0};
    for (size_t i = 0; i + 2 < sizeof in; i += 2)
        memcpy(in + i, "\xc3\xa9", 3);
    (void)ald_err_set(&err, ALD_IO, "a%s", in);
    assert_int_equal(strlen(err.text), 255);
    assert_true(ald_text_utf8_ok(ald_span_str(err.text)));
    (void)ald_err_set(&err, ALD_IO, "%s", in);
    assert_int_equal(strlen(err.text), 254);
    assert_true(ald_text_utf8_ok(ald_span_str(err.text)));
}

static void test_every_code_has_its_own_name(void **state)
{
    (void)state;
    for (int i = ALD_OK; i <= ALD_CLOSED; i++) {
        assert_string_not_equal(ald_rc_name((enum ald_rc)i), "unknown");
        for (int j = ALD_OK; j < i; j++)
            assert_string_not_equal(ald_rc_name((enum ald_rc)i), ald_rc_name((enum ald_rc)j));
    }
    assert_string_equal(ald_rc_name((enum ald_rc)(ALD_CLOSED + 1)), "unknown");
    assert_string_equal(ald_rc_name((enum ald_rc)9999), "unknown");
}

/* The child's message goes to a pipe. */
static void test_failed_assertion_says_where_and_aborts(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)dup2(ends[1], STDERR_FILENO);
        ALD_ASSERT(1 + 1 == 3);
        _exit(0);
    }
    (void)close(ends[1]);
    char said[512] = "";
    size_t len = 0;
    ssize_t got = 0;
    while (len < sizeof said - 1 && (got = read(ends[0], said + len, sizeof said - 1 - len)) > 0)
        len += (size_t)got;
    (void)close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(said, "1 + 1 == 3"));
    assert_non_null(strstr(said, "test_rc.c:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_err_may_be_null),
        cmocka_unit_test(test_long_text_ends_at_a_character),
        cmocka_unit_test(test_every_code_has_its_own_name),
        cmocka_unit_test(test_failed_assertion_says_where_and_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
