/* input.h - a fuzzer's bytes taken apart, from the front. What is not there is 0 or empty, so that
 * every input means something. Pure. */
#ifndef ALD_FUZZ_INPUT_H
#define ALD_FUZZ_INPUT_H

#include "common/base/guard.h"
#include "common/base/span.h"

struct input {
    struct ald_span left;
};

static inline uint8_t input_byte(struct input *self)
{
    if (self->left.len == 0)
        return 0;
    uint8_t byte = self->left.data[0];
    self->left = ald_span_skip(self->left, 1);
    return byte;
}

/* A number of the length that its first byte says: small ones are short, and all can come. */
static inline uint64_t input_u64(struct input *self)
{
    uint8_t first = input_byte(self);
    if (first < 0xf8)
        return first;
    uint64_t number = 0;
    for (unsigned i = 0; i <= (first & 7U); i++)
        number = number << 8 | input_byte(self);
    return number;
}

/* At most len bytes. */
static inline struct ald_span input_take(struct input *self, size_t len)
{
    if (len > self->left.len)
        len = self->left.len;
    struct ald_span part = ald_span_of(self->left.data, len);
    self->left = ald_span_skip(self->left, len);
    return part;
}

/* Up to the next such byte, which is dropped. */
static inline struct ald_span input_part(struct input *self, uint8_t end)
{
    struct ald_span part = input_take(self, ald_span_find(self->left, end));
    (void)input_byte(self);
    return part;
}

/* The same as text, cut to the array. */
static inline void input_text(struct input *self, uint8_t end, char *out, size_t cap)
{
    struct ald_span part = input_part(self, end);
    size_t len = 0;
    while (len < part.len && len + 1 < cap && part.data[len] != '\0') {
        out[len] = (char)part.data[len];
        len++;
    }
    out[len] = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
