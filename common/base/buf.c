#include "common/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUF_FIRST = 256 };

static const size_t BUF_LIMIT = SIZE_MAX / 4;

void ald_buf_init(struct ald_buf *self, size_t max)
{
    if (max > BUF_LIMIT)
        max = BUF_LIMIT; /* a size in memory, and 1 more for the NUL does not wrap */
    *self = (struct ald_buf){.max = max};
}

void ald_buf_free(struct ald_buf *self)
{
    free(self->data);
    ald_buf_init(self, self->max);
}

void ald_buf_reset(struct ald_buf *self)
{
    self->len = 0;
    self->failed = false;
}

/* Room for len bytes more and a NUL. Memory grows twofold, but not past the maximum. */
static bool buf_room(struct ald_buf *self, size_t len)
{
    if (self->failed || len > self->max || self->len > self->max - len) {
        self->failed = true;
        return false;
    }
    size_t need = self->len + len + 1;
    if (need <= self->cap)
        return true;
    size_t cap = self->cap ? self->cap : BUF_FIRST;
    while (cap < need)
        cap = cap > need / 2 ? 2 * cap : need;
    if (cap > self->max + 1)
        cap = self->max + 1;
    uint8_t *data = realloc(self->data, cap);
    ALD_ASSERT(data);
    self->data = data;
    self->cap = cap;
    return true;
}

void ald_buf_put(struct ald_buf *self, const void *data, size_t len)
{
    if (len == 0 || !buf_room(self, len))
        return;
    memcpy(self->data + self->len, data, len);
    self->len += len;
}

void ald_buf_put_span(struct ald_buf *self, struct ald_span span)
{
    ald_buf_put(self, span.data, span.len);
}

void ald_buf_put_str(struct ald_buf *self, const char *text)
{
    ald_buf_put(self, text, strlen(text));
}

void ald_buf_put_byte(struct ald_buf *self, uint8_t byte)
{
    if (buf_room(self, 1))
        self->data[self->len++] = byte;
}

void ald_buf_printf(struct ald_buf *self, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !buf_room(self, (size_t)n)) {
        self->failed = true;
        return;
    }
    va_start(args, format);
    (void)vsnprintf((char *)self->data + self->len, (size_t)n + 1, format, args);
    va_end(args);
    self->len += (size_t)n;
}

bool ald_buf_ok(const struct ald_buf *self)
{
    return !self->failed;
}

struct ald_span ald_buf_span(const struct ald_buf *self)
{
    return ald_span_of(self->data, self->len);
}

const char *ald_buf_str(struct ald_buf *self)
{
    if (!self->data)
        return "";
    self->data[self->len] = '\0'; /* buf_room always leaves a byte */
    return (const char *)self->data;
}
