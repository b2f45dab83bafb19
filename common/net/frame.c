#include "common/net/frame.h"

#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "proto/msg_limits.h"

enum { FRAME_HEAD = 128 }; /* bytes that libzmq allocates with those of a message, and some more */

zframe_t *ald_frame_new(const void *data, size_t size)
{
    void *room = malloc(size + FRAME_HEAD);
    ALD_ASSERT(room);
    free(room);
    zframe_t *frame = zframe_new(data, size);
    ALD_ASSERT(frame);
    return frame;
}

void ald_frame_copy(zmsg_t *to, struct ald_span bytes)
{
    zframe_t *frame = ald_frame_new(bytes.data, bytes.len);
    (void)zmsg_append(to, &frame);
}

enum ald_rc ald_frame_add(zmsg_t *to, const struct ald_schema *schema, const void *msg)
{
    struct ald_buf buf;
    ald_buf_init(&buf, ALD_ITEM_MAX);
    enum ald_rc rc = ald_wire_encode(schema, msg, &buf);
    if (rc == ALD_OK)
        ald_frame_copy(to, ald_buf_span(&buf));
    ald_buf_free(&buf);
    return rc;
}

void ald_frame_put(zmsg_t *to, const struct ald_schema *schema, const void *msg)
{
    enum ald_rc rc = ald_frame_add(to, schema, msg);
    if (rc != ALD_OK)
        ald_log(ALD_ERROR, "frame.unfit", "kind=%s rc=%s", schema->kind, ald_rc_name(rc));
}

struct ald_span ald_frame_span(zframe_t *frame)
{
    return ald_span_of(zframe_data(frame), zframe_size(frame));
}
