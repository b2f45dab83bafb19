#include "common/store/report.h"

#include <inttypes.h>
#include <stdarg.h>

#include "common/base/buf.h"
#include "common/base/text.h"

enum { REPORT_TEXT_MAX = 1024 };

void ald_report_fact(struct ald_report *self, const char *name, int64_t value)
{
    (void)fprintf(self->to, "fact %s %" PRId64 "\n", name, value);
}

static void report_text(struct ald_report *self, const char *kind, const char *format, va_list list)
    ALD_PRINTF(3, 0);

static void report_text(struct ald_report *self, const char *kind, const char *format, va_list list)
{
    char text[REPORT_TEXT_MAX];
    struct ald_buf line;
    (void)vsnprintf(text, sizeof text, format, list);
    ald_buf_init(&line, 4 * REPORT_TEXT_MAX);
    ald_text_escape(&line, ald_span_str(text));
    (void)fprintf(self->to, "%s %s\n", kind, ald_buf_str(&line));
    ald_buf_free(&line);
}

void ald_report_note(struct ald_report *self, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    report_text(self, "note", format, list);
    va_end(list);
}

void ald_report_problem(struct ald_report *self, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    report_text(self, "problem", format, list);
    va_end(list);
    self->problems++;
}

void ald_report_letter(struct ald_report *self, struct ald_span letter, const char *word)
{
    struct ald_buf id;
    ald_buf_init(&id, REPORT_TEXT_MAX);
    ald_text_escape(&id, letter);
    (void)fprintf(self->to, "letter %s %s\n", ald_buf_str(&id), word);
    ald_buf_free(&id);
}
