#include "services/gateway/api/metrics_merge.h"

#include <stdlib.h>
#include <string.h>

enum { MERGE_FAMILIES_MAX = 512, MERGE_NAME_MAX = 128, MERGE_BYTES_MAX = 8 << 20 };

struct merge_family {
    char name[MERGE_NAME_MAX];
    struct ald_buf head; /* HELP and TYPE, of the first that has them */
    struct ald_buf samples;
};

struct metrics_merge {
    size_t count;
    struct merge_family families[MERGE_FAMILIES_MAX];
};

metrics_merge_t *metrics_merge_new(void)
{
    metrics_merge_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    return self;
}

void metrics_merge_destroy(metrics_merge_t **self_p)
{
    metrics_merge_t *self = *self_p;
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++) {
        ald_buf_free(&self->families[i].head);
        ald_buf_free(&self->families[i].samples);
    }
    free(self);
    *self_p = NULL;
}

static struct merge_family *merge_family(metrics_merge_t *self, struct ald_span name)
{
    for (size_t i = 0; i < self->count; i++)
        if (ald_span_eq_str(name, self->families[i].name))
            return &self->families[i];
    if (self->count == MERGE_FAMILIES_MAX || name.len == 0 || name.len >= MERGE_NAME_MAX)
        return NULL;
    struct merge_family *family = &self->families[self->count++];
    memcpy(family->name, name.data, name.len);
    family->name[name.len] = '\0';
    ald_buf_init(&family->head, MERGE_BYTES_MAX);
    ald_buf_init(&family->samples, MERGE_BYTES_MAX);
    return family;
}

/* The family that a comment line names; head_done: it has its HELP and TYPE from another page. */
static struct merge_family *merge_comment(metrics_merge_t *self, struct ald_span line,
                                          const struct merge_family *current, bool *head_done)
{
    struct ald_span rest = ald_span_skip(line, strlen("# HELP ")); /* TYPE is as long */
    struct merge_family *family =
        merge_family(self, ald_span_of(rest.data, ald_span_find(rest, ' ')));
    if (family && family != current)
        *head_done = family->head.len > 0;
    if (family && !*head_done) {
        ald_buf_put_span(&family->head, line);
        ald_buf_put_byte(&family->head, '\n');
    }
    return family;
}

static void merge_sample(struct merge_family *family, struct ald_span line, const char *svc,
                         const char *instance)
{
    size_t name = 0;
    while (name < line.len && line.data[name] != '{' && line.data[name] != ' ')
        name++;
    struct ald_buf *out = &family->samples;
    bool labels = name < line.len && line.data[name] == '{';
    ald_buf_put(out, line.data, name);
    ald_buf_printf(out, "{svc=\"%s\",instance=\"%s\"%s", svc, instance, labels ? "," : "}");
    size_t from = labels ? name + 1 : name;
    ald_buf_put(out, line.data + from, line.len - from);
    ald_buf_put_byte(out, '\n');
}

void metrics_merge_add(metrics_merge_t *self, const char *svc, const char *instance,
                       struct ald_span page)
{
    struct merge_family *family = NULL;
    bool head_done = false;
    while (page.len > 0) {
        size_t end = ald_span_find(page, '\n');
        struct ald_span line = ald_span_of(page.data, end);
        page = ald_span_skip(page, end < page.len ? end + 1 : end);
        if (ald_span_starts(line, "# HELP ") || ald_span_starts(line, "# TYPE "))
            family = merge_comment(self, line, family, &head_done);
        else if (line.len > 0 && line.data[0] != '#' && family)
            merge_sample(family, line, svc, instance);
    }
}

void metrics_merge_write(const metrics_merge_t *self, struct ald_buf *out)
{
    for (size_t i = 0; i < self->count; i++) {
        ald_buf_put_span(out, ald_buf_span(&self->families[i].head));
        ald_buf_put_span(out, ald_buf_span(&self->families[i].samples));
    }
}
