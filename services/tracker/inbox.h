/* inbox.h - the receiver's side of batches, shared by the channels that take them: gathers the
 * messages of a turn, and answers each with its acknowledgements once the transaction is on disk.
 */
#ifndef ALD_TRACKER_INBOX_H
#define ALD_TRACKER_INBOX_H

#include "common/net/sock.h"
#include "proto/messages.h"

enum { INBOX_MESSAGES = 16 };

struct inbox {
    zmsg_t *answers[INBOX_MESSAGES]; /* routing id, acks, an ack an item */
    size_t count;
};

/* Begin the answer to a batch from who (taken). NULL: inbox is full. */
zmsg_t *inbox_begin(struct inbox *self, zframe_t **who_p, const char *instance, uint64_t batch);
void inbox_ack(zmsg_t *answer, const struct msg_ack *ack);

/* The transaction is on disk: send all answers. */
void inbox_send(struct inbox *self, ald_sock_t *sock);
/* It is not: forget them; the senders will ask again. */
void inbox_forget(struct inbox *self);

/* Answer a hello. */
void inbox_welcome(ald_sock_t *sock, zframe_t **who_p, const struct msg_welcome *welcome);

#endif
