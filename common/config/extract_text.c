#include <stdlib.h>
#include <string.h>

#include "common/config/extract.h"

static struct ald_span text_inside(struct ald_span string)
{
    return ald_span_of(string.data + 1, string.len - 2);
}

static bool text_surrogate(uint32_t value)
{
    return value >= 0xd800 && value <= 0xdfff;
}

static size_t text_utf8(uint32_t value, uint8_t out[4])
{
    static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t len = value < 0x80 ? 1 : value < 0x800 ? 2 : value < 0x10000 ? 3 : 4;
    for (size_t i = len; i-- > 1; value >>= 6)
        out[i] = (uint8_t)(0x80 | (value & 0x3f));
    out[0] = (uint8_t)(heads[len] | value);
    return len;
}

static bool pointer_ok(const char *pointer)
{
    if (pointer[0] != '\0' && pointer[0] != '/')
        return false;
    for (const char *tilde = strchr(pointer, '~'); tilde != NULL; tilde = strchr(tilde + 1, '~'))
        if (tilde[1] != '0' && tilde[1] != '1')
            return false;
    return true;
}

static bool pointer_token_ends(const char *at)
{
    return *at == '\0' || *at == '/';
}

/* One byte of a token, with ~1 and ~0 taken back. */
static uint8_t pointer_byte(const char **at)
{
    uint8_t byte = (uint8_t) * (*at)++;
    if (byte != '~')
        return byte;
    return *(*at)++ == '1' ? '/' : '~';
}

/* Does the key, with its quotes, say what the token says? */
static bool pointer_meets(const char *token, struct ald_span key)
{
    struct ald_span inside = text_inside(key);
    const uint8_t *at = inside.data;
    const uint8_t *end = at + inside.len;
    while (at < end) {
        uint8_t bytes[4];
        size_t len = text_utf8(ald_json_char(&at, end), bytes);
        for (size_t i = 0; i < len; i++)
            if (pointer_token_ends(token) || pointer_byte(&token) != bytes[i])
                return false;
    }
    return pointer_token_ends(token);
}

static bool pointer_index(const char *token, size_t *out)
{
    size_t len = strcspn(token, "/");
    if (len == 0 || len > 9 || (token[0] == '0' && len > 1) || strspn(token, "0123456789") != len)
        return false;
    *out = (size_t)strtoul(token, NULL, 10);
    return true;
}

static struct ald_json pointer_step(struct ald_json value, const char *token)
{
    struct ald_json found = {.kind = ALD_JSON_NONE};
    size_t index = 0;
    if (value.kind == ALD_JSON_ARRAY && !pointer_index(token, &index))
        return found;
    struct ald_json_walk walk = ald_json_walk_begin(value);
    struct ald_span key;
    struct ald_json member;
    while (ald_json_walk_next(&walk, &key, &member)) {
        if (value.kind == ALD_JSON_OBJECT && pointer_meets(token, key))
            found = member;
        else if (value.kind == ALD_JSON_ARRAY && index-- == 0)
            return member;
    }
    return found;
}

struct ald_json ald_json_find(struct ald_json value, const char *pointer)
{
    if (!pointer_ok(pointer))
        return (struct ald_json){.kind = ALD_JSON_NONE};
    while (*pointer == '/' && value.kind != ALD_JSON_NONE) {
        value = pointer_step(value, pointer + 1);
        pointer += 1 + strcspn(pointer + 1, "/");
    }
    return value;
}

static enum ald_rc text_decode(struct ald_span string, struct ald_buf *out)
{
    struct ald_span inside = text_inside(string);
    const uint8_t *at = inside.data;
    const uint8_t *end = at + inside.len;
    while (at < end) {
        const uint8_t *run = memchr(at, '\\', (size_t)(end - at));
        if (run == NULL)
            run = end;
        ald_buf_put(out, at, (size_t)(run - at));
        at = run;
        if (at == end)
            break;
        uint32_t value = ald_json_char(&at, end);
        if (value == 0 || text_surrogate(value))
            return ALD_MALFORMED;
        uint8_t bytes[4];
        ald_buf_put(out, bytes, text_utf8(value, bytes));
    }
    return ALD_OK;
}

