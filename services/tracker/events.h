/* events.h - the channel on which facts arrive: callbacks from gateways, re-injections and closings
 * from the dlq. Everything that has gathered is one transaction; acknowledged after its commit.
 */
#ifndef ALD_TRACKER_EVENTS_H
#define ALD_TRACKER_EVENTS_H

#include "services/tracker/tracker.h"

ALD_NODISCARD enum ald_rc events_new(struct tracker *tracker, events_t **out, struct ald_err *err);
void events_destroy(events_t **self_p);

/* Take what is there now: also called before clocks are looked at. */
void events_drain(events_t *self);

#endif
