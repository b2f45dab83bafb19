#include "services/gateway/api/audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

enum { AUDIT_FIGURES = 256 /* of a small house */ };

void audit_clear(struct audit *self)
{
    self->count = 0;
    self->problem_count = 0;
}

void audit_free(struct audit *self)
{
    free(self->figures);
    *self = (struct audit){0};
}

void audit_add(struct audit *self, const char *group, const struct msg_figure *figure)
{
    if (self->count == self->cap) {
        self->cap = self->cap == 0 ? AUDIT_FIGURES : 2 * self->cap;
        self->figures = realloc(self->figures, self->cap * sizeof *self->figures);
        ALD_ASSERT(self->figures);
    }
    struct msg_figure *to = &self->figures[self->count++];
    *to = *figure;
    if (group)
        ald_text_cut(to->group, sizeof to->group, ald_span_str(group));
}

void audit_add_value(struct audit *self, const char *group, const char *name, int64_t value)
{
    struct msg_figure figure = {.value = value};
    ald_text_cut(figure.name, sizeof figure.name, ald_span_str(name));
    audit_add(self, group, &figure);
}

void audit_add_text(struct audit *self, const char *group, const char *name, const char *text)
{
    struct msg_figure figure = {.value = 1};
    ald_text_cut(figure.name, sizeof figure.name, ald_span_str(name));
    ald_text_cut(figure.text, sizeof figure.text, ald_span_str(text));
    audit_add(self, group, &figure);
}

static const struct msg_figure *audit_find(const struct audit *self, const char *group,
                                           const char *name)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->figures[i].group, group) == 0 && strcmp(self->figures[i].name, name) == 0)
            return &self->figures[i];
    return NULL;
}

int64_t audit_value(const struct audit *self, const char *group, const char *name)
{
    const struct msg_figure *figure = audit_find(self, group, name);
    return figure ? figure->value : 0;
}

void audit_say(struct audit *self, const char *format, ...)
{
    if (self->problem_count == AUDIT_PROBLEMS_MAX)
        return;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(self->problems[self->problem_count++], AUDIT_SENTENCE_MAX, format, list);
    va_end(list);
}

/* The sum of a group's figures of these names. */
static int64_t audit_sum(const struct audit *self, const char *group, const char *const *names,
                         size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += audit_value(self, group, names[i]);
    return sum;
}

static void audit_equal(struct audit *self, const char *what, int64_t left, int64_t right)
{
    if (left != right)
        audit_say(self, "%s: %lld is not %lld", what, (long long)left, (long long)right);
}

static void audit_tasks(struct audit *self)
{
    static const char *const ends[] = {"done", "failed", "lost", "expired", "cancelled"};
    static const char *const live[] = {"accepted", "submitting", "pending", "polling"};
    static const char *const sources[] = {"callback", "late", "poll", "replay", "manual", "submit"};
    static const char *const callbacks[] = {"callback", "late", "replay", "manual"};
    static const char *const ours[] = {"expired", "cancelled"}; /* the manual ones that are not */
    int64_t ended = audit_sum(self, "tasks", ends, ALD_COUNT(ends));
    int64_t open = audit_find(self, "tasks", "open")
                       ? audit_value(self, "tasks", "open")
                       : audit_sum(self, "tasks", live, ALD_COUNT(live));
    audit_equal(self, "tasks created, and open and ended", audit_value(self, "tasks", "created"),
                open + ended);
    audit_equal(self, "tasks ended, and results written", ended,
                audit_sum(self, "results", sources, ALD_COUNT(sources)));
    audit_equal(self, "callbacks applied, and results of callbacks",
                audit_value(self, "arrivals", "applied"),
                audit_sum(self, "results", callbacks, ALD_COUNT(callbacks)) -
                    audit_sum(self, "tasks", ours, ALD_COUNT(ours)) +
                    audit_value(self, "corrections", "applied"));
}

static void audit_letters(struct audit *self)
{
    static const char *const fates[] = {"open", "resolved", "dropped"};
    audit_equal(self, "letters made, and open and closed", audit_value(self, "letters", "made"),
                audit_sum(self, "letters", fates, ALD_COUNT(fates)));
    int64_t lying = audit_value(self, "letters", "outbox_open") + audit_value(self, "dlq", "open") +
                    audit_value(self, "dlq", "held");
    audit_equal(self, "letters open, and in the outbox and the dlq",
                audit_value(self, "letters", "open"), lying);
    int64_t marks =
        audit_value(self, "letters", "outbox_xor") ^ audit_value(self, "dlq", "open_xor");
    if (audit_value(self, "letters", "open_xor") != marks)
        audit_say(self, "the open letters are not those in the outbox and the dlq");
}

/* What the tracker itself found wrong. */
static void audit_told(struct audit *self)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct msg_figure *figure = &self->figures[i];
        if (strcmp(figure->name, "balanced") == 0 && figure->value == 0)
            audit_say(self, "%s: %s", figure->group, figure->text[0] ? figure->text : "unbalanced");
    }
}

void audit_check(struct audit *self)
{
    static const char *const dispositions[] = {"applied", "progress", "duplicate",
                                               "parked",  "dead",     "dropped"};
    audit_equal(self, "arrivals received, and their dispositions",
                audit_value(self, "arrivals", "received"),
                audit_sum(self, "arrivals", dispositions, ALD_COUNT(dispositions)));
    audit_tasks(self);
    audit_letters(self);
    audit_equal(
        self, "callbacks on disk, and answered or with the client gone",
        audit_value(self, "gateway", "acknowledged") + audit_value(self, "gateway", "spooled"),
        audit_value(self, "gateway", "answered") + audit_value(self, "gateway", "unanswered"));
    audit_told(self);
}
