/* jwks.h - public keys that providers sign their callbacks with: fetched by pollers from the
 * address in the profile, kept on disk, and told to gateways.
 *
 * When they are fetched is jwks_plan.h's. What is no set of keys is refused, and the last good one
 * stays in force, also over restarts without a network. Keys count for the address that they came
 * from and for no other. A fetch belongs to no account: no budget, block or pause holds it back.
 *
 * Each function takes NULL for "there are none". One thread, the loop's.
 */
#ifndef ALD_TRACKER_JWKS_H
#define ALD_TRACKER_JWKS_H

#include "services/tracker/tracker.h"

enum { JWKS_LEASE_MS = 30000, JWKS_NONE = 1 /* the number of no keys at all */ };

jwks_t *jwks_new(struct tracker *tracker);
void jwks_destroy(jwks_t **self_p);

/* Those of the tracker's profiles: what is known stays, the rest is looked up in the open store.
 * After reading back, and after a reload. */
void jwks_renew(jwks_t *self);

/* Memory was thrown away: it is read back later. */
void jwks_forget(jwks_t *self);

/* A gateway met a callback of this provider that no key is good for. */
void jwks_missed(jwks_t *self, const char *provider);

/* The next fetch that is due, under this number: fill its lease. False: none is. */
ALD_NODISCARD bool jwks_lease(jwks_t *self, uint64_t lease, struct msg_lease *out);
/* See rest.h; where a poller takes such leases. */
int64_t jwks_rest_ms(const jwks_t *self);

/* Within a transaction: what a poller brought back of one. The word of its acknowledgement. */
const char *jwks_outcome(jwks_t *self, const struct msg_outcome *outcome);

/* The number of all keys in force: another one when anything of them is, or was fetched anew. The
 * same over restarts. */
uint64_t jwks_number(const jwks_t *self);

/* Append a frame for each provider that has keys. */
void jwks_tell(const jwks_t *self, zmsg_t *to);

/* Fill what is said of them in a provider's view. */
void jwks_view(const jwks_t *self, struct msg_provider_view *view);

/* Bring the gauges up to date. */
void jwks_measure(const jwks_t *self);

#endif
