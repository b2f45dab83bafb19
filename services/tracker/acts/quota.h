/* quota.h - how much room strangers get: arrivals without proof that are kept (parked, or in a
 * letter), counted per provider and per source network (rule 6 of GUARANTEES.md). Pure; one owner.
 */
#ifndef ALD_TRACKER_QUOTA_H
#define ALD_TRACKER_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

typedef struct quota quota_t;

quota_t *quota_new(void);
void quota_destroy(quota_t **self_p);

/* Room for one more of bytes? The provider may keep `count` and `max_bytes`; a source network (/24,
 * or /64 of IPv6) a tenth of the count, but at least 16. parked_* are what it has parked already.
 * peer "": of no network. */
bool quota_room(const quota_t *self, const char *provider, const char *peer, uint64_t bytes,
                uint64_t parked_count, uint64_t parked_bytes, uint64_t count, uint64_t max_bytes);

/* Count what a network brought, in this run; and that it turned out well. */
void quota_met(quota_t *self, const char *provider, const char *peer);
void quota_left(quota_t *self, const char *provider, const char *peer);
/* Forget the networks: once in a while. */
void quota_forget(quota_t *self);

/* Letters of arrivals without proof, opened and closed. */
void quota_letter(quota_t *self, const char *provider, int64_t count, int64_t bytes);

#endif
