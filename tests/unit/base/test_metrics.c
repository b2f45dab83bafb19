#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "common/base/metrics.h"

enum { METRICS_THREADS = 4, METRICS_EACH = 20000, METRICS_TEXT_MAX = 1 << 20 };

static struct ald_metric acks = {
    .kind = ALD_COUNTER, .name = "aldaba_acks_total", .help = "Acknowledgements received."};
static struct ald_metric depth = {.kind = ALD_GAUGE,
                                  .name = "aldaba_spool_items",
                                  .help = "Items in the spool.",
                                  .label = {"provider"},
                                  .value = {"two"}};
static struct ald_metric oldest = {
    .kind = ALD_GAUGE_MS, .name = "aldaba_oldest_seconds", .help = "Age of the oldest item."};
static struct ald_metric took = {.kind = ALD_HISTOGRAM,
                                 .name = "aldaba_answer_seconds",
                                 .help = "Time to the answer.",
                                 .bound = ald_metric_seconds,
                                 .bounds = ALD_METRIC_SECONDS};
static struct ald_metric results = {.kind = ALD_COUNTER,
                                    .name = "aldaba_callbacks_total",
                                    .help = "Callbacks \\ by result.\nSecond line.",
                                    .label = {"provider", "result"}};

static void register_all(void)
{
    ald_metric_register(&acks);
    ald_metric_register(&depth);
    ald_metric_register(&oldest);
    ald_metric_register(&took);
    ald_metric_register(&results);
}

/* The whole text; the caller frees it. */
static struct ald_buf written(void)
{
    struct ald_buf out;
    ald_buf_init(&out, METRICS_TEXT_MAX);
    ald_metrics_write(&out);
    assert_true(ald_buf_ok(&out));
    return out;
}

static void assert_shows(const char *line)
{
    struct ald_buf out = written();
    if (strstr(ald_buf_str(&out), line) == NULL)
        fail_msg("no %s in\n%s", line, ald_buf_str(&out));
    ald_buf_free(&out);
}

static void test_example(void **state)
{
    (void)state;
    register_all();
    register_all(); /* the second time does nothing */
    ald_metric_add(&acks, 2);
    ald_metric_add(ald_metrics_get("aldaba_callbacks_total", "two", "applied"), 1);
    assert_shows("# HELP aldaba_acks_total Acknowledgements received.\n"
                 "# TYPE aldaba_acks_total counter\n"
                 "aldaba_acks_total 2\n");
    assert_shows("aldaba_callbacks_total{provider=\"two\",result=\"applied\"} 1\n");
}

static void test_gauges(void **state)
{
    (void)state;
    ald_metric_set(&depth, 5);
    ald_metric_add(&depth, -7);
    assert_int_equal(ald_metric_read(&depth), -2);
    assert_shows("aldaba_spool_items{provider=\"two\"} -2\n");
    ald_metric_set(&oldest, 1234567);
    assert_shows("# TYPE aldaba_oldest_seconds gauge\naldaba_oldest_seconds 1234.567\n");
    ald_metric_set(&oldest, -5);
    assert_shows("aldaba_oldest_seconds -0.005\n");
}

static void test_histogram(void **state)
{
    (void)state;
    static const double seconds[] = {0.001, 0.0011, 0.3, 61, 1e9};
    ald_metric_observe(&took, (double)NAN);
    for (size_t i = 0; i < ALD_COUNT(seconds); i++)
        ald_metric_observe(&took, seconds[i]);
    assert_shows("aldaba_answer_seconds_bucket{le=\"0.001\"} 1\n");
    assert_shows("aldaba_answer_seconds_bucket{le=\"0.0025\"} 2\n");
    assert_shows("aldaba_answer_seconds_bucket{le=\"0.25\"} 2\n");
    assert_shows("aldaba_answer_seconds_bucket{le=\"0.5\"} 3\n");
    assert_shows("aldaba_answer_seconds_bucket{le=\"60\"} 3\n");
    assert_shows("aldaba_answer_seconds_bucket{le=\"+Inf\"} 5\n");
    assert_shows("aldaba_answer_seconds_sum 1000000061.3021\n");
    assert_shows("aldaba_answer_seconds_count 5\n");
}

static void test_text_is_escaped(void **state)
{
    (void)state;
    ald_metric_add(ald_metrics_get("aldaba_callbacks_total", "a\"b\\c\nd", "x"), 3);
    assert_shows("aldaba_callbacks_total{provider=\"a\\\"b\\\\c\\nd\",result=\"x\"} 3\n");
    assert_shows("# HELP aldaba_callbacks_total Callbacks \\\\ by result.\\nSecond line.\n");
}

