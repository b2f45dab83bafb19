/* held.h - what a durable consumer has in its hands: events that came, and words about them that
 * the tracker has not confirmed.
 *
 * Pure: no socket, clock or lock. An event is held from its arrival until the answer that its
 * acknowledgement is on disk; so a second copy of it is known for one, and a word is sent until it
 * is answered. All words are facts by (lane, seq), which the tracker applies however often they
 * come. One owner.
 */
#ifndef ALD_CLIENT_HELD_H
#define ALD_CLIENT_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/rc.h"

enum { HELD_MAX = 20000 };

/* Above every seq that the wire can say. */
#define HELD_SEQ_MAX (((uint64_t)1 << 53) - 1)

enum held_state {
    HELD_WAITS, /* came, and the program has not taken it */
    HELD_GIVEN, /* the program has it */
    HELD_SAID,  /* the program has settled it; to be sent */
    HELD_SENT   /* and sent, in the request `req` */
};

enum held_verb { HELD_ACK, HELD_NACK, HELD_REJECT, HELD_EXTEND, HELD_RELEASE };

struct held_entry {
    uint64_t lane, seq;
    enum held_state state;
    enum held_verb verb; /* SAID, SENT */
    int64_t delay_ms;
    char *reason;   /* or NULL */
    int64_t for_ms; /* extend so far; 0 = nothing to say */
    uint64_t req;   /* that carries verb or for_ms; 0 = none does */
};

struct held {
    struct held_entry *entries; /* by (lane, seq) */
    size_t count, cap;
    size_t said;  /* entries with something to send */
    size_t words; /* entries SAID or SENT */
    size_t given; /* entries GIVEN */
};

/* One thing to say to the tracker: about seq alone, or all from first to seq. */
struct held_word {
    uint64_t lane, seq;
    uint64_t first; /* 0 = seq alone */
    enum held_verb verb;
    int64_t delay_ms;
    const char *reason; /* "" = none; borrowed for the call */
};
typedef void held_say_fn(void *arg, const struct held_word *word);

void held_init(struct held *self);
void held_free(struct held *self);

/* A copy of the event came. True: it is to be given; false: it is in hand already, or settled here,
 * or there is no room. A nack that was sent and whose event comes again has been heard. */
bool held_arrived(struct held *self, uint64_t lane, uint64_t seq);

/* The program takes the event. False: it does not wait, since it was settled meanwhile. */
bool held_give(struct held *self, uint64_t lane, uint64_t seq);

/* The program settles the event (not HELD_EXTEND). The last word counts. ALD_OK; ALD_FULL: it is
 * not in hand and there is no room. reason may be NULL; at most 256 bytes of it are kept. */
ALD_NODISCARD enum ald_rc held_settle(struct held *self, uint64_t lane, uint64_t seq,
                                      enum held_verb verb, int64_t delay_ms, const char *reason);

/* Acknowledge all that are given, of this lane up to seq and of earlier lanes. */
void held_ack_to(struct held *self, uint64_t lane, uint64_t seq);

/* The hand-out is to last for_ms more. ALD_NOTFOUND: not in hand. */
ALD_NODISCARD enum ald_rc held_extend(struct held *self, uint64_t lane, uint64_t seq,
                                      int64_t for_ms);
/* The same of all that wait. */
void held_extend_waiting(struct held *self, int64_t for_ms);

/* Forget those that wait behind (lane, seq); the tracker hands them out again. */
void held_drop_behind(struct held *self, uint64_t lane, uint64_t seq);

/* Say, at most `most` times, what there is to say, in the request req. Acknowledgements of numbers
 * that follow each other are one word. Returns how many words. */
size_t held_say(struct held *self, uint64_t req, size_t most, held_say_fn *say, void *arg);

/* Say which events the program has not seen, at the end: those that wait, and all behind the last
 * one, which may be under way. What lies between two that wait is nobody's here, so they are one
 * word. Changes nothing. Returns how many words, at most `most`. */
size_t held_say_unseen(const struct held *self, size_t most, held_say_fn *say, void *arg);

/* The request is answered: what it carried is on disk. */
void held_confirmed(struct held *self, uint64_t req);
/* No answer will come to any request: all of it is to be said again. */
void held_unheard(struct held *self);

#endif
