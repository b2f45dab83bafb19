/* How long a request may take, why one can't be made, and how many may be under way. */
#include "services/poller/terms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

static void test_example(void **state)
{
    (void)state;
    static struct ald_settings settings;
    static struct ald_profile profile;
    settings.poller.timeout_ms = 20000;
    profile.poll_timeout_ms = 30000;
    assert_int_equal(terms_timeout(&settings, &profile, 60000), 20000);
    assert_int_equal(terms_timeout(&settings, &profile, 5000), 5000);
    profile.poll_timeout_ms = 1000;
    assert_int_equal(terms_timeout(&settings, &profile, 5000), 1000);
}

static void test_why(void **state)
{
    static const enum ald_rc codes[] = {ALD_MISSING, ALD_INVALID, ALD_TOOBIG};
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(codes); i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(terms_why(codes[i]), terms_why(codes[j]));
}

/* Half of what may be open beside a spare of 256, and never none. */
static void test_under_way(void **state)
{
    static const struct {
        rlim_t limit;
        size_t wanted, want;
    } cases[] = {{1256, 400, 400}, {1256, 900, 500}, {258, 10, 1}, {200, 10, 1}};
    struct rlimit before;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct rlimit limit = {.rlim_cur = cases[i].limit, .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        size_t got = terms_under_way((int64_t)cases[i].wanted);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(got, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_why),
        cmocka_unit_test(test_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
