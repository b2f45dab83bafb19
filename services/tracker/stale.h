/* stale.h - when a callback is late, so that its task is polled: as the profile says, or learned
 * from how long the callbacks of this provider took.
 *
 * What is learned is a histogram of some hundred counts, each a quarter of an octave wide, of the
 * last thousand or so callbacks: when so many have come all counts are halved, and so what is old
 * fades. A callback counts that says its task's end, believed, and of each task one: also when a
 * poll was first. Else only callbacks would be learned from that came before the poll, and the
 * first poll would come sooner and sooner.
 *
 * Pure: no clock, no file. Threads: one owner.
 */
#ifndef ALD_TRACKER_STALE_H
#define ALD_TRACKER_STALE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config/profile.h"

enum {
    STALE_BUCKETS = 104, /* the first up to 80 ms, the last from 43 days */
    STALE_ENOUGH = 20,   /* callbacks; fewer teach nothing */
    STALE_MOST = 1000,   /* then all counts are halved */
    STALE_SHARE = 95,    /* percent of callbacks that should have come */
    STALE_RECENT = 64    /* ended tasks whose further callbacks are known as such */
};

struct stale {
    uint32_t total;
    uint16_t count[STALE_BUCKETS];
    bool changed; /* since whoever keeps it on disk looked */
    unsigned recent_next;
    uint64_t recent[STALE_RECENT];
};

/* The callback that tells a task's end came so long after the provider was given the task: its
 * registration, or the last start of its submission. */
void stale_heard(struct stale *self, uint64_t task, int64_t took_ms);

/* The time within which this share of callbacks came, rounded up by a quarter at most; 0: none did.
 */
int64_t stale_share_ms(const struct stale *self, unsigned percent);

/* The first poll of a task made now, after its making. */
int64_t stale_after_ms(const struct stale *self, const struct ald_profile *profile);

/* How old a task is when the provider had better been asked, because it will forget its answer
 * soon; INT64_MAX: it is not known to. */
int64_t stale_last_look_ms(const struct ald_profile *profile);

/* Counts as few numbers, for the disk: pack number `index`; false past the last. */
bool stale_pack(const struct stale *self, unsigned index, int64_t *out);
/* Put such a number back. What is no count of ours is left out. */
void stale_unpack(struct stale *self, unsigned index, int64_t packed);

#endif
