/* frame.h - the frames of a message: schemas encoded, bytes copied.
 *
 * Like every allocation of the house, one that finds no memory ends the process and says where.
 * czmq 4.2.1 does not: zframe_new then closes a message that was never begun, a segmentation fault.
 * So all frames are made here, after looking whether there is room; it is left to czmq if another
 * thread takes that room in between. */
#ifndef ALD_NET_FRAME_H
#define ALD_NET_FRAME_H

#include <czmq.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"
#include "proto/wire.h"

/* A frame of size bytes, those at data or, where that is NULL, any. The caller destroys it. */
ALD_NODISCARD zframe_t *ald_frame_new(const void *data, size_t size);

/* Append a copy of bytes as one frame. */
void ald_frame_copy(zmsg_t *to, struct ald_span bytes);

/* Append msg, encoded, as one frame. ALD_TOOBIG: it breaks a limit of its schema. */
ALD_NODISCARD enum ald_rc ald_frame_add(zmsg_t *to, const struct ald_schema *schema,
                                        const void *msg);

/* The same for messages of our own making: what can't be written (a text that a damaged store gave
 * back) is left out and logged, and the answer goes without it. */
void ald_frame_put(zmsg_t *to, const struct ald_schema *schema, const void *msg);

/* The bytes of a frame, borrowed until it is destroyed. */
struct ald_span ald_frame_span(zframe_t *frame);

#endif
