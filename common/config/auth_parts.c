#include <string.h>

#include "common/base/text.h"
#include "common/config/auth_inside.h"

static bool parts_add(struct auth_part *parts, size_t *count, enum auth_part_kind kind,
                      struct ald_span text)
{
    if (*count == AUTH_PARTS_MAX ||
        ald_text_copy(parts[*count].text, AUTH_NAME_MAX, text) != ALD_OK)
        return false;
    parts[(*count)++].kind = kind;
    return true;
}

/* What stands between the braces. */
static bool parts_value(struct auth_part *parts, size_t *count, struct ald_span inside)
{
    if (ald_span_eq_str(inside, "body"))
        return parts_add(parts, count, AUTH_PART_BODY, ald_span_str(""));
    if (ald_span_eq_str(inside, "sha256hex.body"))
        return parts_add(parts, count, AUTH_PART_BODY_SHA256, ald_span_str(""));
    return ald_span_starts(inside, "header.") && inside.len > 7 &&
           parts_add(parts, count, AUTH_PART_HEADER, ald_span_skip(inside, 7));
}

const char *auth_parts_compile(const char *text, struct auth_part *parts, size_t *count)
{
    struct ald_span rest = ald_span_str(text);
    unsigned bodies = 0;
    *count = 0;
    while (rest.len > 0) {
        const uint8_t *open = memmem(rest.data, rest.len, "${", 2);
        size_t before = open == NULL ? rest.len : (size_t)(open - rest.data);
        if (before > 0 && !parts_add(parts, count, AUTH_PART_TEXT, ald_span_of(rest.data, before)))
            return "message is too long.";
        rest = ald_span_skip(rest, before);
        if (rest.len == 0)
            break;
        size_t close = ald_span_find(rest, '}');
        if (close == rest.len)
            return "message has a ${ without a closing brace.";
        if (!parts_value(parts, count, ald_span_of(rest.data + 2, close - 2)))
            return "message may hold ${header.NAME}, ${body} and ${sha256hex.body}.";
        bodies += parts[*count - 1].kind >= AUTH_PART_BODY ? 1 : 0;
        rest = ald_span_skip(rest, close + 1);
    }
    return bodies == 1 ? NULL : "message must hold one of ${body} and ${sha256hex.body}, once.";
}
