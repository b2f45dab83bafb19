/* For how long the tracker's tick may rest: to the millisecond at which something is due, and not
 * at all while something is under way. */
#include "services/tracker/rest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "services/tracker/calls.h"
#include "services/tracker/consumers/consumers.h"
#include "services/tracker/consumers/sinks.h"
#include "services/tracker/jobs.h"
#include "services/tracker/keep.h"
#include "services/tracker/outbox.h"
#include "services/tracker/query.h"
#include "tests/unit/tracker/stage.h"

/* The parts that this stage has not: each rests as long as it is told here. */
static int64_t away_ms[6];

int64_t __wrap_sinks_rest_ms(const sinks_t *self);
int64_t __wrap_consumers_rest_ms(const consumers_t *self);
int64_t __wrap_calls_rest_ms(const calls_t *self);
int64_t __wrap_jobs_rest_ms(const jobs_t *self);
int64_t __wrap_outbox_rest_ms(const outbox_t *self);
int64_t __wrap_query_rest_ms(const query_t *self);

int64_t __wrap_sinks_rest_ms(const sinks_t *self)
{
    (void)self;
    return away_ms[0];
}

int64_t __wrap_consumers_rest_ms(const consumers_t *self)
{
    (void)self;
    return away_ms[1];
}

int64_t __wrap_calls_rest_ms(const calls_t *self)
{
    (void)self;
    return away_ms[2];
}

int64_t __wrap_jobs_rest_ms(const jobs_t *self)
{
    (void)self;
    return away_ms[3];
}

int64_t __wrap_outbox_rest_ms(const outbox_t *self)
{
    (void)self;
    return away_ms[4];
}

int64_t __wrap_query_rest_ms(const query_t *self)
{
    (void)self;
    return away_ms[5];
}

static int setup(void **state)
{
    for (size_t i = 0; i < ALD_COUNT(away_ms); i++)
        away_ms[i] = REST_NOTHING;
    return stage_setup(state);
}

/* Time passes, and the loop turns. */
static void pass(struct stage *stage, int64_t ms)
{
    stage_pass(ms);
    stage->tracker.turned_ms = ald_clock_now().mono_ms;
}

/* All that was written is indexed, and what is done once a second was done now. */
static void calm(struct stage *stage)
{
    struct tracker *tracker = &stage->tracker;
    stage_index(stage);
    tracker->purged_at_ms = ald_clock_now().mono_ms;
    keep_tick(tracker, true);
    pass(stage, 1);
    keep_last(tracker);
    tracker->told_mark_ms = ald_clock_now().mono_ms;
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    calm(stage);
    assert_int_equal(rest_ms(&stage->tracker), REST_MOST_MS);
}

/* A million pending tasks cost nothing: only the first that is due counts. */
static void test_until_the_first_task_is_due(void **state)
{
    struct stage *stage = *state;
    struct tracker *tracker = &stage->tracker;
    assert_int_not_equal(stage_register(stage, "two", "1"), 0);
    pass(stage, 1000);
    assert_int_not_equal(stage_register(stage, "two", "2"), 0);
    int64_t due_ms = pending_next_ms(tracker->pending) - tracker_now(tracker).run_ms;
    assert_true(due_ms > 2 * REST_MOST_MS);
    calm(stage);
    assert_int_equal(rest_ms(tracker), REST_MOST_MS);
    pass(stage, due_ms - 1 - 100); /* calm took 1 */
    calm(stage);
    assert_int_equal(rest_ms(tracker), 99);
    pass(stage, 99);
    assert_int_equal(rest_ms(tracker), REST_LEAST_MS);
    tracker->told_mark_ms = tracker->purged_at_ms = ald_clock_now().mono_ms;
    stage_tick(stage); /* it is queued, which is jobs' to say */
    calm(stage);
    assert_int_equal(rest_ms(tracker), REST_MOST_MS);
}

static void test_until_a_parked_callback_is_over(void **state)
{
    struct stage *stage = *state;
    struct tracker *tracker = &stage->tracker;
    (void)stage_take(stage,
                     &(struct stage_callback){.provider = "bare", .query = "id=77&code=abc"});
    assert_int_equal(park_count(tracker->park), 1);
    int64_t due_ms = park_next_ms(tracker->park) - tracker_now(tracker).run_ms;
    assert_int_equal(due_ms, STAGE_HOUR);
    pass(stage, due_ms - 50);
    calm(stage);
    assert_int_equal(rest_ms(tracker), 49);
}

/* Whatever a part says counts, within the bounds. */
static void test_the_least_of_all_parts(void **state)
{
    struct stage *stage = *state;
    calm(stage);
    for (size_t i = 0; i < ALD_COUNT(away_ms); i++) {
        away_ms[i] = 70;
        assert_int_equal(rest_ms(&stage->tracker), 70);
        away_ms[i] = 0;
        assert_int_equal(rest_ms(&stage->tracker), REST_LEAST_MS);
        away_ms[i] = REST_NOTHING;
    }
    assert_int_equal(rest_ms(&stage->tracker), REST_MOST_MS);
}

/* What is written is indexed a little at a time: no rest until it is. */
static void test_upkeep(void **state)
{
    struct stage *stage = *state;
    struct tracker *tracker = &stage->tracker;
    calm(stage);
    uint64_t task = stage_register(stage, "two", "1");
    assert_int_not_equal(stage_register(stage, "two", "2"), 0);
    (void)stage_take(stage, &(struct stage_callback){.task = task, .query = "id=1&code=abc"});
    assert_int_equal(keep_rest_ms(tracker), 0);
    calm(stage);
    assert_true(keep_rest_ms(tracker) > 0);
    tracker->purging = true;
    assert_int_equal(keep_rest_ms(tracker), 0);
    tracker->purging = false;
    int64_t beat_ms = keep_rest_ms(tracker);
    assert_true(beat_ms > 0 && beat_ms <= 1000); /* there is a task: a heartbeat row each second */
    pass(stage, beat_ms);
    assert_int_equal(keep_rest_ms(tracker), 0);
    keep_tick(tracker, true);
    assert_int_equal(keep_rest_ms(tracker), 1000);
}

static void test_a_store_that_is_away(void **state)
{
    struct stage *stage = *state;
    struct tracker *tracker = &stage->tracker;
    tracker->open = false;
    tracker->retry_ms = ald_clock_now().mono_ms + 120;
    assert_int_equal(rest_ms(tracker), 120);
    pass(stage, 120);
    assert_int_equal(rest_ms(tracker), REST_LEAST_MS);
    tracker->open = true;
}

int main(void)
{
#define RESTS(test) cmocka_unit_test_setup_teardown(test, setup, stage_teardown)
    const struct CMUnitTest tests[] = {
        RESTS(test_example),
        RESTS(test_until_the_first_task_is_due),
        RESTS(test_until_a_parked_callback_is_over),
        RESTS(test_the_least_of_all_parts),
        RESTS(test_upkeep),
        RESTS(test_a_store_that_is_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
