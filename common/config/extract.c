#include "common/config/extract.h"

#include <string.h>

#include "common/base/text.h"

/* A walk over bytes; the skip functions return false at what is no JSON. */
struct json_cursor {
    const uint8_t *at;
    const uint8_t *end;
};

static bool json_is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static bool json_is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static void json_skip_space(struct json_cursor *self)
{
    while (self->at < self->end && json_is_space(*self->at))
        self->at++;
}

static bool json_take(struct json_cursor *self, uint8_t byte)
{
    if (self->at == self->end || *self->at != byte)
        return false;
    self->at++;
    return true;
}

static bool json_skip_digits(struct json_cursor *self)
{
    const uint8_t *start = self->at;
    while (self->at < self->end && json_is_digit(*self->at))
        self->at++;
    return self->at > start;
}

static bool json_skip_number(struct json_cursor *self)
{
    (void)json_take(self, '-');
    if (!json_take(self, '0') && !json_skip_digits(self))
        return false;
    if (json_take(self, '.') && !json_skip_digits(self))
        return false;
    if (!json_take(self, 'e') && !json_take(self, 'E'))
        return true;
    if (!json_take(self, '+'))
        (void)json_take(self, '-');
    return json_skip_digits(self);
}

static int json_hex(uint8_t byte)
{
    if (json_is_digit(byte))
        return byte - '0';
    uint8_t lower = byte | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* self stands behind the backslash. */
static bool json_skip_escape(struct json_cursor *self)
{
    if (self->at == self->end)
        return false;
    uint8_t kind = *self->at++;
    if (kind != 'u')
        return kind != '\0' && strchr("\"\\/bfnrt", kind) != NULL;
    if (self->end - self->at < 4)
        return false;
    for (int i = 0; i < 4; i++)
        if (json_hex(*self->at++) < 0)
            return false;
    return true;
}

/* Step over text that needs no look at its bytes: ASCII but for quotes, backslashes and controls.
 * Eight at a time: the high bit of a byte of each term says that the byte is such a one. */
static void json_skip_plain(struct json_cursor *self)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t highs = ones * 0x80;
    while (self->end - self->at >= 8) {
        uint64_t bytes = 0;
        memcpy(&bytes, self->at, sizeof bytes);
        uint64_t quote = bytes ^ (ones * '"');
        uint64_t back = bytes ^ (ones * '\\');
        uint64_t odd = bytes | ((bytes - ones * 0x20) & ~bytes) | ((quote - ones) & ~quote) |
                       ((back - ones) & ~back);
        if ((odd & highs) != 0)
            return;
        self->at += 8;
    }
}

static bool json_skip_string(struct json_cursor *self)
{
    if (!json_take(self, '"'))
        return false;
    const uint8_t *start = self->at;
    bool ascii = true;
    json_skip_plain(self);
    while (self->at < self->end && *self->at != '"') {
        uint8_t byte = *self->at++;
        ascii = ascii && byte < 0x80;
        if (byte < 0x20 || (byte == '\\' && !json_skip_escape(self)))
            return false;
    }
    if (!ascii && !ald_text_utf8_ok(ald_span_of(start, (size_t)(self->at - start))))
        return false;
    return json_take(self, '"');
}

static bool json_skip_word(struct json_cursor *self, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(self->end - self->at) < len || memcmp(self->at, word, len) != 0)
        return false;
    self->at += len;
    return true;
}

static enum ald_json_kind json_kind(const struct json_cursor *self)
{
    if (self->at == self->end)
        return ALD_JSON_NONE;
    switch (*self->at) {
    case '{':
        return ALD_JSON_OBJECT;
    case '[':
        return ALD_JSON_ARRAY;
    case '"':
        return ALD_JSON_STRING;
    case 't':
        return ALD_JSON_TRUE;
    case 'f':
        return ALD_JSON_FALSE;
    case 'n':
        return ALD_JSON_NULL;
    default:
        return *self->at == '-' || json_is_digit(*self->at) ? ALD_JSON_NUMBER : ALD_JSON_NONE;
    }
}

static bool json_skip_value(struct json_cursor *self, unsigned depth);

/* Step over the key and colon of an object's member; key becomes the string with its quotes. */
static bool json_skip_key(struct json_cursor *self, struct ald_span *key)
{
    json_skip_space(self);
    const uint8_t *start = self->at;
    if (!json_skip_string(self))
        return false;
    *key = ald_span_of(start, (size_t)(self->at - start));
    json_skip_space(self);
    return json_take(self, ':');
}

