/* A handle without a tracker: what it leaves behind, and what it says to calls that make no sense.
 * The sanitizers see whether all of it is given back. */
#include "common/client/aldaba.h"

#include <dirent.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static aldaba_t *opened(const char *consumer)
{
    const struct aldaba_options options = {
        .size = sizeof options, .run = "/nowhere", .consumer = consumer, .from = "all"};
    aldaba_t *aldaba = NULL;
    assert_int_equal(aldaba_open(&options, &aldaba, NULL, 0), ALDABA_OK);
    return aldaba;
}

static int descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    (void)closedir(folder);
    return count;
}

static void test_example(void **state)
{
    (void)state;
    const struct aldaba_event *event = NULL;
    aldaba_t *aldaba = opened("books");
    assert_int_equal(aldaba_next(aldaba, 0, &event), ALDABA_NONE);
    assert_null(event);
    assert_int_equal(aldaba_ack(aldaba, 0, 7), ALDABA_OK);
    struct aldaba_status status = {.size = sizeof status};
    assert_int_equal(aldaba_status(aldaba, &status), ALDABA_OK);
    assert_false(status.connected);
    assert_int_equal(status.unsettled, 1);
    assert_int_equal(aldaba_flush(aldaba, 10), ALDABA_LATE);
    assert_int_equal(aldaba_close(&aldaba, 10), ALDABA_LATE);
    assert_null(aldaba);
    assert_int_equal(aldaba_close(&aldaba, 10), ALDABA_OK);
}

static void test_nothing_is_left(void **state)
{
    (void)state;
    aldaba_t *first = opened("books");
    assert_int_equal(aldaba_close(&first, 0), ALDABA_OK);
    int before = descriptors();
    for (int i = 0; i < 30; i++) {
        aldaba_t *durable = opened("books");
        aldaba_t *live = opened(NULL);
        assert_int_equal(aldaba_nack(durable, 0, 7, 100, "a reason that is kept"), ALDABA_OK);
        assert_int_equal(aldaba_close(&live, 0), ALDABA_OK);
        assert_int_equal(aldaba_close(&durable, 0), ALDABA_LATE);
    }
    assert_int_equal(descriptors(), before);
}

static void test_calls_that_make_no_sense(void **state)
{
    (void)state;
    const struct aldaba_event *event = NULL;
    struct aldaba_status none = {0};
    aldaba_t *live = NULL;
    assert_int_equal(aldaba_open(NULL, &live, NULL, 0), ALDABA_INVALID);
    live = opened(NULL);
    assert_int_equal(aldaba_next(NULL, 0, &event), ALDABA_INVALID);
    assert_int_equal(aldaba_next(live, 0, NULL), ALDABA_INVALID);
    assert_int_equal(aldaba_ack(NULL, 0, 1), ALDABA_INVALID);
    assert_int_equal(aldaba_ack(live, 0, 1), ALDABA_INVALID);
    assert_int_equal(aldaba_ack_to(live, 0, 1), ALDABA_INVALID);
    assert_int_equal(aldaba_extend(live, 0, 1, 1), ALDABA_INVALID);
    assert_int_equal(aldaba_status(live, &none), ALDABA_INVALID);
    assert_int_equal(aldaba_flush(live, 0), ALDABA_OK);
    assert_int_equal(aldaba_fd(NULL), -1);
    assert_null(aldaba_event_copy(NULL));
    aldaba_event_free(NULL);
    assert_int_equal(aldaba_close(NULL, 0), ALDABA_OK);
    assert_int_equal(aldaba_close(&live, 0), ALDABA_OK);
}

static void test_no_more_words_than_there_is_room_for(void **state)
{
    (void)state;
    aldaba_t *durable = opened("books");
    for (uint64_t seq = 1; seq <= 20000; seq++)
        assert_int_equal(aldaba_ack(durable, 0, seq), ALDABA_OK);
    assert_int_equal(aldaba_ack(durable, 0, 20001), ALDABA_FULL);
    assert_int_equal(aldaba_ack(durable, 0, 5), ALDABA_OK);
    assert_int_equal(aldaba_close(&durable, 0), ALDABA_LATE);
}

static void on_alarm(int number)
{
    (void)number;
}

static void test_a_signal_ends_the_wait(void **state)
{
    (void)state;
    const struct aldaba_event *event = NULL;
    struct sigaction action = {.sa_handler = on_alarm};
    struct sigaction before;
    aldaba_t *durable = opened("books");
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    (void)alarm(1);
    assert_int_equal(aldaba_next(durable, -1, &event), ALDABA_NONE);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_int_equal(aldaba_close(&durable, 0), ALDABA_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_nothing_is_left),
        cmocka_unit_test(test_calls_that_make_no_sense),
        cmocka_unit_test(test_no_more_words_than_there_is_room_for),
        cmocka_unit_test(test_a_signal_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
