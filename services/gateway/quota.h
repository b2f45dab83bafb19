/* quota.h - how much of what nobody vouches for lies in the spool, for each provider, so that
 * strangers cannot fill the disk while the tracker is away. Proven arrivals are not counted.
 *
 * A source network (/24, or /64 of IPv6) has a tenth of it, so that one stranger leaves room for
 * others; what networks brought is remembered for this run, and for 10,000 networks. Profiles that
 * are not known share one place. Pure; one owner.
 */
#ifndef ALD_GATEWAY_QUOTA_H
#define ALD_GATEWAY_QUOTA_H

#include "common/config/profile.h"

typedef struct quota quota_t;

quota_t *quota_new(const ald_profiles_t *profiles);
/* Profiles were read anew: their bounds from now on; what is counted stays. */
void quota_renew(quota_t *self, const ald_profiles_t *profiles);
void quota_destroy(quota_t **self_p);

/* Count one more unproven arrival. False: it is over the profile's quota, or its network over a
 * tenth of that (at least 16 items), and was not counted. peer "": of no network. */
ALD_NODISCARD bool quota_take(quota_t *self, struct ald_span provider, struct ald_span peer,
                              uint64_t bytes);
/* Count what lies there already, over the quota or not; whose it is, is not known any more. */
void quota_found(quota_t *self, struct ald_span provider, uint64_t items, uint64_t bytes);
/* One is gone. */
void quota_give(quota_t *self, struct ald_span provider, struct ald_span peer, uint64_t bytes);

uint64_t quota_items(const quota_t *self);

#endif
