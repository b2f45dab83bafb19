#include "services/ctl/sse.h"

#include <string.h>

#include "common/base/text.h"

void sse_init(struct sse *self, size_t max, sse_fn *fn, void *context)
{
    *self = (struct sse){.fn = fn, .context = context};
    ald_buf_init(&self->line, max);
    ald_buf_init(&self->data, max);
}

void sse_free(struct sse *self)
{
    ald_buf_free(&self->line);
    ald_buf_free(&self->data);
}

static void sse_forget_event(struct sse *self)
{
    ald_buf_reset(&self->data);
    self->has_data = false;
    self->name[0] = '\0';
}

void sse_restart(struct sse *self)
{
    ald_buf_reset(&self->line);
    sse_forget_event(self);
    memcpy(self->coming, self->id, sizeof self->coming);
    self->begun = false;
    self->after_cr = false;
}

/* An empty line: the event is whole. */
static enum ald_rc sse_end(struct sse *self)
{
    memcpy(self->id, self->coming, sizeof self->id);
    bool more = true;
    if (self->has_data)
        more = self->fn(self->context, self->name[0] ? self->name : "message", self->id,
                        ald_buf_span(&self->data));
    sse_forget_event(self);
    return more ? ALD_OK : ALD_CLOSED;
}

static void sse_retry(struct sse *self, struct ald_span value)
{
    uint64_t ms;
    if (ald_text_u64(value, &ms) == ALD_OK && ms <= INT32_MAX)
        self->retry_ms = (int64_t)ms;
}

static void sse_field(struct sse *self, struct ald_span name, struct ald_span value)
{
    if (ald_span_eq_str(name, "data")) {
        if (self->has_data)
            ald_buf_put_byte(&self->data, '\n');
        ald_buf_put_span(&self->data, value);
        self->has_data = true;
    } else if (ald_span_eq_str(name, "event")) {
        ald_text_cut(self->name, sizeof self->name, value);
    } else if (ald_span_eq_str(name, "retry")) {
        sse_retry(self, value);
    } else if (ald_span_eq_str(name, "id")) {
        char id[SSE_ID_MAX];
        if (ald_text_copy(id, sizeof id, value) == ALD_OK)
            memcpy(self->coming, id, sizeof id);
    }
}

static enum ald_rc sse_line(struct sse *self)
{
    struct ald_span line = ald_buf_span(&self->line);
    if (!self->begun && ald_span_starts(line, "\xEF\xBB\xBF"))
        line = ald_span_skip(line, 3);
    self->begun = true;
    if (line.len == 0)
        return sse_end(self);
    size_t colon = ald_span_find(line, ':');
    struct ald_span value = ald_span_of(NULL, 0);
    if (colon < line.len)
        value = ald_span_skip(line, colon + 1);
    if (value.len > 0 && value.data[0] == ' ')
        value = ald_span_skip(value, 1);
    sse_field(self, ald_span_of(line.data, colon), value);
    return ald_buf_ok(&self->data) ? ALD_OK : ALD_TOOBIG;
}

/* Bytes up to the end of a line, or all. */
static size_t sse_piece(struct ald_span bytes)
{
    size_t lf = ald_span_find(bytes, '\n');
    return ald_span_find(ald_span_of(bytes.data, lf), '\r');
}

enum ald_rc sse_feed(struct sse *self, struct ald_span bytes)
{
    while (bytes.len > 0) {
        if (self->after_cr && bytes.data[0] == '\n') {
            self->after_cr = false;
            bytes = ald_span_skip(bytes, 1);
            continue;
        }
        self->after_cr = false;
        size_t len = sse_piece(bytes);
        ald_buf_put(&self->line, bytes.data, len);
        if (!ald_buf_ok(&self->line))
            return ALD_TOOBIG;
        if (len == bytes.len)
            return ALD_OK;
        self->after_cr = bytes.data[len] == '\r';
        bytes = ald_span_skip(bytes, len + 1);
        enum ald_rc rc = sse_line(self);
        ald_buf_reset(&self->line);
        if (rc != ALD_OK)
            return rc;
    }
    return ALD_OK;
}
