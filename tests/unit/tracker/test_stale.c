/* When a callback is late: what is learned, from how many, and within which bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/stale.h"

enum { START = 45000, FLOOR = 1000, CEILING = 600000 };

static const struct ald_profile learning = {
    .name = "learning",
    .stale_after_ms = START,
    .stale = {.learned = true, .floor_ms = FLOOR, .ceiling_ms = CEILING},
};

static uint64_t next_task = 1;

static void hear(struct stale *stale, unsigned times, int64_t took_ms)
{
    for (unsigned i = 0; i < times; i++)
        stale_heard(stale, next_task++, took_ms);
}

static void test_example(void **state)
{
    (void)state;
    struct stale stale = {0};
    assert_int_equal(stale_after_ms(&stale, &learning), START);
    hear(&stale, 96, 8000);
    hear(&stale, 4, 300000);
    /* 8000 lies in 7168..8192; and a quarter on top. */
    assert_int_equal(stale_share_ms(&stale, 50), 8192);
    assert_int_equal(stale_share_ms(&stale, STALE_SHARE), 8192);
    assert_int_equal(stale_after_ms(&stale, &learning), 8192 + 2048);
}

static void test_learned_within_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned fast, slow;
        int64_t fast_ms, slow_ms, want_ms;
    } cases[] = {
        {"nothing", 0, 0, 0, 0, START},
        {"not enough", STALE_ENOUGH - 1, 0, 2000, 0, START},
        {"enough", STALE_ENOUGH, 0, 2000, 0, 2048 + 512},
        {"one in ten is slow", 90, 10, 2000, 60000, 65536 + 16384},
        {"one in twenty-five", 96, 4, 2000, 60000, 2048 + 512},
        {"at once", 50, 0, 0, 0, FLOOR},
        {"hours", 50, 0, 7200000, 0, CEILING},
        {"a year, as of a clock that jumped", 50, 0, INT64_C(31536000000), 0, CEILING},
        {"before the task, as of another clock", 50, 0, -5000, 0, FLOOR},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct stale stale = {0};
        hear(&stale, cases[i].fast, cases[i].fast_ms);
        hear(&stale, cases[i].slow, cases[i].slow_ms);
        if (stale_after_ms(&stale, &learning) != cases[i].want_ms)
            fail_msg("%s: %lld", cases[i].name, (long long)stale_after_ms(&stale, &learning));
    }
}

/* A profile that says a time means it. */
static void test_what_is_said_is_not_learned(void **state)
{
    (void)state;
    struct ald_profile said = learning;
    struct stale stale = {0};
    said.stale.learned = false;
    hear(&stale, 100, 2000);
    assert_int_equal(stale_after_ms(&stale, &said), START);
    assert_int_equal(stale_share_ms(&stale, 50), 2048); /* but people can see it */
}

/* The provider forgets: the first poll comes before. */
static void test_before_the_result_is_forgotten(void **state)
{
    (void)state;
    struct ald_profile forgets = learning;
    struct stale stale = {0};
    assert_int_equal(stale_last_look_ms(&forgets), INT64_MAX);
    forgets.result_ttl_ms = 40000;
    assert_int_equal(stale_last_look_ms(&forgets), 36000);
    assert_int_equal(stale_after_ms(&stale, &forgets), 36000);
    hear(&stale, 100, 60000);
    assert_int_equal(stale_after_ms(&stale, &forgets), 36000);
}

/* A bound is never below what was seen, and at most a quarter above. */
static void test_every_time_has_its_bucket(void **state)
{
    (void)state;
    for (int64_t ms = 64; ms < INT64_C(4000000000); ms += 1 + ms / 97) {
        struct stale stale = {0};
        stale_heard(&stale, 1, ms);
        int64_t bound_ms = stale_share_ms(&stale, 100);
        if (bound_ms < ms || bound_ms > ms + ms / 4 + 1)
            fail_msg("%lld: %lld", (long long)ms, (long long)bound_ms);
    }
}

/* Of each task one callback, whatever is repeated. */
static void test_a_task_counts_once(void **state)
{
    (void)state;
    struct stale stale = {0};
    for (unsigned i = 0; i < 50; i++)
        stale_heard(&stale, 7, 1000);
    assert_int_equal(stale.total, 1);
}

/* What a provider was like is forgotten, and the counts stay small. */
static void test_old_ones_fade(void **state)
{
    (void)state;
    struct stale stale = {0};
    hear(&stale, 5000, 200000);
    assert_true(stale.total < STALE_MOST);
    assert_int_equal(stale_after_ms(&stale, &learning), 229376 + 57344);
    hear(&stale, 5 * STALE_MOST, 3000);
    assert_int_equal(stale_after_ms(&stale, &learning), 3072 + 768);
    assert_true(stale.total < STALE_MOST);
}

/* The loop that must not be: tasks whose callback is later than the poll end by the poll; their
 * callbacks still teach, so the next tasks wait longer, until callbacks come first. */
static void test_polls_do_not_starve_what_is_learned(void **state)
{
    (void)state;
    struct stale stale = {0};
    hear(&stale, 100, 2000);
    int64_t before_ms = stale_after_ms(&stale, &learning);
    hear(&stale, 100, 30000); /* each of them after its poll */
    assert_true(stale_after_ms(&stale, &learning) > 30000);
    assert_true(before_ms < 3000);
}

static void test_over_a_restart(void **state)
{
    (void)state;
    struct stale stale = {0};
    struct stale back = {0};
    int64_t packed[STALE_BUCKETS] = {0};
    unsigned packs = 0;
    hear(&stale, 900, 12345);
    hear(&stale, 60, 0);
    hear(&stale, 30, INT64_C(10000000000));
    while (stale_pack(&stale, packs, &packed[packs]))
        packs++;
    assert_int_equal(packs, STALE_BUCKETS / 4);
    for (unsigned i = 0; i <= packs; i++) /* one too many, too */
        stale_unpack(&back, i, packed[i]);
    assert_int_equal(back.total, stale.total);
    assert_memory_equal(back.count, stale.count, sizeof back.count);
    assert_int_equal(stale_after_ms(&back, &learning), stale_after_ms(&stale, &learning));
}

/* A store that says anything makes no count of ours impossible. */
static void test_garbage_from_the_disk(void **state)
{
    (void)state;
    static const int64_t words[] = {-1, INT64_MAX, INT64_MIN, 0xFFF, 1000, 999, 0x3E73E73E7};
    struct stale stale = {0};
    for (unsigned i = 0; i < STALE_BUCKETS; i++)
        stale_unpack(&stale, i, words[i % ALD_COUNT(words)]);
    hear(&stale, 3 * STALE_MOST, 2000);
    assert_true(stale.total < STALE_MOST);
    assert_true(stale_after_ms(&stale, &learning) <= CEILING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_learned_within_bounds),
        cmocka_unit_test(test_what_is_said_is_not_learned),
        cmocka_unit_test(test_before_the_result_is_forgotten),
        cmocka_unit_test(test_every_time_has_its_bucket),
        cmocka_unit_test(test_a_task_counts_once),
        cmocka_unit_test(test_old_ones_fade),
        cmocka_unit_test(test_polls_do_not_starve_what_is_learned),
        cmocka_unit_test(test_over_a_restart),
        cmocka_unit_test(test_garbage_from_the_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
