/* renew.h - profiles were read anew: what the tracker has in memory is of the new ones.
 *
 * Accounts are found again by their names, with what they have counted. A profile that is gone is
 * in the new set as it was, so its tasks go on. Threads: the loop's.
 */
#ifndef ALD_TRACKER_RENEW_H
#define ALD_TRACKER_RENEW_H

#include "services/tracker/tracker.h"

/* Nothing points into the set before when this returns. */
void renew_profiles(struct tracker *self, const ald_profiles_t *fresh);

#endif
