/* Any bytes to the reader. What it takes must be written again, and read to the same message. */
#include "proto/messages.h"

#include <string.h>

enum { MSG_BYTES = 8192, OUT_MAX = 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(16) uint8_t msg[MSG_BYTES];

static void fuzz_schema(const struct ald_schema *schema, struct ald_span bytes)
{
    ALD_ASSERT(schema->size <= sizeof(msg));
    if (ald_wire_decode(schema, msg, bytes) != ALD_OK)
        return;
    ALD_ASSERT(ald_wire_is(schema, bytes));
    struct ald_buf first;
    struct ald_buf second;
    ald_buf_init(&first, OUT_MAX);
    ald_buf_init(&second, OUT_MAX);
    ALD_ASSERT(ald_wire_encode(schema, msg, &first) == ALD_OK);
    ALD_ASSERT(ald_wire_decode(schema, msg, ald_buf_span(&first)) == ALD_OK);
    ALD_ASSERT(ald_wire_encode(schema, msg, &second) == ALD_OK);
    ALD_ASSERT(ald_span_eq(ald_buf_span(&first), ald_buf_span(&second)));
    ald_buf_free(&first);
    ald_buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ald_span bytes = ald_span_of(data, size);
    char kind[ALD_WORD_MAX];
    if (ald_wire_kind(bytes, kind, sizeof(kind)) != ALD_OK)
        kind[0] = '\0';
    for (size_t i = 0; ALD_SCHEMAS[i] != NULL; i++) {
        bool same = strcmp(kind, ALD_SCHEMAS[i]->kind) == 0;
        ALD_ASSERT(same == ald_wire_is(ALD_SCHEMAS[i], bytes));
        if (same)
            fuzz_schema(ALD_SCHEMAS[i], bytes);
    }
    return 0;
}
