#include "common/config/setting_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/regular.h"
#include "common/base/text.h"
#include "common/config/address.h"
#include "common/config/file.h"

enum { SECRET_FILE_MAX = 64 << 10 };

static bool value_in_range(const struct ald_setting *row, int64_t value)
{
    return (row->min == 0 && row->max == 0) || (value >= row->min && value <= row->max);
}

/* A number as a person would write it for this row. */
static void value_number(const struct ald_setting *row, int64_t value, struct ald_buf *out)
{
    static const struct {
        int64_t factor;
        const char *unit;
    } times[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}},
      sizes[] = {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}};
    if ((row->flags & ALD_SETTING_AUTO) != 0 && value == ALD_SETTING_AUTO_MS) {
        ald_buf_put_str(out, "auto");
        return;
    }
    if (row->kind == ALD_SETTING_DURATION) {
        for (size_t i = 0; i < ALD_COUNT(times); i++)
            if (value % times[i].factor == 0 && (value != 0 || times[i].factor == 1000)) {
                ald_buf_printf(out, "%" PRId64 "%s", value / times[i].factor, times[i].unit);
                return;
            }
    }
    if (row->kind == ALD_SETTING_BYTES) {
        for (size_t i = 0; i < ALD_COUNT(sizes); i++)
            if (value % sizes[i].factor == 0 && (value != 0 || sizes[i].factor == 1)) {
                ald_buf_printf(out, "%" PRId64 "%s", value / sizes[i].factor, sizes[i].unit);
                return;
            }
    }
    ald_buf_printf(out, "%" PRId64 "%s", value, row->kind == ALD_SETTING_PERCENT ? "%" : "");
}

static bool value_refuse(const struct ald_setting *row, const char *text, const char *want,
                         struct ald_err *err)
{
    (void)ald_err_set(err, ALD_INVALID, "%s is \"%.60s\"; it must be %s.", row->key, text, want);
    return false;
}

static bool value_range(const struct ald_setting *row, const char *text, int64_t value,
                        struct ald_err *err)
{
    if (value_in_range(row, value))
        return true;
    struct ald_buf want;
    ald_buf_init(&want, 200);
    ald_buf_put_str(&want, "from ");
    value_number(row, row->min, &want);
    ald_buf_put_str(&want, " to ");
    value_number(row, row->max, &want);
    bool ok = value_refuse(row, text, ald_buf_str(&want), err);
    ald_buf_free(&want);
    return ok;
}

static bool value_int(const struct ald_setting *row, const char *text, int64_t *out,
                      struct ald_err *err)
{
    struct ald_span digits = ald_span_str(text);
    if (row->kind == ALD_SETTING_PERCENT && digits.len > 1 && text[digits.len - 1] == '%')
        digits.len--;
    int64_t value = 0;
    if (ald_text_i64(digits, &value) != ALD_OK)
        return value_refuse(
            row, text, row->kind == ALD_SETTING_PERCENT ? "a share such as 20%" : "a whole number",
            err);
    if (!value_range(row, text, value, err))
        return false;
    *out = value;
    return true;
}

static bool value_duration(const struct ald_setting *row, const char *text, int64_t *out,
                           struct ald_err *err)
{
    int64_t value = ALD_SETTING_AUTO_MS;
    if ((row->flags & ALD_SETTING_AUTO) != 0 && strcmp(text, "auto") == 0) {
        *out = value;
        return true;
    }
    if (ald_text_duration_ms(ald_span_str(text), &value) != ALD_OK)
        return value_refuse(row, text, "a time with its unit, such as 250ms, 30s, 5m, 24h or 30d",
                            err);
    if (!value_range(row, text, value, err))
        return false;
    *out = value;
    return true;
}

static bool value_bytes(const struct ald_setting *row, const char *text, uint64_t *out,
                        struct ald_err *err)
{
    uint64_t value = 0;
    if (ald_text_bytes(ald_span_str(text), &value) != ALD_OK || value > INT64_MAX)
        return value_refuse(row, text, "a size with its unit, such as 512B, 256KiB or 4MiB", err);
    if (!value_range(row, text, (int64_t)value, err))
        return false;
    *out = value;
    return true;
}

