/* item.h - an event on its way to the program, and the list in which it waits.
 *
 * An item keeps the frame that it came in, so that its result is copied nowhere. A list is a plain
 * queue with its sums; who shares one between threads locks it.
 */
#ifndef ALD_CLIENT_ITEM_H
#define ALD_CLIENT_ITEM_H

#include "common/client/aldaba.h"
#include "common/client/bus.h"
#include "proto/messages.h"

struct item {
    struct aldaba_event event; /* first: what programs see */
    struct item *next;
    struct msg_event message; /* event's texts are here, and its result in frame or bytes */
    char position[ALD_POSITION_MAX];
    zmq_msg_t frame;
    uint8_t *bytes;                    /* of a copy */
    char gap_before[ALD_POSITION_MAX]; /* not "": no event, but the news of a gap */
    char gap_why[ALD_WORD_MAX];
};

struct item_list {
    struct item *first, *last;
    size_t count;
    size_t bytes; /* of results */
};

/* The event in a frame, which is taken when it is one. NULL: it is none, or no memory. */
struct item *item_of(zmq_msg_t *frame);
/* News of a gap. NULL: no memory. */
struct item *item_gap(const char *before, const char *why);
/* A copy with bytes of its own. NULL: no memory. */
struct item *item_copy(const struct aldaba_event *event);
void item_free(struct item *item);

/* What the program is to store with it. */
void item_place(struct item *item, const char *position);

void item_push(struct item_list *list, struct item *item);
struct item *item_pop(struct item_list *list); /* NULL when empty */
void item_list_free(struct item_list *list);
/* Take out the events behind (lane, seq). */
void item_drop_behind(struct item_list *list, uint64_t lane, uint64_t seq);

#endif
