#include <inttypes.h>
#include <string.h>

#include "common/base/metrics_list.h"

/* Append text with what would end it escaped: a quote only matters inside of one. */
static void write_escaped(struct ald_buf *out, const char *text, bool quoted)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            ald_buf_put_str(out, "\\n");
        else if (*text == '\\' || (*text == '"' && quoted))
            ald_buf_printf(out, "\\%c", *text);
        else
            ald_buf_put_byte(out, (uint8_t)*text);
    }
}

/* Append the labels of metric in braces, and le when it is not NULL. */
static void write_labels(struct ald_buf *out, const struct ald_metric *metric, const char *le)
{
    const char *between = "{";
    for (size_t i = 0; i < ALD_METRIC_LABELS && metric->label[i] != NULL; i++) {
        ald_buf_printf(out, "%s%s=\"", between, metric->label[i]);
        write_escaped(out, metric->value[i], true);
        ald_buf_put_byte(out, '"');
        between = ",";
    }
    if (le != NULL)
        ald_buf_printf(out, "%sle=\"%s\"", between, le);
    if (le != NULL || metric->label[0] != NULL)
        ald_buf_put_byte(out, '}');
}

static void write_number(struct ald_buf *out, const struct ald_metric *metric)
{
    int64_t number = ald_metric_read(metric);
    ald_buf_put_str(out, metric->name);
    write_labels(out, metric, NULL);
    if (metric->kind != ALD_GAUGE_MS) {
        ald_buf_printf(out, " %" PRId64 "\n", number);
        return;
    }
    uint64_t ms = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    ald_buf_printf(out, " %s%" PRIu64 ".%03u\n", number < 0 ? "-" : "", ms / 1000,
                   (unsigned)(ms % 1000));
}

static void write_bucket(struct ald_buf *out, const struct ald_metric *metric, const char *le,
                         uint64_t count)
{
    ald_buf_printf(out, "%s_bucket", metric->name);
    write_labels(out, metric, le);
    ald_buf_printf(out, " %" PRIu64 "\n", count);
}

static void write_histogram(struct ald_buf *out, const struct ald_metric *metric)
{
    uint64_t count = 0;
    struct ald_buf le;
    ald_buf_init(&le, 64);
    for (size_t i = 0; i < metric->bounds; i++) {
        count += atomic_load_explicit(&metric->bucket[i], memory_order_relaxed);
        ald_buf_reset(&le);
        ald_buf_printf(&le, "%.15g", metric->bound[i]);
        write_bucket(out, metric, ald_buf_str(&le), count);
    }
    ald_buf_free(&le);
    count += atomic_load_explicit(&metric->bucket[metric->bounds], memory_order_relaxed);
    write_bucket(out, metric, "+Inf", count);
    ald_buf_printf(out, "%s_sum", metric->name);
    write_labels(out, metric, NULL);
    ald_buf_printf(out, " %.15g\n", atomic_load_explicit(&metric->sum, memory_order_relaxed));
    ald_buf_printf(out, "%s_count", metric->name);
    write_labels(out, metric, NULL);
    ald_buf_printf(out, " %" PRIu64 "\n", count);
}

static bool write_is_family(const struct ald_metric *metric)
{
    return metric->label[0] != NULL && metric->value[0] == NULL;
}

void metrics_write_name(struct ald_buf *out, const struct ald_metric *first)
{
    static const char *const types[] = {[ALD_COUNTER] = "counter",
                                        [ALD_GAUGE] = "gauge",
                                        [ALD_GAUGE_MS] = "gauge",
                                        [ALD_HISTOGRAM] = "histogram"};
    ald_buf_printf(out, "# HELP %s ", first->name);
    write_escaped(out, first->help, false);
    ald_buf_printf(out, "\n# TYPE %s %s\n", first->name, types[first->kind]);
    for (const struct ald_metric *metric = first; metric != NULL; metric = metric->series) {
        if (write_is_family(metric))
            continue;
        if (metric->kind == ALD_HISTOGRAM)
            write_histogram(out, metric);
        else
            write_number(out, metric);
    }
}
