/* The status as Server-Sent Events, once a second, for who looks on; and what a token may do. */
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "services/gateway/api/api_books.h"
#include "services/gateway/api/event_stream.h"

enum {
    WATCH_EVERY_MS = 1000,
    WATCH_STEP_MS = 100 /* so soon is a stop or a lost client seen */
};

void api_access(struct api_call *call)
{
    const struct api *api = call->api;
    struct ald_json_out out = api_json(call);
    ald_json_out_object(&out, NULL);
    ald_json_out_bool(&out, "tokens", api->token_count + api->read_token_count > 0);
    ald_json_out_bool(&out, "read", call->may_read);
    ald_json_out_bool(&out, "change", call->may_change);
    ald_json_out_close_object(&out);
    api_send(call, 200);
}

static bool watch_goes_on(const struct api_call *call)
{
    return !atomic_load(&call->api->stopping) && !http_gone(call->exchange);
}

static bool watch_pause(const struct api_call *call, int64_t until_ms)
{
    const struct timespec step = {.tv_nsec = WATCH_STEP_MS * 1000000L};
    while (watch_goes_on(call) && ald_clock_now().mono_ms < until_ms)
        (void)nanosleep(&step, NULL);
    return watch_goes_on(call);
}

/* What is asked for is written when the daemons have answered: one that is slow makes the next look
 * later, and looks do not gather. */
static void watch_run(struct api_call *call)
{
    struct event_stream stream;
    struct ald_buf *out = &call->worker->out;
    bool goes_on = event_stream_begin(&stream, call);
    while (goes_on) {
        int64_t next_ms = ald_clock_now().mono_ms + WATCH_EVERY_MS;
        ald_buf_put_str(out, "event: status\ndata: ");
        struct ald_json_out json = ald_json_out_begin(out);
        books_status(call, &json);
        ald_buf_put_str(out, "\n\n");
        goes_on = event_stream_flush(&stream) && watch_pause(call, next_ms);
    }
}

void api_watch(struct api_call *call)
{
    if (!api_wait_enter(call->api)) {
        api_wait_full(call);
        return;
    }
    watch_run(call);
    api_wait_leave(call->api);
}
