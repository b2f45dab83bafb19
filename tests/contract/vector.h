/* vector.h - a golden vector's fields, put into the struct that they stand for.
 *
 * Only for tests: a wrong file fails the test that reads it.
 */
#ifndef ALD_TESTS_CONTRACT_VECTOR_H
#define ALD_TESTS_CONTRACT_VECTOR_H

#include <jansson.h>

#include "common/base/buf.h"
#include "proto/wire.h"

enum { VECTOR_SPANS = 4, VECTOR_BYTES_MAX = 4096 };

/* A struct's memory, and the bytes that its spans borrow. */
struct vector {
    _Alignas(16) uint8_t msg[8192];
    uint8_t spans[VECTOR_SPANS][VECTOR_BYTES_MAX];
    size_t span_count;
};

/* The text as bytes, at most VECTOR_BYTES_MAX of them, into out. */
struct ald_span vector_hex(const char *hex, uint8_t *out);

/* Read proto/vectors/<name>; the caller gives it back with json_decref. */
json_t *vector_load(const char *name);

/* Fill self->msg from a vector's "fields". Each of them must be a field of the schema. */
void vector_fill(struct vector *self, const struct ald_schema *schema, json_t *fields);

/* Fail unless both messages of this schema hold the same values; spans by their bytes. */
void vector_expect_equal(const struct ald_schema *schema, const void *left, const void *right);

#endif
