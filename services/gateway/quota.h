/* quota.h - how much of what nobody vouches for lies in the spool, for each provider, so that
 * strangers cannot fill the disk while the tracker is away. Proven arrivals are not counted.
 *
 * Profiles that are not known share one place. Pure; one owner.
 */
#ifndef ALD_GATEWAY_QUOTA_H
#define ALD_GATEWAY_QUOTA_H

#include "common/config/profile.h"

typedef struct quota quota_t;

/* profiles must outlive it. */
quota_t *quota_new(const ald_profiles_t *profiles);
void quota_destroy(quota_t **self_p);

/* Count one more unproven arrival. False: it is over the profile's quota and was not counted. */
ALD_NODISCARD bool quota_take(quota_t *self, struct ald_span provider, uint64_t bytes);
/* Count what lies there already, over the quota or not. */
void quota_found(quota_t *self, struct ald_span provider, uint64_t items, uint64_t bytes);
/* One is gone. */
void quota_give(quota_t *self, struct ald_span provider, uint64_t bytes);

uint64_t quota_items(const quota_t *self);

#endif
