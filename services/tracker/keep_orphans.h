/* keep_orphans.h - open tasks whose profile was not in the settings when they were read back:
 * nobody can judge or ask for them. When it is there again they come in by being read back, as at a
 * start, and have last_poll_grace again, as after a pause: nobody could ask for them meanwhile. One
 * thread, the loop's.
 */
#ifndef ALD_TRACKER_KEEP_ORPHANS_H
#define ALD_TRACKER_KEEP_ORPHANS_H

#include "services/tracker/tracker.h"

/* An empty tracker's `away`: what there is of each provider by its name. */
zhashx_t *keep_orphans_new(void);

/* While reading back, oldest first: this task has no profile. */
void keep_orphan(struct tracker *self, const char *provider, uint64_t task);
/* At the end of it: say and write down which providers are away, and receive those that are back.
 * An error is the vault's. */
void keep_orphans_back(struct tracker *self);

/* Is a profile that is in the settings now the one of some orphans? */
bool keep_orphans_found(const struct tracker *self);

#endif
