/* post.h - where the threads that read callbacks hand them to the one that may touch sockets and
 * disks, and wait until they are on one of them.
 *
 * The path of a callback: a worker takes a number, encodes the message and waits in post_deliver.
 * The loop hands what has gathered to the courier, whose batches go to the tracker. Acknowledged:
 * the worker goes on. Late, or the tracker is away: all that is late goes to the spool in one
 * transaction, and the workers go on. Neither: refused. Nobody is woken one by one: a batch's
 * workers wait on one word, and the loop is woken once for all that gather while it sleeps.
 *
 * Threads: the functions of the first part may be called from any; those of the second belong to
 * the loop.
 */
#ifndef ALD_GATEWAY_POST_H
#define ALD_GATEWAY_POST_H

#include <czmq.h>

#include "common/config/settings.h"
#include "common/net/courier.h"
#include "services/gateway/drain.h"
#include "services/gateway/item.h"
#include "services/gateway/keychain.h"
#include "services/gateway/keyring.h"

typedef struct post post_t;

/* ---- any thread ---- */

/* Hold so many bytes of a body in memory, until post_drop. False: gateway.intake_memory is full. */
ALD_NODISCARD bool post_hold(post_t *self, size_t bytes);
void post_drop(post_t *self, size_t bytes);

/* A number for one item, to be given to post_deliver. 0: none can be had now. */
uint64_t post_number(post_t *self);

/* Hand the item over and wait for its end. Its bytes must stay until this returns. */
enum item_end post_deliver(post_t *self, struct item *item);

/* A callback that a genuine token named was stored nowhere: the tracker is to hear of the task. */
void post_hint(post_t *self, const char *provider, uint64_t task, unsigned attempt);

/* ---- the loop ---- */

struct post_options {
    const struct ald_settings *settings;
    const char *instance; /* ULID of this run */
    drain_t *drain;       /* borrowed */
    keyring_t *keyring;   /* borrowed; learns the keys of a welcome. NULL: nobody does */
    keychain_t *keychain; /* borrowed; the same of what is behind it. NULL: nobody does */
    /* It is not our spool: no number is given, and none is told as settled above those that lie
     * there. If it is a copy, the other one's gateway may live, and number on. */
    bool adopts;
    /* Something has changed of what is told below and by the drain; may be NULL. */
    void (*on_stir)(void *self);
    void *self;
};

ALD_NODISCARD enum ald_rc post_new(zloop_t *loop, const struct post_options *options, post_t **out,
                                   struct ald_err *err);
/* Let all that wait go on as refused, and take nothing any more. */
void post_close(post_t *self);
/* No worker may be in here any more. */
void post_destroy(post_t **self_p);

/* Nothing that a worker waits for, and nothing under way to the tracker. */
bool post_idle(const post_t *self);
bool post_away(const post_t *self);
bool post_welcomed(const post_t *self);
/* Bodies held, in bytes. */
size_t post_held(const post_t *self);
size_t post_items(const post_t *self);

#endif
