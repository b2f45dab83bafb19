/* Who is cut off while a listener's threads wait for clients. The watches are all of this thread;
 * the time is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "services/gateway/http/http_watch.h"

enum { THREADS_MAX = 4, HEAD_MS = 4000 };

static void test_example(void **state)
{
    (void)state;
    struct http_crew crew;
    struct http_watch watch = {0};
    http_crew_init(&crew, HEAD_MS, NULL, NULL);
    http_crew_join(&crew, &watch);
    http_watch_body(&watch, 2000);
    http_crew_tick(&crew, 1999);
    assert_false(http_watch_done(&watch));
    http_watch_body(&watch, 2000);
    http_crew_tick(&crew, 2000);
    assert_true(http_watch_done(&watch));
    http_crew_leave(&crew, &watch);
    http_crew_free(&crew);
}

static void watch_be(struct http_watch *watch, char what)
{
    if (what == 'h')
        http_watch_head(watch);
    else if (what == 'b')
        http_watch_body(watch, INT64_MAX);
    else if (what == 'x')
        (void)http_watch_done(watch);
    else
        http_watch_free(watch);
}

/* The threads are seen at 1000, then at 1000 + ms. */
static void test_who_is_cut_off(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *threads; /* h: waits for a head, b: for a body, x: busy, f: free */
        int64_t ms;
        const char *want; /* 1: is cut off */
    } cases[] = {
        {"as long as one is free nobody is", "fhhb", HEAD_MS - 1, "0000"},
        {"a head has its time then, too", "fhxb", HEAD_MS, "0100"},
        {"heads have little time", "hhhh", HTTP_CROWD_HEAD_MS - 1, "0000"},
        {"and then no more", "hhhh", HTTP_CROWD_HEAD_MS, "1111"},
        {"also when others are busy", "xxxh", HTTP_CROWD_HEAD_MS, "0001"},
        {"bodies have more", "bbbh", HTTP_CROWD_BODY_MS - 1, "0001"},
        {"and then no more", "bbxx", HTTP_CROWD_BODY_MS, "1100"},
        {"unless we are the cause", "bxxx", 3600000, "0000"},
        {"who is busy is never hit", "xxxx", 3600000, "0000"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct http_crew crew;
        struct http_watch watches[THREADS_MAX] = {0};
        http_crew_init(&crew, HEAD_MS, NULL, NULL);
        for (size_t w = 0; w < THREADS_MAX; w++) {
            http_crew_join(&crew, &watches[w]);
            watch_be(&watches[w], cases[i].threads[w]);
        }
        http_crew_tick(&crew, 1000);
        http_crew_tick(&crew, 1000 + cases[i].ms);
        for (size_t w = 0; w < THREADS_MAX; w++) {
            if (http_watch_done(&watches[w]) != (cases[i].want[w] == '1'))
                fail_msg("%s: thread %zu", cases[i].name, w);
            http_crew_leave(&crew, &watches[w]);
        }
        http_crew_free(&crew);
    }
}

/* Each wait counts from its own begin. */
static void test_the_next_wait_begins_anew(void **state)
{
    (void)state;
    struct http_crew crew;
    struct http_watch watch = {0};
    http_crew_init(&crew, HEAD_MS, NULL, NULL);
    http_crew_join(&crew, &watch);
    http_watch_head(&watch);
    http_crew_tick(&crew, 1000);
    http_watch_head(&watch);
    http_crew_tick(&crew, 1000 + HTTP_CROWD_HEAD_MS);
    assert_false(http_watch_done(&watch));
    http_watch_head(&watch);
    http_crew_tick(&crew, 5000);
    http_crew_tick(&crew, 5000 + HTTP_CROWD_HEAD_MS);
    http_watch_head(&watch);
    assert_false(http_watch_done(&watch));
    http_crew_leave(&crew, &watch);
    http_crew_free(&crew);
}

