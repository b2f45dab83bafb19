/* Ended tasks whose results are not indexed: two generations, one of which goes at a time. */
#include "services/tracker/tail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void put(tail_t *tail, uint64_t task, uint64_t seq, uint32_t arrivals)
{
    const struct tail_task ended = {.task = task, .seq = seq, .arrivals = arrivals};
    tail_put(tail, &ended);
}

/* The seq of a task, 0 = not known. */
static uint64_t seq_of(const tail_t *tail, uint64_t task)
{
    struct tail_task ended;
    return tail_get(tail, task, &ended) ? ended.seq : 0;
}

static void test_example(void **state)
{
    (void)state;
    tail_t *tail = tail_new();
    struct tail_task ended;
    put(tail, 5, 1, 0);
    assert_true(tail_get(tail, 5, &ended));
    assert_int_equal(ended.seq, 1);
    assert_false(tail_get(tail, 6, &ended));
    tail_turn(tail); /* a run begins */
    put(tail, 6, 2, 0);
    assert_int_equal(seq_of(tail, 5), 1);
    assert_int_equal(seq_of(tail, 6), 2);
    tail_drop(tail); /* and is through */
    assert_int_equal(seq_of(tail, 5), 0);
    assert_int_equal(seq_of(tail, 6), 2);
    tail_destroy(&tail);
    assert_null(tail);
}

static void test_nothing(void **state)
{
    (void)state;
    tail_t *tail = tail_new();
    assert_int_equal(seq_of(tail, 0), 0);
    assert_int_equal(seq_of(tail, 1), 0);
    tail_turn(tail);
    tail_drop(tail);
    tail_turn(tail);
    assert_int_equal(seq_of(tail, 1), 0);
    assert_int_equal(tail_count(tail), 0);
    tail_destroy(&tail);
}

/* What is put again outlives the run that it was old in, with what it says now. */
static void test_put_again(void **state)
{
    (void)state;
    tail_t *tail = tail_new();
    struct tail_task ended;
    put(tail, 5, 1, 3);
    put(tail, 5, 1, 4);
    assert_int_equal(tail_count(tail), 1);
    tail_turn(tail);
    put(tail, 5, 1, 5);
    assert_true(tail_get(tail, 5, &ended));
    assert_int_equal(ended.arrivals, 5);
    tail_drop(tail);
    assert_true(tail_get(tail, 5, &ended));
    assert_int_equal(ended.arrivals, 5);
    tail_destroy(&tail);
}

/* Ids as the tracker gives them: 32 apart, and far apart. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    tail_t *tail = tail_new();
    for (uint64_t i = 1; i <= MANY; i++)
        put(tail, i * 32, i, 0);
    tail_turn(tail);
    for (uint64_t i = 1; i <= MANY; i++)
        put(tail, i << 33, MANY + i, 0);
    assert_int_equal(tail_count(tail), 2 * MANY);
    for (uint64_t i = 1; i <= MANY; i++) {
        assert_int_equal(seq_of(tail, i * 32), i);
        assert_int_equal(seq_of(tail, i << 33), MANY + i);
        assert_int_equal(seq_of(tail, i * 32 + 1), 0);
    }
    tail_drop(tail);
    assert_int_equal(tail_count(tail), MANY);
    tail_destroy(&tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_put_again),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
