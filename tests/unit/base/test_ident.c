#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/guard.h"
#include "common/base/ident.h"

enum { IDENT_THREADS = 4, IDENT_EACH = 5000, IDENT_ALL = IDENT_THREADS * IDENT_EACH };

static const int64_t NEW_YEAR_MS = INT64_C(1767225600000);
static const uint64_t ID_LIMIT = UINT64_C(1) << 53;

static void test_example(void **state)
{
    (void)state;
    char ulid[ALD_ULID_SIZE];
    ald_ulid_new(ulid);
    assert_int_equal(strlen(ulid), 26);

    struct ald_idgen gen = {.tracker = 3};
    uint64_t id = ald_idgen_next(&gen, NEW_YEAR_MS + 1000);
    char text[ALD_TASK_ID_TEXT];
    ald_task_id_text(id, text);
    uint64_t back = 0;
    assert_int_equal(ald_task_id_parse(ald_span_str(text), &back), ALD_OK);
    assert_true(back == id);
    assert_true(id % 32 == 3);
    assert_int_equal(ald_task_id_wall_ms(id), NEW_YEAR_MS + 1000);
}

static void test_ulid_holds_the_time(void **state)
{
    (void)state;
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    char ulid[ALD_ULID_SIZE];
    int64_t before = ald_clock_now().wall_ms;
    ald_ulid_new(ulid);
    int64_t after = ald_clock_now().wall_ms;
    int64_t ms = 0;
    for (size_t i = 0; i < 26; i++) {
        const char *at = strchr(digits, ulid[i]);
        assert_non_null(at);
        if (i < 10)
            ms = ms * 32 + (at - digits);
    }
    assert_true(ms >= before && ms <= after);
    assert_true(ulid[0] <= '7');
}

static void test_ulids_rise(void **state)
{
    (void)state;
    char last[ALD_ULID_SIZE];
    ald_ulid_new(last);
    for (size_t i = 0; i < 100000; i++) {
        char next[ALD_ULID_SIZE];
        ald_ulid_new(next);
        if (strcmp(last, next) >= 0)
            fail_msg("%s after %s", next, last);
        memcpy(last, next, sizeof last);
    }
}

static void *make_ulids(void *out)
{
    char(*ulids)[ALD_ULID_SIZE] = out;
    for (size_t i = 0; i < IDENT_EACH; i++)
        ald_ulid_new(ulids[i]);
    return NULL;
}

static int compare_ulids(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void test_threads_make_different_ulids(void **state)
{
    (void)state;
    static char ulids[IDENT_ALL][ALD_ULID_SIZE];
    pthread_t threads[IDENT_THREADS];
    for (size_t i = 0; i < IDENT_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_ulids, ulids[i * IDENT_EACH]), 0);
    for (size_t i = 0; i < IDENT_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    qsort(ulids, IDENT_ALL, sizeof ulids[0], compare_ulids);
    for (size_t i = 1; i < IDENT_ALL; i++)
        assert_string_not_equal(ulids[i - 1], ulids[i]);
}

/* More than 128 in one millisecond, a clock that goes back, and one from before 2026. */
static void test_ids_rise_whatever_the_clock_does(void **state)
{
    (void)state;
    static const int64_t clocks[] = {5000, 5000, 4000, -1000, -9000000000000, 5001, 5001};
    struct ald_idgen gen = {.tracker = 31};
    uint64_t last = 0;
    for (size_t i = 0; i < ALD_COUNT(clocks); i++) {
        for (size_t j = 0; j < 300; j++) {
            uint64_t id = ald_idgen_next(&gen, NEW_YEAR_MS + clocks[i]);
            assert_true(id > last && id % 32 == 31);
            last = id;
        }
    }
}

static void test_trackers_never_give_the_same(void **state)
{
    (void)state;
    struct ald_idgen a = {.tracker = 0};
    struct ald_idgen b = {.tracker = 1};
    for (size_t i = 0; i < 1000; i++) {
        uint64_t left = ald_idgen_next(&a, NEW_YEAR_MS + 7);
        uint64_t right = ald_idgen_next(&b, NEW_YEAR_MS + 7);
        assert_true(left / 32 == right / 32 && left != right);
    }
}

static void test_above(void **state)
{
    (void)state;
    struct ald_idgen gen = {.tracker = 2};
    uint64_t seen = ald_idgen_next(&(struct ald_idgen){.tracker = 31}, NEW_YEAR_MS + 100000);
    ald_idgen_above(&gen, seen);
    assert_true(ald_idgen_next(&gen, NEW_YEAR_MS) > seen);
    ald_idgen_above(&gen, 5);
    assert_true(ald_idgen_next(&gen, NEW_YEAR_MS) > seen);
}

/* A clock far in the future must not make ids that nobody can read. */
static void test_ids_stay_below_the_limit(void **state)
{
    (void)state;
    struct ald_idgen gen = {.tracker = 31};
    uint64_t last = 0;
    for (size_t i = 0; i < 1000; i++) {
        uint64_t id = ald_idgen_next(&gen, INT64_MAX);
        assert_true(id > last && id < ID_LIMIT);
        last = id;
    }
}

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        enum ald_rc rc;
        uint64_t want;
    } cases[] = {
        {"1", ALD_OK, 1},
        {"9007199254740991", ALD_OK, UINT64_C(9007199254740991)},
        {"9007199254740992", ALD_MALFORMED, 77},
        {"18446744073709551617", ALD_MALFORMED, 77},
        {"0", ALD_MALFORMED, 77},
        {"01", ALD_MALFORMED, 77},
        {"", ALD_MALFORMED, 77},
        {"-1", ALD_MALFORMED, 77},
        {"1 ", ALD_MALFORMED, 77},
        {"1.0", ALD_MALFORMED, 77},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        uint64_t out = 77;
        enum ald_rc rc = ald_task_id_parse(ald_span_str(cases[i].in), &out);
        if (rc != cases[i].rc || out != cases[i].want)
            fail_msg("\"%s\": %s", cases[i].in, ald_rc_name(rc));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_ulid_holds_the_time),
        cmocka_unit_test(test_ulids_rise),
        cmocka_unit_test(test_threads_make_different_ulids),
        cmocka_unit_test(test_ids_rise_whatever_the_clock_does),
        cmocka_unit_test(test_trackers_never_give_the_same),
        cmocka_unit_test(test_above),
        cmocka_unit_test(test_ids_stay_below_the_limit),
        cmocka_unit_test(test_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
