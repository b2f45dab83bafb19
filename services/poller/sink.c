#include "services/poller/sink.h"

#include <stdio.h>
#include <strings.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/base/trace.h"
#include "common/config/codes.h"
#include "common/config/event_json.h"
#include "common/config/value.h"

enum { SINK_HEADERS_MAX = 1024, SINK_BODY_KEPT = 64 << 10 };

void sink_room_init(struct sink_room *room)
{
    ald_buf_init(&room->body, SINK_BODY_MAX);
    ald_buf_init(&room->headers, SINK_HEADERS_MAX);
}

void sink_room_free(struct sink_room *room)
{
    ald_buf_free(&room->body);
    ald_buf_free(&room->headers);
}

static void sink_reset(struct sink_room *room)
{
    ald_buf_reset(&room->headers);
    ald_buf_reset(&room->body);
    if (room->body.cap <= SINK_BODY_KEPT)
        return;
    ald_buf_free(&room->body);
    ald_buf_init(&room->body, SINK_BODY_MAX);
}

/* `type`, `timestamp` and `data`, as the standard wants them. */
static void sink_write(const struct msg_event *event, struct ald_buf *body)
{
    char type[ALD_WORD_MAX + 8];
    char at[ALD_CLOCK_TEXT_MAX];
    struct ald_json_out out = ald_json_out_begin(body);
    (void)snprintf(type, sizeof type, "task.%s", event->state);
    ald_clock_rfc3339(event->published_ms, at);
    ald_json_out_object(&out, NULL);
    ald_json_out_text(&out, "type", type);
    ald_json_out_text(&out, "timestamp", at);
    ald_json_out_object(&out, "data");
    ald_event_json(&out, event);
    ald_json_out_close_object(&out);
    ald_json_out_close_object(&out);
}

const char *sink_request(const struct ald_sink *sink, const struct work_item *item, int64_t now_s,
                         int64_t now_ms, struct sink_room *room, struct fetch_request *out,
                         enum ald_class *cls)
{
    struct msg_event event;
    char id[48];
    const int64_t left_ms = item->until_ms - now_ms;
    *out = (struct fetch_request){0};
    *cls = ALD_CLASS_NONE;
    if (!sink || sink->secrets.count == 0)
        return "this poller has no sink of that name";
    *cls = ALD_CLASS_PERMANENT;
    if (ald_wire_decode(&MSG_EVENT, &event, ald_span_of(item->body, item->body_len)) != ALD_OK)
        return "the lease holds no event";
    sink_reset(room);
    sink_write(&event, &room->body);
    if (!ald_buf_ok(&room->body))
        return "the event is too large to be pushed";
    *cls = ALD_CLASS_NONE;
    (void)snprintf(id, sizeof id, "%llu:%llu", (unsigned long long)event.lane,
                   (unsigned long long)event.seq);
    ald_webhook_headers(&sink->secrets, id, now_s, ald_buf_span(&room->body), &room->headers);
    if (ald_trace_ok(ald_span_str(event.trace)))
        ald_buf_printf(&room->headers, "traceparent: %s\n", event.trace);
    ALD_ASSERT(ald_buf_ok(&room->headers));
    *out = (struct fetch_request){.url = sink->url,
                                  .method = "POST",
                                  .headers = ald_buf_str(&room->headers),
                                  .type = "application/json",
                                  .post = ald_buf_span(&room->body),
                                  .timeout_ms =
                                      sink->timeout_ms < left_ms ? sink->timeout_ms : left_ms,
                                  .max_bytes = SINK_ANSWER_MAX};
    return NULL;
}

/* A status is an answer, also when what followed it was cut off or too long. */
void sink_answered(const struct fetch_answer *answer, struct msg_outcome *out)
{
    struct ald_fact_header headers[ALD_FACT_HEADERS_MAX];
    const struct ald_facts facts = {.headers = headers,
                                    .header_count = ald_headers_read(answer->head, headers)};
    *out = (struct msg_outcome){.left = answer->left,
                                .answered = answer->status != 0,
                                .http = answer->status,
                                .wait_ms = ald_retry_after_ms(&facts, 0),
                                .took_ms = answer->took_ms};
    (void)snprintf(out->then, sizeof out->then, "%s", ald_then_name(ALD_THEN_IGNORE));
    (void)snprintf(out->class_, sizeof out->class_, "%s", ald_class_name(ALD_CLASS_TRANSIENT));
    ald_text_cut(out->error, sizeof out->error, ald_span_str(answer->error));
}

void sink_unsent(const char *error, enum ald_class cls, struct msg_outcome *out)
{
    *out = (struct msg_outcome){0};
    (void)snprintf(out->then, sizeof out->then, "%s", ald_then_name(ALD_THEN_IGNORE));
    (void)snprintf(out->class_, sizeof out->class_, "%s", ald_class_name(cls));
    ald_text_cut(out->error, sizeof out->error, ald_span_str(error));
}
