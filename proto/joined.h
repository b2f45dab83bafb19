/* joined.h - several items of a batch in one frame. A frame costs each end and ZeroMQ between them
 * more than a short item does.
 *
 * Each item of such a frame stands as MessagePack bin 32: 0xc6, its length in four bytes (most
 * significant first), its bytes. An item by itself is a map, which never begins so: a reader takes
 * a frame of either form as it comes. A writer joins only for who said that he takes it
 * (welcome.joined).
 *
 * Pure; any thread.
 */
#ifndef ALD_PROTO_JOINED_H
#define ALD_PROTO_JOINED_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/span.h"

enum {
    ALD_JOINED_HEAD = 5,       /* bytes before each item */
    ALD_JOINED_MAX = 64 * 1024 /* bytes of a frame that a writer joins */
};

/* May this item be added, or must another frame begin? An item above the maximum never may: it
 * goes by itself. */
bool ald_joined_fits(const struct ald_buf *frame, struct ald_span item);
void ald_joined_add(struct ald_buf *frame, struct ald_span item);

/* Take the next item off what is left of a frame. false: none is left. What is cut short is given
 * as it is, as the last: it is no message. Borrowed from the frame. */
bool ald_joined_next(struct ald_span *left, struct ald_span *item);

#endif
