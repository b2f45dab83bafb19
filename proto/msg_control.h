/* msg_control.h - on the control channel that every daemon has.
 *
 * Units, limits and what a span borrows: messages.h.
 */
#ifndef ALD_PROTO_MSG_CONTROL_H
#define ALD_PROTO_MSG_CONTROL_H

#include <stdint.h>

#include "common/base/span.h"
#include "proto/msg_limits.h"
#include "proto/wire.h"

/* what: health, metrics or drain. The answer's detail or the blob frame after it says it. */
struct msg_control {
    uint64_t req;
    char what[ALD_WORD_MAX];
};

struct msg_blob {
    struct ald_span bytes;
};

extern const struct ald_schema MSG_CONTROL; /* control */
extern const struct ald_schema MSG_BLOB;    /* blob */

#endif