static bool value_bool(const struct ald_setting *row, const char *text, bool *out,
                       struct ald_err *err)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return value_refuse(row, text, "true or false", err);
    *out = text[0] == 't';
    return true;
}

static bool value_text(const struct ald_setting *row, const char *text, char *out,
                       struct ald_err *err)
{
    if (strlen(text) >= row->size) {
        (void)ald_err_set(err, ALD_TOOBIG, "%s is longer than %zu bytes.", row->key, row->size - 1);
        return false;
    }
    memset(out, 0, row->size);
    memcpy(out, text, strlen(text));
    return true;
}

static bool value_address(const struct ald_setting *row, const char *text, char *out,
                          struct ald_err *err)
{
    struct sockaddr_in address;
    if (ald_address_parse(text, &address) != ALD_OK)
        return value_refuse(row, text,
                            "an IPv4 address and a port up to 65535, such as 127.0.0.1:7780", err);
    return value_text(row, text, out, err);
}

static bool value_word(const struct ald_setting *row, const char *text, char *out,
                       struct ald_err *err)
{
    size_t len = strlen(text);
    for (const char *word = row->words; *word != '\0'; word += strspn(word, " ")) {
        size_t word_len = strcspn(word, " ");
        if (word_len == len && memcmp(word, text, len) == 0)
            return value_text(row, text, out, err);
        word += word_len;
    }
    (void)ald_err_set(err, ALD_INVALID, "%s is \"%.60s\"; it must be one of: %s.", row->key, text,
                      row->words);
    return false;
}

bool ald_setting_parse(const struct ald_setting *row, const char *text, void *field,
                       struct ald_err *err)
{
    switch (row->kind) {
    case ALD_SETTING_TEXT:
    case ALD_SETTING_PATH:
        return value_text(row, text, field, err);
    case ALD_SETTING_ADDRESS:
        return value_address(row, text, field, err);
    case ALD_SETTING_WORD:
        return value_word(row, text, field, err);
    case ALD_SETTING_INT:
    case ALD_SETTING_PERCENT:
        return value_int(row, text, field, err);
    case ALD_SETTING_BOOL:
        return value_bool(row, text, field, err);
    case ALD_SETTING_DURATION:
        return value_duration(row, text, field, err);
    case ALD_SETTING_BYTES:
        return value_bytes(row, text, field, err);
    case ALD_SETTING_SECRET:
    case ALD_SETTING_LIST:
        break;
    }
    ALD_ASSERT(row->kind < ALD_SETTING_SECRET);
    return false;
}

/* In double quotes, so that any text reads back as itself. */
static void value_quote(const char *text, struct ald_buf *out)
{
    ald_buf_put_byte(out, '"');
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            ald_buf_printf(out, "\\%c", *at);
        else if (*at == '$')
            ald_buf_put_str(out, "$$");
        else if ((unsigned char)*at < 0x20 || *at == 0x7f)
            ald_buf_printf(out, "\\x%02x", (unsigned)(unsigned char)*at);
        else
            ald_buf_put_byte(out, (uint8_t)*at);
    }
    ald_buf_put_byte(out, '"');
}

/* An address without what may be secret in it: a password, and the values of its query. */
static void value_address_quote(const char *text, struct ald_buf *out)
{
    const char *rest = strstr(text, "://");
    struct ald_buf shown;
    ald_buf_init(&shown, 2 * strlen(text) + 64);
    if (rest != NULL) {
        rest += 3;
        ald_buf_put(&shown, text, (size_t)(rest - text));
        size_t host = strcspn(rest, "/?#");
        const char *at = memchr(rest, '@', host);
        ald_buf_put_str(&shown, at != NULL ? "***@" : "");
        rest = at != NULL ? at + 1 : rest;
    }
    bool query = false;
    for (const char *c = rest != NULL ? rest : text; *c != '\0'; c++) {
        ald_buf_put_byte(&shown, (uint8_t)*c);
        query = query || (*c == '?' && rest != NULL);
        if (!query || *c != '=')
            continue;
        ald_buf_put_str(&shown, "***");
        c += strcspn(c, "&#") - 1;
    }
    value_quote(ald_buf_str(&shown), out);
    ald_buf_free(&shown);
}

