#include "services/gateway/api/json_in.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/base/codec.h"
#include "common/base/text.h"
#include "proto/msg_limits.h"

enum { JSON_IN_DEPTH_MAX = 32 };

/* Numbers go on as messages, which hold these (proto/wire.h). */
static const int64_t json_in_number_max = (INT64_C(1) << 53) - 1;

static const struct json_in_field *json_in_find(const struct json_in_field *fields, size_t count,
                                                const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static enum ald_rc json_in_text(const struct json_in_field *field, const json_t *value,
                                struct ald_err *err)
{
    char digits[24];
    struct ald_span text;
    if (json_is_string(value)) {
        text = ald_span_of(json_string_value(value), json_string_length(value));
    } else if (json_is_integer(value)) {
        (void)snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
        text = ald_span_str(digits);
    } else {
        return ald_err_set(err, ALD_INVALID, "%s must be a text", field->name);
    }
    if (ald_text_copy(field->out, field->cap, text) != ALD_OK)
        return ald_err_set(err, ALD_INVALID, "%s is longer than %zu bytes", field->name,
                           field->cap - 1);
    return ALD_OK;
}

static enum ald_rc json_in_duration(const struct json_in_field *field, const json_t *value,
                                    struct ald_err *err)
{
    int64_t ms = 0;
    if (!json_is_string(value) ||
        ald_text_duration_ms(ald_span_str(json_string_value(value)), &ms) != ALD_OK || ms <= 0 ||
        ms > ALD_LONGEST_MS)
        return ald_err_set(err, ALD_INVALID,
                           "%s must be a length of time such as \"45s\", at most \"3650d\"",
                           field->name);
    memcpy(field->out, &ms, sizeof ms);
    return ALD_OK;
}

static enum ald_rc json_in_number(const struct json_in_field *field, const json_t *value,
                                  struct ald_err *err)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > json_in_number_max)
        return ald_err_set(err, ALD_INVALID, "%s must be a whole number below 2^53", field->name);
    const uint64_t number = (uint64_t)json_integer_value(value);
    memcpy(field->out, &number, sizeof number);
    return ALD_OK;
}

static enum ald_rc json_in_list(const struct json_in_field *field, const json_t *value,
                                struct ald_err *err)
{
    const struct json_in_list *list = field->out;
    if (!json_is_array(value) || json_array_size(value) > list->max)
        return ald_err_set(err, ALD_INVALID, "%s must be a list of at most %zu objects",
                           field->name, list->max);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_object(item))
            return ald_err_set(err, ALD_INVALID, "%s must be a list of objects", field->name);
        enum ald_rc rc = list->take(list->arg, (const void *)item, err);
        if (rc != ALD_OK)
            return rc;
    }
    return ALD_OK;
}

static enum ald_rc json_in_bytes(const struct json_in_field *field, const json_t *value,
                                 struct ald_err *err)
{
    struct json_in_bytes *out = field->out;
    if (!json_is_string(value))
        return ald_err_set(err, ALD_INVALID, "%s must be a text", field->name);
    if (out->set)
        return ald_err_set(err, ALD_INVALID, "%s is given twice, as text and as base64",
                           field->name);
    struct ald_span text = ald_span_of(json_string_value(value), json_string_length(value));
    out->set = true;
    if (field->kind == JSON_IN_BYTES)
        ald_buf_put_span(&out->bytes, text);
    else if (ald_base64_decode(&out->bytes, text) != ALD_OK)
        return ald_err_set(err, ALD_INVALID, "%s must be base64", field->name);
    if (!ald_buf_ok(&out->bytes))
        return ald_err_set(err, ALD_INVALID, "%s is too long", field->name);
    return ALD_OK;
}

static enum ald_rc json_in_take(const struct json_in_field *field, const json_t *value,
                                struct ald_err *err)
{
    bool flag = true;
    switch (field->kind) {
    case JSON_IN_TEXT:
        return json_in_text(field, value, err);
    case JSON_IN_DURATION:
        return json_in_duration(field, value, err);
    case JSON_IN_NUMBER:
        return json_in_number(field, value, err);
    case JSON_IN_LIST:
        return json_in_list(field, value, err);
    case JSON_IN_BYTES:
    case JSON_IN_BASE64:
        return json_in_bytes(field, value, err);
    case JSON_IN_BOOL:
        if (!json_is_boolean(value))
            return ald_err_set(err, ALD_INVALID, "%s must be true or false", field->name);
        flag = json_is_true(value);
        break;
    case JSON_IN_SEEN:
        break;
    }
    memcpy(field->out, &flag, sizeof flag);
    return ALD_OK;
}

/* The library goes one call deeper for each bracket, on a thread whose stack is small: count them
 * first. Text that is no JSON is read as far as the library reads it. */
static bool json_in_deep(struct ald_span body)
{
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < body.len; i++) {
        uint8_t c = body.data[i];
        if (c == '"')
            quoted = !quoted;
        else if (quoted && c == '\\')
            i++;
        else if (!quoted && (c == '{' || c == '[') && ++depth > JSON_IN_DEPTH_MAX)
            return true;
        else if (!quoted && (c == '}' || c == ']') && depth > 0)
            depth--;
    }
    return false;
}

enum ald_rc json_in_inside(const struct json_in_object *object, const struct json_in_field *fields,
                           size_t count, struct ald_err *err)
{
    const json_t *root = (const void *)object;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        const struct json_in_field *field = json_in_find(fields, count, key);
        enum ald_rc rc = field ? json_in_take(field, value, err)
                               : ald_err_set(err, ALD_INVALID, "there is no member %s", key);
        if (rc != ALD_OK)
            return rc;
    }
    return ALD_OK;
}

enum ald_rc json_in_read(struct ald_span body, const struct json_in_field *fields, size_t count,
                         struct ald_err *err)
{
    if (ald_span_trim(body).len == 0)
        return ALD_OK;
    if (json_in_deep(body))
        return ald_err_set(err, ALD_MALFORMED, "the body has more than %d brackets in each other",
                           JSON_IN_DEPTH_MAX);
    json_error_t error;
    json_t *root = json_loadb((const char *)body.data, body.len, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return ald_err_set(err, ALD_MALFORMED,
                           "the body can't be read as JSON: %s (line %d, column %d)", error.text,
                           error.line, error.column);
    enum ald_rc rc = ALD_OK;
    if (!json_is_object(root))
        rc = ald_err_set(err, ALD_MALFORMED, "the body must be a JSON object");
    else
        rc = json_in_inside((const void *)root, fields, count, err);
    json_decref(root);
    return rc;
}
