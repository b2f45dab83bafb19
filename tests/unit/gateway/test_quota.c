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
static const struct ald_span nowhere;

static int begin(void **state)
{
    (void)state;
    static const char text[] =
        "a: {family: inphp, poll: none, callback: {quota_count: 2, quota_bytes: 100B}}\n"
        "b: {family: inphp, poll: none, callback: {quota_count: 200}}\n";
    ald_errors_init(&errors);
    if (ald_yaml_parse("t.yaml", ald_span_str(text), 0, &errors, &yaml) != ALD_OK ||
        ald_profiles_load(ald_yaml_root(yaml), 0, &errors, &profiles) != ALD_OK)
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
    assert_true(quota_take(quota, a, nowhere, 10));
    assert_true(quota_take(quota, a, nowhere, 10));
    assert_false(quota_take(quota, a, nowhere, 10)); /* a third */
    quota_give(quota, a, nowhere, 10);
    assert_true(quota_take(quota, a, nowhere, 90));
    assert_int_equal(quota_items(quota), 2);
}

static void test_bytes(void **state)
{
    (void)state;
    struct ald_span a = ald_span_str("a");
    assert_false(quota_take(quota, a, nowhere, 101));
    assert_true(quota_take(quota, a, nowhere, 100));
    assert_false(quota_take(quota, a, nowhere, 1));
    assert_int_equal(quota_items(quota), 1);
}

static void test_what_was_found_counts(void **state)
{
    (void)state;
    quota_found(quota, ald_span_str("a"), 5, 5);
    assert_false(quota_take(quota, ald_span_str("a"), nowhere, 1));
    assert_true(
        quota_take(quota, ald_span_str("nobody"), nowhere, 1)); /* strangers share another place */
}

/* Rule 6: a network has a tenth, so that one stranger does not shut out all others. */
static void test_a_network_has_a_tenth(void **state)
{
    (void)state;
    struct ald_span b = ald_span_str("b");
    static const struct {
        const char *full;
        const char *same;
        const char *other;
    } cases[] = {
        {"192.0.2.7", "192.0.2.250", "192.0.3.7"},
        {"::ffff:198.51.100.1", "198.51.100.2", "198.51.101.1"},
        {"2001:db8:1:2::1", "2001:db8:1:2:ffff::1", "2001:db8:1:3::1"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_span full = ald_span_str(cases[i].full);
        struct ald_span same = ald_span_str(cases[i].same);
        for (int n = 0; n < 20; n++)
            assert_true(quota_take(quota, b, full, 1));
        assert_false(quota_take(quota, b, full, 1));
        assert_false(quota_take(quota, b, same, 1));
        assert_true(quota_take(quota, b, ald_span_str(cases[i].other), 1));
        assert_true(quota_take(quota, b, nowhere, 1));
        assert_true(quota_take(quota, ald_span_str("nobody"), full, 1));
        quota_give(quota, b, same, 1);
        assert_true(quota_take(quota, b, same, 1));
        assert_false(quota_take(quota, b, full, 1));
    }
    assert_int_equal(quota_items(quota), 3 * 23);
    for (int n = 0; n < 30; n++) /* more than were taken: found at the start */
        quota_give(quota, b, ald_span_str("203.0.113.1"), 1);
    assert_true(quota_take(quota, b, ald_span_str("203.0.113.1"), 1));
}

/* Other profiles: what lies there counts by its name, and by the new bound. */
static void test_renew(void **state)
{
    (void)state;
    static const char text[] = "a: {family: inphp, poll: none, callback: {quota_count: 3}}\n"
                               "c: {family: inphp, poll: none, callback: {quota_count: 1}}\n";
    struct ald_span a = ald_span_str("a");
    struct ald_span c = ald_span_str("c");
    ald_yaml_t *tree = NULL;
    ald_profiles_t *fresh = NULL;
    assert_true(quota_take(quota, a, nowhere, 10) && quota_take(quota, a, nowhere, 10));
    assert_false(quota_take(quota, a, nowhere, 10));
    assert_int_equal(ald_yaml_parse("t.yaml", ald_span_str(text), 0, &errors, &tree), ALD_OK);
    assert_int_equal(ald_profiles_load(ald_yaml_root(tree), 0, &errors, &fresh), ALD_OK);
    quota_renew(quota, fresh);
    ald_profiles_destroy(&fresh);
    ald_yaml_destroy(&tree);
    assert_true(quota_take(quota, a, nowhere, 10));
    assert_false(quota_take(quota, a, nowhere, 10));
    assert_true(quota_take(quota, c, nowhere, 10));
    assert_false(quota_take(quota, c, nowhere, 10));
    assert_int_equal(quota_items(quota), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_example, begin, end),
        cmocka_unit_test_setup_teardown(test_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_what_was_found_counts, begin, end),
        cmocka_unit_test_setup_teardown(test_a_network_has_a_tenth, begin, end),
        cmocka_unit_test_setup_teardown(test_renew, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
