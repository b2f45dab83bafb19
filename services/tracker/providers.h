/* providers.h - how the accounts of providers stand, told and shown; and a person's pause. One
 * thread, the loop's.
 */
#ifndef ALD_TRACKER_PROVIDERS_H
#define ALD_TRACKER_PROVIDERS_H

#include "services/tracker/tracker.h"

/* Is this question about providers? Then answer and frames are filled, and what was asked for is
 * done, within the caller's transaction. *to is the caller's, NULL: nothing follows the head. */
bool providers_ask(struct tracker *self, struct ald_span bytes, struct msg_answer *answer,
                   zmsg_t **to);

/* Bring the gauges up to date. */
void providers_measure(struct tracker *self);

#endif
