/* The room that strangers get: rule 6 of GUARANTEES.md. */
#include "services/tracker/acts/quota.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"

enum { COUNT = 1000, BYTES = 10000 };

static bool room(const quota_t *quota, const char *peer, uint64_t bytes)
{
    return quota_room(quota, "two", peer, bytes, 0, 0, COUNT, BYTES);
}

static void test_example(void **state)
{
    (void)state;
    quota_t *quota = quota_new();
    assert_true(room(quota, "192.0.2.1", 100));
    quota_letter(quota, "two", COUNT, 100);
    assert_false(room(quota, "192.0.2.1", 100));
    quota_letter(quota, "two", -1, -100);
    assert_true(room(quota, "192.0.2.1", 100));
    quota_destroy(&quota);
}

static void test_parked_and_letters_count_together(void **state)
{
    (void)state;
    static const struct {
        uint64_t parked, parked_bytes, bytes;
        int64_t letters, letter_bytes;
        bool room;
    } cases[] = {
        {0, 0, BYTES, 0, 0, true},      {0, 0, BYTES + 1, 0, 0, false},
        {COUNT - 1, 0, 1, 0, 0, true},  {COUNT, 0, 1, 0, 0, false},
        {COUNT - 5, 0, 1, 5, 0, false}, {COUNT - 6, 0, 1, 5, 0, true},
        {1, BYTES - 10, 5, 1, 5, true}, {1, BYTES - 10, 6, 1, 5, false},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        quota_t *quota = quota_new();
        quota_letter(quota, "two", cases[i].letters, cases[i].letter_bytes);
        quota_letter(quota, "other", COUNT, BYTES); /* another one's letters are not ours */
        assert_int_equal(quota_room(quota, "two", "192.0.2.1", cases[i].bytes, cases[i].parked,
                                    cases[i].parked_bytes, COUNT, BYTES),
                         cases[i].room);
        quota_destroy(&quota);
    }
}

/* A network takes a tenth; its neighbour in the address space another tenth. */
static void test_a_network_has_a_tenth(void **state)
{
    (void)state;
    static const struct {
        const char *full; /* brought a tenth */
        const char *peer;
        bool room;
    } cases[] = {
        {"192.0.2.1", "192.0.2.1", false},
        {"192.0.2.1", "192.0.2.254", false},
        {"192.0.2.1", "192.0.3.1", true},
        {"2001:db8:1:2:3::1", "2001:db8:1:2::9", false},
        {"2001:db8::1", "2001:db8::a:b:c:d", false},
        {"2001:db8::1", "2001:db8:0:1::1", true},
        {"::1", "::2", false},
        {"::ffff:192.0.2.1", "::ffff:198.51.100.1", true},
        {"::ffff:192.0.2.1", "192.0.2.9", false},
        {"192.0.2.1", "::ffff:192.0.2.9", false},
        {"::ffff:192.0.2.1", "::2", true},
        {"192.0.2.1", "", true}, /* of no network */
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        quota_t *quota = quota_new();
        for (unsigned n = 0; n < COUNT / 10; n++) {
            assert_true(room(quota, cases[i].full, 1));
            quota_met(quota, "two", cases[i].full);
        }
        if (room(quota, cases[i].peer, 1) != cases[i].room)
            print_error("%s after %s\n", cases[i].peer, cases[i].full);
        assert_int_equal(room(quota, cases[i].peer, 1), cases[i].room);
        assert_true(quota_room(quota, "other", cases[i].full, 1, 0, 0, COUNT, BYTES));
        quota_left(quota, "two", cases[i].full); /* one of them turned out well */
        assert_true(room(quota, cases[i].full, 1));
        quota_met(quota, "two", cases[i].full);
        quota_forget(quota);
        assert_true(room(quota, cases[i].full, 1));
        quota_destroy(&quota);
    }
}

/* A small quota is not cut into shares that let nobody in. */
static void test_a_network_has_at_least_sixteen(void **state)
{
    (void)state;
    quota_t *quota = quota_new();
    for (unsigned n = 0; n < 16; n++) {
        assert_true(quota_room(quota, "two", "192.0.2.1", 1, 0, 0, 20, BYTES));
        quota_met(quota, "two", "192.0.2.1");
    }
    assert_false(quota_room(quota, "two", "192.0.2.1", 1, 0, 0, 20, BYTES));
    quota_destroy(&quota);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_parked_and_letters_count_together),
        cmocka_unit_test(test_a_network_has_a_tenth),
        cmocka_unit_test(test_a_network_has_at_least_sixteen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
