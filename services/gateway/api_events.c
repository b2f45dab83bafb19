/* The feed as Server-Sent Events: what `fetch` gives, event by event, until one side goes. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/config/event_json.h"
#include "services/gateway/api_call.h"

enum {
    EVENTS_LIMIT = 100,
    EVENTS_BYTES = 1 << 20,
    EVENTS_WAIT_MS = 2000,   /* of one fetch: so soon is a stop or a lost client seen */
    EVENTS_QUIET_MS = 10000, /* then a comment shows that the stream lives */
    EVENTS_AWAY_MS = 1000,   /* between two tries while the tracker is away */
    EVENTS_RETRY_MS = 2000   /* what a client waits before it comes again */
};

struct events_stream {
    struct api_call *call;
    struct msg_fetch ask;
    int64_t said_ms; /* when something was written last */
};

static bool events_write(struct events_stream *self)
{
    struct ald_buf *out = &self->call->worker->out;
    bool ok = ald_buf_ok(out) && http_write(self->call->exchange, ald_buf_span(out)) == ALD_OK;
    ald_buf_reset(out);
    self->said_ms = ald_clock_now().mono_ms;
    return ok;
}

static void events_put(struct ald_buf *out, const struct msg_event *event)
{
    ald_buf_printf(out, "id: %llu:%llu\nevent: result\ndata: ", (unsigned long long)event->lane,
                   (unsigned long long)event->seq);
    struct json_out json = json_out_begin(out);
    json_out_object(&json, NULL);
    ald_event_json(&json, event);
    json_out_close_object(&json);
    ald_buf_put_str(out, "\n\n");
}

/* A result's own JSON may be laid out over several lines; a line end would end the event. */
static void events_one_line(struct ald_buf *out, size_t from)
{
    for (size_t i = from; i + 2 < out->len; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r')
            out->data[i] = ' ';
}

static void events_put_whole(struct ald_buf *out, const struct msg_event *event)
{
    static const char data[] = "\ndata: ";
    size_t begin = out->len;
    events_put(out, event);
    const uint8_t *at = memmem(out->data + begin, out->len - begin, data, sizeof data - 1);
    if (at)
        events_one_line(out, (size_t)(at - out->data) + sizeof data - 1);
}

/* What lies before the first event of this page is not to be had; or the client read another feed:
 * the store was set back, and this one goes on in a lane of its own. */
static void events_gap(struct events_stream *self, zmsg_t *answer, const char *position)
{
    struct msg_event event;
    char before[ALD_POSITION_MAX];
    ald_text_cut(before, sizeof before, ald_span_str(position));
    zframe_t *frame = zmsg_next(answer);
    if (frame && api_read(frame, &MSG_EVENT, &event))
        (void)snprintf(before, sizeof before, "%llu:%llu", (unsigned long long)event.lane,
                       (unsigned long long)event.seq);
    (void)zmsg_first(answer);
    size_t lane = strcspn(before, ":") + 1;
    bool other = strchr(self->ask.after, ':') && strncmp(self->ask.after, before, lane) != 0;
    ald_buf_printf(&self->call->worker->out,
                   "event: gap\ndata: {\"before\":\"%s\",\"other_lane\":%s}\n\n", before,
                   other ? "true" : "false");
}

/* Write what a fetch gave. False: the stream is over. */
static bool events_page(struct events_stream *self, zmsg_t *answer)
{
    struct msg_events head;
    struct msg_event event;
    struct ald_buf *out = &self->call->worker->out;
    if (!api_read(zmsg_first(answer), &MSG_EVENTS, &head) || strcmp(head.rc, "ok") != 0)
        return false;
    if (head.gap)
        events_gap(self, answer, head.position);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_EVENT, &event))
            events_put_whole(out, &event);
    bool moved = strcmp(self->ask.after, head.position) != 0;
    if (moved && out->len == 0) /* only events of others: where to go on all the same */
        ald_buf_printf(out, "id: %s\n\n", head.position);
    memcpy(self->ask.after, head.position, sizeof self->ask.after);
    if (out->len == 0 && ald_clock_now().mono_ms - self->said_ms >= EVENTS_QUIET_MS)
        ald_buf_put_str(out, ": still here\n\n");
    return out->len == 0 || events_write(self);
}

