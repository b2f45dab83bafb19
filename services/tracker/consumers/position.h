/* position.h - a place in the feed as the opaque text that clients keep: "lane:seq". Pure. */
#ifndef ALD_TRACKER_POSITION_H
#define ALD_TRACKER_POSITION_H

#include <stdint.h>

#include "proto/messages.h"

enum position_kind {
    POSITION_ALL,        /* "" or "all": from the oldest that is kept */
    POSITION_NEW,        /* "new": from now on */
    POSITION_AFTER,      /* after *seq */
    POSITION_OTHER_LANE, /* of a history that this store does not continue */
    POSITION_BAD
};

enum position_kind position_read(const char *text, uint64_t lane, uint64_t *seq);
void position_write(uint64_t lane, uint64_t seq, char out[ALD_POSITION_MAX]);

#endif
