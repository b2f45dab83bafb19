#include "services/gateway/json_in.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

enum { JSON_IN_DEPTH_MAX = 32 };

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
        ald_text_duration_ms(ald_span_str(json_string_value(value)), &ms) != ALD_OK || ms <= 0)
        return ald_err_set(err, ALD_INVALID, "%s must be a length of time such as \"45s\"",
                           field->name);
    memcpy(field->out, &ms, sizeof ms);
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
        return ald_err_set(err, ALD_MALFORMED, "the body is not JSON: %s (line %d, column %d)",
                           error.text, error.line, error.column);
    enum ald_rc rc = ALD_OK;
    if (!json_is_object(root))
        rc = ald_err_set(err, ALD_MALFORMED, "the body must be a JSON object");
    void *at = rc == ALD_OK ? json_object_iter(root) : NULL;
    for (; at && rc == ALD_OK; at = json_object_iter_next(root, at)) {
        const struct json_in_field *field = json_in_find(fields, count, json_object_iter_key(at));
        rc = field
                 ? json_in_take(field, json_object_iter_value(at), err)
                 : ald_err_set(err, ALD_INVALID, "there is no member %s", json_object_iter_key(at));
    }
    json_decref(root);
    return rc;
}
