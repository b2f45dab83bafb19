#include "common/base/json_out.h"

#include <stdio.h>
#include <string.h>

#include "common/base/codec.h"
#include "common/base/text.h"

struct ald_json_out ald_json_out_begin(struct ald_buf *buf)
{
    return (struct ald_json_out){.buf = buf};
}

/* The letter behind the backslash for a byte that has one, else 0. */
static uint8_t json_letter(uint8_t c)
{
    static const char bytes[] = "\"\\\n\r\t\b\f";
    static const char letters[] = "\"\\nrtbf";
    const char *at = c != 0 ? strchr(bytes, c) : NULL;
    return at ? (uint8_t)letters[at - bytes] : 0;
}

/* Append the inside of a string. Bytes that are no UTF-8 become U+FFFD. */
static void json_escape(struct ald_buf *buf, struct ald_span text)
{
    bool sound = ald_text_utf8_ok(text);
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c != '"' && c != '\\' && c >= 0x20 && (sound || c < 0x80))
            continue;
        ald_buf_put(buf, text.data + from, i - from);
        from = i + 1;
        if (json_letter(c) != 0) {
            ald_buf_put_byte(buf, '\\');
            ald_buf_put_byte(buf, json_letter(c));
        } else if (c < 0x20) {
            ald_buf_printf(buf, "\\u%04x", (unsigned)c);
        } else {
            ald_buf_put_str(buf, "\\ufffd");
        }
    }
    ald_buf_put(buf, text.data ? text.data + from : NULL, text.len - from);
}

size_t ald_json_text_len(struct ald_span text)
{
    size_t len = text.len;
    for (size_t i = 0; i < text.len; i++)
        len += json_letter(text.data[i]) != 0 ? 1 : text.data[i] < 0x20 ? 5 : 0;
    return len;
}

static void json_quote(struct ald_buf *buf, struct ald_span text)
{
    ald_buf_put_byte(buf, '"');
    json_escape(buf, text);
    ald_buf_put_byte(buf, '"');
}

static void json_key(struct ald_json_out *out, const char *key)
{
    if (out->begun[out->depth])
        ald_buf_put_byte(out->buf, ',');
    out->begun[out->depth] = true;
    if (!key)
        return;
    json_quote(out->buf, ald_span_str(key));
    ald_buf_put_byte(out->buf, ':');
}

static void json_open(struct ald_json_out *out, const char *key, uint8_t bracket)
{
    json_key(out, key);
    ald_buf_put_byte(out->buf, bracket);
    ALD_ASSERT(out->depth + 1 < JSON_DEPTH_MAX);
    out->begun[++out->depth] = false;
}

static void json_close(struct ald_json_out *out, uint8_t bracket)
{
    ALD_ASSERT(out->depth > 0);
    out->depth--;
    ald_buf_put_byte(out->buf, bracket);
}

void ald_json_out_object(struct ald_json_out *out, const char *key)
{
    json_open(out, key, '{');
}

void ald_json_out_array(struct ald_json_out *out, const char *key)
{
    json_open(out, key, '[');
}

void ald_json_out_close_object(struct ald_json_out *out)
{
    json_close(out, '}');
}

void ald_json_out_close_array(struct ald_json_out *out)
{
    json_close(out, ']');
}

void ald_json_out_span(struct ald_json_out *out, const char *key, struct ald_span value)
{
    json_key(out, key);
    json_quote(out->buf, value);
}

void ald_json_out_text(struct ald_json_out *out, const char *key, const char *value)
{
    ald_json_out_span(out, key, ald_span_str(value));
}

void ald_json_out_base64(struct ald_json_out *out, const char *key, struct ald_span value)
{
    json_key(out, key);
    ald_buf_put_byte(out->buf, '"');
    ald_base64_encode(out->buf, value);
    ald_buf_put_byte(out->buf, '"');
}

void ald_json_out_int(struct ald_json_out *out, const char *key, int64_t value)
{
    json_key(out, key);
    ald_buf_printf(out->buf, "%lld", (long long)value);
}

void ald_json_out_time(struct ald_json_out *out, const char *key, int64_t ms)
{
    if (ms == 0)
        ald_json_out_null(out, key);
    else
        ald_json_out_int(out, key, ms);
}

void ald_json_out_id(struct ald_json_out *out, const char *key, uint64_t id)
{
    char text[24] = "";
    if (id != 0)
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)id);
    ald_json_out_text(out, key, text);
}

void ald_json_out_bool(struct ald_json_out *out, const char *key, bool value)
{
    json_key(out, key);
    ald_buf_put_str(out->buf, value ? "true" : "false");
}

void ald_json_out_null(struct ald_json_out *out, const char *key)
{
    json_key(out, key);
    ald_buf_put_str(out->buf, "null");
}

void ald_json_out_raw(struct ald_json_out *out, const char *key, struct ald_span value)
{
    json_key(out, key);
    ald_buf_put_span(out->buf, value);
}