static void test_a_series_is_found_again(void **state)
{
    (void)state;
    struct ald_metric *one = ald_metrics_get("aldaba_callbacks_total", "again", "x");
    assert_ptr_equal(ald_metrics_get("aldaba_callbacks_total", "again", "x"), one);
    assert_ptr_not_equal(ald_metrics_get("aldaba_callbacks_total", "x", "again"), one);
    char copy[] = "again";
    assert_ptr_equal(ald_metrics_get("aldaba_callbacks_total", copy, "x"), one);
    copy[0] = 'X'; /* the series keeps its own text */
    assert_ptr_equal(ald_metrics_get("aldaba_callbacks_total", "again", "x"), one);
}

static void test_bad_values_are_other(void **state)
{
    (void)state;
    char longest[ALD_METRIC_VALUE_MAX + 1];
    memset(longest, 'v', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    struct ald_metric *other = ald_metrics_get("aldaba_callbacks_total", "other", "x");
    assert_ptr_equal(ald_metrics_get("aldaba_callbacks_total", longest, "x"), other);
    assert_ptr_equal(ald_metrics_get("aldaba_callbacks_total", "\xff", "x"), other);
    assert_ptr_equal(ald_metrics_get("aldaba_callbacks_total", NULL, "x"), other);
    assert_ptr_not_equal(ald_metrics_get("aldaba_callbacks_total", longest + 1, "x"), other);
}

static void *count_up(void *unused)
{
    for (int i = 0; i < METRICS_EACH; i++) {
        ald_metric_add(ald_metrics_get("aldaba_callbacks_total", "threads", "x"), 1);
        ald_metric_observe(&took, 0.5);
    }
    return unused;
}

static void test_threads_lose_no_count(void **state)
{
    (void)state;
    pthread_t threads[METRICS_THREADS];
    double sum = atomic_load(&took.sum);
    for (size_t i = 0; i < METRICS_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    for (size_t i = 0; i < METRICS_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(ald_metric_read(ald_metrics_get("aldaba_callbacks_total", "threads", "x")),
                     METRICS_THREADS * METRICS_EACH);
    assert_true(atomic_load(&took.sum) - sum >= METRICS_THREADS * METRICS_EACH * 0.5 - 1);
}

static void test_series_are_bounded(void **state)
{
    (void)state;
    char provider[32];
    for (int i = 0; i < 3 * ALD_METRIC_SERIES_MAX; i++) {
        (void)snprintf(provider, sizeof provider, "p%d", i);
        ald_metric_add(ald_metrics_get("aldaba_callbacks_total", provider, "x"), 1);
    }
    struct ald_metric *other = ald_metrics_get("aldaba_callbacks_total", "other", "other");
    assert_ptr_equal(ald_metrics_get("aldaba_callbacks_total", "one more", "y"), other);
    assert_ptr_equal(ald_metrics_get("aldaba_callbacks_total", "p0", "x"),
                     ald_metrics_get("aldaba_callbacks_total", "p0", "x"));
    struct ald_buf out = written();
    size_t lines = 0;
    for (const char *at = ald_buf_str(&out); (at = strstr(at, "\naldaba_callbacks_total{")); at++)
        lines++;
    ald_buf_free(&out);
    assert_int_equal(lines, ALD_METRIC_SERIES_MAX + 1);
    int64_t counted = ald_metric_read(other);
    assert_true(counted > 2 * ALD_METRIC_SERIES_MAX && counted < 3 * ALD_METRIC_SERIES_MAX);
}

static void test_small_buffer_fails_whole(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 100);
    ald_metrics_write(&out);
    assert_false(ald_buf_ok(&out));
    ald_buf_free(&out);
}

/* With --write only a sample of everything is written: for promtool, where it is installed. */
static int write_sample(void)
{
    register_all();
    ald_metric_observe(&took, 0.5);
    ald_metric_add(ald_metrics_get("aldaba_callbacks_total", "a\"b\\c\nd", "applied"), 1);
    struct ald_buf out = written();
    size_t done = fwrite(out.data, 1, out.len, stdout);
    bool whole = done == out.len;
    ald_buf_free(&out);
    return whole ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--write") == 0)
        return write_sample();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_gauges),
        cmocka_unit_test(test_histogram),
        cmocka_unit_test(test_text_is_escaped),
        cmocka_unit_test(test_a_series_is_found_again),
        cmocka_unit_test(test_bad_values_are_other),
        cmocka_unit_test(test_threads_lose_no_count),
        cmocka_unit_test(test_series_are_bounded),
        cmocka_unit_test(test_small_buffer_fails_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
