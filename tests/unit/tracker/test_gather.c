/* Rows on their way into the index: in the order of tasks, each once, and those that come meanwhile
 * wait. */
#include "services/tracker/vault/gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add(gather_t *gather, uint64_t task, enum gather_kind kind, int64_t no)
{
    const struct gather_entry entry = {.task = task, .kind = kind, .no = no};
    gather_add(gather, &entry);
}

static void expect(gather_t *gather, uint64_t task, enum gather_kind kind, int64_t no)
{
    struct gather_entry entry;
    assert_true(gather_next(gather, &entry));
    assert_int_equal(entry.task, task);
    assert_int_equal(entry.kind, kind);
    assert_int_equal(entry.no, no);
}

static void expect_end(gather_t *gather)
{
    struct gather_entry entry;
    assert_true(gather_running(gather));
    assert_false(gather_next(gather, &entry));
    assert_false(gather_running(gather));
    assert_false(gather_next(gather, &entry));
}

static void test_example(void **state)
{
    (void)state;
    gather_t *gather = gather_new();
    add(gather, 9, GATHER_RESULT, 1);
    add(gather, 5, GATHER_ARRIVAL, 8);
    assert_false(gather_running(gather));
    gather_begin(gather);
    expect(gather, 5, GATHER_ARRIVAL, 8);
    expect(gather, 9, GATHER_RESULT, 1);
    expect_end(gather);
    gather_destroy(&gather);
    assert_null(gather);
}

static void test_a_run_of_nothing(void **state)
{
    (void)state;
    gather_t *gather = gather_new();
    struct gather_entry entry;
    assert_false(gather_next(gather, &entry));
    gather_begin(gather);
    expect_end(gather);
    gather_destroy(&gather);
}

/* By task, then kind, then number, to the ends of what each may be. */
static void test_the_order(void **state)
{
    (void)state;
    const int64_t far = (INT64_C(1) << 60) - 1;
    const uint64_t high = (UINT64_C(1) << 63) - 1;
    gather_t *gather = gather_new();
    add(gather, high, GATHER_NOTE, far);
    add(gather, 7, GATHER_NOTE, 1);
    add(gather, 7, GATHER_ARRIVAL, far);
    add(gather, 7, GATHER_ARRIVAL, 2);
    add(gather, 7, GATHER_RESULT, 3);
    add(gather, 1, GATHER_NOTE, 0);
    gather_begin(gather);
    expect(gather, 1, GATHER_NOTE, 0);
    expect(gather, 7, GATHER_RESULT, 3);
    expect(gather, 7, GATHER_ARRIVAL, 2);
    expect(gather, 7, GATHER_ARRIVAL, far);
    expect(gather, 7, GATHER_NOTE, 1);
    expect(gather, high, GATHER_NOTE, far);
    expect_end(gather);
    gather_destroy(&gather);
}

/* What comes while a run is under way is of the next one, whatever its task. */
static void test_two_runs(void **state)
{
    (void)state;
    gather_t *gather = gather_new();
    add(gather, 5, GATHER_RESULT, 1);
    add(gather, 8, GATHER_RESULT, 2);
    gather_begin(gather);
    add(gather, 6, GATHER_RESULT, 3);
    expect(gather, 5, GATHER_RESULT, 1);
    add(gather, 4, GATHER_RESULT, 4);
    expect(gather, 8, GATHER_RESULT, 2);
    expect_end(gather);
    gather_begin(gather);
    expect(gather, 4, GATHER_RESULT, 4);
    expect(gather, 6, GATHER_RESULT, 3);
    expect_end(gather);
    gather_destroy(&gather);
}

enum { MANY = 50000 };

static void see_each(void *context, const struct gather_entry *entry)
{
    uint8_t *seen = context;
    seen[entry->no]++;
}

