/* upkeep.h - what bounds the shelf: rows of letters closed long ago go, and letters without proof
 * beyond their provider's quota are dropped, the oldest first. Each call does a bounded piece.
 *
 * Threads: the shelf's.
 */
#ifndef ALD_DLQ_UPKEEP_H
#define ALD_DLQ_UPKEEP_H

#include "services/dlq/shelf.h"

struct upkeep {
    shelf_t *shelf;
    int64_t keep_ms;     /* rows of closed letters */
    int64_t quota_count; /* live letters without proof, a provider */
    int64_t quota_bytes; /* and their messages */
};

/* Delete closed letters' rows. true: there may be more. */
bool upkeep_purge(const struct upkeep *self, int64_t now_ms);

/* Drop what is over quota. true: something was dropped, and the tracker has to be told. */
bool upkeep_quota(const struct upkeep *self, int64_t now_ms);

/* The clock was set back: nothing may wait longer than the schedule's longest wait. false: that is
 * not on disk. */
ALD_NODISCARD bool upkeep_clock(const struct upkeep *self, int64_t now_ms, int64_t longest_ms);

#endif
