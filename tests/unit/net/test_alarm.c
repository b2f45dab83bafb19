/* One timer for what is next: the earliest time wins, and a loop with nothing due sleeps. */
#include "common/net/alarm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/base/clock.h"

enum { PATIENCE_MS = 10000, RINGS_MAX = 16, NEVER_MS = 60000 };

struct house {
    zloop_t *loop;
    ald_alarm_t *alarm;
    ald_alarm_t *other;
    int64_t rang_ms[RINGS_MAX];
    size_t count;
    size_t want;      /* rings, and the loop ends */
    int64_t again_ms; /* set anew so long after it rang; 0: not */
};

static int64_t now(void)
{
    return ald_clock_now().mono_ms;
}

static int ends(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer, (void)arg;
    return -1;
}

static void ring(void *arg)
{
    struct house *house = arg;
    assert_int_equal(ald_alarm_at(house->alarm), INT64_MAX);
    assert_true(house->count < RINGS_MAX);
    house->rang_ms[house->count++] = now();
    if (house->again_ms > 0)
        ald_alarm_within(house->alarm, house->again_ms);
    if (house->count == house->want)
        (void)zloop_timer(house->loop, 0, 1, ends, NULL);
}

static void open_house(struct house *house)
{
    *house = (struct house){.loop = zloop_new(), .want = 1};
    house->alarm = ald_alarm_new(house->loop, ring, house);
    zloop_set_nonstop(house->loop, true);
}

static void close_house(struct house *house)
{
    ald_alarm_destroy(&house->alarm);
    assert_null(house->alarm);
    zloop_destroy(&house->loop);
}

static void run(struct house *house)
{
    int late = zloop_timer(house->loop, PATIENCE_MS, 1, ends, NULL);
    (void)zloop_start(house->loop);
    (void)zloop_timer_end(house->loop, late);
}

static void test_example(void **state)
{
    (void)state;
    struct house house;
    open_house(&house);
    int64_t at_ms = now() + 30;
    ald_alarm_by(house.alarm, at_ms);
    assert_int_equal(ald_alarm_at(house.alarm), at_ms);
    run(&house);
    assert_int_equal(house.count, 1);
    assert_true(house.rang_ms[0] >= at_ms);
    assert_int_equal(ald_alarm_at(house.alarm), INT64_MAX);
    close_house(&house);
}

/* Whatever the order in which they are said, it rings once, at the earliest. */
static void test_the_earliest_wins(void **state)
{
    (void)state;
    static const int64_t orders[][3] = {
        {20, NEVER_MS, 40}, {NEVER_MS, 20, 40}, {NEVER_MS, 40, 20}, {40, 20, NEVER_MS}};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        struct house house;
        open_house(&house);
        int64_t began_ms = now();
        for (size_t k = 0; k < 3; k++)
            ald_alarm_by(house.alarm, began_ms + orders[i][k]);
        assert_int_equal(ald_alarm_at(house.alarm), began_ms + 20);
        run(&house);
        assert_int_equal(house.count, 1);
        assert_true(house.rang_ms[0] >= began_ms + 20);
        assert_true(house.rang_ms[0] < began_ms + NEVER_MS);
        close_house(&house);
    }
}

static void test_what_is_past_is_due_now(void **state)
{
    (void)state;
    struct house house;
    open_house(&house);
    ald_alarm_by(house.alarm, now() - 5000);
    run(&house);
    assert_int_equal(house.count, 1);
    close_house(&house);
}

static void test_it_is_set_anew_while_it_rings(void **state)
{
    (void)state;
    struct house house;
    open_house(&house);
    house.want = 5;
    house.again_ms = 3;
    int64_t began_ms = now();
    ald_alarm_within(house.alarm, 3);
    run(&house);
    assert_int_equal(house.count, 5);
    assert_true(house.rang_ms[4] >= began_ms + 15);
    close_house(&house);
}

/* Both are due in the same turn of the loop, and the first one moves the second to later and back:
 * it rings once. */
static void first_rings(void *arg)
{
    struct house *house = arg;
    ald_alarm_by(house->alarm, now() - 2000);
}

static void test_one_that_was_moved_rings_once(void **state)
{
    (void)state;
    struct house house;
    open_house(&house);
    house.other = ald_alarm_new(house.loop, first_rings, &house);
    int64_t at_ms = now() - 1000;
    ald_alarm_by(house.other, at_ms);
    ald_alarm_by(house.alarm, at_ms);
    run(&house);
    assert_int_equal(house.count, 1);
    ald_alarm_destroy(&house.other);
    close_house(&house);
}

static void test_nothing_is_due(void **state)
{
    (void)state;
    struct house house;
    open_house(&house);
    ald_alarm_by(house.alarm, INT64_MAX);
    assert_int_equal(ald_alarm_at(house.alarm), INT64_MAX);
    (void)zloop_timer(house.loop, 50, 1, ends, NULL);
    (void)zloop_start(house.loop);
    assert_int_equal(house.count, 0);
    close_house(&house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_the_earliest_wins),
        cmocka_unit_test(test_what_is_past_is_due_now),
        cmocka_unit_test(test_it_is_set_anew_while_it_rings),
        cmocka_unit_test(test_one_that_was_moved_rings_once),
        cmocka_unit_test(test_nothing_is_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
