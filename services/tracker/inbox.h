/* inbox.h - the receiver's side of batches, shared by the channels that take them: gathers the
 * messages of a turn, and answers each with its acknowledgements once the transaction is written;
 * they leave when it is on disk (gate.h).
 */
#ifndef ALD_TRACKER_INBOX_H
#define ALD_TRACKER_INBOX_H

#include "common/net/sock.h"
#include "proto/messages.h"

enum { INBOX_MESSAGES = 16 };

struct inbox {
    zmsg_t *answers[INBOX_MESSAGES]; /* routing id, acks, ack ... */
    size_t count;
    struct msg_ack run; /* of the last answer, not in it yet; count 0 = none */
};

/* Begin the answer to a batch from who (taken). Not when the inbox is full. */
void inbox_begin(struct inbox *self, zframe_t **who_p, const char *instance, uint64_t batch);
/* Into the answer begun last; what fares as the item numbered before it shares that one's ack. */
void inbox_ack(struct inbox *self, const struct msg_ack *ack);

/* The transaction is written: send all answers. */
void inbox_send(struct inbox *self, ald_sock_t *sock);
/* It is not: forget them; the senders will ask again. */
void inbox_forget(struct inbox *self);

/* Answer a hello. */
void inbox_welcome(ald_sock_t *sock, zframe_t **who_p, const struct msg_welcome *welcome);

#endif
