/* consumer.h - a durable consumer as a set of facts: how far it has come in the feed, and its
 * flight, which are the events between floor and head that were handed out and are not settled.
 *
 * A count is made at the hand-out and is on disk before the event leaves; a lease is memory alone.
 * So an event that kills its consumer is counted all the same, and a start of the tracker offers
 * again what was leased without counting it a second time. An event whose lease ended without a
 * word is a suspect: it goes out again alone, to an instance that holds nothing else, so that the
 * one that kills is alone when it does it and its neighbours collect no counts.
 *
 * A settlement is a fact: it counts by (lane, seq), whoever has the lease by then. Only a nack, an
 * extension and a release are of whoever has it, as they say nothing but when.
 *
 * Pure: no clock, socket or file. Times are service time. What must be done besides comes back by
 * consumer_reject_fn. One owner.
 */
#ifndef ALD_TRACKER_CONSUMER_H
#define ALD_TRACKER_CONSUMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/rc.h"
#include "proto/msg_limits.h"

enum {
    CONSUMER_PENDING_MAX = 10000,
    CONSUMER_DELIVER_MAX = 1000000,
    CONSUMER_WAIT_MIN_MS = 100,
    CONSUMER_WAIT_MAX_MS = 86400000,
    CONSUMER_INSTANCES_MAX = 64,
    CONSUMER_SILENT_MS = 120000, /* longer than anybody waits: then its place is another's */
    CONSUMER_PAGE_MAX = 1000,    /* events of one hand-out */
    CONSUMER_FLIGHT_MAX = 1 << 20
};

enum consumer_gap { CONSUMER_GAP_NONE, CONSUMER_GAP_RETENTION, CONSUMER_GAP_LANE };
enum consumer_verb {
    CONSUMER_ACK,
    CONSUMER_NACK,
    CONSUMER_REJECT,
    CONSUMER_EXTEND,
    CONSUMER_RELEASE /* it reached nobody: free for others, and not counted */
};

struct consumer_rules {
    bool ordered; /* one hand-out at a time, and nothing overtakes what came back */
    uint32_t max_deliver;
    int64_t ack_wait_ms;
    size_t max_pending;
};

/* Rules as a disk has them: what nobody may ask for becomes the nearest that one may. False:
 * something was. */
bool consumer_rules_bound(bool ordered, int64_t max_deliver, int64_t ack_wait_ms,
                          int64_t max_pending, struct consumer_rules *out);

/* One of the programs that share it. */
struct consumer_instance {
    char name[ALD_WORD_MAX];
    bool used;
    uint32_t leased; /* events it has */
    uint32_t alone;  /* of these, what nothing else is handed out beside */
    uint32_t named;  /* entries that name it, leased or not */
    int64_t asked_ms;
};

struct consumer_entry {
    uint64_t seq;
    int64_t due_ms; /* leased: until then; waiting: not before */
    uint32_t count; /* hand-outs */
    uint8_t state;  /* enum consumer_state */
    uint8_t holder; /* who had it last */
    bool suspect;
    bool free; /* the next hand-out is not counted */
};

struct consumer {
    struct consumer_rules rules;
    uint64_t lane;
    uint64_t handed; /* the feed was looked at up to here */
    uint64_t gap;    /* what it has not seen below this seq is gone; 0 = nothing is */
    enum consumer_gap gap_why;
    uint64_t rejected; /* events that became letters */

    struct consumer_entry *flight; /* by seq; settled ones lie between */
    size_t first, end, cap;
    size_t pending; /* not settled */
    size_t leased, waiting;
    int64_t next_ms; /* nothing is due before; INT64_MAX: nothing at all */
    struct consumer_instance instances[CONSUMER_INSTANCES_MAX];
};

/* A new one that has seen all up to handed. Freed by consumer_free, which leaves it unusable. */
void consumer_init(struct consumer *self, const struct consumer_rules *rules, uint64_t lane,
                   uint64_t handed);
void consumer_free(struct consumer *self);

