/* Any bytes as a frame of a batch: its items lie in it one behind the other, each is read as what
 * it says it is, and what is joined again comes apart to the same. */
#include <string.h>

#include "proto/joined.h"
#include "proto/messages.h"
#include "tests/fuzz/input.h"

enum { MSG_BYTES = 8192, ITEMS_MAX = 4096 };

static _Alignas(16) uint8_t msg[MSG_BYTES];

static void joined_read(struct ald_span item)
{
    for (size_t i = 0; ALD_SCHEMAS[i] != NULL; i++)
        if (ald_wire_is(ALD_SCHEMAS[i], item))
            (void)!ald_wire_decode(ALD_SCHEMAS[i], msg, item);
}

static size_t joined_apart(struct ald_span frame, struct ald_span items[ITEMS_MAX])
{
    size_t count = 0;
    struct ald_span left = frame;
    const uint8_t *at = frame.data;
    struct ald_span item;
    while (count < ITEMS_MAX && ald_joined_next(&left, &item)) {
        ALD_ASSERT(item.data >= at && item.data + item.len <= frame.data + frame.len);
        at = item.data + item.len;
        items[count++] = item;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ald_span items[ITEMS_MAX];
    static struct ald_span again[ITEMS_MAX];
    size_t count = joined_apart(ald_span_of(data, size), items);
    struct ald_buf frame;
    size_t joined = 0;
    ald_buf_init(&frame, ALD_JOINED_MAX);
    for (size_t i = 0; i < count; i++)
        joined_read(items[i]);
    while (joined < count && ald_joined_fits(&frame, items[joined]))
        ald_joined_add(&frame, items[joined++]);
    ALD_ASSERT(ald_buf_ok(&frame));
    ALD_ASSERT(joined_apart(ald_buf_span(&frame), again) == joined);
    for (size_t i = 0; i < joined; i++)
        ALD_ASSERT(ald_span_eq(items[i], again[i]));
    ald_buf_free(&frame);
    return 0;
}
