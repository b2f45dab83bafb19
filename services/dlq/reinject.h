/* reinject.h - letters on their way back: attempts that are due go to the tracker, and so does the
 * word that a letter was dropped, each until it is acknowledged.
 *
 * An attempt is on disk before it is sent, so a crash sends the same attempt under the same number
 * again and the tracker answers what it answered before. While the tracker is away nothing begins:
 * its absence uses up no attempt. After it comes back a few go first, then more with each answer,
 * at most REINJECT_MAX at once.
 *
 * Decides nothing (letters.h does). A full disk or a failed shelf stops the work; the next tick
 * after it is ready goes on where the disk says. Threads: the loop's.
 */
#ifndef ALD_DLQ_REINJECT_H
#define ALD_DLQ_REINJECT_H

#include <czmq.h>

#include "services/dlq/browse.h"
#include "services/dlq/copy.h"

enum { REINJECT_MAX = 100 };

typedef struct reinject reinject_t;

struct reinject_options {
    shelf_t *shelf;     /* ready */
    const copy_t *copy; /* nothing begins while it holds */
    const struct letter_plan *plan;
    const char *endpoint; /* the tracker's events channel */
    const char *instance;
    int64_t heartbeat_ms;
};

ALD_NODISCARD enum ald_rc reinject_new(zloop_t *loop, const struct reinject_options *options,
                                       reinject_t **out, struct ald_err *err);
void reinject_destroy(reinject_t **self_p);

/* Look for work and send it; each dlq.tick, and when something became due by hand. */
void reinject_sweep(reinject_t *self);

/* Begin nothing more. */
void reinject_drain(reinject_t *self);
/* True when nothing is unanswered, or nobody is there to answer. */
bool reinject_idle(const reinject_t *self);

#endif
