/* gate.h - what is said waits until all that was written before it is on disk.
 *
 * A store whose commits settle later (store.h, sync_beside) is decided upon, and spoken of, before
 * a cut of power could no longer take it back. Sockets behind a gate keep what they are given until
 * the last commit of that moment has settled, and then send it, in the order in which it was given.
 * While everything is settled, messages go at once. So whoever sends need not know.
 *
 * What it keeps is bounded: past ALD_GATE_MESSAGES or ALD_GATE_BYTES it waits for the disk.
 *
 * Threads: belongs to the thread of its sockets.
 */
#ifndef ALD_NET_GATE_H
#define ALD_NET_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/sock.h"

enum { ALD_GATE_MESSAGES = 4096, ALD_GATE_BYTES = 16 << 20 };

/* The store: how many commits it has written, how many of them are on disk, wait for all. settle:
 * false when they will never be. After a store has failed and is closed, settled must be more than
 * any number that it had written: what was said meanwhile would wait for ever. */
struct ald_gate_options {
    uint64_t (*written)(void *store);
    uint64_t (*settled)(void *store);
    bool (*settle)(void *store);
    void *store;
};

ald_gate_t *ald_gate_new(const struct ald_gate_options *options);
/* What it keeps is forgotten. Its sockets must be gone, or not be sent on any more. */
void ald_gate_destroy(ald_gate_t **self_p);

/* NULL is a gate that keeps nothing.
 * turn: send what need not wait any more; cheap when that is nothing. To be called when more has
 * settled: what is given meanwhile queues behind what is kept. */
void ald_gate_turn(ald_gate_t *self);
/* The store has failed: what is kept must never be said. */
void ald_gate_forget(ald_gate_t *self);

/* For sock.c. take: true when the gate keeps msg for sock, and *msg_p is NULL; then, if there is
 * one, is called later. leave: a socket is destroyed, and what is kept for it with it. */
bool ald_gate_take(ald_gate_t *self, ald_sock_t *sock, zmsg_t **msg_p, ald_sent_fn *then,
                   void *arg);
void ald_gate_leave(ald_gate_t *self, const ald_sock_t *sock);

#endif
