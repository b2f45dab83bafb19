#include "tests/contract/vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct ald_span vector_hex(const char *hex, uint8_t *out)
{
    size_t len = strlen(hex) / 2;
    assert_true(strlen(hex) % 2 == 0 && len <= VECTOR_BYTES_MAX);
    for (size_t i = 0; i < len; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        out[i] = (uint8_t)byte;
    }
    return ald_span_of(out, len);
}

json_t *vector_load(const char *name)
{
    char path[256];
    json_error_t error;
    (void)snprintf(path, sizeof(path), "proto/vectors/%s", name);
    json_t *vector = json_load_file(path, 0, &error);
    if (vector == NULL)
        fail_msg("%s:%d: %s", path, error.line, error.text);
    return vector;
}

static void vector_set_span(struct vector *self, uint8_t *at, const char *hex)
{
    assert_true(self->span_count < VECTOR_SPANS);
    struct ald_span span = vector_hex(hex, self->spans[self->span_count++]);
    memcpy(at, &span, sizeof(span));
}

static void vector_set(struct vector *self, const struct ald_field *field, json_t *value)
{
    uint8_t *at = self->msg + field->offset;
    switch (field->kind) {
    case ALD_FIELD_TEXT:
        assert_true(json_is_string(value) && json_string_length(value) < field->size);
        memcpy(at, json_string_value(value), json_string_length(value) + 1);
        return;
    case ALD_FIELD_U64:
    case ALD_FIELD_I64: {
        assert_true(json_is_integer(value));
        int64_t number = json_integer_value(value);
        memcpy(at, &number, sizeof(number));
        return;
    }
    case ALD_FIELD_BOOL: {
        assert_true(json_is_boolean(value));
        bool truth = json_is_true(value);
        memcpy(at, &truth, sizeof(truth));
        return;
    }
    case ALD_FIELD_ID: {
        assert_true(json_is_string(value));
        uint64_t id = strtoull(json_string_value(value), NULL, 10);
        memcpy(at, &id, sizeof(id));
        return;
    }
    case ALD_FIELD_SPAN:
        assert_true(json_is_string(value));
        vector_set_span(self, at, json_string_value(value));
        return;
    }
}

static const struct ald_field *vector_field(const struct ald_schema *schema, const char *key)
{
    for (size_t i = 0; i < schema->count; i++) {
        if (strcmp(schema->fields[i].key, key) == 0)
            return &schema->fields[i];
    }
    print_error("%s has no field %s\n", schema->kind, key);
    abort();
}

void vector_fill(struct vector *self, const struct ald_schema *schema, json_t *fields)
{
    const char *key;
    json_t *value;
    assert_true(schema->size <= sizeof(self->msg));
    memset(self->msg, 0, sizeof(self->msg));
    self->span_count = 0;
    json_object_foreach(fields, key, value) vector_set(self, vector_field(schema, key), value);
}

static bool vector_field_equal(const struct ald_field *field, const uint8_t *left,
                               const uint8_t *right)
{
    struct ald_span a;
    struct ald_span b;
    switch (field->kind) {
    case ALD_FIELD_TEXT:
        return memcmp(left, right, field->size) == 0; /* what follows the NUL was cleared */
    case ALD_FIELD_U64:
    case ALD_FIELD_I64:
    case ALD_FIELD_ID:
        return memcmp(left, right, sizeof(uint64_t)) == 0;
    case ALD_FIELD_BOOL:
        return *left == *right;
    case ALD_FIELD_SPAN:
        memcpy(&a, left, sizeof(a));
        memcpy(&b, right, sizeof(b));
        return ald_span_eq(a, b);
    }
    return false;
}

void vector_expect_equal(const struct ald_schema *schema, const void *left, const void *right)
{
    const uint8_t *a = left;
    const uint8_t *b = right;
    for (size_t i = 0; i < schema->count; i++) {
        const struct ald_field *field = &schema->fields[i];
        if (!vector_field_equal(field, a + field->offset, b + field->offset))
            fail_msg("%s: %s differs", schema->kind, field->key);
    }
}
