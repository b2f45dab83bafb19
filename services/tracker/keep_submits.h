/* keep_submits.h - submissions read back at the start. One thread, the loop's. */
#ifndef ALD_TRACKER_KEEP_SUBMITS_H
#define ALD_TRACKER_KEEP_SUBMITS_H

#include "services/tracker/tracker.h"

/* Behind the open tasks: those that are to be submitted go on. In a store that may be an older copy
 * (tracker.older) those that wait are uncertain instead: they may have been submitted since; and
 * none that was taken is submitted again. */
void keep_submits_back(struct tracker *self);

#endif
