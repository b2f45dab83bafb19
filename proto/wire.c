#include "proto/wire.h"

#include <string.h>

#include <msgpack.h>

#include "proto/plain.h"

enum { WIRE_ID_DIGITS = 20, WIRE_CHUNK = 1024 };

static const uint64_t wire_number_max = UINT64_C(1) << 53;

/* A message comes in some sixty pieces of few bytes: they are gathered before out grows. */
struct wire_sink {
    struct ald_buf *out;
    uint8_t *at;
    uint8_t chunk[WIRE_CHUNK];
};

static void wire_flush(struct wire_sink *self)
{
    ald_buf_put(self->out, self->chunk, (size_t)(self->at - self->chunk));
    self->at = self->chunk;
}

/* Apart, so that the usual way saves no registers. */
__attribute__((noinline)) static void wire_put_long(struct wire_sink *self, const char *data,
                                                    size_t len)
{
    wire_flush(self);
    ald_buf_put(self->out, data, len);
}

/* Most pieces have 4 to 16 bytes: two moves of a fixed size that overlap cost less than a call. */
static void wire_copy(uint8_t *to, const char *from, size_t len)
{
    if (len >= 8 && len <= 16) {
        uint64_t first;
        uint64_t last;
        memcpy(&first, from, sizeof(first));
        memcpy(&last, from + len - sizeof(last), sizeof(last));
        memcpy(to, &first, sizeof(first));
        memcpy(to + len - sizeof(last), &last, sizeof(last));
    } else if (len >= 4 && len < 8) {
        uint32_t first;
        uint32_t last;
        memcpy(&first, from, sizeof(first));
        memcpy(&last, from + len - sizeof(last), sizeof(last));
        memcpy(to, &first, sizeof(first));
        memcpy(to + len - sizeof(last), &last, sizeof(last));
    } else {
        memcpy(to, from, len);
    }
}

/* msgpack-c hands every piece of a message to this. */
static int wire_put(void *sink, const char *data, size_t len)
{
    struct wire_sink *self = sink;
    uint8_t *at = self->at;
    if (len > (size_t)(self->chunk + WIRE_CHUNK - at)) {
        wire_put_long(self, data, len);
        return 0;
    }
    self->at = at + len;
    if (len == 1) /* nearly every head of an item */
        *at = (uint8_t)*data;
    else
        wire_copy(at, data, len);
    return 0;
}

/* Twenty texts of a callback, and of each message most pieces, are short keys and words: their head
 * and bytes at once. */
static bool wire_put_short(struct wire_sink *self, struct ald_span text)
{
    if (text.len >= 32 || text.len >= (size_t)(self->chunk + WIRE_CHUNK - self->at))
        return false;
    *self->at = (uint8_t)(0xa0 | text.len);
    wire_copy(self->at + 1, (const char *)text.data, text.len);
    self->at += text.len + 1;
    return true;
}

static void wire_put_text(msgpack_packer *packer, struct ald_span text)
{
    if (wire_put_short(packer->data, text))
        return;
    msgpack_pack_str(packer, text.len);
    msgpack_pack_str_body(packer, text.data, text.len);
}

static void wire_put_bytes(msgpack_packer *packer, struct ald_span bytes)
{
    msgpack_pack_bin(packer, bytes.len);
    if (bytes.len > 0)
        msgpack_pack_bin_body(packer, bytes.data, bytes.len);
}

static void wire_put_id(msgpack_packer *packer, uint64_t id)
{
    char digits[WIRE_ID_DIGITS];
    size_t at = sizeof(digits);
    for (; id > 0; id /= 10)
        digits[--at] = (char)('0' + id % 10);
    wire_put_text(packer, ald_span_of(digits + at, sizeof(digits) - at));
}

