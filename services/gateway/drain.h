/* drain.h - the spool: callbacks that the tracker could not take in time go in, and out again to
 * the tracker when it is back, in order, without anybody asking.
 *
 * An item leaves the spool only when the tracker has it on disk. What had been sent before is sent
 * again to a new run of the tracker, or after resend_after; never because time is short. What
 * nobody vouches for is bounded by the profile's quota.
 *
 * After an I/O error nothing is stored until the spool has been opened again with its start-up
 * protocol, which is tried each second. Threads: the loop's.
 */
#ifndef ALD_GATEWAY_DRAIN_H
#define ALD_GATEWAY_DRAIN_H

#include "common/base/clock.h"
#include "common/config/profile.h"
#include "common/config/settings.h"
#include "common/net/courier.h"
#include "common/store/spool.h"
#include "services/gateway/item.h"

typedef struct drain drain_t;

/* Open the folder gateway.spool. Errors as ald_spool_open. profiles NULL: nothing is to be stored.
 */
ALD_NODISCARD enum ald_rc drain_new(const struct ald_settings *settings,
                                    const ald_profiles_t *profiles, drain_t **out,
                                    struct ald_err *err);
void drain_destroy(drain_t **self_p);

/* Profiles were read anew: their quotas count from now on. */
void drain_renew(drain_t *self, const ald_profiles_t *profiles);

/* Where drained items go. Items carry drain_tag(self) as their tag. first: the lowest number that
 * this run gives; 0: it gives none. */
void drain_use(drain_t *self, ald_courier_t *courier, uint64_t first);
void *drain_tag(drain_t *self);

ald_spool_t *drain_spool(drain_t *self);

/* Store in one transaction; sets each item's end to ITEM_SPOOLED or ITEM_REFUSED by way of the
 * array ends, which has count places. */
void drain_store(drain_t *self, struct item *const *items, size_t count, struct ald_now now,
                 enum item_end *ends);

/* The tracker has decided on a number that may lie here, or wants it later. */
void drain_acked(drain_t *self, const struct msg_ack *ack, int64_t now_mono_ms);
/* A drained item got no answer in time; it stays. sent: it may have arrived. */
void drain_late(drain_t *self, uint64_t num, bool sent, int64_t now_mono_ms);
/* The tracker has welcomed us. fresh: a run of it not met before, so all that lies here may be sent
 * to it. So it may where our numbering is another one's as well: then the spool and the courier
 * take another id (renumber.h). */
void drain_welcomed(drain_t *self, const struct msg_welcome *welcome, bool fresh);
/* Fill in what the tracker is to know: how much lies here, and how old it is. */
void drain_head(drain_t *self, struct msg_batch *head);
/* Has the tracker answered since it was told that nothing lies here? */
bool drain_told_empty(const drain_t *self);

/* Forget what was acknowledged and send what may be sent. Often. beside: callbacks that come in
 * wait for their answers meanwhile, so less goes at once, for it rides with them. */
void drain_turn(drain_t *self, bool beside, int64_t now_mono_ms);
/* When drain_turn has something to do next, if nothing comes in meanwhile: a time that is past
 * stands for at once, INT64_MAX for not at all. */
int64_t drain_next_ms(const drain_t *self);

/* Age of the oldest item, 0 = empty. */
int64_t drain_oldest_ms(const drain_t *self, int64_t now_wall_ms);
/* How many items are larger than the tracker takes (it is of another version), as the last walk
 * over the spool found. */
uint64_t drain_oversized(const drain_t *self);
void drain_stats(const drain_t *self, struct ald_spool_stats *out);
/* Could something be stored now, as far as is known? */
bool drain_writable(const drain_t *self);

#endif
