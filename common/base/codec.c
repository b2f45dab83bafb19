#include "common/base/codec.h"

static const char HEX[] = "0123456789abcdef";
static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char BASE64URL[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static int codec_hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The byte of two hex digits, or -1. */
static int codec_hex_byte(const uint8_t *at)
{
    int high = codec_hex_digit(at[0]);
    int low = codec_hex_digit(at[1]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

void ald_hex_encode(struct ald_buf *out, struct ald_span bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        ald_buf_put_byte(out, (uint8_t)HEX[bytes.data[i] >> 4]);
        ald_buf_put_byte(out, (uint8_t)HEX[bytes.data[i] & 15]);
    }
}

enum ald_rc ald_hex_decode(struct ald_buf *out, struct ald_span text)
{
    if (text.len % 2 != 0)
        return ALD_MALFORMED;
    for (size_t i = 0; i < text.len; i += 2) {
        int byte = codec_hex_byte(text.data + i);
        if (byte < 0)
            return ALD_MALFORMED;
        ald_buf_put_byte(out, (uint8_t)byte);
    }
    return ald_buf_ok(out) ? ALD_OK : ALD_TOOBIG;
}

static void codec_base64(struct ald_buf *out, struct ald_span bytes, const char *alphabet, bool pad)
{
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t group = (uint32_t)bytes.data[i] << 16;
        if (n > 1)
            group |= (uint32_t)bytes.data[i + 1] << 8;
        if (n > 2)
            group |= bytes.data[i + 2];
        for (size_t j = 0; j < n + 1; j++)
            ald_buf_put_byte(out, (uint8_t)alphabet[group >> (18 - 6 * j) & 63]);
        for (size_t j = n; pad && j < 3; j++)
            ald_buf_put_byte(out, '=');
    }
}

static enum ald_rc codec_unbase64(struct ald_buf *out, struct ald_span text, const char *alphabet)
{
    if (text.len % 4 == 1)
        return ALD_MALFORMED;
    uint32_t group = 0;
    unsigned bits = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char *at = text.data[i] ? strchr(alphabet, text.data[i]) : NULL;
        if (!at)
            return ALD_MALFORMED;
        group = group << 6 | (uint32_t)(at - alphabet);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            ald_buf_put_byte(out, (uint8_t)(group >> bits));
            group &= (1u << bits) - 1;
        }
    }
    if (group != 0)
        return ALD_MALFORMED; /* bits left over: two texts would mean the same bytes */
    return ald_buf_ok(out) ? ALD_OK : ALD_TOOBIG;
}

void ald_base64_encode(struct ald_buf *out, struct ald_span bytes)
{
    codec_base64(out, bytes, BASE64, true);
}

enum ald_rc ald_base64_decode(struct ald_buf *out, struct ald_span text)
{
    if (text.len % 4 != 0)
        return ALD_MALFORMED;
    for (int i = 0; i < 2 && text.len > 0 && text.data[text.len - 1] == '='; i++)
        text.len--;
    return codec_unbase64(out, text, BASE64);
}

void ald_base64url_encode(struct ald_buf *out, struct ald_span bytes)
{
    codec_base64(out, bytes, BASE64URL, false);
}

enum ald_rc ald_base64url_decode(struct ald_buf *out, struct ald_span text)
{
    return codec_unbase64(out, text, BASE64URL);
}

/* How many bytes stand for themselves in any encoding of forms. */
static size_t codec_plain(struct ald_span text)
{
    size_t len = 0;
    while (len < text.len && text.data[len] != '%' && text.data[len] != '+' &&
           text.data[len] != '\0')
        len++;
    return len;
}

enum ald_rc ald_percent_decode(struct ald_span text, bool plus_is_space, struct ald_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        size_t plain = codec_plain(ald_span_skip(text, i));
        ald_buf_put(out, text.data + i, plain);
        i += plain;
        if (i == text.len)
            break;
        int byte = text.data[i];
        if (byte == '+' && plus_is_space)
            byte = ' ';
        if (text.data[i] == '%') {
            byte = text.len - i > 2 ? codec_hex_byte(text.data + i + 1) : -1;
            i += 2;
        }
        if (byte <= 0)
            return ALD_MALFORMED;
        ald_buf_put_byte(out, (uint8_t)byte);
    }
    return ald_buf_ok(out) ? ALD_OK : ALD_TOOBIG;
}

void ald_percent_encode(struct ald_buf *out, struct ald_span bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        uint8_t c = bytes.data[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     (c != 0 && strchr("-._~", c));
        if (plain) {
            ald_buf_put_byte(out, c);
            continue;
        }
        ald_buf_put_byte(out, '%');
        ald_buf_put_byte(out, (uint8_t) "0123456789ABCDEF"[c >> 4]);
        ald_buf_put_byte(out, (uint8_t) "0123456789ABCDEF"[c & 15]);
    }
}
