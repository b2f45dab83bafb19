/* fill.h - a message whose members are what a fuzzer's bytes say. */
#ifndef ALD_FUZZ_FILL_H
#define ALD_FUZZ_FILL_H

#include <string.h>

#include "proto/messages.h"
#include "tests/fuzz/input.h"

static inline void fill_field(uint8_t *msg, const struct ald_field *field, struct input *in)
{
    uint8_t *at = msg + field->offset;
    uint64_t number = 0;
    struct ald_span bytes;
    switch (field->kind) {
    case ALD_FIELD_TEXT:
        input_text(in, '\n', (char *)at, field->size);
        return;
    case ALD_FIELD_SPAN:
        bytes = input_part(in, '\n');
        memcpy(at, &bytes, sizeof bytes);
        return;
    case ALD_FIELD_BOOL:
        *(bool *)at = (input_byte(in) & 1) != 0;
        return;
    case ALD_FIELD_U64:
    case ALD_FIELD_I64:
    case ALD_FIELD_ID:
        number = input_u64(in);
        memcpy(at, &number, sizeof number);
        return;
    }
}

/* Spans are borrowed from the input. */
static inline void fill_message(const struct ald_schema *schema, void *msg, struct input *in)
{
    memset(msg, 0, schema->size);
    for (size_t i = 0; i < schema->count; i++)
        fill_field(msg, &schema->fields[i], in);
}

#endif
