/* plain.h - is this text: UTF-8 without NUL? Nearly all of it is ASCII, which is passed over eight
 * bytes at a time. Only wire.c and wire_read.c use this. Pure; any thread.
 */
#ifndef ALD_PROTO_PLAIN_H
#define ALD_PROTO_PLAIN_H

#include <stdint.h>
#include <string.h>

#include "common/base/span.h"
#include "common/base/text.h"

static inline bool ald_plain_ok(struct ald_span text)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t tops = UINT64_C(0x8080808080808080);
    size_t i = 0;
    for (; text.len - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        uint64_t eight;
        memcpy(&eight, text.data + i, sizeof(eight));
        uint64_t nul_tops = (eight - ones) & ~eight;
        if (((eight | nul_tops) & tops) != 0)
            break;
    }
    while (i < text.len && text.data[i] > 0 && text.data[i] < 0x80)
        i++;
    if (i == text.len)
        return true;
    struct ald_span rest = ald_span_skip(text, i);
    return ald_span_find(rest, '\0') == rest.len && ald_text_utf8_ok(rest);
}

#endif
