#include "common/config/event_json.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/extract.h"
#include "proto/words.h"

static bool event_is_json(struct ald_span value)
{
    struct ald_json json;
    struct ald_span tail;
    return ald_json_scan(value, &json, &tail) == ALD_OK && tail.len == 0;
}

/* Escapes make control characters six times as long: with a large value of them, or many in a
 * page, nobody could write or read the JSON. */
static bool event_swells(struct ald_span value)
{
    return value.len > ALD_EVENT_SMALL && ald_json_text_len(value) > 2 * value.len;
}

void ald_event_value(struct ald_json_out *out, const char *key, const char *key_base64,
                     struct ald_span value, bool is_json)
{
    if (is_json && event_is_json(value)) {
        ald_json_out_raw(out, key, ald_message_trim(value));
    } else if (ald_text_utf8_ok(value) && !event_swells(value)) {
        ald_json_out_span(out, key, value);
    } else {
        ald_json_out_null(out, key);
        ald_json_out_base64(out, key_base64, value);
    }
}

const char *ald_event_source(const char *state, const char *source)
{
    bool expired = strcmp(state, ald_state_name(ALD_STATE_EXPIRED)) == 0;
    bool manual = strcmp(source, ald_source_name(ALD_SOURCE_MANUAL)) == 0;
    return expired && manual ? state : source;
}

void ald_event_json(struct ald_json_out *out, const struct msg_event *event)
{
    char position[ALD_POSITION_MAX];
    (void)snprintf(position, sizeof position, "%llu:%llu", (unsigned long long)event->lane,
                   (unsigned long long)event->seq);
    ald_json_out_int(out, "lane", (int64_t)event->lane);
    ald_json_out_int(out, "seq", (int64_t)event->seq);
    ald_json_out_text(out, "position", position);
    ald_json_out_id(out, "task", event->task);
    ald_json_out_text(out, "provider", event->provider);
    ald_json_out_text(out, "provider_id", event->provider_id);
    ald_json_out_text(out, "key", event->key);
    ald_json_out_text(out, "meta", event->meta);
    ald_json_out_text(out, "state", event->state);
    ald_event_value(out, "result", "result_base64", event->result,
                    strcmp(event->result_type, "json") == 0);
    ald_json_out_text(out, "result_type", event->result_type);
    ald_json_out_text(out, "code", event->code);
    ald_json_out_text(out, "source", ald_event_source(event->state, event->source));
    ald_json_out_int(out, "received_ms", event->received_ms);
    ald_json_out_int(out, "published_ms", event->published_ms);
    ald_json_out_text(out, "trace", event->trace);
    if (event->corrects[0] != '\0')
        ald_json_out_text(out, "corrects", event->corrects);
    if (event->deliveries > 0) {
        ald_json_out_int(out, "deliveries", (int64_t)event->deliveries);
        ald_json_out_bool(out, "redelivered", event->redelivered);
    }
}
