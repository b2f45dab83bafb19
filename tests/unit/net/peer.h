/* peer.h - a courier on a loop, and a receiver that the test plays by hand. Time is the machine's
 * plus what the test adds, so that nobody sleeps. One thread.
 */
#ifndef ALD_TESTS_NET_PEER_H
#define ALD_TESTS_NET_PEER_H

#include "common/net/courier.h"
#include "tests/unit/store/folder.h"

enum { PEER_SEEN_MAX = 2048 };

struct peer {
    struct folder folder;
    char endpoint[300];
    zloop_t *loop;
    ald_courier_t *courier;
    ald_sock_t *receiver;
    zframe_t *who; /* the courier's routing id, once heard */
    /* What the courier told its owner. */
    struct {
        uint64_t num;
        void *tag;
        char disposition[ALD_WORD_MAX];
    } settled[PEER_SEEN_MAX];
    size_t settled_count;
    uint64_t late[PEER_SEEN_MAX];
    bool late_sent[PEER_SEEN_MAX];
    size_t late_count;
    uint64_t oversized[PEER_SEEN_MAX];
    size_t oversized_count;
    unsigned welcomes, fresh;
    uint64_t floor;       /* told in heads */
    const char *instance; /* the receiver's run */
    bool joins;           /* it takes joined items */
};

/* A batch as the receiver saw it. */
struct peer_batch {
    struct msg_batch head;
    size_t frames; /* that the items came in */
    size_t count;
    char item[ALD_COURIER_ITEMS][16]; /* first bytes */
};

/* Start both; with late: items come back when they are late. resend_after 0: an hour. */
void peer_start(struct peer *self, bool late, int64_t resend_after_ms);
void peer_stop(struct peer *self);

/* Let the clock jump. */
void peer_wait(int64_t ms);

/* Run the loop until the condition holds; fails the test after ten real seconds. */
typedef bool peer_condition(struct peer *self);
void peer_until(struct peer *self, peer_condition *condition);
/* Run it for a few turns. */
void peer_turns(struct peer *self);

/* The receiver's part: the next hello, the next batch (other messages are passed over); answers. */
void peer_hear_hello(struct peer *self, struct msg_hello *out);
void peer_hear_batch(struct peer *self, struct peer_batch *out);
bool peer_hears_batch(struct peer *self); /* is there one, after a few turns? It is passed over. */
void peer_welcome(struct peer *self, const char *instance, uint64_t max_item);
void peer_answers(struct peer *self, uint64_t batch, const struct msg_ack *acks, size_t count);
void peer_acks(struct peer *self, uint64_t batch, const uint64_t *nums, size_t count,
               const char *disposition);
void peer_say(struct peer *self, const void *bytes, size_t len);

/* Hello and welcome. */
void peer_meet(struct peer *self, const char *instance);
/* Add an item whose bytes are "n<num>". */
void peer_add(struct peer *self, uint64_t num, void *tag);

#endif
