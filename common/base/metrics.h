/* metrics.h - counters, gauges and histograms of this process, as Prometheus text 0.0.4.
 *
 * A metric is a static object of the file that changes it, registered once:
 *
 *   static struct ald_metric acks = {.kind = ALD_COUNTER, .name = "aldaba_acks_total",
 *                                    .help = "Acknowledgements received."};
 *
 * Labels whose values are known beforehand are given with their values (.label, .value). Labels
 * without values make it a family: ald_metrics_get finds the series for values known only at run
 * time. Such series are bounded: past ALD_METRIC_SERIES_MAX of them, all further ones are counted
 * together under the value "other". Metrics are never taken away.
 * Threads: all functions may be called from any; changing a metric takes no lock.
 */
#ifndef ALD_BASE_METRICS_H
#define ALD_BASE_METRICS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

enum {
    ALD_METRIC_LABELS = 3,
    ALD_METRIC_VALUE_MAX = 64, /* bytes of a label's value with its NUL; longer ones are "other" */
    ALD_METRIC_BUCKETS = 16,
    ALD_METRIC_SERIES_MAX = 1024
};

enum ald_metric_kind {
    ALD_COUNTER,  /* only grows; the name ends in _total */
    ALD_GAUGE,    /* goes up and down */
    ALD_GAUGE_MS, /* set in milliseconds, shown in seconds; the name ends in _seconds */
    ALD_HISTOGRAM /* observations counted into buckets */
};

struct ald_metric {
    enum ald_metric_kind kind;
    const char *name;                     /* aldaba_<what>[_<unit>][_total], static */
    const char *help;                     /* one sentence, static */
    const char *label[ALD_METRIC_LABELS]; /* names, static; the rest NULL */
    const char *value[ALD_METRIC_LABELS]; /* values, or all NULL: a family */
    const double *bound;                  /* histogram: upper bounds, ascending, static */
    size_t bounds;                        /* 1..ALD_METRIC_BUCKETS */

    /* From here on the registry's own; zero at first. */
    _Atomic int64_t number;
    _Atomic uint64_t bucket[ALD_METRIC_BUCKETS + 1];
    _Atomic double sum;
    atomic_bool registered;
    struct ald_metric *next;   /* of another name */
    struct ald_metric *series; /* of the same name, with other values */
    struct ald_metric *other;  /* of a family: where the overflow goes */
};

/* Bounds for how long an answer takes: 1 ms to 60 s. */
enum { ALD_METRIC_SECONDS = 12 };
extern const double ald_metric_seconds[ALD_METRIC_SECONDS];

/* Show metric from now on; the object must last as long as the process. A second call with the same
 * object does nothing. Asserts a proper name, help and labels, and that metrics of one name agree
 * in kind, label names and bounds. */
void ald_metric_register(struct ald_metric *metric);

/* Add n to a counter (n >= 0) or a gauge. */
void ald_metric_add(struct ald_metric *metric, int64_t n);

/* Set a gauge. */
void ald_metric_set(struct ald_metric *metric, int64_t value);

/* Count one observation of a histogram. NaN is ignored. */
void ald_metric_observe(struct ald_metric *metric, double value);

/* The current number of a counter or gauge: for tests and for health. */
int64_t ald_metric_read(const struct ald_metric *metric);

/* The series of the registered family name with these values, one for each label, made on first
 * use: ald_metrics_get("aldaba_callbacks_total", provider, result). Never NULL and good for ever,
 * so a busy caller keeps it. A value that is NULL, too long or no UTF-8 counts as "other". */
#define ald_metrics_get(name, ...)                                                                 \
    ald_metrics_series((name), (const char *const[]){__VA_ARGS__},                                 \
                       sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
struct ald_metric *ald_metrics_series(const char *name, const char *const *values, size_t count);

/* Append all metrics, those of a name together, in the order of registration. */
void ald_metrics_write(struct ald_buf *out);

#endif
