#include "common/client/handle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"

void handle_ready(aldaba_t *self)
{
    bool ready = self->queue.count > 0 || self->changed || self->refused;
    uint64_t one = 1;
    if (ready == self->ready)
        return;
    ssize_t done =
        ready ? write(self->ready_fd, &one, sizeof one) : read(self->ready_fd, &one, sizeof one);
    if (done == (ssize_t)sizeof one)
        self->ready = ready;
}

void handle_wake(aldaba_t *self)
{
    const uint64_t one = 1;
    if (!self->woken && write(self->wake_fd, &one, sizeof one) == (ssize_t)sizeof one)
        self->woken = true;
}

void handle_connected(aldaba_t *self, bool connected, const char *text)
{
    ald_text_cut(self->text, sizeof self->text, ald_span_str(text));
    if (self->connected == connected)
        return;
    self->connected = connected;
    self->changed = true;
    if (!connected)
        handle_log(self, 0, "%s", text);
}

void handle_refuse(aldaba_t *self, const char *text)
{
    ald_text_cut(self->text, sizeof self->text, ald_span_str(text));
    self->refused = true;
    handle_log(self, 0, "%s", self->text);
    (void)pthread_cond_broadcast(&self->settled);
}

void handle_log(const aldaba_t *self, int level, const char *format, ...)
{
    char text[512];
    va_list args;
    if (!self->log)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    self->log(level, text, self->log_arg);
}

bool handle_send(aldaba_t *self, const struct ald_schema *schema, const void *message, bool more)
{
    struct ald_buf bytes;
    ald_buf_init(&bytes, 4096);
    bool sent = ald_wire_encode(schema, message, &bytes) == ALD_OK &&
                bus_send(&self->bus.consume, &bytes, more);
    ald_buf_free(&bytes);
    return sent;
}

void handle_queue(aldaba_t *self, struct item *item)
{
    item_push(&self->queue, item);
}

size_t handle_room_bytes(const aldaba_t *self)
{
    return self->queue.bytes < self->buffer_bytes ? self->buffer_bytes - self->queue.bytes : 0;
}

bool handle_is_low(const aldaba_t *self)
{
    return self->queue.count <= self->buffer / 2 && self->queue.bytes <= self->buffer_bytes / 2;
}