static bool json_skip_members(struct json_cursor *self, bool object, unsigned depth)
{
    uint8_t close = object ? '}' : ']';
    if (depth > ALD_JSON_DEPTH_MAX)
        return false;
    self->at++;
    json_skip_space(self);
    if (json_take(self, close))
        return true;
    do {
        struct ald_span key;
        if (object && !json_skip_key(self, &key))
            return false;
        json_skip_space(self);
        if (!json_skip_value(self, depth))
            return false;
        json_skip_space(self);
    } while (json_take(self, ','));
    return json_take(self, close);
}

/* depth counts the containers that the value stands in; it ends the recursion. */
static bool json_skip_value(struct json_cursor *self, unsigned depth)
{
    switch (json_kind(self)) {
    case ALD_JSON_OBJECT:
        return json_skip_members(self, true, depth + 1);
    case ALD_JSON_ARRAY:
        return json_skip_members(self, false, depth + 1);
    case ALD_JSON_STRING:
        return json_skip_string(self);
    case ALD_JSON_NUMBER:
        return json_skip_number(self);
    case ALD_JSON_TRUE:
        return json_skip_word(self, "true");
    case ALD_JSON_FALSE:
        return json_skip_word(self, "false");
    case ALD_JSON_NULL:
        return json_skip_word(self, "null");
    case ALD_JSON_NONE:
        break;
    }
    return false;
}

struct ald_span ald_message_trim(struct ald_span message)
{
    if (message.len >= 3 && memcmp(message.data, "\xef\xbb\xbf", 3) == 0)
        message = ald_span_of(message.data + 3, message.len - 3);
    while (message.len > 0 && json_is_space(message.data[0]))
        message = ald_span_of(message.data + 1, message.len - 1);
    while (message.len > 0 && json_is_space(message.data[message.len - 1]))
        message.len--;
    return message;
}

enum ald_rc ald_json_scan(struct ald_span message, struct ald_json *out, struct ald_span *tail)
{
    *out = (struct ald_json){.kind = ALD_JSON_NONE};
    if (tail != NULL)
        *tail = (struct ald_span){0};
    struct ald_span text = ald_message_trim(message);
    if (text.len == 0)
        return ALD_MALFORMED;
    struct json_cursor cursor = {text.data, text.data + text.len};
    enum ald_json_kind kind = json_kind(&cursor);
    if (!json_skip_value(&cursor, 0))
        return ALD_MALFORMED;
    out->kind = kind;
    out->raw = ald_span_of(text.data, (size_t)(cursor.at - text.data));
    if (tail != NULL)
        *tail = ald_message_trim(ald_span_of(cursor.at, (size_t)(cursor.end - cursor.at)));
    return ALD_OK;
}

struct ald_json_walk ald_json_walk_begin(struct ald_json container)
{
    bool object = container.kind == ALD_JSON_OBJECT;
    if (!object && container.kind != ALD_JSON_ARRAY)
        return (struct ald_json_walk){0};
    const uint8_t *data = container.raw.data;
    return (struct ald_json_walk){data + 1, data + container.raw.len - 1, object};
}

bool ald_json_walk_next(struct ald_json_walk *self, struct ald_span *key, struct ald_json *value)
{
    struct json_cursor cursor = {self->at, self->end};
    *key = (struct ald_span){0};
    json_skip_space(&cursor);
    (void)json_take(&cursor, ',');
    json_skip_space(&cursor);
    if (cursor.at == cursor.end || (self->object && !json_skip_key(&cursor, key)))
        return false;
    json_skip_space(&cursor);
    const uint8_t *start = cursor.at;
    value->kind = json_kind(&cursor);
    bool whole = json_skip_value(&cursor, 0);
    ALD_ASSERT(whole);
    value->raw = ald_span_of(start, (size_t)(cursor.at - start));
    self->at = cursor.at;
    return true;
}

uint32_t ald_json_char(const uint8_t **at, const uint8_t *end)
{
    static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
    const uint8_t *p = *at;
    ALD_ASSERT(p < end);
    if (*p != '\\') {
        unsigned more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
        uint32_t value = more == 0 ? *p : *p & (0x3fU >> more);
        for (p++; more > 0 && p < end; more--, p++)
            value = value << 6 | (*p & 0x3fU);
        *at = p;
        return value;
    }
    const char *name = p[1] == 'u' ? NULL : strchr(names, p[1]);
    if (p[1] != 'u') {
        *at = p + 2;
        return name == NULL ? p[1] : (uint8_t)values[name - names];
    }
    uint32_t unit = 0;
    for (int i = 2; i < 6; i++)
        unit = unit << 4 | (uint32_t)json_hex(p[i]);
    p += 6;
    *at = p;
    if (unit < 0xd800 || unit > 0xdbff || end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return unit;
    uint32_t low = 0;
    for (int i = 2; i < 6; i++)
        low = low << 4 | (uint32_t)json_hex(p[i]);
    if (low < 0xdc00 || low > 0xdfff)
        return unit;
    *at = p + 6;
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}