/* The tracker is away: wait with the client. What could not even be sent failed at once, and is
 * not tried again at once. False: the client is gone. */
static bool events_away(struct events_stream *self, enum ald_rc rc)
{
    const struct timespec pause = {.tv_sec = EVENTS_AWAY_MS / 1000};
    if (rc == ALD_AGAIN)
        (void)nanosleep(&pause, NULL);
    return http_write(self->call->exchange, ald_span_str(": away\n\n")) == ALD_OK;
}

static void events_loop(struct events_stream *self)
{
    struct api *api = self->call->api;
    bool goes_on = true;
    while (goes_on && !atomic_load(&api->stopping)) {
        zmsg_t *answer = NULL;
        enum ald_rc rc = caller_ask(api->caller, ALD_CHANNEL_CONSUME, &MSG_FETCH, &self->ask,
                                    EVENTS_WAIT_MS + API_WAIT_MS, &answer);
        if (rc == ALD_OK)
            goes_on = events_page(self, answer);
        else if (rc != ALD_CLOSED && rc != ALD_FULL)
            goes_on = events_away(self, rc);
        else
            goes_on = false;
        zmsg_destroy(&answer);
    }
}

/* Where to begin: Last-Event-ID of a client that comes again, else after=, else now. False: a
 * problem was answered. */
static bool events_begin(struct events_stream *self)
{
    struct msg_fetch *ask = &self->ask;
    const struct api_query_field fields[] = {
        {.name = "after", .kind = API_QUERY_TEXT, .out = ask->after, .cap = sizeof ask->after},
        {.name = "provider",
         .kind = API_QUERY_TEXT,
         .out = ask->provider,
         .cap = sizeof ask->provider},
        {.name = "state",
         .kind = API_QUERY_WORD,
         .out = ask->state,
         .cap = sizeof ask->state,
         .words = "done, failed, lost, expired, cancelled"},
    };
    ald_text_cut(ask->after, sizeof ask->after, ald_span_str("new"));
    ask->limit = EVENTS_LIMIT;
    ask->bytes = EVENTS_BYTES;
    if (!api_query(self->call, fields, ALD_COUNT(fields)))
        return false;
    const char *last = http_header(self->call->request, "Last-Event-ID");
    if (last && last[0] != '\0' && strlen(last) < sizeof ask->after)
        ald_text_cut(ask->after, sizeof ask->after, ald_span_str(last));
    return true;
}

/* The first fetch does not wait: a wrong position is a problem, not a stream that ends. */
static bool events_open(struct events_stream *self, zmsg_t **answer)
{
    struct api_call *call = self->call;
    struct msg_events head;
    enum ald_rc rc = caller_ask(call->api->caller, ALD_CHANNEL_CONSUME, &MSG_FETCH, &self->ask,
                                API_WAIT_MS, answer);
    if (rc != ALD_OK) {
        api_unasked(call, ALD_CHANNEL_CONSUME, rc);
        return false;
    }
    if (!api_read(zmsg_first(*answer), &MSG_EVENTS, &head)) {
        api_refused(call, "io", "");
        return false;
    }
    if (strcmp(head.rc, "ok") != 0) {
        api_refused(call, head.rc, head.detail);
        return false;
    }
    return http_begin(call->exchange, 200,
                      "Content-Type: text/event-stream\r\nCache-Control: no-store\r\n"
                      "X-Accel-Buffering: no\r\n") == ALD_OK;
}

void api_events(struct api_call *call)
{
    struct events_stream stream = {.call = call, .said_ms = ald_clock_now().mono_ms};
    zmsg_t *answer = NULL;
    if (!api_wait_enter(call->api)) {
        api_problem(call, 503, "There are too many streams and waits; try again later.");
        return;
    }
    if (events_begin(&stream) && events_open(&stream, &answer)) {
        ald_buf_printf(&call->worker->out, "retry: %d\n\n", EVENTS_RETRY_MS);
        bool ok = events_write(&stream) && events_page(&stream, answer);
        stream.ask.wait_ms = EVENTS_WAIT_MS;
        if (ok)
            events_loop(&stream);
    }
    zmsg_destroy(&answer);
    api_wait_leave(call->api);
}
