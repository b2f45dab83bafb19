/* How much of what nobody vouches for may lie in the spool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "services/gateway/quota.h"

static ald_yaml_t *yaml;
static struct ald_errors errors;
static ald_profiles_t *profiles;
static quota_t *quota;

static int begin(void **state)
{
    (void)state;
    static const char text[] =
        "a: {family: inphp, poll: none, callback: {quota_count: 2, quota_bytes: 100B}}\n";
    ald_errors_init(&errors);
    if (ald_yaml_parse("t.yaml", ald_span_str(text), 0, &errors, &yaml) != ALD_OK ||
        ald_profiles_load(ald_yaml_root(yaml), false, &errors, &profiles) != ALD_OK)
        return -1;
    quota = quota_new(profiles);
    return 0;
}

static int end(void **state)
{
    (void)state;
    quota_destroy(&quota);
    ald_profiles_destroy(&profiles);
    ald_yaml_destroy(&yaml);
    ald_errors_free(&errors);
    return 0;
}

static void test_example(void **state)
{
    (void)state;
    struct ald_span a = ald_span_str("a");
    assert_true(quota_take(quota, a, 10));
    assert_true(quota_take(quota, a, 10));
    assert_false(quota_take(quota, a, 10)); /* a third */
    quota_give(quota, a, 10);
    assert_true(quota_take(quota, a, 90));
    assert_int_equal(quota_items(quota), 2);
}

static void test_bytes(void **state)
{
    (void)state;
    struct ald_span a = ald_span_str("a");
    assert_false(quota_take(quota, a, 101));
    assert_true(quota_take(quota, a, 100));
    assert_false(quota_take(quota, a, 1));
    assert_int_equal(quota_items(quota), 1);
}

static void test_what_was_found_counts(void **state)
{
    (void)state;
    quota_found(quota, ald_span_str("a"), 5, 5);
    assert_false(quota_take(quota, ald_span_str("a"), 1));
    assert_true(quota_take(quota, ald_span_str("nobody"), 1)); /* strangers share another place */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_example, begin, end),
        cmocka_unit_test_setup_teardown(test_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_what_was_found_counts, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