/* While no thread is free for long, who gets one has waited before, and says his head at once. */
static void test_a_crowd_that_stays(void **state)
{
    (void)state;
    struct http_crew crew;
    struct http_watch watch = {0};
    http_crew_init(&crew, HEAD_MS, NULL, NULL);
    http_crew_join(&crew, &watch);
    (void)http_watch_done(&watch);
    http_crew_tick(&crew, 1000);
    http_watch_head(&watch);
    http_crew_tick(&crew, 1000 + HTTP_CROWD_LONG_MS);
    http_crew_tick(&crew, 1000 + HTTP_CROWD_LONG_MS + HTTP_CROWD_LONG_HEAD_MS - 1);
    assert_false(http_watch_done(&watch));
    http_watch_head(&watch);
    http_crew_tick(&crew, 3000);
    http_crew_tick(&crew, 3000 + HTTP_CROWD_LONG_HEAD_MS);
    assert_true(http_watch_done(&watch));
    http_watch_free(&watch); /* it is over */
    http_crew_tick(&crew, 4000);
    http_watch_head(&watch);
    http_crew_tick(&crew, 4100);
    http_crew_tick(&crew, 4100 + HTTP_CROWD_LONG_HEAD_MS);
    assert_false(http_watch_done(&watch));
    http_crew_leave(&crew, &watch);
    http_crew_free(&crew);
}

static void stir(void *stirred)
{
    (*(unsigned *)stirred)++;
}

/* Whoever ticks may sleep as long as nobody waits for a client, and is woken once when one does. */
static void test_nobody_ticks_for_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *threads; /* as above */
        bool ticks;
    } cases[] = {{"ff", false}, {"xf", false}, {"hf", true}, {"bf", true}, {"xx", true}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct http_crew crew;
        struct http_watch watches[2] = {0};
        unsigned stirred = 0;
        http_crew_init(&crew, HEAD_MS, stir, &stirred);
        for (size_t w = 0; w < 2; w++) {
            http_crew_join(&crew, &watches[w]);
            watch_be(&watches[w], cases[i].threads[w]);
        }
        assert_int_equal(stirred, 0); /* nobody was asleep */
        if (http_crew_tick(&crew, 1000) != cases[i].ticks)
            fail_msg("%s", cases[i].threads);
        watch_be(&watches[0], 'x');
        watch_be(&watches[0], 'f');
        assert_int_equal(stirred, 0);
        watch_be(&watches[0], i % 2 == 0 ? 'h' : 'b');
        watch_be(&watches[1], 'h');
        assert_int_equal(stirred, cases[i].ticks ? 0 : 1);
        assert_true(http_crew_tick(&crew, 2000));
        for (size_t w = 0; w < 2; w++)
            http_crew_leave(&crew, &watches[w]);
        http_crew_free(&crew);
    }
}

static void test_idle(void **state)
{
    (void)state;
    static const struct {
        const char *threads;
        bool want;
    } cases[] = {{"ffff", true}, {"fffx", false}, {"hfff", false}, {"fbff", false}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct http_crew crew;
        struct http_watch watches[THREADS_MAX] = {0};
        http_crew_init(&crew, HEAD_MS, NULL, NULL);
        assert_true(http_crew_idle(&crew));
        for (size_t w = 0; w < THREADS_MAX; w++) {
            http_crew_join(&crew, &watches[w]);
            watch_be(&watches[w], cases[i].threads[w]);
        }
        assert_int_equal(http_crew_idle(&crew), cases[i].want);
        for (size_t w = 0; w < THREADS_MAX; w++)
            http_crew_leave(&crew, &watches[w]);
        http_crew_free(&crew);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_who_is_cut_off),
        cmocka_unit_test(test_the_next_wait_begins_anew),
        cmocka_unit_test(test_a_crowd_that_stays),
        cmocka_unit_test(test_nobody_ticks_for_nothing),
        cmocka_unit_test(test_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
