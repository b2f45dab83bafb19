/* renumber.h - is our numbering used by another one? Then what we send would be taken for its
 * repeats, acknowledged and thrown away.
 *
 * It is, where a spool was copied and both live, or an older one was put back, or the end of its
 * log was lost. The tracker knows: it has seen a number that this run would give (welcome.seen), or
 * a later run speaks by our id (welcome.renumber). A new id of the spool ends it: by that no number
 * was ever seen, so what lies in the spool and what is under way is sent as new. What of it the
 * tracker had before is found out by the task that it is about.
 *
 * Nothing is sent before the first welcome, so the first says it in time.
 */
#ifndef ALD_GATEWAY_RENUMBER_H
#define ALD_GATEWAY_RENUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/courier.h"
#include "common/store/spool.h"
#include "proto/messages.h"

struct renumber {
    uint64_t first; /* the lowest number that this run gives; 0: it gives none */
    bool met;       /* a tracker has welcomed it: what one sees from then on is ours */
};

/* A welcome came. Pure. */
bool renumber_wanted(struct renumber *self, const struct msg_welcome *welcome);

/* Take another id, and say so in the log. */
void renumber_do(ald_spool_t *spool, ald_courier_t *courier);

#endif
