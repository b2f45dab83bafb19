#include "common/base/metrics.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/guard.h"
#include "common/base/metrics_list.h"
#include "common/base/text.h"

/* Twice the number of series, so that a search of the table ends soon. A power of two. */
enum { METRICS_SLOTS = 2 * ALD_METRIC_SERIES_MAX };

/* A series made at run time, with its values beside it. */
struct metrics_made {
    struct ald_metric metric;
    char text[ALD_METRIC_LABELS][ALD_METRIC_VALUE_MAX];
};

static pthread_mutex_t metrics_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ald_metric *metrics_head;
static struct ald_metric *metrics_slots[METRICS_SLOTS];
static size_t metrics_made_count;

const double ald_metric_seconds[ALD_METRIC_SECONDS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.1,
                                                       0.25,  0.5,    1,     5,    15,    60};

static const char METRICS_OTHER[] = "other";

static bool metrics_ends(const char *text, const char *end)
{
    size_t len = strlen(text);
    size_t tail = strlen(end);
    return len > tail && strcmp(text + len - tail, end) == 0;
}

static bool metrics_word_ok(const char *word)
{
    size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return len > 0 && word[len] == '\0' && word[0] >= 'a';
}

static size_t metrics_labels(const struct ald_metric *metric)
{
    size_t count = 0;
    while (count < ALD_METRIC_LABELS && metric->label[count] != NULL)
        count++;
    return count;
}

static bool metrics_is_family(const struct ald_metric *metric)
{
    return metric->label[0] != NULL && metric->value[0] == NULL;
}

static void metrics_check_name(const struct ald_metric *metric)
{
    static const char *const reserved[] = {"_bucket", "_count", "_sum", "_ms"};
    ALD_ASSERT(metric->name != NULL && metrics_word_ok(metric->name));
    ALD_ASSERT(metric->help != NULL && metric->help[0] != '\0');
    ALD_ASSERT(metrics_ends(metric->name, "_total") == (metric->kind == ALD_COUNTER));
    ALD_ASSERT(metric->kind != ALD_GAUGE_MS || metrics_ends(metric->name, "_seconds"));
    for (size_t i = 0; i < ALD_COUNT(reserved); i++)
        ALD_ASSERT(!metrics_ends(metric->name, reserved[i]));
}

static void metrics_check_labels(const struct ald_metric *metric)
{
    size_t count = metrics_labels(metric);
    for (size_t i = 0; i < ALD_METRIC_LABELS; i++) {
        ALD_ASSERT(i < count || (metric->label[i] == NULL && metric->value[i] == NULL));
        if (i >= count)
            continue;
        ALD_ASSERT(metrics_word_ok(metric->label[i]) && strcmp(metric->label[i], "le") != 0);
        ALD_ASSERT((metric->value[i] == NULL) == metrics_is_family(metric));
        ALD_ASSERT(metric->value[i] == NULL || ald_text_utf8_ok(ald_span_str(metric->value[i])));
    }
}

static void metrics_check_bounds(const struct ald_metric *metric)
{
    ALD_ASSERT((metric->kind == ALD_HISTOGRAM) == (metric->bounds > 0));
    ALD_ASSERT(metric->bounds <= ALD_METRIC_BUCKETS);
    for (size_t i = 0; i < metric->bounds; i++)
        ALD_ASSERT(i == 0 || metric->bound[i - 1] < metric->bound[i]);
}

/* Two metrics of one name are series of one kind; they differ in their values. */
static void metrics_check_pair(const struct ald_metric *a, const struct ald_metric *b)
{
    ALD_ASSERT(a->kind == b->kind && a->bound == b->bound && a->bounds == b->bounds);
    size_t count = metrics_labels(a);
    ALD_ASSERT(count > 0 && count == metrics_labels(b));
    bool same = metrics_is_family(a) == metrics_is_family(b);
    for (size_t i = 0; i < count; i++) {
        ALD_ASSERT(strcmp(a->label[i], b->label[i]) == 0);
        if (same && a->value[i] != NULL)
            same = strcmp(a->value[i], b->value[i]) == 0;
    }
    ALD_ASSERT(!same);
}

static struct ald_metric *metrics_named(const char *name)
{
    struct ald_metric *metric = metrics_head;
    while (metric != NULL && strcmp(metric->name, name) != 0)
        metric = metric->next;
    return metric;
}

/* Put metric behind the others of its name, or as a new name at the end. */
static void metrics_link(struct ald_metric *metric)
{
    struct ald_metric *first = metrics_named(metric->name);
    struct ald_metric **end = first != NULL ? &first->series : &metrics_head;
    while (*end != NULL)
        end = first != NULL ? &(*end)->series : &(*end)->next;
    *end = metric;
}

void ald_metric_register(struct ald_metric *metric)
{
    if (atomic_load(&metric->registered))
        return;
    metrics_check_name(metric);
    metrics_check_labels(metric);
    metrics_check_bounds(metric);
    (void)pthread_mutex_lock(&metrics_lock);
    if (!atomic_load(&metric->registered)) {
        for (struct ald_metric *one = metrics_named(metric->name); one != NULL; one = one->series)
            metrics_check_pair(one, metric);
        metrics_link(metric);
        atomic_store(&metric->registered, true);
    }
    (void)pthread_mutex_unlock(&metrics_lock);
}