enum ald_rc ald_json_text(struct ald_json value, struct ald_buf *out)
{
    switch (value.kind) {
    case ALD_JSON_STRING:
        return text_decode(value.raw, out);
    case ALD_JSON_NUMBER:
    case ALD_JSON_TRUE:
    case ALD_JSON_FALSE:
        ald_buf_put(out, value.raw.data, value.raw.len);
        return ALD_OK;
    case ALD_JSON_NONE:
    case ALD_JSON_NULL:
    case ALD_JSON_ARRAY:
    case ALD_JSON_OBJECT:
        break;
    }
    return ALD_INVALID;
}

/* Of a string's inside, escapes taken for what they mean. */
static bool text_inside_is(struct ald_span inside, struct ald_span text)
{
    const uint8_t *at = inside.data;
    const uint8_t *end = at + inside.len;
    while (at < end) {
        uint8_t bytes[4];
        uint32_t value = ald_json_char(&at, end);
        size_t len = text_surrogate(value) ? 0 : text_utf8(value, bytes);
        if (len == 0 || value == 0 || text.len < len || memcmp(text.data, bytes, len) != 0)
            return false;
        text = ald_span_skip(text, len);
    }
    return text.len == 0;
}

bool ald_json_is(struct ald_json value, const char *text)
{
    struct ald_span inside = value.raw;
    struct ald_span wanted = ald_span_str(text);
    if (value.kind == ALD_JSON_NUMBER)
        return ald_span_eq(inside, wanted);
    if (value.kind != ALD_JSON_STRING)
        return false;
    inside = text_inside(inside);
    return ald_span_find(inside, '\\') == inside.len ? ald_span_eq(inside, wanted)
                                                     : text_inside_is(inside, wanted);
}

static void canonical_string(struct ald_span string, struct ald_buf *out)
{
    struct ald_span inside = text_inside(string);
    const uint8_t *at = inside.data;
    const uint8_t *end = at + inside.len;
    ald_buf_put_byte(out, '"');
    while (at < end) {
        uint32_t value = ald_json_char(&at, end);
        if (value == '"' || value == '\\')
            ald_buf_put_byte(out, '\\');
        if (value < 0x20 || text_surrogate(value)) {
            ald_buf_printf(out, "\\u%04x", (unsigned)value);
            continue;
        }
        uint8_t bytes[4];
        ald_buf_put(out, bytes, text_utf8(value, bytes));
    }
    ald_buf_put_byte(out, '"');
}

struct canonical_member {
    size_t key_at; /* in the pool of canonical keys */
    size_t key_len;
    size_t place; /* keeps repeated keys in their order */
    struct ald_json value;
    const struct ald_buf *keys;
};

