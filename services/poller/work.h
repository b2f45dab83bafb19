/* work.h - the leases that a poller holds: queued, then under way, then ended.
 *
 * Pure state: no sockets, no clock; callers pass monotonic milliseconds. A lease whose time is up
 * when its turn comes is handed back, not begun: its task may be another poller's by now. One
 * thread.
 */
#ifndef ALD_POLLER_WORK_H
#define ALD_POLLER_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/config/profile.h"
#include "proto/messages.h"

typedef struct work work_t;

enum { WORK_SUBMISSIONS_MAX = 64 << 20 };

/* What a lease to submit has beside a lease. From malloc. */
struct work_submit {
    uint64_t attempt;
    char callback_url[ALD_CALLBACK_URL_MAX];
    int64_t asked_ms;        /* monotonic: when the tracker was asked; 0 = not yet */
    char asked[ALD_URL_MAX]; /* where it was sent; "" = too long to be compared */
    size_t len;
    uint8_t submission[]; /* as in msg_register */
};

/* One lease that is under way. Owned by the table, borrowed until work_end. */
struct work_item {
    struct msg_lease lease;
    int64_t until_ms;         /* monotonic: the lease ends */
    void *owner;              /* the caller's */
    ald_profiles_t *profiles; /* a reference: those that it was begun with; NULL: not begun */
    struct work_item *with;   /* asked for in the same request; NULL: no more */
    bool fetching; /* the poll said that the result takes another request, which is under way */
    /* From malloc, freed with the item; the lease's own spans are empty. NULL: not known. */
    char *poll_url;
    char *result_url; /* as the provider says, at last in the answer before */
    char *params;     /* JSON */
    uint8_t *body;    /* of a push */
    size_t body_len;
    struct work_submit *submit; /* freed with the item. NULL: a poll */
};

/* max: leases under way at most; as many again may be queued. */
work_t *work_new(size_t max);
void work_destroy(work_t **self_p);

/* Another run of the tracker numbers leases anew: those held keep their place, but no longer count
 * as known by number. */
void work_new_run(work_t *self);

/* Queue a lease received at now_ms; what it borrows is copied. ALD_OK. ALD_EXISTS: held already;
 * ALD_FULL: no room for it; nothing changed. */
ALD_NODISCARD enum ald_rc work_add(work_t *self, const struct msg_lease *lease, int64_t now_ms);

/* The same of a lease to submit; what is in it is copied. ALD_FULL also: those that are held have
 * WORK_SUBMISSIONS_MAX bytes together. */
ALD_NODISCARD enum ald_rc work_add_submit(work_t *self, const struct msg_submit *submit,
                                          int64_t now_ms);

/* Take the oldest queued lease. ALD_OK: it is under way, *out is it. ALD_TIMEOUT: its time was up;
 * *out is it, work_end it too. ALD_AGAIN: max are under way; ALD_NOTFOUND: none is queued; *out is
 * NULL. */
ALD_NODISCARD enum ald_rc work_begin(work_t *self, int64_t now_ms, struct work_item **out);

/* Take with it all leases of its batch that are queued next, at most so many: they are chained to
 * it, under way too, and each is ended for itself. Returns how many it makes, the first included.
 */
size_t work_gather(work_t *self, struct work_item *first, size_t most);

/* Take the oldest queued lease to hand it back; work_end it. NULL: none is queued. */
struct work_item *work_take_back(work_t *self);

/* The item is done with; its place is free. */
void work_end(work_t *self, struct work_item **item_p);

/* How many leases more would be begun at once. */
size_t work_credit(const work_t *self);
size_t work_queued(const work_t *self);
size_t work_under_way(const work_t *self); /* those taken and not ended */

#endif
