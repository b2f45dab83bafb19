#include "proto/joined.h"

enum { JOINED_BIN = 0xc6 };

bool ald_joined_fits(const struct ald_buf *frame, struct ald_span item)
{
    return item.len <= ALD_JOINED_MAX - ALD_JOINED_HEAD &&
           frame->len <= ALD_JOINED_MAX - ALD_JOINED_HEAD - item.len;
}

void ald_joined_add(struct ald_buf *frame, struct ald_span item)
{
    const uint8_t head[ALD_JOINED_HEAD] = {JOINED_BIN, (uint8_t)(item.len >> 24),
                                           (uint8_t)(item.len >> 16), (uint8_t)(item.len >> 8),
                                           (uint8_t)item.len};
    ald_buf_put(frame, head, sizeof head);
    ald_buf_put(frame, item.data, item.len);
}

bool ald_joined_next(struct ald_span *left, struct ald_span *item)
{
    if (left->len == 0)
        return false;
    const uint8_t *at = left->data;
    *item = *left;
    *left = ald_span_of(NULL, 0);
    if (at[0] != JOINED_BIN || item->len < ALD_JOINED_HEAD)
        return true;
    size_t len = (size_t)at[1] << 24 | (size_t)at[2] << 16 | (size_t)at[3] << 8 | at[4];
    struct ald_span rest = ald_span_of(at + ALD_JOINED_HEAD, item->len - ALD_JOINED_HEAD);
    if (len > rest.len)
        return true;
    *item = ald_span_of(rest.data, len);
    *left = ald_span_of(rest.data + len, rest.len - len);
    return true;
}
