#include "services/gateway/api/event_stream.h"

#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/config/event_json.h"

enum {
    STREAM_QUIET_MS = 10000, /* then a comment shows that the stream lives */
    STREAM_AWAY_MS = 1000,   /* between two tries while the tracker is away */
    STREAM_RETRY_MS = 2000   /* what a client waits before it comes again */
};

static bool stream_write(struct event_stream *self)
{
    struct ald_buf *out = &self->call->worker->out;
    bool ok = ald_buf_ok(out) && http_write(self->call->exchange, ald_buf_span(out)) == ALD_OK;
    ald_buf_reset(out);
    self->said_ms = ald_clock_now().mono_ms;
    return ok;
}

bool event_stream_begin(struct event_stream *self, struct api_call *call)
{
    *self = (struct event_stream){.call = call};
    ald_buf_reset(&call->worker->out);
    ald_buf_printf(&call->worker->out, "retry: %d\n\n", STREAM_RETRY_MS);
    return http_begin(call->exchange, 200,
                      "Content-Type: text/event-stream\r\nCache-Control: no-store\r\n"
                      "X-Accel-Buffering: no\r\n") == ALD_OK &&
           stream_write(self);
}

/* A result's own JSON may be laid out over several lines; a line end would end the event. */
static void stream_one_line(struct ald_buf *out, size_t from)
{
    for (size_t i = from; i < out->len; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r')
            out->data[i] = ' ';
}

void event_stream_event(struct event_stream *self, const struct msg_event *event, uint64_t first)
{
    struct ald_buf *out = &self->call->worker->out;
    ald_buf_printf(out, "id: %llu:%llu", (unsigned long long)event->lane,
                   (unsigned long long)event->seq);
    if (first > 0)
        ald_buf_printf(out, ":%llu", (unsigned long long)first);
    ald_buf_put_str(out, "\nevent: result\ndata: ");
    size_t begin = out->len;
    struct ald_json_out json = ald_json_out_begin(out);
    ald_json_out_object(&json, NULL);
    ald_event_json(&json, event);
    ald_json_out_close_object(&json);
    stream_one_line(out, begin);
    ald_buf_put_str(out, "\n\n");
}

void event_stream_gap(struct event_stream *self, const char *before, bool other_lane)
{
    ald_buf_printf(&self->call->worker->out,
                   "event: gap\ndata: {\"before\":\"%s\",\"other_lane\":%s}\n\n", before,
                   other_lane ? "true" : "false");
}

void event_stream_place(struct event_stream *self, const char *position)
{
    ald_buf_printf(&self->call->worker->out, "id: %s\n\n", position);
}

bool event_stream_flush(struct event_stream *self)
{
    struct ald_buf *out = &self->call->worker->out;
    if (out->len == 0 && ald_clock_now().mono_ms - self->said_ms >= STREAM_QUIET_MS)
        ald_buf_put_str(out, ": still here\n\n");
    return out->len == 0 || stream_write(self);
}

bool event_stream_away(struct event_stream *self, enum ald_rc rc)
{
    const struct timespec pause = {.tv_sec = STREAM_AWAY_MS / 1000};
    if (rc == ALD_CLOSED || rc == ALD_FULL)
        return false;
    if (rc == ALD_AGAIN)
        (void)nanosleep(&pause, NULL);
    return http_write(self->call->exchange, ald_span_str(": away\n\n")) == ALD_OK;
}
