#include "common/config/form.h"

#include <string.h>

#include "common/base/codec.h"

enum { FORM_NAME_MAX = 64 };

/* The next pair of *rest, which moves on behind it. False: no more. */
static bool form_next(struct ald_span *rest, struct ald_span *name, struct ald_span *value)
{
    if (rest->len == 0)
        return false;
    const uint8_t *and = memchr(rest->data, '&', rest->len);
    size_t len = and == NULL ? rest->len : (size_t)(and-rest->data);
    const uint8_t *equals = memchr(rest->data, '=', len);
    size_t name_len = equals == NULL ? len : (size_t)(equals - rest->data);
    *name = ald_span_of(rest->data, name_len);
    *value = equals == NULL ? ald_span_of(rest->data + len, 0)
                            : ald_span_of(equals + 1, len - name_len - 1);
    size_t step = and == NULL ? len : len + 1;
    *rest = ald_span_of(rest->data + step, rest->len - step);
    return true;
}

static bool form_name_is(struct ald_span raw, const char *name)
{
    if (ald_span_eq_str(raw, name))
        return true;
    if (memchr(raw.data, '%', raw.len) == NULL)
        return false;
    struct ald_buf decoded;
    ald_buf_init(&decoded, FORM_NAME_MAX);
    bool is = ald_percent_decode(raw, true, &decoded) == ALD_OK && ald_buf_ok(&decoded) &&
              ald_span_eq_str(ald_buf_span(&decoded), name);
    ald_buf_free(&decoded);
    return is;
}

enum ald_rc ald_form_find(struct ald_span form, const char *name, struct ald_span *raw)
{
    struct ald_span key;
    struct ald_span value;
    while (form_next(&form, &key, &value)) {
        if (!form_name_is(key, name))
            continue;
        *raw = value;
        return ALD_OK;
    }
    return ALD_NOTFOUND;
}

static bool form_base64_byte(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || (byte != '\0' && strchr("+/=-_.", byte) != NULL);
}

/* An escape of + / - or =. */
static bool form_base64_escape(const uint8_t *escape)
{
    const char *last = escape[1] == '2' ? "BbFfDd" : escape[1] == '3' ? "Dd" : "";
    return escape[2] != '\0' && strchr(last, escape[2]) != NULL;
}

/* Are the pluses of this raw value pluses? Escapes count as what they stand for. */
static bool form_plus_is_literal(struct ald_span raw)
{
    bool base64 = true;
    for (size_t i = 0; i < raw.len; i++) {
        bool escape = raw.data[i] == '%' && i + 2 < raw.len;
        if (escape && memcmp(raw.data + i, "%20", 3) == 0)
            return true;
        bool harmless = escape && form_base64_escape(raw.data + i);
        base64 = base64 && (harmless || form_base64_byte(raw.data[i]));
        i += escape ? 2 : 0;
    }
    return base64;
}

enum ald_rc ald_form_decode(struct ald_span raw, enum ald_plus plus, struct ald_buf *out)
{
    bool space = plus == ALD_PLUS_SPACE || (plus == ALD_PLUS_AUTO && !form_plus_is_literal(raw));
    return ald_percent_decode(raw, space, out);
}
