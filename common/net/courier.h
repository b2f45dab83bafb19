/* courier.h - the sender's side of delivery that matters: items go in batches to one receiver, are
 * acknowledged by number, sent again until they are, and never sent twice without a reason.
 *
 * - What has gathered is the next batch, and leaves when none is under way. One may leave ahead of
 *   that answer when it is as large as what is under way, so that the receiver has work at hand
 *   while its answer travels; smaller ones would only cost it more commits.
 * - A batch holds at most ALD_COURIER_ITEMS items. All that is under way, items that were
 *   late meanwhile with it, is at most 1 MiB, or one item alone: that bounds what a peer holds for
 *   us, however many batches it came in.
 * - Items share frames where the receiver's welcome says that it takes that (joined.h).
 * - An item is sent again to a new run of the receiver (welcome names another instance), after
 *   resend_after_ms without an answer, after `busy`, and when the owner hurries; never only
 *   because time is short.
 * - With on_late, an item whose acknowledgement is late (4 x the smoothed time, within
 *   ack_min_ms ... ack_max_ms; at once while the receiver is away) is handed back: the owner keeps
 *   it elsewhere (the gateway's spool) and the courier forgets it. Its acknowledgement may still
 *   come; on_settled is then called with tag NULL.
 * - An item that is larger than the receiver takes (welcome.max_item: it was started anew with
 *   less, or was not met yet when the item was added) would only have the connection cut, and hold
 *   up what rides with it: it is handed back, by on_oversized, or by on_late where there is that.
 * - on_settled may be called for a number twice; the owner treats that as once.
 *
 * The courier owns its DEALER socket and lives on a zloop. It says hello until it is welcomed, and
 * again each second while nothing else is heard. One thread, the loop's.
 */
#ifndef ALD_NET_COURIER_H
#define ALD_NET_COURIER_H

#include "common/net/sock.h"
#include "proto/messages.h"

enum { ALD_COURIER_ITEMS = 512, ALD_COURIER_BYTES = 1 << 20, ALD_COURIER_BATCHES = 2 };

typedef struct ald_courier ald_courier_t;

struct ald_courier_options {
    const char *endpoint;
    const char *role;     /* gateway, poller, dlq, tracker */
    const char *sender;   /* ULID of the numbering */
    const char *instance; /* ULID of this run */
    ald_gate_t *gate;     /* where its messages wait (gate.h), or NULL */
    int64_t heartbeat_ms;
    int64_t resend_after_ms;
    int64_t ack_min_ms; /* with on_late only */
    int64_t ack_max_ms;
    void *self; /* passed to the functions below */
    /* An item has its acknowledgement (never busy). */
    void (*on_settled)(void *self, void *tag, const struct msg_ack *ack);
    /* The acknowledgement is late: the item is the owner's again. sent: it may have arrived. NULL:
     * items wait for ever. */
    void (*on_late)(void *self, uint64_t num, void *tag, bool sent);
    /* The receiver takes none of that size: the item is the owner's again; bytes are borrowed.
     * Called from within a welcome, before on_welcome. NULL only with on_late. */
    void (*on_oversized)(void *self, uint64_t num, void *tag, struct ald_span bytes);
    /* Fill floor and counters of a batch head or hello; may be NULL. */
    void (*on_head)(void *self, struct msg_batch *head);
    /* A welcome came; may be NULL. fresh: a run of the receiver not met before. msg stands at it;
     * frames may follow. */
    void (*on_welcome)(void *self, const struct msg_welcome *welcome, bool fresh, zmsg_t *msg);
    /* Nothing was heard of the receiver for so long that it counts as away; may be NULL. */
    void (*on_away)(void *self);
    /* All that had come was handed on, and the next batch has left; may be NULL. */
    void (*on_round)(void *self);
};

/* Open, connect and join the loop. ALD_OK: *out is the caller's; else err says why. */
ALD_NODISCARD enum ald_rc ald_courier_new(zloop_t *loop, const struct ald_courier_options *options,
                                          ald_courier_t **out, struct ald_err *err);
void ald_courier_destroy(ald_courier_t **self_p);

/* Take an item: bytes are copied; tag is handed back with its end. num must not be under way.
 * ALD_OK. ALD_TOOBIG: the receiver would not take it (welcome.max_item). */
ALD_NODISCARD enum ald_rc ald_courier_add(ald_courier_t *self, uint64_t num, struct ald_span bytes,
                                          void *tag);

/* Send what has gathered, if a batch may leave. Call after a round of adds. */
void ald_courier_flush(ald_courier_t *self);

/* Number by another sender's id from now on: what has no answer is sent again by it. */
void ald_courier_rename(ald_courier_t *self, const char *sender);

/* Somebody waits for all that is under way: what has no answer after after_ms is sent again now. */
void ald_courier_hurry(ald_courier_t *self, int64_t after_ms);

/* How many items more make a batch leave. SIZE_MAX: none leaves before something is heard. */
size_t ald_courier_lacks(const ald_courier_t *self);

bool ald_courier_away(const ald_courier_t *self); /* the receiver is known to be away */
bool ald_courier_holds(const ald_courier_t *self, uint64_t num);
size_t ald_courier_items(const ald_courier_t *self);
size_t ald_courier_bytes(const ald_courier_t *self);
/* Instance of the receiver last welcomed by, "" before. */
const char *ald_courier_receiver(const ald_courier_t *self);

#endif
