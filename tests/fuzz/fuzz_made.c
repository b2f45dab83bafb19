/* Any bytes as the values of a message: the first byte chooses which. What the writer takes, the
 * reader gives back, member by member. */
#include <string.h>

#include "proto/messages.h"
#include "tests/fuzz/fill.h"

enum { MSG_BYTES = 8192, OUT_MAX = 1 << 20 };

static _Alignas(16) uint8_t made[MSG_BYTES];
static _Alignas(16) uint8_t read_back[MSG_BYTES];

static bool made_same(const struct ald_field *field)
{
    const uint8_t *wrote = made + field->offset;
    const uint8_t *got = read_back + field->offset;
    struct ald_span spans[2];
    switch (field->kind) {
    case ALD_FIELD_TEXT:
        return strcmp((const char *)wrote, (const char *)got) == 0;
    case ALD_FIELD_SPAN:
        memcpy(&spans[0], wrote, sizeof spans[0]);
        memcpy(&spans[1], got, sizeof spans[1]);
        return ald_span_eq(spans[0], spans[1]);
    case ALD_FIELD_BOOL:
        return *(const bool *)wrote == *(const bool *)got;
    case ALD_FIELD_U64:
    case ALD_FIELD_I64:
    case ALD_FIELD_ID:
        return memcmp(wrote, got, sizeof(uint64_t)) == 0;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.left = ald_span_of(data, size)};
    struct ald_buf out;
    size_t count = 0;
    while (ALD_SCHEMAS[count] != NULL)
        count++;
    const struct ald_schema *schema = ALD_SCHEMAS[input_byte(&in) % count];
    ALD_ASSERT(schema->size <= sizeof made);
    fill_message(schema, made, &in);
    ald_buf_init(&out, OUT_MAX);
    enum ald_rc rc = ald_wire_encode(schema, made, &out);
    ALD_ASSERT(rc == ALD_OK || rc == ALD_TOOBIG || rc == ALD_INVALID);
    ALD_ASSERT(rc == ALD_OK || out.len == 0);
    if (rc == ALD_OK) {
        ALD_ASSERT(ald_wire_decode(schema, read_back, ald_buf_span(&out)) == ALD_OK);
        for (size_t i = 0; i < schema->count; i++)
            ALD_ASSERT(made_same(&schema->fields[i]));
    }
    ald_buf_free(&out);
    return 0;
}
