/* adopt.h - drain the spool of a gateway that is gone: the way of a gateway from its spool to the
 * tracker, without the doors of one.
 *
 * The spool is locked as a gateway locks it, and its callbacks go out under its own id and numbers,
 * so the tracker takes each once, whoever brings it and however often that is killed. Nothing is
 * numbered, stored or answered here, and no keys are kept in the folder. What the tracker is told
 * as settled ends at the last one that lay there, so that what a gateway numbers later in the
 * original of a copy is not taken for what is settled.
 *
 * Ends by itself: with 0 when the folder is empty; with 75 when nothing went out for the patience
 * of the mode, or nothing can; with 1 when it is empty but for what can't be read.
 * Threads: the loop's.
 */
#ifndef ALD_GATEWAY_ADOPT_H
#define ALD_GATEWAY_ADOPT_H

#include "common/net/service.h"

typedef struct adopt adopt_t;

/* self is an adopt_t *, NULL at first; gateway.spool is the folder. */
extern const struct ald_service_ops ADOPT_OPS;

#endif
