/* keep.h - the tracker's upkeep of its store: reading everything back at start, the heartbeat row,
 * snapshots of what gateways sent, indexing, purging, the high-water mark. One thread, the loop's.
 *
 * Indexing never ends under load, so it is done a few milliseconds at a time. What is not indexed
 * is in memory, 16 bytes a row and up to 64 an ended task: a run of 200,000 rows and what gathers
 * meanwhile, some 15 MiB. Where the disk is too slow for that it may be several times as much; the
 * more there is, the more of the loop's time goes into indexing instead of callbacks.
 */
#ifndef ALD_TRACKER_KEEP_H
#define ALD_TRACKER_KEEP_H

#include "services/tracker/tracker.h"

/* Fill memory from the store: open tasks, parked callbacks, senders, unindexed results, the mark.
 * ALD_OK, or the vault's error. */
ALD_NODISCARD enum ald_rc keep_read_back(struct tracker *self, struct ald_err *err);
/* Open the high-water mark, again if need be. ALD_OK, or what ald_mark_open says. */
ALD_NODISCARD enum ald_rc keep_mark_open(struct tracker *self, struct ald_err *err);
/* Throw memory away. */
void keep_forget(struct tracker *self);

/* Write one sender's row, within a transaction. */
void keep_sender(struct tracker *self, const struct sender *sender);

/* Called each tick; does what is due. idle: nothing came in for a while. */
void keep_tick(struct tracker *self, bool idle);
/* See rest.h. */
int64_t keep_rest_ms(const struct tracker *self);

/* Before a clean stop: a beat, a snapshot, the mark. */
void keep_last(struct tracker *self);

#endif