static void value_list(const struct ald_setting *row, const struct ald_texts *list,
                       struct ald_buf *out)
{
    ald_buf_put_byte(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        ald_buf_put_str(out, i == 0 ? "" : ", ");
        value_quote((row->flags & ALD_SETTING_MASKED) != 0 ? "***" : list->item[i], out);
    }
    ald_buf_put_byte(out, ']');
}

void ald_setting_write(const struct ald_setting *row, const void *field, struct ald_buf *out)
{
    bool masked = (row->flags & ALD_SETTING_MASKED) != 0;
    switch (row->kind) {
    case ALD_SETTING_SECRET:
        value_quote(*(const char *)field == '\0' ? "" : "***", out);
        return;
    case ALD_SETTING_TEXT:
        if (!masked) {
            value_address_quote(field, out);
            return;
        }
        value_quote(*(const char *)field != '\0' ? "***" : field, out);
        return;
    case ALD_SETTING_PATH:
    case ALD_SETTING_ADDRESS:
    case ALD_SETTING_WORD:
        value_quote(masked && *(const char *)field != '\0' ? "***" : field, out);
        return;
    case ALD_SETTING_INT:
    case ALD_SETTING_PERCENT:
    case ALD_SETTING_DURATION:
        value_number(row, *(const int64_t *)field, out);
        return;
    case ALD_SETTING_BYTES:
        value_number(row, (int64_t) * (const uint64_t *)field, out);
        return;
    case ALD_SETTING_BOOL:
        ald_buf_put_str(out, *(const bool *)field ? "true" : "false");
        return;
    case ALD_SETTING_LIST:
        value_list(row, field, out);
        return;
    }
}

static bool secret_take(struct ald_span value, const char *kind, const char *name, char *out,
                        size_t cap, struct ald_err *err)
{
    const char *wrong = NULL;
    if (value.len == 0)
        wrong = "is empty";
    else if (value.len >= cap)
        wrong = "is too long";
    else if (memchr(value.data, '\0', value.len) != NULL ||
             memchr(value.data, '\n', value.len) != NULL)
        wrong = "holds more than one line";
    if (wrong != NULL) {
        (void)ald_err_set(err, ALD_INVALID, "The secret in the %s %.120s %s.", kind, name, wrong);
        return false;
    }
    memcpy(out, value.data, value.len);
    out[value.len] = '\0';
    return true;
}

bool ald_secret_from_env(const char *variable, char *out, size_t cap, struct ald_err *err)
{
    out[0] = '\0';
    const char *value = getenv(variable);
    if (value == NULL) {
        (void)ald_err_set(err, ALD_MISSING, "The environment variable %.120s is not set.",
                          variable);
        return false;
    }
    return secret_take(ald_span_str(value), "environment variable", variable, out, cap, err);
}

bool ald_secret_from_file(const char *path, char *out, size_t cap, struct ald_err *err)
{
    out[0] = '\0';
    struct ald_buf text;
    ald_buf_init(&text, SECRET_FILE_MAX);
    enum ald_rc rc = ald_file_read(path, &text);
    bool ok = rc == ALD_OK;
    if (!ok)
        (void)ald_err_set(err, rc, "The file of the secret, %.120s, can't be read: %s.", path,
                          rc == ALD_TOOBIG ? "too big" : ald_regular_why(path, errno));
    struct ald_span value = ald_buf_span(&text);
    if (value.len > 0 && value.data[value.len - 1] == '\n')
        value.len--;
    if (value.len > 0 && value.data[value.len - 1] == '\r')
        value.len--;
    ok = ok && secret_take(value, "file", path, out, cap, err);
    ald_buf_free(&text);
    return ok;
}