static int canonical_order(const void *a, const void *b)
{
    const struct canonical_member *x = a;
    const struct canonical_member *y = b;
    size_t len = x->key_len < y->key_len ? x->key_len : y->key_len;
    int order = memcmp(x->keys->data + x->key_at, y->keys->data + y->key_at, len);
    if (order != 0)
        return order;
    if (x->key_len != y->key_len)
        return x->key_len < y->key_len ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

/* Fill members, sorted, and their keys' canonical form; members NULL only counts. */
static size_t canonical_members(struct ald_json object, struct canonical_member *members,
                                struct ald_buf *keys)
{
    struct ald_json_walk walk = ald_json_walk_begin(object);
    struct ald_span key;
    struct ald_json value;
    size_t count = 0;
    while (ald_json_walk_next(&walk, &key, &value)) {
        if (members != NULL) {
            size_t at = keys->len;
            canonical_string(key, keys);
            members[count] = (struct canonical_member){at, keys->len - at, count, value, keys};
        }
        count++;
    }
    if (members != NULL && ald_buf_ok(keys))
        qsort(members, count, sizeof *members, canonical_order);
    return count;
}

/* Values that are left out, by where they stand. */
struct canonical_less {
    const struct ald_json *value;
    size_t count;
};

static enum ald_rc canonical_value(struct ald_json value, const struct canonical_less *less,
                                   struct ald_buf *out);

static bool canonical_left(const struct canonical_less *less, struct ald_json value)
{
    for (size_t i = 0; i < less->count; i++)
        if (less->value[i].kind != ALD_JSON_NONE && less->value[i].raw.data == value.raw.data)
            return true;
    return false;
}

static enum ald_rc canonical_object(struct ald_json object, const struct canonical_less *less,
                                    struct ald_buf *out)
{
    size_t count = canonical_members(object, NULL, NULL);
    if (count > ALD_JSON_SORT_MAX)
        return ALD_TOOBIG;
    struct canonical_member *members = calloc(count + 1, sizeof *members);
    ALD_ASSERT(members != NULL);
    struct ald_buf keys; /* escapes make a key at most six times longer */
    ald_buf_init(&keys, object.raw.len * 6);
    (void)canonical_members(object, members, &keys);
    enum ald_rc rc = ald_buf_ok(&keys) ? ALD_OK : ALD_TOOBIG;
    const char *comma = "";
    ald_buf_put_byte(out, '{');
    for (size_t i = 0; i < count && rc == ALD_OK; i++) {
        if (canonical_left(less, members[i].value))
            continue;
        ald_buf_put_str(out, comma);
        comma = ",";
        ald_buf_put(out, keys.data + members[i].key_at, members[i].key_len);
        ald_buf_put_byte(out, ':');
        rc = canonical_value(members[i].value, less, out);
    }
    ald_buf_put_byte(out, '}');
    ald_buf_free(&keys);
    free(members);
    return rc;
}

static enum ald_rc canonical_array(struct ald_json array, const struct canonical_less *less,
                                   struct ald_buf *out)
{
    struct ald_json_walk walk = ald_json_walk_begin(array);
    struct ald_span key;
    struct ald_json value;
    enum ald_rc rc = ALD_OK;
    const char *comma = "";
    ald_buf_put_byte(out, '[');
    while (rc == ALD_OK && ald_json_walk_next(&walk, &key, &value)) {
        if (canonical_left(less, value))
            continue;
        ald_buf_put_str(out, comma);
        comma = ",";
        rc = canonical_value(value, less, out);
    }
    ald_buf_put_byte(out, ']');
    return rc;
}

/* The recursion ends: a checked value is at most ALD_JSON_DEPTH_MAX deep. */
static enum ald_rc canonical_value(struct ald_json value, const struct canonical_less *less,
                                   struct ald_buf *out)
{
    enum ald_rc rc = ALD_OK;
    if (value.kind == ALD_JSON_OBJECT)
        rc = canonical_object(value, less, out);
    else if (value.kind == ALD_JSON_ARRAY)
        rc = canonical_array(value, less, out);
    else if (value.kind == ALD_JSON_STRING)
        canonical_string(value.raw, out);
    else
        ald_buf_put(out, value.raw.data, value.raw.len);
    if (rc == ALD_OK && !ald_buf_ok(out))
        rc = ALD_TOOBIG;
    return rc;
}

enum ald_rc ald_json_canonical(struct ald_json value, struct ald_buf *out)
{
    return ald_json_canonical_less(value, NULL, 0, out);
}

enum ald_rc ald_json_canonical_less(struct ald_json value, const struct ald_json *left,
                                    size_t count, struct ald_buf *out)
{
    const struct canonical_less less = {.value = left, .count = count};
    return canonical_value(value, &less, out);
}
