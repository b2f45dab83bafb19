#include "services/gateway/api/api_query.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/ident.h"
#include "common/base/text.h"
#include "common/config/form.h"

enum { QUERY_VALUE_MAX = 4096, QUERY_FIELDS_MAX = 16, QUERY_LIST_MAX = 160 };

/* What may stand in a query here, for the sentence that refuses something else. */
static void query_names(const struct api_query_field *fields, size_t count, struct ald_buf *out)
{
    for (size_t i = 0; i < count; i++)
        ald_buf_printf(out, "%s%s", i == 0 ? "" : ", ", fields[i].name);
}

static enum ald_rc query_unknown(const struct api_query_field *fields, size_t count,
                                 const char *name, struct ald_err *err)
{
    struct ald_buf names;
    ald_buf_init(&names, QUERY_LIST_MAX);
    query_names(fields, count, &names);
    if (count == 0)
        ald_err_set(err, ALD_INVALID, "This route takes no query; it was given '%.40s'.", name);
    else
        ald_err_set(err, ALD_INVALID, "This route takes no '%.40s' in its query; it takes: %s.",
                    name, ald_buf_str(&names));
    ald_buf_free(&names);
    return ALD_INVALID;
}

static bool query_listed(const char *words, const char *word)
{
    size_t len = strlen(word);
    while (*words != '\0') {
        size_t have = strcspn(words, ",");
        if (have == len && memcmp(words, word, len) == 0)
            return true;
        words += have;
        words += strspn(words, ", ");
    }
    return false;
}

static enum ald_rc query_wait(const struct api_query_field *field, struct ald_span value,
                              struct ald_err *err)
{
    uint64_t seconds = 0;
    int64_t ms = 0;
    if (ald_text_u64(value, &seconds) == ALD_OK)
        ms = seconds < field->max / 1000 ? (int64_t)seconds * 1000 : (int64_t)field->max;
    else if (ald_text_duration_ms(value, &ms) != ALD_OK)
        return ald_err_set(err, ALD_INVALID,
                           "%s is a number of seconds, or a time such as 500ms or 30s.",
                           field->name);
    *(int64_t *)field->out = (uint64_t)ms < field->max ? ms : (int64_t)field->max;
    return ALD_OK;
}

static enum ald_rc query_flag(const struct api_query_field *field, struct ald_span value,
                              struct ald_err *err)
{
    bool yes = value.len == 0 || ald_span_eq_str(value, "1") || ald_span_eq_str(value, "true");
    if (!yes && !ald_span_eq_str(value, "0") && !ald_span_eq_str(value, "false"))
        return ald_err_set(err, ALD_INVALID, "%s is 1 or 0.", field->name);
    *(bool *)field->out = yes;
    return ALD_OK;
}

/* text is the decoded value, NUL-terminated in its buffer. */
static enum ald_rc query_take(const struct api_query_field *field, struct ald_buf *text,
                              struct ald_err *err)
{
    struct ald_span value = ald_buf_span(text);
    uint64_t number = 0;
    switch (field->kind) {
    case API_QUERY_WORD:
        if (value.len > 0 && !query_listed(field->words, ald_buf_str(text)))
            return ald_err_set(err, ALD_INVALID, "There is no %s '%.40s' here; it is one of: %s.",
                               field->name, ald_buf_str(text), field->words);
        return ald_text_copy(field->out, field->cap, value);
    case API_QUERY_TEXT:
        if (ald_text_copy(field->out, field->cap, value) != ALD_OK)
            return ald_err_set(err, ALD_INVALID, "%s is longer than %zu bytes.", field->name,
                               field->cap - 1);
        return ALD_OK;
    case API_QUERY_NUMBER:
        if (ald_text_u64(value, &number) != ALD_OK)
            return ald_err_set(err, ALD_INVALID, "%s must be a whole number.", field->name);
        if (number > field->max)
            return ald_err_set(err, ALD_INVALID, "%s must be at most %" PRIu64 ".", field->name,
                               field->max);
        *(uint64_t *)field->out = number;
        return ALD_OK;
    case API_QUERY_TASK:
        if (ald_task_id_parse(value, field->out) != ALD_OK)
            return ald_err_set(err, ALD_INVALID, "%s must be the id of a task, a decimal number.",
                               field->name);
        return ALD_OK;
    case API_QUERY_WAIT:
        return query_wait(field, value, err);
    case API_QUERY_FLAG:
        return query_flag(field, value, err);
    }
    return ALD_INVALID;
}

/* One `name=value` of the query. seen has a place for each field. */
static enum ald_rc query_pair(struct ald_span pair, const struct api_query_field *fields,
                              size_t count, bool *seen, struct ald_err *err)
{
    struct ald_buf name;
    struct ald_buf value;
    size_t equals = ald_span_find(pair, '=');
    struct ald_span raw =
        equals < pair.len ? ald_span_skip(pair, equals + 1) : ald_span_of(NULL, 0);
    ald_buf_init(&name, QUERY_VALUE_MAX);
    ald_buf_init(&value, QUERY_VALUE_MAX);
    enum ald_rc rc = ald_form_decode(ald_span_of(pair.data, equals), ALD_PLUS_SPACE, &name);
    if (rc == ALD_OK)
        rc = ald_form_decode(raw, ALD_PLUS_SPACE, &value);
    if (rc != ALD_OK || !ald_buf_ok(&name) || !ald_buf_ok(&value)) {
        rc = ald_err_set(err, ALD_INVALID, "The query is too long, or its %%-escapes are wrong.");
        goto out;
    }
    size_t at = 0;
    while (at < count && strcmp(fields[at].name, ald_buf_str(&name)) != 0)
        at++;
    if (at == count)
        rc = query_unknown(fields, count, ald_buf_str(&name), err);
    else if (seen[at])
        rc = ald_err_set(err, ALD_INVALID, "%s is given twice.", fields[at].name);
    else
        rc = query_take(&fields[at], &value, err);
    if (at < count)
        seen[at] = true;
out:
    ald_buf_free(&name);
    ald_buf_free(&value);
    return rc;
}

enum ald_rc api_query_read(struct ald_span query, const struct api_query_field *fields,
                           size_t count, struct ald_err *err)
{
    bool seen[QUERY_FIELDS_MAX] = {false};
    ALD_ASSERT(count <= QUERY_FIELDS_MAX);
    while (query.len > 0) {
        size_t len = ald_span_find(query, '&');
        enum ald_rc rc =
            len == 0 ? ALD_OK : query_pair(ald_span_of(query.data, len), fields, count, seen, err);
        if (rc != ALD_OK)
            return rc;
        query = len < query.len ? ald_span_skip(query, len + 1) : ald_span_of(NULL, 0);
    }
    return ALD_OK;
}
