/* sock.h - the only place where ZeroMQ sockets are made, so that none is made without its limits.
 *
 * Every socket has: linger 0 (delivery that matters is acknowledged, never trusted to linger), a
 * frame limit, ZMTP heartbeats, a send that never blocks (a full or absent peer is ALD_AGAIN),
 * ROUTER_MANDATORY on routers, IMMEDIATE on dealers. A bound ipc:// endpoint has a seat (seat.h): a
 * lock, and, while a loop watches it, a look each 5 s whether it is still there; one that was
 * removed is bound again.
 *
 * Does not encrypt: tcp:// is accepted for loopback addresses only.
 * Threads: a socket belongs to the thread that opened it.
 */
#ifndef ALD_NET_SOCK_H
#define ALD_NET_SOCK_H

#include <czmq.h>

#include "common/base/failpoint.h"
#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"
#include "common/config/settings.h"
#include "common/net/frame.h"

typedef struct ald_sock ald_sock_t;
typedef struct ald_gate ald_gate_t;

struct ald_sock_options {
    int type;             /* ZMQ_ROUTER, ZMQ_DEALER, ZMQ_XPUB, ZMQ_SUB */
    int64_t max_frame;    /* bytes; a peer that sends a longer one is cut off; 0 = 64 KiB */
    int64_t heartbeat_ms; /* and a peer silent for three of them is cut off */
};

/* Where a channel lives: the setting's override, else ipc://<bus.run>/<channel>.
 * ALD_TOOBIG: the path is longer than a socket address holds. */
ALD_NODISCARD enum ald_rc ald_sock_endpoint(const struct ald_settings *settings,
                                            const char *channel, char *out, size_t cap,
                                            struct ald_err *err);

/* Does somebody listen on this channel of the folder? A daemon that was killed leaves its file
 * behind, and nothing else tells the two apart. Asks no question and never waits. */
bool ald_sock_lives(const char *run, const char *channel);

/* Open a socket and bind or connect it. ALD_OK: *out is the caller's.
 * ALD_EXISTS: another process has this endpoint. ALD_INVALID: the endpoint is not allowed.
 * ALD_IO: it can't be bound. err says which and what to do. */
ALD_NODISCARD enum ald_rc ald_sock_bind(const struct ald_sock_options *options,
                                        const char *endpoint, ald_sock_t **out,
                                        struct ald_err *err);
ALD_NODISCARD enum ald_rc ald_sock_connect(const struct ald_sock_options *options,
                                           const char *endpoint, ald_sock_t **out,
                                           struct ald_err *err);
/* Bind a socket where this channel lives, with the settings' heartbeat. max_frame: as above, 0 =
 * 64 KiB. */
ALD_NODISCARD enum ald_rc ald_sock_serve(const struct ald_settings *settings, const char *channel,
                                         int type, int64_t max_frame, ald_sock_t **out,
                                         struct ald_err *err);
void ald_sock_destroy(ald_sock_t **self_p);

/* The czmq socket; borrowed until destroy. */
zsock_t *ald_sock_z(ald_sock_t *self);

/* From now on the loop calls ready when there may be a message, until the socket is destroyed,
 * while the loop lives. ready may find none, or leave some for its next call, which comes by
 * itself. It does not destroy the socket. Cheaper than a reader of zloop, which asks every socket
 * at every turn. */
void ald_sock_watch(ald_sock_t *self, zloop_t *loop, zloop_reader_fn *ready, void *arg);

/* Wait until there may be a message, fd is readable, or timeout_ms are over. For who has just found
 * none, in its ready function. */
void ald_sock_wait(ald_sock_t *self, int fd, int timeout_ms);

/* Receive a whole message without waiting. NULL: nothing there. The caller owns it. */
zmsg_t *ald_sock_recv(ald_sock_t *self);

/* From now on what is sent here waits at this gate (gate.h), which outlives the socket. */
void ald_sock_gate(ald_sock_t *self, ald_gate_t *gate);

/* Send a message without waiting. ALD_OK: taken, *msg_p is NULL; behind a gate it may be dropped
 * later, as if it had been lost on its way. ALD_AGAIN: the peer is absent or full, the message is
 * still the caller's. */
ALD_NODISCARD enum ald_rc ald_sock_send(ald_sock_t *self, zmsg_t **msg_p);

/* The same for who undoes what could not be sent: msg is taken in any case, and then is called
 * once, now or when the gate has let the message pass. sent: false when the peer is absent or full.
 * A message that the gate has forgotten counts as sent: all memory is thrown away with it. */
typedef void ald_sent_fn(void *arg, bool sent);
void ald_sock_send_then(ald_sock_t *self, zmsg_t **msg_p, ald_sent_fn *then, void *arg);

/* The same at a failpoint: the message is not taken, or it is taken and lost. */
#define ALD_SOCK_SEND(name, sock, msg_p)                                                           \
    ALD_FAILPOINT(name, ald_sock_send(sock, msg_p), ald_sock_fail(msg_p))
#define ALD_SOCK_SEND_THEN(name, sock, msg_p, then, arg)                                           \
    ALD_FAILPOINT(name, ald_sock_send_then(sock, msg_p, then, arg),                                \
                  ald_sock_fail_then(msg_p, then, arg))
#ifdef ALDABA_FAILPOINTS
enum ald_rc ald_sock_fail(zmsg_t **msg_p);
void ald_sock_fail_then(zmsg_t **msg_p, ald_sent_fn *then, void *arg);
#endif

#endif
