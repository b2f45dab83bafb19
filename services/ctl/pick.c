#include "services/ctl/pick.h"

#include "common/base/clock.h"
#include "common/base/text.h"

enum { PICK_WORD_MAX = 8 << 20 };

void pick_text(struct ald_json object, const char *pointer, struct ald_buf *out)
{
    struct ald_json value = ald_json_find(object, pointer);
    if (value.kind == ALD_JSON_NONE || value.kind == ALD_JSON_NULL)
        return;
    size_t before = out->len;
    if (value.kind != ALD_JSON_STRING) {
        ald_buf_put_span(out, value.raw);
        return;
    }
    if (ald_json_text(value, out) == ALD_OK)
        return;
    out->len = before;
    ald_buf_put_span(out, value.raw);
}

const char *pick_word(struct ald_json object, const char *pointer, char *out, size_t cap)
{
    struct ald_buf text;
    ald_buf_init(&text, PICK_WORD_MAX);
    pick_text(object, pointer, &text);
    ald_text_cut(out, cap, ald_buf_span(&text));
    ald_buf_free(&text);
    return out;
}

bool pick_has(struct ald_json object, const char *pointer, const char *text)
{
    struct ald_json_walk walk = ald_json_walk_begin(ald_json_find(object, pointer));
    struct ald_json item;
    struct ald_span key;
    while (ald_json_walk_next(&walk, &key, &item))
        if (ald_json_is(item, text))
            return true;
    return false;
}

int64_t pick_int(struct ald_json object, const char *pointer)
{
    struct ald_json value = ald_json_find(object, pointer);
    int64_t number = 0;
    if (value.kind != ALD_JSON_NUMBER || ald_text_i64(value.raw, &number) != ALD_OK)
        return 0;
    return number;
}

const char *pick_time(struct ald_json object, const char *pointer, char out[PICK_TIME_MAX])
{
    int64_t wall_ms = pick_int(object, pointer);
    out[0] = '\0';
    if (wall_ms > 0)
        ald_clock_rfc3339(wall_ms, out);
    return out;
}

const char *pick_source(struct ald_json object, char out[PICK_SOURCE_MAX])
{
    struct ald_json state = ald_json_find(object, "/state");
    out[0] = '\0';
    if (!ald_json_is(state, "expired") && !ald_json_is(state, "cancelled"))
        (void)pick_word(object, "/source", out, PICK_SOURCE_MAX);
    return out;
}

void pick_line(struct ald_json value, struct ald_buf *out)
{
    for (size_t i = 0; i < value.raw.len; i++) {
        uint8_t byte = value.raw.data[i];
        ald_buf_put_byte(out, byte == '\n' || byte == '\r' ? ' ' : byte);
    }
    ald_buf_put_byte(out, '\n');
}
