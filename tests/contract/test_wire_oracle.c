/* What our reader takes, msgpack-c's unpacker reads too, with the same values. Random messages from
 * a fixed seed: as written, with entries that nobody knows, and with bytes altered. */
#include "proto/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <msgpack.h>

#include "proto/messages.h"

enum { ROUNDS = 60000, MSG_BYTES = 8192, SPAN_BYTES = 400 };

static _Alignas(16) uint8_t sent[MSG_BYTES];
static _Alignas(16) uint8_t got[MSG_BYTES];
static uint8_t noise[SPAN_BYTES];
static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t any(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static size_t any_below(size_t bound)
{
    return (size_t)(any() >> 11) % bound;
}

/* A number of any length in bits, within the wire's limit. */
static uint64_t any_number(void)
{
    return (any() >> 11) >> any_below(53);
}

static void any_text(char *out, size_t size)
{
    static const char *const pieces[] = {
        "a", "Z", "0", " ", "/", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    size_t len = 0;
    size_t want = any_below(size);
    for (;;) {
        const char *piece = pieces[any_below(ALD_COUNT(pieces))];
        if (len + strlen(piece) > want)
            return;
        memcpy(out + len, piece, strlen(piece));
        len += strlen(piece);
    }
}

static void any_value(const struct ald_field *field, uint8_t *at)
{
    uint64_t number = any_number();
    int64_t signed_number = any_below(2) == 0 ? (int64_t)number : -(int64_t)number;
    bool truth = any_below(2) == 0;
    struct ald_span span = {.data = noise, .len = any_below(field->size < SPAN_BYTES ? 100 : 400)};
    switch (field->kind) {
    case ALD_FIELD_TEXT:
        any_text((char *)at, field->size);
        return;
    case ALD_FIELD_U64:
    case ALD_FIELD_ID:
        memcpy(at, &number, sizeof(number));
        return;
    case ALD_FIELD_I64:
        memcpy(at, &signed_number, sizeof(signed_number));
        return;
    case ALD_FIELD_BOOL:
        memcpy(at, &truth, sizeof(truth));
        return;
    case ALD_FIELD_SPAN:
        memcpy(at, &span, sizeof(span));
        return;
    }
}

static const struct ald_schema *any_schema(void)
{
    size_t count = 0;
    while (ALD_SCHEMAS[count] != NULL)
        count++;
    return ALD_SCHEMAS[any_below(count)];
}

static void any_message(const struct ald_schema *schema, struct ald_buf *out)
{
    memset(sent, 0, sizeof(sent));
    for (size_t i = 0; i < schema->count; i++) {
        if (any_below(4) > 0)
            any_value(&schema->fields[i], sent + schema->fields[i].offset);
    }
    assert_int_equal(ald_wire_encode(schema, sent, out), ALD_OK);
}

/* Entries of a newer writer: a key and some bytes that may be a value. */
static void add_unknown(struct ald_buf *out)
{
    uint8_t *lead = out->data;
    if (*lead < 0x80 || *lead >= 0x8f)
        return;
    ++*lead;
    uint8_t value[8];
    for (size_t i = 0; i < sizeof(value); i++)
        value[i] = (uint8_t)(any_below(3) == 0 ? 0x90 + any_below(3) : any());
    ald_buf_put(out, "\xa3new", 4);
    ald_buf_put(out, value, 1 + any_below(sizeof(value)));
}

static void alter(struct ald_buf *out)
{
    for (size_t n = 1 + any_below(3); n > 0; n--)
        out->data[any_below(out->len)] = (uint8_t)any();
}

static bool equal_number(const msgpack_object *value, int64_t want)
{
    if (want < 0)
        return value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER && value->via.i64 == want;
    return value->type == MSGPACK_OBJECT_POSITIVE_INTEGER && value->via.u64 == (uint64_t)want;
}

static bool equal_id(const msgpack_object *value, uint64_t want)
{
    char digits[24] = "";
    if (value->type != MSGPACK_OBJECT_STR || value->via.str.size >= sizeof(digits))
        return false;
    memcpy(digits, value->via.str.ptr, value->via.str.size);
    return strtoull(digits, NULL, 10) == want && (value->via.str.size == 0) == (want == 0);
}

static bool equal_value(const struct ald_field *field, const uint8_t *at,
                        const msgpack_object *value)
{
    int64_t number;
    struct ald_span span;
    size_t len;
    switch (field->kind) {
    case ALD_FIELD_TEXT:
        len = strlen((const char *)at);
        return value->type == MSGPACK_OBJECT_STR && value->via.str.size == len &&
               memcmp(value->via.str.ptr, at, len) == 0;
    case ALD_FIELD_U64:
    case ALD_FIELD_I64:
        memcpy(&number, at, sizeof(number));
        return equal_number(value, number);
    case ALD_FIELD_ID:
        memcpy(&number, at, sizeof(number));
        return equal_id(value, (uint64_t)number);
    case ALD_FIELD_BOOL:
        return value->type == MSGPACK_OBJECT_BOOLEAN && value->via.boolean == (*at != 0);
    case ALD_FIELD_SPAN:
        memcpy(&span, at, sizeof(span));
        return value->type == MSGPACK_OBJECT_BIN &&
               ald_span_eq(span, ald_span_of(value->via.bin.ptr, value->via.bin.size));
    }
    return false;
}

static const msgpack_object *map_value(const msgpack_object_map *map, const char *key)
{
    const msgpack_object *found = NULL;
    for (uint32_t i = 0; i < map->size; i++) {
        const msgpack_object *name = &map->ptr[i].key;
        assert_int_equal(name->type, MSGPACK_OBJECT_STR);
        if (!ald_span_eq_str(ald_span_of(name->via.str.ptr, name->via.str.size), key))
            continue;
        assert_null(found);
        found = &map->ptr[i].val;
    }
    return found;
}

static bool is_zero(const struct ald_field *field, const uint8_t *at)
{
    static const uint8_t zeros[2048];
    size_t sizes[] = {
        [ALD_FIELD_TEXT] = field->size,    [ALD_FIELD_U64] = sizeof(uint64_t),
        [ALD_FIELD_I64] = sizeof(int64_t), [ALD_FIELD_BOOL] = sizeof(bool),
        [ALD_FIELD_ID] = sizeof(uint64_t), [ALD_FIELD_SPAN] = sizeof(struct ald_span),
    };
    assert_true(sizes[field->kind] <= sizeof(zeros));
    return memcmp(at, zeros, sizes[field->kind]) == 0;
}

static void expect_agreement(const struct ald_schema *schema, struct ald_span bytes)
{
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    size_t end = 0;
    assert_int_equal(msgpack_unpack_next(&unpacked, (const char *)bytes.data, bytes.len, &end),
                     MSGPACK_UNPACK_SUCCESS);
    assert_int_equal(end, bytes.len);
    assert_int_equal(unpacked.data.type, MSGPACK_OBJECT_MAP);
    for (size_t i = 0; i < schema->count; i++) {
        const struct ald_field *field = &schema->fields[i];
        const msgpack_object *value = map_value(&unpacked.data.via.map, field->key);
        bool agrees = value == NULL ? is_zero(field, got + field->offset)
                                    : equal_value(field, got + field->offset, value);
        if (!agrees)
            fail_msg("%s: %s differs", schema->kind, field->key);
    }
    msgpack_unpacked_destroy(&unpacked);
}

static void test_example(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 2 * MSG_BYTES);
    any_message(&MSG_CALLBACK, &out);
    assert_int_equal(ald_wire_decode(&MSG_CALLBACK, got, ald_buf_span(&out)), ALD_OK);
    expect_agreement(&MSG_CALLBACK, ald_buf_span(&out));
    ald_buf_free(&out);
}

static void test_random_messages(void **state)
{
    (void)state;
    unsigned taken[3] = {0};
    struct ald_buf out;
    ald_buf_init(&out, 2 * MSG_BYTES);
    for (size_t i = 0; i < SPAN_BYTES; i++)
        noise[i] = (uint8_t)any();
    for (unsigned round = 0; round < ROUNDS; round++) {
        const struct ald_schema *schema = any_schema();
        ald_buf_reset(&out);
        any_message(schema, &out);
        unsigned way = round % 3;
        if (way == 1)
            add_unknown(&out);
        if (way == 2)
            alter(&out);
        assert_true(ald_buf_ok(&out));
        if (ald_wire_decode(schema, got, ald_buf_span(&out)) != ALD_OK)
            continue;
        taken[way]++;
        expect_agreement(schema, ald_buf_span(&out));
    }
    assert_int_equal(taken[0], ROUNDS / 3);
    assert_in_range(taken[1], ROUNDS / 30, ROUNDS / 3);
    assert_in_range(taken[2], ROUNDS / 30, ROUNDS / 3);
    ald_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_random_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
