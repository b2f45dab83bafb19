/* The window against an array that needs no cleverness. */
#include "common/net/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_example(void **state)
{
    (void)state;
    struct ald_window window;
    ald_window_init(&window, 1);
    assert_int_equal(ald_window_set(&window, 2, 7), ALD_OK);
    assert_int_equal(ald_window_get(&window, 2), 7);
    assert_int_equal(ald_window_get(&window, 1), 0);
    assert_int_equal(ald_window_settle(&window), 1);
    assert_int_equal(ald_window_set(&window, 1, 7), ALD_OK);
    assert_int_equal(ald_window_settle(&window), 3);
    ald_window_free(&window);
}

static void test_what_is_settled_is_not_marked_again(void **state)
{
    (void)state;
    struct ald_window window;
    ald_window_init(&window, 10);
    assert_int_equal(ald_window_set(&window, 9, 1), ALD_EXISTS);
    assert_int_equal(ald_window_set(&window, 10 + ALD_WINDOW_MAX, 1), ALD_FULL);
    assert_int_equal(ald_window_set(&window, UINT64_MAX, 1), ALD_FULL);
    assert_int_equal(window.count, 0);
    assert_int_equal(ald_window_set(&window, 12, 3), ALD_OK);
    assert_int_equal(ald_window_get(&window, 9), 0);
    assert_int_equal(ald_window_get(&window, 13), 0);
    ald_window_raise(&window, 5);
    assert_int_equal(window.floor, 10);
    ald_window_raise(&window, 1000);
    assert_int_equal(window.floor, 1000);
    assert_int_equal(ald_window_get(&window, 1000), 0);
    ald_window_free(&window);
}

/* A number that was passed over shows no mark of one that lay in its place of the ring before. */
static void test_the_ring_forgets(void **state)
{
    (void)state;
    struct ald_window window;
    ald_window_init(&window, 0);
    for (uint64_t num = 0; num < 64; num++)
        assert_int_equal(ald_window_set(&window, num, 9), ALD_OK);
    ald_window_raise(&window, 40);
    assert_int_equal(ald_window_set(&window, 100, 5), ALD_OK);
    for (uint64_t num = 64; num < 100; num++)
        assert_int_equal(ald_window_get(&window, num), 0);
    assert_int_equal(ald_window_get(&window, 63), 9);
    ald_window_free(&window);
}

enum { SPAN = 4096 };

static void test_against_an_array(void **state)
{
    (void)state;
    static uint8_t marks[SPAN];
    struct ald_window window;
    memset(marks, 0, sizeof marks);
    ald_window_init(&window, 0);
    uint64_t floor = 0;
    unsigned random = 1;
    for (int step = 0; step < 200000 && floor < SPAN - 600; step++) {
        random = random * 1103515245U + 12345U;
        uint64_t num = floor + (random >> 16) % 512;
        uint8_t mark = (uint8_t)(1 + (random >> 8) % 200);
        if (random % 5 == 0) {
            uint64_t up = floor + (random >> 20) % 8;
            ald_window_raise(&window, up);
            floor = up > floor ? up : floor;
        } else if (random % 7 == 0) {
            while (floor < SPAN && marks[floor] != 0)
                floor++;
            assert_int_equal(ald_window_settle(&window), floor);
        } else {
            assert_int_equal(ald_window_set(&window, num, mark), ALD_OK);
            marks[num] = mark;
        }
        assert_int_equal(ald_window_get(&window, num), num < floor ? 0 : marks[num]);
    }
    assert_true(floor > SPAN / 2);
    for (uint64_t num = floor; num < SPAN; num++)
        assert_int_equal(ald_window_get(&window, num), marks[num]);
    ald_window_free(&window);
}

static void test_save_and_load(void **state)
{
    (void)state;
    struct ald_window window;
    struct ald_window copy;
    uint8_t bytes[128];
    ald_window_init(&window, 0);
    ald_window_init(&copy, 77);
    for (uint64_t num = 0; num < 100; num++)
        assert_int_equal(ald_window_set(&window, num, (uint8_t)(num + 1)), ALD_OK);
    ald_window_raise(&window, 50);
    for (uint64_t num = 110; num < 150; num++)
        assert_int_equal(ald_window_set(&window, num, 200), ALD_OK);
    assert_int_equal(ald_window_save(&window, bytes, 0), 100);
    assert_int_equal(ald_window_save(&window, bytes, sizeof bytes), 100);
    assert_int_equal(ald_window_load(&copy, 50, ald_span_of(bytes, 100)), ALD_OK);
    for (uint64_t num = 40; num < 160; num++)
        assert_int_equal(ald_window_get(&copy, num), ald_window_get(&window, num));
    assert_int_equal(ald_window_load(&copy, 5, ald_span_of(NULL, 0)), ALD_OK);
    assert_int_equal(copy.floor, 5);
    assert_int_equal(copy.count, 0);
    struct ald_span long_one = {.data = bytes, .len = (size_t)ALD_WINDOW_MAX + 1};
    assert_int_equal(ald_window_load(&copy, 5, long_one), ALD_TOOBIG);
    ald_window_free(&copy);
    ald_window_free(&window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_what_is_settled_is_not_marked_again),
        cmocka_unit_test(test_the_ring_forgets),
        cmocka_unit_test(test_against_an_array),
        cmocka_unit_test(test_save_and_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
