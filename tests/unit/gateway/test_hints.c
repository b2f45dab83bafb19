/* Tasks whose callback was turned away: a bounded memory, each told once. rules.md 21. */
#include "services/gateway/hints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int begin(void **state)
{
    *state = hints_new();
    return 0;
}

static int end(void **state)
{
    hints_t *hints = *state;
    hints_destroy(&hints);
    return 0;
}

static uint64_t take(hints_t *hints, void **tag)
{
    struct msg_callback message;
    if (!hints_take(hints, 5, 77, &message, tag))
        return 0;
    assert_string_equal(message.fault, "unstored");
    assert_string_equal(message.proof, "token");
    assert_int_equal(message.num, 5);
    assert_int_equal(message.received_at_ms, 77);
    return message.task;
}

static void test_example(void **state)
{
    hints_t *hints = *state;
    struct msg_callback message;
    void *tag = NULL;
    assert_false(hints_due(hints, 0));
    hints_add(hints, "two", 7, 1);
    assert_true(hints_due(hints, 0));
    assert_true(hints_take(hints, 5, 77, &message, &tag));
    assert_string_equal(message.provider, "two");
    assert_int_equal(message.task, 7);
    assert_int_equal(message.attempt, 1);
    assert_true(hints_owns(hints, tag));
    assert_false(hints_owns(hints, &message));
    hints_told(hints, tag);
    assert_int_equal(hints_count(hints), 0);
}

static void test_a_task_once(void **state)
{
    hints_t *hints = *state;
    for (int i = 0; i < 3; i++) {
        hints_add(hints, "two", 7, 1);
        hints_add(hints, "one", 7, 1);
        hints_add(hints, "two", 0, 1); /* names no task */
    }
    assert_int_equal(hints_count(hints), 2);
}

/* The newest stay. */
static void test_bounded(void **state)
{
    hints_t *hints = *state;
    void *tag = NULL;
    for (uint64_t task = 1; task <= HINTS_MAX + 10; task++)
        hints_add(hints, "two", task, 1);
    assert_int_equal(hints_count(hints), HINTS_MAX);
    assert_int_equal(take(hints, &tag), 11);
}

/* So many at once; what the tracker did not take comes again, after a pause. */
static void test_untold(void **state)
{
    hints_t *hints = *state;
    void *tags[HINTS_UNDER_WAY];
    void *tag = NULL;
    for (uint64_t task = 1; task <= HINTS_UNDER_WAY + 1; task++)
        hints_add(hints, "two", task, 1);
    for (uint64_t i = 0; i < HINTS_UNDER_WAY; i++)
        assert_int_equal(take(hints, &tags[i]), i + 1);
    assert_false(hints_due(hints, 0));
    assert_int_equal(take(hints, &tag), 0);
    hints_untold(hints, tags[3], 1000);
    hints_told(hints, tags[4]);
    assert_false(hints_due(hints, 1000 + HINTS_PAUSE_MS - 1));
    assert_true(hints_due(hints, 1000 + HINTS_PAUSE_MS));
    assert_int_equal(take(hints, &tag), HINTS_UNDER_WAY + 1);
    assert_int_equal(take(hints, &tag), 4);
    assert_int_equal(hints_count(hints), 0);
}

#define HINTS_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HINTS_TEST(test_example),
        HINTS_TEST(test_a_task_once),
        HINTS_TEST(test_bounded),
        HINTS_TEST(test_untold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
