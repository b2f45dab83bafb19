/* Any bytes as an encoded event, or as the values of one: the JSON that is shown of it is JSON, and
 * says the result again, byte for byte. */
#include <string.h>

#include "common/base/codec.h"
#include "common/base/text.h"
#include "common/config/event_json.h"
#include "common/config/extract.h"
#include "tests/fuzz/input.h"

enum { EVENT_OUT_MAX = 8 << 20 };

/* A text that is not JSON comes back out of its JSON string, other bytes out of their base64. */
static void event_result(const struct msg_event *event, struct ald_json whole)
{
    struct ald_json text = ald_json_find(whole, "/result");
    struct ald_json bytes = ald_json_find(whole, "/result_base64");
    struct ald_buf back;
    struct ald_buf raw;
    ald_buf_init(&back, EVENT_OUT_MAX);
    ald_buf_init(&raw, EVENT_OUT_MAX);
    bool is_text = strcmp(event->result_type, "json") != 0;
    if (bytes.kind != ALD_JSON_NONE) {
        ALD_ASSERT(text.kind == ALD_JSON_NULL && ald_json_text(bytes, &back) == ALD_OK);
        ALD_ASSERT(ald_base64_decode(&raw, ald_buf_span(&back)) == ALD_OK);
        ALD_ASSERT(ald_span_eq(ald_buf_span(&raw), event->result));
    } else if (is_text && !memchr(event->result.data ? event->result.data : (const uint8_t *)"", 0,
                                  event->result.len)) {
        ALD_ASSERT(text.kind == ALD_JSON_STRING && ald_json_text(text, &back) == ALD_OK);
        ALD_ASSERT(ald_span_eq(ald_buf_span(&back), event->result));
    }
    ald_buf_free(&back);
    ald_buf_free(&raw);
}

static void event_show(const struct msg_event *event)
{
    struct ald_buf buf;
    struct ald_json whole;
    struct ald_span tail;
    ald_buf_init(&buf, EVENT_OUT_MAX);
    struct ald_json_out out = ald_json_out_begin(&buf);
    ald_json_out_object(&out, NULL);
    ald_event_json(&out, event);
    ald_json_out_close_object(&out);
    ALD_ASSERT(ald_buf_ok(&buf));
    ALD_ASSERT(ald_json_scan(ald_buf_span(&buf), &whole, &tail) == ALD_OK && tail.len == 0);
    ALD_ASSERT(ald_json_is(ald_json_find(whole, "/state"), event->state) ||
               !ald_text_utf8_ok(ald_span_str(event->state)));
    event_result(event, whole);
    ald_buf_free(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct msg_event event;
    struct input in = {.left = ald_span_of(data, size)};
    if (ald_wire_decode(&MSG_EVENT, &event, in.left) == ALD_OK) {
        event_show(&event);
        return 0;
    }
    event = (struct msg_event){.lane = input_byte(&in), .seq = input_u64(&in)};
    event.task = input_u64(&in);
    event.received_ms = (int64_t)input_u64(&in);
    event.deliveries = input_byte(&in);
    input_text(&in, '\n', event.result_type, sizeof event.result_type);
    input_text(&in, '\n', event.provider_id, sizeof event.provider_id);
    input_text(&in, '\n', event.state, sizeof event.state);
    input_text(&in, '\n', event.source, sizeof event.source);
    input_text(&in, '\n', event.code, sizeof event.code);
    input_text(&in, '\n', event.meta, sizeof event.meta);
    event.result = in.left;
    event_show(&event);
    return 0;
}
