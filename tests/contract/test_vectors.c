/* The golden vectors: each is read to its fields, and written to the same bytes again. */
#include "tests/contract/vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/messages.h"

static struct vector wanted;
static uint8_t got[sizeof(wanted.msg)];

/* fields is what the message holds, hex the message. */
static void expect_vector(const struct ald_schema *schema, json_t *fields, const char *hex)
{
    uint8_t bytes[VECTOR_BYTES_MAX];
    struct ald_span message = vector_hex(hex, bytes);
    vector_fill(&wanted, schema, fields);

    enum ald_rc rc = ald_wire_decode(schema, got, message);
    if (rc != ALD_OK)
        fail_msg("%s: %s", schema->kind, ald_rc_name(rc));
    vector_expect_equal(schema, wanted.msg, got);

    struct ald_buf out;
    ald_buf_init(&out, VECTOR_BYTES_MAX);
    assert_int_equal(ald_wire_encode(schema, got, &out), ALD_OK);
    assert_int_equal(out.len, message.len);
    assert_memory_equal(out.data, message.data, message.len);
    ald_buf_free(&out);
}

static json_t *schema_vector(const struct ald_schema *schema)
{
    char name[128];
    (void)snprintf(name, sizeof(name), "%s.v%u.json", schema->kind, schema->version);
    json_t *vector = vector_load(name);
    assert_string_equal(json_string_value(json_object_get(vector, "kind")), schema->kind);
    return vector;
}

static void test_example(void **state)
{
    (void)state;
    json_t *vector = vector_load("ack.v1.json");
    json_t *fields = json_object_get(vector, "fields");
    expect_vector(&MSG_ACK, fields, json_string_value(json_object_get(vector, "hex")));
    json_decref(vector);
}

/* A field that is added to a table needs a value in a vector. */
static void test_every_field(void **state)
{
    (void)state;
    for (size_t i = 0; ALD_SCHEMAS[i] != NULL; i++) {
        json_t *vector = schema_vector(ALD_SCHEMAS[i]);
        json_t *fields = json_object_get(vector, "fields");
        if (json_object_size(fields) != ALD_SCHEMAS[i]->count)
            fail_msg("%s: the vector has other fields", ALD_SCHEMAS[i]->kind);
        expect_vector(ALD_SCHEMAS[i], fields, json_string_value(json_object_get(vector, "hex")));
        json_decref(vector);
    }
}

/* The table demands the fields that the vector has when it is shortest, and no others. */
static void expect_required(const struct ald_schema *schema, json_t *fields)
{
    for (size_t i = 0; i < schema->count; i++) {
        const struct ald_field *field = &schema->fields[i];
        if (field->required != (json_object_get(fields, field->key) != NULL))
            fail_msg("%s: is %s required?", schema->kind, field->key);
    }
}

static void test_required_fields_only(void **state)
{
    (void)state;
    for (size_t i = 0; ALD_SCHEMAS[i] != NULL; i++) {
        json_t *vector = schema_vector(ALD_SCHEMAS[i]);
        json_t *required = json_object_get(vector, "required");
        expect_required(ALD_SCHEMAS[i], json_object_get(required, "fields"));
        expect_vector(ALD_SCHEMAS[i], json_object_get(required, "fields"),
                      json_string_value(json_object_get(required, "hex")));
        json_decref(vector);
    }
}

/* Write the message in wanted without field number missing; the reader misses it. */
static void expect_missed(const struct ald_schema *schema, size_t missing)
{
    struct ald_field fields[ALD_WIRE_FIELDS];
    memcpy(fields, schema->fields, schema->count * sizeof(fields[0]));
    fields[missing] = fields[schema->count - 1];
    struct ald_schema without = *schema;
    without.fields = fields;
    without.count--;

    struct ald_buf out;
    ald_buf_init(&out, VECTOR_BYTES_MAX);
    assert_int_equal(ald_wire_encode(&without, wanted.msg, &out), ALD_OK);
    enum ald_rc want = schema->fields[missing].required ? ALD_MISSING : ALD_OK;
    if (ald_wire_decode(schema, got, ald_buf_span(&out)) != want)
        fail_msg("%s without %s", schema->kind, schema->fields[missing].key);
    ald_buf_free(&out);
}

static void test_each_required_field_is_missed(void **state)
{
    (void)state;
    for (size_t i = 0; ALD_SCHEMAS[i] != NULL; i++) {
        json_t *vector = schema_vector(ALD_SCHEMAS[i]);
        vector_fill(&wanted, ALD_SCHEMAS[i], json_object_get(vector, "fields"));
        for (size_t field = 0; field < ALD_SCHEMAS[i]->count; field++)
            expect_missed(ALD_SCHEMAS[i], field);
        json_decref(vector);
    }
}

static void test_kinds_are_told_apart(void **state)
{
    (void)state;
    uint8_t bytes[VECTOR_BYTES_MAX];
    for (size_t i = 0; ALD_SCHEMAS[i] != NULL; i++) {
        json_t *vector = schema_vector(ALD_SCHEMAS[i]);
        struct ald_span message =
            vector_hex(json_string_value(json_object_get(vector, "hex")), bytes);
        for (size_t j = 0; ALD_SCHEMAS[j] != NULL; j++)
            assert_int_equal(ald_wire_is(ALD_SCHEMAS[j], message), i == j);
        json_decref(vector);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_required_fields_only),
        cmocka_unit_test(test_each_required_field_is_missed),
        cmocka_unit_test(test_kinds_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