void ald_metric_add(struct ald_metric *metric, int64_t n)
{
    ALD_ASSERT(metric->kind != ALD_HISTOGRAM && (n >= 0 || metric->kind != ALD_COUNTER));
    (void)atomic_fetch_add_explicit(&metric->number, n, memory_order_relaxed);
}

void ald_metric_set(struct ald_metric *metric, int64_t value)
{
    ALD_ASSERT(metric->kind == ALD_GAUGE || metric->kind == ALD_GAUGE_MS);
    atomic_store_explicit(&metric->number, value, memory_order_relaxed);
}

void ald_metric_observe(struct ald_metric *metric, double value)
{
    ALD_ASSERT(metric->kind == ALD_HISTOGRAM);
    if (isnan(value))
        return;
    size_t i = 0;
    while (i < metric->bounds && value > metric->bound[i])
        i++;
    (void)atomic_fetch_add_explicit(&metric->bucket[i], 1, memory_order_relaxed);
    double sum = atomic_load_explicit(&metric->sum, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&metric->sum, &sum, sum + value,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

int64_t ald_metric_read(const struct ald_metric *metric)
{
    return atomic_load_explicit(&metric->number, memory_order_relaxed);
}

/* FNV-1a over the name and the values with their NULs. */
static size_t metrics_hash(const char *name, const char *const *values, size_t count)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t part = 0; part <= count; part++) {
        const char *text = part == 0 ? name : values[part - 1];
        for (size_t i = 0; i <= strlen(text); i++)
            hash = (hash ^ (uint8_t)text[i]) * UINT64_C(1099511628211);
    }
    return (size_t)(hash ^ hash >> 32);
}

static bool metrics_is(const struct ald_metric *metric, const char *name, const char *const *values,
                       size_t count)
{
    if (strcmp(metric->name, name) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(metric->value[i], values[i]) != 0)
            return false;
    }
    return true;
}

static struct ald_metric *metrics_family(const char *name)
{
    struct ald_metric *metric = metrics_named(name);
    while (metric != NULL && !metrics_is_family(metric))
        metric = metric->series;
    ALD_ASSERT(metric != NULL);
    return metric;
}

static struct ald_metric *metrics_make(const struct ald_metric *family, const char *const *values)
{
    struct metrics_made *made = calloc(1, sizeof *made);
    ALD_ASSERT(made != NULL);
    made->metric.kind = family->kind;
    made->metric.name = family->name;
    made->metric.help = family->help;
    made->metric.bound = family->bound;
    made->metric.bounds = family->bounds;
    size_t count = metrics_labels(family);
    for (size_t i = 0; i < count; i++) {
        ald_text_cut(made->text[i], sizeof made->text[i], ald_span_str(values[i]));
        made->metric.label[i] = family->label[i];
        made->metric.value[i] = made->text[i];
    }
    atomic_store(&made->metric.registered, true);
    metrics_link(&made->metric);
    return &made->metric;
}

/* The series where a family counts what has no place of its own. */
static struct ald_metric *metrics_other(struct ald_metric *family)
{
    static const char *const values[ALD_METRIC_LABELS] = {METRICS_OTHER, METRICS_OTHER,
                                                          METRICS_OTHER};
    if (family->other == NULL)
        family->other = metrics_make(family, values);
    return family->other;
}

static struct ald_metric *metrics_find(const char *name, const char *const *values, size_t count)
{
    size_t slot = metrics_hash(name, values, count) % METRICS_SLOTS;
    while (metrics_slots[slot] != NULL) {
        if (metrics_is(metrics_slots[slot], name, values, count))
            return metrics_slots[slot];
        slot = (slot + 1) % METRICS_SLOTS;
    }
    struct ald_metric *family = metrics_family(name);
    ALD_ASSERT(count == metrics_labels(family));
    bool all_other = true;
    for (size_t i = 0; i < count; i++)
        all_other = all_other && strcmp(values[i], METRICS_OTHER) == 0;
    if (all_other)
        return metrics_other(family);
    for (struct ald_metric *one = metrics_named(name); one != NULL; one = one->series) {
        if (!metrics_is_family(one) && metrics_is(one, name, values, count))
            return one; /* registered with these values, or made and not in the table */
    }
    if (metrics_made_count >= ALD_METRIC_SERIES_MAX)
        return metrics_other(family);
    metrics_made_count++;
    metrics_slots[slot] = metrics_make(family, values);
    return metrics_slots[slot];
}

struct ald_metric *ald_metrics_series(const char *name, const char *const *values, size_t count)
{
    const char *clean[ALD_METRIC_LABELS];
    ALD_ASSERT(count > 0 && count <= ALD_METRIC_LABELS);
    for (size_t i = 0; i < count; i++) {
        bool fits = values[i] != NULL && strlen(values[i]) < ALD_METRIC_VALUE_MAX &&
                    ald_text_utf8_ok(ald_span_str(values[i]));
        clean[i] = fits ? values[i] : METRICS_OTHER;
    }
    (void)pthread_mutex_lock(&metrics_lock);
    struct ald_metric *found = metrics_find(name, clean, count);
    (void)pthread_mutex_unlock(&metrics_lock);
    return found;
}

void ald_metrics_write(struct ald_buf *out)
{
    (void)pthread_mutex_lock(&metrics_lock);
    for (const struct ald_metric *metric = metrics_head; metric != NULL; metric = metric->next)
        metrics_write_name(out, metric);
    (void)pthread_mutex_unlock(&metrics_lock);
}
