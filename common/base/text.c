#include "common/base/text.h"

enum { TEXT_NEAR_MAX = 64 };

struct text_unit {
    const char *name;
    uint64_t factor;
};

enum ald_rc ald_text_copy(char *dst, size_t cap, struct ald_span text)
{
    dst[0] = '\0';
    if (text.len >= cap)
        return ALD_TOOBIG;
    if (ald_span_find(text, 0) != text.len)
        return ALD_MALFORMED;
    if (text.len > 0)
        memcpy(dst, text.data, text.len);
    dst[text.len] = '\0';
    return ALD_OK;
}

enum ald_rc ald_text_join(char *dst, size_t cap, const char *const *parts, size_t count)
{
    size_t len = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        size_t more = strlen(parts[i]);
        if (more >= cap - len) {
            dst[0] = '\0';
            return ALD_TOOBIG;
        }
        memcpy(dst + len, parts[i], more + 1);
        len += more;
    }
    return ALD_OK;
}

void ald_text_cut(char *dst, size_t cap, struct ald_span text)
{
    size_t len = ald_span_find(text, 0);
    if (len >= cap) {
        len = cap - 1;
        while (len > 0 && (text.data[len] & 0xC0) == 0x80)
            len--;
    }
    if (len > 0)
        memcpy(dst, text.data, len);
    dst[len] = '\0';
}

enum ald_rc ald_text_u64(struct ald_span text, uint64_t *out)
{
    uint64_t value = 0;
    if (text.len == 0)
        return ALD_MALFORMED;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return ALD_MALFORMED;
        unsigned digit = text.data[i] - '0';
        if (value > (UINT64_MAX - digit) / 10)
            return ALD_TOOBIG;
        value = value * 10 + digit;
    }
    *out = value;
    return ALD_OK;
}

enum ald_rc ald_text_i64(struct ald_span text, int64_t *out)
{
    bool minus = text.len > 0 && text.data[0] == '-';
    uint64_t value = 0;
    enum ald_rc rc = ald_text_u64(minus ? ald_span_skip(text, 1) : text, &value);
    if (rc != ALD_OK)
        return rc;
    if (value > (uint64_t)INT64_MAX + (minus ? 1 : 0))
        return ALD_TOOBIG;
    *out = minus && value > 0 ? -(int64_t)(value - 1) - 1 : (int64_t)value;
    return ALD_OK;
}

