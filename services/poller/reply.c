#include "services/poller/reply.h"

#include <string.h>

enum { REPLY_KEEP_MAX = 16 << 10 /* a larger buffer is freed between answers */ };

void reply_init(struct reply *self)
{
    *self = (struct reply){0};
    ald_buf_init(&self->body, 0);
    ald_buf_init(&self->head, REPLY_HEAD_MAX);
}

void reply_free(struct reply *self)
{
    ald_buf_free(&self->body);
    ald_buf_free(&self->head);
}

void reply_begin(struct reply *self, size_t max_bytes)
{
    self->body.max = max_bytes;
    self->header_bytes = 0;
    ald_buf_reset(&self->head);
    self->too_big = self->crowded = self->head_whole = false;
}

void reply_end(struct reply *self, struct reply_budget *budget)
{
    budget->held_bytes -= self->body.len;
    ald_buf_reset(&self->body);
    if (self->body.cap > REPLY_KEEP_MAX)
        ald_buf_free(&self->body);
    if (self->head.cap > REPLY_KEEP_MAX / 8)
        ald_buf_free(&self->head);
}

bool reply_take_header(struct reply *self, const char *data, size_t len)
{
    self->header_bytes += len;
    self->too_big = self->too_big || self->header_bytes > REPLY_HEADER_MAX;
    if (len > 5 && memcmp(data, "HTTP/", 5) == 0) {
        self->head_whole = false; /* the one before was an interim answer */
        ald_buf_reset(&self->head);
    } else {
        ald_buf_put(&self->head, data, len);
    }
    if (len > 0 && len <= 2 && data[len - 1] == '\n')
        self->head_whole = true;
    return !self->too_big;
}

bool reply_take_body(struct reply *self, struct reply_budget *budget, const char *data, size_t len)
{
    size_t room = self->body.max - self->body.len;
    self->crowded = len > budget->max_bytes - budget->held_bytes;
    if (self->crowded)
        return false;
    self->too_big = len > room;
    size_t taken = self->too_big ? room : len;
    ald_buf_put(&self->body, data, taken);
    budget->held_bytes += taken;
    return !self->too_big;
}

const char *reply_fault(const struct reply *self)
{
    if (self->too_big)
        return "the answer is too big";
    if (self->crowded)
        return "too many bytes of other answers are under way";
    return self->head_whole ? NULL : "the answer was cut off in its headers";
}
