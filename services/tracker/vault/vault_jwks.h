/* vault_jwks.h - in tracker.db: providers' public keys, as they were fetched last. One thread, as
 * vault.h.
 */
#ifndef ALD_TRACKER_VAULT_JWKS_H
#define ALD_TRACKER_VAULT_JWKS_H

#include "common/config/jwks.h"
#include "services/tracker/vault/vault.h"

/* In the place of what the provider had. */
void vault_jwks_put(struct vault *self, const char *provider, const char *url,
                    int64_t fetched_at_ms, const struct ald_jwks *keys);

/* The keys of a provider that were fetched from this address, and when. False: there are none. */
bool vault_jwks_find(struct vault *self, const char *provider, const char *url,
                     int64_t *fetched_at_ms, struct ald_jwks *keys);

#endif
