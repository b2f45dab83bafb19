#include "common/config/cidr.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/base/text.h"

/* *bits becomes the width of a prefix of this kind of address. */
static bool cidr_address(const char *text, uint8_t out[16], unsigned *bits)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    *bits = 128;
    if (inet_pton(AF_INET6, text, out) == 1)
        return true;
    memcpy(out, mapped, sizeof mapped);
    *bits = 32;
    return inet_pton(AF_INET, text, out + 12) == 1;
}

static bool cidr_bit(const uint8_t bytes[16], unsigned index)
{
    return (bytes[index / 8] >> (7 - index % 8) & 1) != 0;
}

enum ald_rc ald_cidr_parse(const char *text, struct ald_cidr *out)
{
    char address[INET6_ADDRSTRLEN];
    size_t len = strcspn(text, "/");
    unsigned bits = 0;
    if (ald_text_copy(address, sizeof address, ald_span_of(text, len)) != ALD_OK ||
        !cidr_address(address, out->bytes, &bits))
        return ALD_INVALID;
    uint64_t prefix = bits;
    if (text[len] == '/' && ald_text_u64(ald_span_str(text + len + 1), &prefix) != ALD_OK)
        return ALD_INVALID;
    if (prefix > bits)
        return ALD_INVALID;
    out->prefix = 128 - bits + (unsigned)prefix;
    for (unsigned i = out->prefix; i < 128; i++)
        if (cidr_bit(out->bytes, i))
            return ALD_INVALID;
    return ALD_OK;
}

bool ald_cidr_has(const struct ald_cidr *block, const char *address)
{
    uint8_t bytes[16];
    unsigned bits = 0;
    if (!cidr_address(address, bytes, &bits))
        return false;
    unsigned whole = block->prefix / 8;
    if (memcmp(bytes, block->bytes, whole) != 0)
        return false;
    for (unsigned i = whole * 8; i < block->prefix; i++)
        if (cidr_bit(bytes, i) != cidr_bit(block->bytes, i))
            return false;
    return true;
}
