/* figures.h - the tracker in numbers: for status, for the audit, and as gauges. */
#ifndef ALD_TRACKER_FIGURES_H
#define ALD_TRACKER_FIGURES_H

#include "services/tracker/tracker.h"

/* Append a `figure` frame for each: groups arrivals, tasks, results, letters, purged, gateway,
 * status, and one for each provider. */
void figures_add(struct tracker *self, zmsg_t *to);

/* Bring the gauges up to date. */
void figures_measure(struct tracker *self);

#endif
