#include "services/poller/blot.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/guard.h"

enum { BLOT_SHORTEST = 4 /* digits of base64: fewer would be found everywhere */ };

/* What stands at the beginning of a text, in its different spellings; 0: not this byte. */
typedef size_t blot_spelling(const char *text, size_t len, uint8_t byte);

static int blot_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool blot_pair(const char *text, uint8_t byte)
{
    return blot_digit(text[0]) == byte >> 4 && blot_digit(text[1]) == (byte & 15);
}

static size_t blot_raw(const char *text, size_t len, uint8_t byte)
{
    return len >= 1 && text[0] == (char)byte ? 1 : 0;
}

static size_t blot_hex(const char *text, size_t len, uint8_t byte)
{
    return len >= 2 && blot_pair(text, byte) ? 2 : 0;
}

static size_t blot_percent(const char *text, size_t len, uint8_t byte)
{
    if (len >= 3 && text[0] == '%' && blot_pair(text + 1, byte))
        return 3;
    return byte == ' ' && text[0] == '+' ? 1 : 0;
}

/* \/ \" \\ and the like, and \u002f */
static size_t blot_json(const char *text, size_t len, uint8_t byte)
{
    if (len < 2 || text[0] != '\\')
        return 0;
    if (text[1] == (char)byte && !isalnum(byte))
        return 2;
    bool named = len >= 6 && text[1] == 'u' && text[2] == '0' && text[3] == '0';
    return named && blot_pair(text + 4, byte) ? 6 : 0;
}

/* &amp; &#38; &#x26; */
static size_t blot_html(const char *text, size_t len, uint8_t byte)
{
    static const struct {
        char byte;
        const char *name;
    } names[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}};
    if (text[0] != '&')
        return 0;
    for (size_t i = 0; i < ALD_COUNT(names); i++) {
        size_t size = strlen(names[i].name);
        if (names[i].byte == (char)byte && len >= size && !memcmp(text, names[i].name, size))
            return size;
    }
    if (len < 4 || text[1] != '#')
        return 0;
    bool hex = text[2] == 'x' || text[2] == 'X';
    unsigned value = 0;
    size_t at = hex ? 3 : 2;
    for (; at < len && at < 10 && blot_digit(text[at]) >= 0; at++)
        value = value * (hex ? 16 : 10) + (unsigned)blot_digit(text[at]);
    return at < len && text[at] == ';' && value == byte ? at + 1 : 0;
}

/* How much of a text spells the whole secret; 0: it does not. What is not spelled in that way
 * stands there as it is; but the escape goes first, since its own mark may be in the secret. */
static size_t blot_run(const char *text, size_t len, const char *secret, blot_spelling *spelling)
{
    size_t at = 0;
    for (; *secret != '\0'; secret++) {
        size_t used = at < len ? spelling(text + at, len - at, (uint8_t)*secret) : 0;
        if (used == 0 && at < len && spelling != blot_hex)
            used = blot_raw(text + at, len - at, (uint8_t)*secret);
        if (used == 0)
            return 0;
        at += used;
    }
    return at;
}

static int blot_sextet(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+' || c == '-' ? 62
           : c == '/' || c == '_' ? 63
                                  : -1;
}

/* The six bits of the secret from this one on; they are all there. */
static int blot_bits(const char *secret, size_t bit)
{
    size_t byte = bit / 8, shift = bit % 8;
    unsigned two = (unsigned)(uint8_t)secret[byte] << 8;
    if (shift > 2)
        two |= (uint8_t)secret[byte + 1];
    return (int)(two >> (10 - shift) & 63);
}

/* As base64 of a text in which lead bytes of a group stand before the secret: the digits that hold
 * nothing but bits of it. */
static size_t blot_base64(const char *text, size_t len, const char *secret, size_t lead)
{
    size_t first = (lead * 8 + 5) / 6;
    size_t last = (lead + strlen(secret)) * 8 / 6;
    size_t digits = last > first ? last - first : 0;
    if (digits < BLOT_SHORTEST || digits > len)
        return 0;
    for (size_t i = 0; i < digits; i++)
        if (blot_sextet(text[i]) != blot_bits(secret, (first + i) * 6 - lead * 8))
            return 0;
    return digits;
}

static size_t blot_at(const char *text, size_t len, const char *secret)
{
    static blot_spelling *const spellings[] = {blot_raw, blot_percent, blot_json, blot_html,
                                               blot_hex};
    size_t used = 0;
    for (size_t i = 0; used == 0 && i < ALD_COUNT(spellings); i++)
        used = blot_run(text, len, secret, spellings[i]);
    for (size_t lead = 0; used == 0 && lead < 3; lead++)
        used = blot_base64(text, len, secret, lead);
    return used;
}

void blot(uint8_t *out, size_t len, struct ald_span from, const char *secret)
{
    if (secret[0] == '\0')
        return;
    for (size_t i = 0; i < len; i++) {
        size_t used = blot_at((const char *)from.data + i, from.len - i, secret);
        if (used > 0)
            memset(out + i, '*', used < len - i ? used : len - i);
    }
}