/* Many chunks of it: none is lost, none comes twice, and those of a task follow each other. */
static void test_many(void **state)
{
    (void)state;
    gather_t *gather = gather_new();
    uint8_t *seen = calloc(MANY, 1);
    struct gather_entry entry;
    uint64_t last = 0;
    uint64_t random = 1;
    for (int64_t no = 0; no < MANY; no++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        add(gather, 1 + (random >> 40) % (MANY / 3), GATHER_ARRIVAL, no);
    }
    gather_each(gather, see_each, seen);
    gather_begin(gather);
    for (int64_t no = 0; no < 10; no++) /* of the next run, so not told */
        add(gather, 1, GATHER_ARRIVAL, no);
    while (gather_next(gather, &entry)) {
        assert_true(entry.task >= last);
        last = entry.task;
        seen[entry.no]++;
    }
    for (size_t no = 0; no < MANY; no++)
        assert_int_equal(seen[no], 2); /* by each, and by the run */
    free(seen);
    gather_destroy(&gather);
}

/* Destroyed in the middle of a run, with more that waits: nothing leaks. */
static void test_left_in_the_middle(void **state)
{
    (void)state;
    gather_t *gather = gather_new();
    for (int64_t no = 0; no < MANY; no++)
        add(gather, (uint64_t)(MANY - no), GATHER_NOTE, no);
    gather_begin(gather);
    expect(gather, 1, GATHER_NOTE, MANY - 1);
    add(gather, 1, GATHER_NOTE, MANY);
    gather_destroy(&gather);
}

enum { ROOM = 8 };

static int compare(const void *left, const void *right)
{
    const int64_t *a = left;
    const int64_t *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void expect_rows(const gather_t *gather, uint64_t task, enum gather_kind kind,
                        const char *want)
{
    int64_t no[ROOM];
    char said[128] = "";
    size_t count = gather_find(gather, task, kind, no, ROOM);
    qsort(no, count, sizeof no[0], compare);
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(said);
        (void)snprintf(said + used, sizeof said - used, "%lld ", (long long)no[i]);
    }
    assert_string_equal(said, want);
}

/* In chunks that are full and in one that fills, under way and waiting: all that was not handed
 * out. */
static void test_found_by_task(void **state)
{
    (void)state;
    gather_t *gather = gather_new();
    struct gather_entry entry;
    expect_rows(gather, 7, GATHER_NOTE, "");
    for (int64_t no = 1; no <= 10000; no++)
        add(gather, (uint64_t)no % 5000 + 1, GATHER_NOTE, no);
    add(gather, 7, GATHER_ARRIVAL, 3);
    add(gather, 7, GATHER_NOTE, 10001);
    expect_rows(gather, 7, GATHER_NOTE, "6 5006 10001 ");
    expect_rows(gather, 7, GATHER_ARRIVAL, "3 ");
    expect_rows(gather, 7, GATHER_RESULT, "");
    expect_rows(gather, 6000, GATHER_NOTE, "");
    gather_begin(gather);
    add(gather, 7, GATHER_NOTE, 10002);
    expect_rows(gather, 7, GATHER_NOTE, "6 5006 10001 10002 ");
    for (int i = 0; i < 14; i++)
        assert_true(gather_next(gather, &entry));
    assert_int_equal(entry.task, 7);
    expect_rows(gather, 7, GATHER_NOTE, entry.no == 6 ? "5006 10001 10002 " : "6 10001 10002 ");
    while (gather_next(gather, &entry))
        ;
    expect_rows(gather, 7, GATHER_NOTE, "10002 ");
    int64_t one = 0;
    assert_int_equal(gather_find(gather, 7, GATHER_NOTE, &one, 0), 0);
    gather_destroy(&gather);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),       cmocka_unit_test(test_a_run_of_nothing),
        cmocka_unit_test(test_the_order),     cmocka_unit_test(test_two_runs),
        cmocka_unit_test(test_many),          cmocka_unit_test(test_left_in_the_middle),
        cmocka_unit_test(test_found_by_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