/* Values are copied out of the struct: a pointer of another type into it would break aliasing. */
static uint64_t wire_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static int64_t wire_i64(const uint8_t *at)
{
    int64_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static bool wire_bool(const uint8_t *at)
{
    bool value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static struct ald_span wire_span(const uint8_t *at)
{
    struct ald_span value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static bool wire_present(const struct ald_field *field, const uint8_t *at)
{
    switch (field->kind) {
    case ALD_FIELD_TEXT:
        return *at != '\0';
    case ALD_FIELD_U64:
    case ALD_FIELD_ID:
        return wire_u64(at) != 0;
    case ALD_FIELD_I64:
        return wire_i64(at) != 0;
    case ALD_FIELD_BOOL:
        return wire_bool(at);
    case ALD_FIELD_SPAN:
        return wire_span(at).len > 0;
    }
    return false;
}

static enum ald_rc wire_encode_text(const struct ald_field *field, const uint8_t *at,
                                    msgpack_packer *packer)
{
    const uint8_t *end = memchr(at, '\0', field->size);
    if (end == NULL)
        return ALD_TOOBIG;
    struct ald_span text = ald_span_of(at, (size_t)(end - at));
    if (!ald_plain_ok(text))
        return ALD_INVALID;
    wire_put_text(packer, text);
    return ALD_OK;
}

static enum ald_rc wire_encode_u64(uint64_t value, msgpack_packer *packer)
{
    if (value >= wire_number_max)
        return ALD_TOOBIG;
    msgpack_pack_uint64(packer, value);
    return ALD_OK;
}

static enum ald_rc wire_encode_i64(int64_t value, msgpack_packer *packer)
{
    if (value > (int64_t)wire_number_max || value < -(int64_t)wire_number_max)
        return ALD_TOOBIG;
    msgpack_pack_int64(packer, value);
    return ALD_OK;
}

static enum ald_rc wire_encode_span(const struct ald_field *field, struct ald_span value,
                                    msgpack_packer *packer)
{
    if (value.len > field->size)
        return ALD_TOOBIG;
    wire_put_bytes(packer, value);
    return ALD_OK;
}

static enum ald_rc wire_encode_value(const struct ald_field *field, const uint8_t *at,
                                     msgpack_packer *packer)
{
    switch (field->kind) {
    case ALD_FIELD_TEXT:
        return wire_encode_text(field, at, packer);
    case ALD_FIELD_U64:
        return wire_encode_u64(wire_u64(at), packer);
    case ALD_FIELD_I64:
        return wire_encode_i64(wire_i64(at), packer);
    case ALD_FIELD_BOOL:
        if (wire_bool(at))
            msgpack_pack_true(packer);
        else
            msgpack_pack_false(packer);
        return ALD_OK;
    case ALD_FIELD_ID:
        wire_put_id(packer, wire_u64(at));
        return ALD_OK;
    case ALD_FIELD_SPAN:
        return wire_encode_span(field, wire_span(at), packer);
    }
    return ALD_INVALID;
}

/* Which fields are written, a bit each. */
static uint64_t wire_chosen(const struct ald_schema *schema, const uint8_t *msg, size_t *count)
{
    uint64_t chosen = 0;
    *count = 0;
    for (size_t i = 0; i < schema->count; i++) {
        const struct ald_field *field = &schema->fields[i];
        if (!field->required && !wire_present(field, msg + field->offset))
            continue;
        chosen |= UINT64_C(1) << i;
        ++*count;
    }
    return chosen;
}

static enum ald_rc wire_encode_map(const struct ald_schema *schema, const uint8_t *msg,
                                   msgpack_packer *packer)
{
    size_t count;
    uint64_t chosen = wire_chosen(schema, msg, &count);
    msgpack_pack_map(packer, count + 2);
    wire_put_text(packer, ald_span_str("k"));
    wire_put_text(packer, ald_span_str(schema->kind));
    wire_put_text(packer, ald_span_str("v"));
    msgpack_pack_uint64(packer, schema->version);
    for (size_t i = 0; i < schema->count; i++) {
        const struct ald_field *field = &schema->fields[i];
        if ((chosen >> i & 1) == 0)
            continue;
        wire_put_text(packer, ald_span_of(field->key, field->key_len));
        enum ald_rc rc = wire_encode_value(field, msg + field->offset, packer);
        if (rc != ALD_OK)
            return rc;
    }
    return ALD_OK;
}

enum ald_rc ald_wire_encode(const struct ald_schema *schema, const void *msg, struct ald_buf *out)
{
    ALD_ASSERT(schema->count <= ALD_WIRE_FIELDS);
    if (!ald_buf_ok(out))
        return ALD_TOOBIG;
    size_t before = out->len;
    struct wire_sink sink;
    sink.out = out;
    sink.at = sink.chunk;
    msgpack_packer packer;
    msgpack_packer_init(&packer, &sink, wire_put);
    enum ald_rc rc = wire_encode_map(schema, msg, &packer);
    wire_flush(&sink);
    if (rc == ALD_OK && !ald_buf_ok(out))
        rc = ALD_TOOBIG;
    if (rc != ALD_OK) {
        out->len = before;
        out->failed = false;
    }
    return rc;
}
