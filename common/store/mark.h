/* mark.h - the high-water mark: how far a store had come, told by another file than the store.
 *
 * A flipped bit in a store's log can silently drop every later commit, and a restored backup is
 * older than what subscribers have seen. Who finds its store behind this mark at start knows that
 * numbers were given out which the store has forgotten, and opens a new lane.
 *
 * Written after the commit, so it is never ahead of the store; synced when the caller says so, once
 * a second. Two slots of fixed size; each carries a checksum, the newest valid one counts. A slot
 * is overwritten only while the other one is on disk, so a torn write costs at most what was
 * written since the last sync.
 *
 * Threads: one owner.
 */
#ifndef ALD_STORE_MARK_H
#define ALD_STORE_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/rc.h"

typedef struct ald_mark ald_mark_t;

struct ald_mark_values {
    uint64_t lane;     /* lane of the feed */
    uint64_t seq;      /* last sequence number in it */
    uint64_t last_n;   /* last n of the task ids, or the last id: the owner's choice */
    int64_t wall_ms;   /* when */
    uint64_t received; /* callbacks, ever; 0 as well where it was not told */
    uint64_t created;  /* tasks, ever; the same */
};

/* Open or create (0600) the mark at path; the folder must be there.
 * ALD_OK: *out is the caller's, also when what is in it is damaged. ALD_FULL, ALD_IO: err says why.
 */
ALD_NODISCARD enum ald_rc ald_mark_open(const char *path, ald_mark_t **out, struct ald_err *err);
/* Close, without a sync. */
void ald_mark_destroy(ald_mark_t **self_p);

/* The newest valid values, as found at open or written since.
 * ALD_OK. ALD_NOTFOUND: never written. ALD_CORRUPT: no slot is valid, although it was written. */
ALD_NODISCARD enum ald_rc ald_mark_read(const ald_mark_t *self, struct ald_mark_values *out);
/* A slot was damaged when the mark was opened: ald_mark_read may be one sync behind. The other one
 * was written over it. */
bool ald_mark_torn(const ald_mark_t *self);

/* Look at a mark without touching it. *torn: a slot of it is damaged. ALD_OK; ALD_NOTFOUND: there
 * is none, or it was never written; ALD_CORRUPT: no slot is valid; ALD_IO. */
ALD_NODISCARD enum ald_rc ald_mark_look(const char *path, struct ald_mark_values *out, bool *torn);

/* Write; not yet durable. ALD_OK. ALD_FULL: not written, may be tried again. ALD_IO: from now on
 * every call says so, until opened again. */
ALD_NODISCARD enum ald_rc ald_mark_write(ald_mark_t *self, const struct ald_mark_values *values);
/* Make what was written durable; cheap when nothing was. ALD_OK, ALD_IO. */
ALD_NODISCARD enum ald_rc ald_mark_sync(ald_mark_t *self);

#endif
