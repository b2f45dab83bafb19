/* item.h - one callback on its way from the thread that read it to a disk.
 *
 * It belongs to the worker, which waits until `end` is set and keeps the bytes meanwhile. Between
 * post_deliver and then the loop may look at it, and sets `end` as the last thing it does.
 */
#ifndef ALD_GATEWAY_ITEM_H
#define ALD_GATEWAY_ITEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/span.h"

enum item_end {
    ITEM_WAITS,
    ITEM_ACKNOWLEDGED, /* on the tracker's disk */
    ITEM_SPOOLED,      /* on ours */
    ITEM_REFUSED,      /* stored nowhere: 503 */
    ITEM_TOOBIG,       /* the tracker would never take it: 413 */
    ITEM_FORGOTTEN     /* the worker gave its number up */
};

struct item {
    uint64_t num;          /* from post_number */
    struct ald_span bytes; /* an encoded msg_callback; empty: forget the number */
    struct ald_span provider;
    struct ald_span proof;
    struct ald_span peer; /* an address; empty: not known */
    bool proven;
    /* The post's own. */
    _Atomic int end; /* enum item_end */
    unsigned wave;
    bool sent; /* before it was late */
    struct item *next;
};

#endif
