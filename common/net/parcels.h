/* parcels.h - which items of a courier wait, which ride in a batch under way, and when each is
 * late. Pure: no socket, no clock; the courier passes the time (monotonic ms).
 */
#ifndef ALD_NET_PARCELS_H
#define ALD_NET_PARCELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/span.h"

struct ald_parcel {
    struct ald_parcel *prev, *next;
    uint64_t num;
    uint64_t batch; /* in which it rides, or rode last; 0 = none yet */
    void *tag;
    int64_t added_ms;
    int64_t not_before_ms; /* after `busy` */
    size_t len;
    uint8_t bytes[];
};

struct ald_parcel_list {
    struct ald_parcel *first, *last;
    size_t items;
    size_t bytes;
};

struct ald_parcels {
    struct ald_parcel_list waiting;
    struct ald_parcel_list riding; /* in the batches under way, in their order */
};

void ald_parcels_free(struct ald_parcels *self);

/* Take a copy of bytes; it waits. */
void ald_parcels_add(struct ald_parcels *self, uint64_t num, struct ald_span bytes, void *tag,
                     int64_t now_ms);

/* What may ride in a batch. */
struct ald_load_limit {
    size_t items;
    size_t bytes;
    bool any_one; /* or one item, whatever its size */
};

/* Move what makes a batch, whose number is not 0, from waiting to riding, in order and within the
 * limit. Returns how many ride in it; *bytes is their size. */
size_t ald_parcels_load(struct ald_parcels *self, uint64_t batch,
                        const struct ald_load_limit *limit, int64_t now_ms, size_t *bytes);

/* All that ride in this batch, or with 0 in any, wait again, in front, in their order. */
void ald_parcels_unload(struct ald_parcels *self, uint64_t batch);

/* Take an item out, wherever it is: the caller frees it. NULL: it is not here. Riding items are
 * acknowledged in order, so the first place looked at is nearly always right. */
struct ald_parcel *ald_parcels_take(struct ald_parcels *self, uint64_t num);

/* A riding item must wait until not_before_ms and ride again. False: it is not here. */
bool ald_parcels_again(struct ald_parcels *self, uint64_t num, int64_t not_before_ms);

/* Take out one item that was added at or before added_ms; NULL when there is none. */
struct ald_parcel *ald_parcels_late(struct ald_parcels *self, int64_t added_ms);

/* Take out one item of more than len bytes; NULL when there is none. */
struct ald_parcel *ald_parcels_above(struct ald_parcels *self, uint64_t len);

bool ald_parcels_hold(const struct ald_parcels *self, uint64_t num);

#endif
