#include "common/config/expand.h"

#include <stdlib.h>
#include <string.h>

enum { EXPAND_NAME_MAX = 128 };

static bool expand_name_byte(uint8_t byte, bool first)
{
    return (byte >= 'A' && byte <= 'Z') || byte == '_' || (!first && byte >= '0' && byte <= '9');
}

static size_t expand_name_len(struct ald_span text)
{
    size_t len = 0;
    while (len < text.len && expand_name_byte(text.data[len], len == 0))
        len++;
    return len;
}

/* What stands between the braces: NAME, NAME:-default or NAME:?message. */
static enum ald_rc expand_variable(struct ald_span inside, struct ald_buf *out, struct ald_err *err)
{
    size_t len = expand_name_len(inside);
    char name[EXPAND_NAME_MAX];
    if (len >= sizeof name)
        return ald_err_set(err, ALD_INVALID, "The name of a variable is too long.");
    memcpy(name, inside.data, len);
    name[len] = '\0';

    struct ald_span rest = ald_span_of(inside.data + len, inside.len - len);
    bool has_default = rest.len >= 2 && memcmp(rest.data, ":-", 2) == 0;
    bool has_message = rest.len >= 2 && memcmp(rest.data, ":?", 2) == 0;
    if (rest.len > 0 && !has_default && !has_message)
        return ald_err_set(err, ALD_INVALID,
                           "Write ${%s}, ${%s:-default} or ${%s:?message}; $$ is a dollar.", name,
                           name, name);
    const char *value = getenv(name);
    bool empty = value == NULL || value[0] == '\0';
    if (has_default && empty)
        ald_buf_put(out, rest.data + 2, rest.len - 2);
    else if (has_message && empty)
        return ald_err_set(err, ALD_MISSING, "The environment variable %s is not set: %.*s", name,
                           (int)(rest.len - 2 < 100 ? rest.len - 2 : 100),
                           (const char *)rest.data + 2);
    else if (value == NULL)
        return ald_err_set(err, ALD_MISSING, "The environment variable %s is not set.", name);
    else
        ald_buf_put_str(out, value);
    return ALD_OK;
}

/* text begins with a dollar; *used says how much of it was taken. */
static enum ald_rc expand_dollar(struct ald_span text, struct ald_buf *out, bool *is_template,
                                 size_t *used, struct ald_err *err)
{
    uint8_t second = text.len > 1 ? text.data[1] : 0;
    if (second == '$') {
        ald_buf_put_byte(out, '$');
        *used = 2;
        return ALD_OK;
    }
    if (second != '{') {
        ald_buf_put_byte(out, '$');
        *used = 1;
        return ALD_OK;
    }
    const uint8_t *close = memchr(text.data, '}', text.len);
    if (close == NULL)
        return ald_err_set(err, ALD_INVALID, "A ${ has no closing brace; $$ is a dollar.");
    *used = (size_t)(close - text.data) + 1;
    struct ald_span inside = ald_span_of(text.data + 2, *used - 3);
    if (inside.len == 0)
        return ald_err_set(err, ALD_INVALID, "A ${} has no name; $$ is a dollar.");
    if (expand_name_len(inside) > 0)
        return expand_variable(inside, out, err);
    *is_template = true;
    ald_buf_put(out, text.data, *used);
    return ALD_OK;
}

enum ald_rc ald_expand(struct ald_span text, struct ald_buf *out, bool *is_template,
                       struct ald_err *err)
{
    *is_template = false;
    size_t at = 0;
    while (at < text.len) {
        if (text.data[at] != '$') {
            ald_buf_put_byte(out, text.data[at++]);
            continue;
        }
        size_t used = 0;
        enum ald_rc rc =
            expand_dollar(ald_span_of(text.data + at, text.len - at), out, is_template, &used, err);
        if (rc != ALD_OK)
            return rc;
        at += used;
    }
    return ALD_OK;
}