/* All up to here is settled. */
uint64_t consumer_floor(const struct consumer *self);

/* The number of an instance, from now on alive. -1: there are too many. */
int consumer_instance(struct consumer *self, const char *name, int64_t now_ms);
/* Has it nothing? */
bool consumer_idle(const struct consumer *self, int instance);
/* It has something besides that must be alone, or no longer has it. */
void consumer_alone(struct consumer *self, int instance, bool has);
/* Those that asked within so long. */
size_t consumer_instances(const struct consumer *self, int64_t within_ms, int64_t now_ms);

/* What may be handed out to an instance now: either what comes again, or what comes next. */
struct consumer_pick {
    uint64_t seq;
    uint32_t deliveries; /* with this one */
    bool redelivered;
};

struct consumer_offer {
    bool fresh; /* at most `limit` events after `after`, not looked at yet */
    uint64_t after;
    size_t limit;
    size_t count; /* else these, of which no other's lie between */
    struct consumer_pick picks[CONSUMER_PAGE_MAX];
};

/* False: nothing. head: the last seq of the feed. */
bool consumer_offer(struct consumer *self, int instance, uint64_t head, size_t limit,
                    int64_t now_ms, struct consumer_offer *out);

/* Of an offer that was fresh: the feed was looked at up to looked, and these match, in order.
 * Whatever lies in between is passed over. It must not have been handed out since. */
void consumer_hand_fresh(struct consumer *self, int instance, const uint64_t *seqs, size_t count,
                         uint64_t looked, int64_t now_ms);
/* Of one that was not: this one goes. False: it does not wait any more, and must not. */
bool consumer_hand_again(struct consumer *self, int instance, uint64_t seq, int64_t now_ms);
/* A hand-out did not leave: nobody has these, and they are not counted again. */
void consumer_unsent(struct consumer *self, int instance, uint64_t first, uint64_t last,
                     int64_t now_ms);

/* An event is to become a letter; it is settled already. why: "", or the consumer's words. */
typedef void consumer_reject_fn(void *context, uint64_t seq, uint32_t count, const char *why);
struct consumer_rejects {
    consumer_reject_fn *fn;
    void *context;
};

struct consumer_settle {
    enum consumer_verb verb;
    uint64_t lane;
    uint64_t first; /* 0 = seq alone; of a range only what this instance was handed out */
    uint64_t seq;
    int64_t delay_ms; /* extend: 0 = as long as a lease */
    const char *why;
};

/* True: something has changed that must be written. */
bool consumer_settle(struct consumer *self, int instance, const struct consumer_settle *settle,
                     int64_t now_ms, const struct consumer_rejects *rejects);
/* Leases that are over. True as above. */
bool consumer_due(struct consumer *self, int64_t now_ms, const struct consumer_rejects *rejects);
/* An instance goes. What it has comes again, as if its leases were over: nobody can tell one that
 * stops from one that was killed and begins by clearing up. */
bool consumer_close(struct consumer *self, int instance, int64_t now_ms,
                    const struct consumer_rejects *rejects);

/* All that is handed out waits for somebody else, uncounted. */
void consumer_release(struct consumer *self, int64_t now_ms);

/* Events up to `upto` are deleted. True: some were not settled, and there is a gap. */
bool consumer_purged(struct consumer *self, uint64_t upto);
/* The feed goes on in another lane, in a store that has come to head. */
void consumer_lane(struct consumer *self, uint64_t lane, uint64_t head);
void consumer_gap_seen(struct consumer *self);

/* The flight as bytes, and back: the names of those who had what is in it, and runs of (skipped,
 * length, state and count, when due, whose). Back, all that was leased waits, uncounted, and is
 * still known to be of whom it was. ALD_MALFORMED: the flight is empty then. */
void consumer_pack(const struct consumer *self, struct ald_buf *out);
ALD_NODISCARD enum ald_rc consumer_unpack(struct consumer *self, struct ald_span bytes);

#endif
