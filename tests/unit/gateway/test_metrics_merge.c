/* Several pages of metrics as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "services/gateway/api/metrics_merge.h"

static void test_example(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 1 << 16);
    metrics_merge_t *pages = metrics_merge_new();
    metrics_merge_add(pages, "tracker", "tracker",
                      ald_span_str("# HELP a_total All.\n# TYPE a_total counter\na_total 1\n"
                                   "# HELP b What.\n# TYPE b gauge\nb{provider=\"x\"} 2\n"));
    metrics_merge_add(pages, "poller", "poller-1",
                      ald_span_str("# HELP a_total All.\n# TYPE a_total counter\na_total 3\n"));
    metrics_merge_write(pages, &out);
    assert_string_equal(ald_buf_str(&out),
                        "# HELP a_total All.\n# TYPE a_total counter\n"
                        "a_total{svc=\"tracker\",instance=\"tracker\"} 1\n"
                        "a_total{svc=\"poller\",instance=\"poller-1\"} 3\n"
                        "# HELP b What.\n# TYPE b gauge\n"
                        "b{svc=\"tracker\",instance=\"tracker\",provider=\"x\"} 2\n");
    metrics_merge_destroy(&pages);
    ald_buf_free(&out);
}

static void test_nonsense_is_left_out(void **state)
{
    (void)state;
    static const char *const pages_of_nonsense[] = {
        "", "\n\n", "a 1\n", "# HELP ", "# HELP \n a 1", "#", "# TYPE\n"};
    struct ald_buf out;
    ald_buf_init(&out, 1 << 16);
    metrics_merge_t *pages = metrics_merge_new();
    for (size_t i = 0; i < ALD_COUNT(pages_of_nonsense); i++)
        metrics_merge_add(pages, "x", "y", ald_span_str(pages_of_nonsense[i]));
    metrics_merge_write(pages, &out);
    assert_int_equal(out.len, 0);
    metrics_merge_destroy(&pages);
    ald_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_nonsense_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
