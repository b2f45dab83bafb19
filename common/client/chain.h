/* chain.h - a live subscription's place in the feed, and whether a hint may be believed.
 *
 * A hint is the event itself, and says which event came before it among those that the subscription
 * hears. If that one has been given, nothing lies between, and the hint is given at once; else the
 * feed is fetched from the place up to which nothing is missing. Hints may be lost, late or
 * doubled.
 *
 * Pure: no socket, clock or lock. Positions are opaque; places are compared by (lane, seq) of
 * events. One owner.
 */
#ifndef ALD_CLIENT_CHAIN_H
#define ALD_CLIENT_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/msg_limits.h"

enum chain_verdict {
    CHAIN_GIVE,  /* the next one */
    CHAIN_KNOWN, /* it has been given */
    CHAIN_FETCH  /* something may be missing before it */
};

struct chain {
    char position[ALD_POSITION_MAX]; /* all that the subscription wants up to here has been given */
    bool placed;                     /* lane and seq are those of an event heard */
    uint64_t lane, seq;
};

/* Begin at a position, `all` or `new`. */
void chain_init(struct chain *self, const char *from);

/* A hint whose event's position is `position` ("" when the tracker does not tell it: then it is a
 * bell) and whose predecessor is `prev`. CHAIN_GIVE moves the place behind it. */
enum chain_verdict chain_hint(struct chain *self, uint64_t lane, uint64_t seq, uint64_t prev,
                              const char *position);

/* An event of an answer to a fetch from self->position. True: to be given. */
bool chain_event(struct chain *self, uint64_t lane, uint64_t seq);

/* The answer's end: looked up to here. */
void chain_page(struct chain *self, const char *position);

/* The head of the feed. True: it is elsewhere than this place, so that a fetch tells whether a hint
 * was lost. */
bool chain_head(const struct chain *self, const char *position);

#endif