static enum ald_rc text_with_unit(struct ald_span text, const struct text_unit *units, size_t count,
                                  uint64_t *out)
{
    size_t digits = 0;
    while (digits < text.len && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    uint64_t value = 0;
    enum ald_rc rc = ald_text_u64(ald_span_of(text.data, digits), &value);
    if (rc != ALD_OK)
        return rc;
    struct ald_span unit = ald_span_skip(text, digits);
    if (ald_span_eq_str(text, "0")) {
        *out = 0;
        return ALD_OK;
    }
    for (size_t i = 0; i < count; i++) {
        if (!ald_span_eq_str(unit, units[i].name))
            continue;
        if (value > (uint64_t)INT64_MAX / units[i].factor)
            return ALD_TOOBIG;
        *out = value * units[i].factor;
        return ALD_OK;
    }
    return unit.len == 0 ? ALD_MISSING : ALD_MALFORMED;
}

enum ald_rc ald_text_duration_ms(struct ald_span text, int64_t *out)
{
    static const struct text_unit units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    uint64_t value = 0;
    enum ald_rc rc = text_with_unit(text, units, ALD_COUNT(units), &value);
    if (rc == ALD_OK)
        *out = (int64_t)value;
    return rc;
}

enum ald_rc ald_text_bytes(struct ald_span text, uint64_t *out)
{
    static const struct text_unit units[] = {
        {"B", 1}, {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30}};
    return text_with_unit(text, units, ALD_COUNT(units), out);
}

/* Length of the character at the start of text, 0 when it is not UTF-8. */
static size_t text_character(struct ald_span text)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t head = text.data[0];
    size_t len = head < 0x80 ? 1 : head < 0xC2 ? 0 : head < 0xE0 ? 2 : head < 0xF0 ? 3 : 4;
    if (len == 0 || head > 0xF4 || text.len < len)
        return 0;
    uint32_t code = len == 1 ? head : head & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((text.data[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (text.data[i] & 0x3Fu);
    }
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code < lowest[len] || code > 0x10FFFF || surrogate ? 0 : len;
}

bool ald_text_utf8_ok(struct ald_span text)
{
    while (text.len > 0) {
        size_t len = text_character(text);
        if (len == 0)
            return false;
        text = ald_span_skip(text, len);
    }
    return true;
}

/* Whether a character of several bytes acts on its surroundings: the controls of U+0080..009F,
 * which terminals obey, line and paragraph separators, and the marks that turn the direction. */
static bool text_is_hidden(struct ald_span character)
{
    static const struct {
        uint8_t lead[2];
        uint8_t first, last;
    } ranges[] = {{{0xE2, 0x80}, 0x8E, 0x8F},  /* U+200E..200F */
                  {{0xE2, 0x80}, 0xA8, 0xAE},  /* U+2028..202E */
                  {{0xE2, 0x81}, 0xA6, 0xA9},  /* U+2066..2069 */
                  {{0xD8, 0x9C}, 0x00, 0xFF},  /* U+061C */
                  {{0xEF, 0xBB}, 0xBF, 0xBF}}; /* U+FEFF */
    if (character.len == 2 && character.data[0] == 0xC2 && character.data[1] < 0xA0)
        return true;
    for (size_t i = 0; i < ALD_COUNT(ranges); i++) {
        uint8_t third = character.len > 2 ? character.data[2] : 0;
        if (memcmp(character.data, ranges[i].lead, 2) == 0 && third >= ranges[i].first &&
            third <= ranges[i].last)
            return true;
    }
    return false;
}

static void text_escape(struct ald_buf *out, struct ald_span text, bool quoted)
{
    while (text.len > 0) {
        size_t len = text_character(text);
        uint8_t byte = text.data[0];
        bool hidden = len > 1 && text_is_hidden(ald_span_of(text.data, len));
        if (quoted && (byte == '"' || byte == '\\'))
            ald_buf_printf(out, "\\%c", byte);
        else if (byte == '\n')
            ald_buf_put_str(out, "\\n");
        else if (len == 0 || byte < 0x20 || byte == 0x7F || hidden)
            ald_buf_printf(out, "\\x%02x", byte);
        else
            ald_buf_put(out, text.data, len);
        bool one = len == 0 || hidden; /* the rest of the character follows byte by byte */
        text = ald_span_skip(text, one ? 1 : len);
    }
}

void ald_text_escape(struct ald_buf *out, struct ald_span text)
{
    text_escape(out, text, true);
}

void ald_text_show(struct ald_buf *out, struct ald_span text)
{
    text_escape(out, text, false);
}

/* Letters changed, added or dropped between a and b; SIZE_MAX when one is too long to be compared.
 */
static size_t text_distance(const char *a, const char *b)
{
    size_t row[TEXT_NEAR_MAX + 1];
    size_t len = strnlen(b, TEXT_NEAR_MAX + 1);
    if (len > TEXT_NEAR_MAX || strnlen(a, TEXT_NEAR_MAX + 1) > TEXT_NEAR_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= len; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= len; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t add = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < add ? change : add;
        }
    }
    return row[len];
}

const char *ald_text_nearest(const char *word, const char *const *list, size_t count)
{
    const char *best = NULL;
    size_t best_distance = (strlen(word) + 2) / 3;
    for (size_t i = 0; i < count; i++) {
        if (!list[i])
            continue;
        size_t distance = text_distance(word, list[i]);
        if (distance == SIZE_MAX || distance > best_distance || (best && distance == best_distance))
            continue;
        best = list[i];
        best_distance = distance;
    }
    return best;
}
