/* outbox.h - carries letters from the vault to the dlq: found in the store, sent by a courier,
 * deleted there when the dlq has them on disk. A letter is always in one of the two places.
 */
#ifndef ALD_TRACKER_OUTBOX_H
#define ALD_TRACKER_OUTBOX_H

#include "services/tracker/tracker.h"

ALD_NODISCARD enum ald_rc outbox_new(struct tracker *tracker, outbox_t **out, struct ald_err *err);
void outbox_destroy(outbox_t **self_p);

/* Look for letters to send: after a commit that made some, and on each tick. */
void outbox_sweep(outbox_t *self);
/* Somebody compares the letters here with the dlq's: what is in both, as its acknowledgement was
 * lost, is sent again now. */
void outbox_hurry(outbox_t *self);
/* Delete what the dlq has acknowledged: in a transaction of its own. */
void outbox_clear(outbox_t *self);
/* See rest.h. */
int64_t outbox_rest_ms(const outbox_t *self);
/* How many stay here, as the dlq refused them or takes none of that size; they hold up nobody. */
uint64_t outbox_stuck(const outbox_t *self);
/* The store was read back: what is under way is not known any more. */
void outbox_reset(outbox_t *self);

#endif
