/* msg_consume.h - on the channel consume: durable consumers, named readers of the feed whose place
 * is kept by the tracker. The answers are headed by msg_answer (msg_query.h) or msg_events
 * (msg_feed.h).
 *
 * Units, limits and what a span borrows: messages.h.
 */
#ifndef ALD_PROTO_MSG_CONSUME_H
#define ALD_PROTO_MSG_CONSUME_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/msg_limits.h"
#include "proto/wire.h"

/* Make a consumer, or find it. What is absent is as it is, or the default of a new one; what is
 * given and differs from the consumer that there is, is a `conflict`. */
struct msg_consumer_open {
    uint64_t req;
    char consumer[ALD_CONSUMER_MAX];
    char provider[ALD_PROVIDER_MAX]; /* filter */
    char state[ALD_WORD_MAX];        /* filter */
    char from[ALD_POSITION_MAX];     /* of a new one: new (also if absent), all, a position, or
                                        @MILLISECONDS, the first event published then or later */
    char mode[ALD_WORD_MAX];         /* shared (also if absent) or ordered */
    uint64_t max_deliver;            /* hand-outs, then a letter; 0 = 5 */
    int64_t ack_wait_ms;             /* a hand-out lasts so long; 0 = 30 s */
    uint64_t max_ack_pending;        /* events handed out at once; 0 = 1,000 */
};

/* Settle what is behind this head (msg_settle, as many as there are), then hand out events. */
struct msg_pull {
    uint64_t req;
    char consumer[ALD_CONSUMER_MAX];
    char instance[ALD_WORD_MAX];     /* which program of several that share the consumer */
    uint64_t limit;                  /* events; 0 = 100 */
    uint64_t bytes;                  /* of results, about; 0 = 1 MiB */
    int64_t wait_ms;                 /* for the first event */
    char gap_seen[ALD_POSITION_MAX]; /* gap_before of an answer before: it need not be said again */
};

/* The same without handing out anything; answered by msg_answer when it is on disk. */
struct msg_settles {
    uint64_t req;
    char consumer[ALD_CONSUMER_MAX];
    char instance[ALD_WORD_MAX];
};

/* What became of an event, or of all events from `first` to it that are handed out. */
struct msg_settle {
    uint64_t lane;
    uint64_t seq;
    uint64_t first;            /* 0 = this one alone */
    char verb[ALD_WORD_MAX];   /* ack nack reject extend */
    int64_t delay_ms;          /* nack: come again so much later; extend: lasts so long from now */
    char reason[ALD_TEXT_MAX]; /* nack, reject: a sentence for the letter */
};

/* close: this instance goes, what it holds is handed out to others. list: all, or this one.
 * delete: the consumer is forgotten. Three kinds of the same shape. */
struct msg_consumer_ref {
    uint64_t req;
    char consumer[ALD_CONSUMER_MAX];
    char instance[ALD_WORD_MAX];
};

/* A consumer, in an answer. */
struct msg_consumer {
    char consumer[ALD_CONSUMER_MAX];
    char provider[ALD_PROVIDER_MAX];
    char state[ALD_WORD_MAX];
    char mode[ALD_WORD_MAX];
    char position[ALD_POSITION_MAX]; /* all before and at it is settled */
    char handed[ALD_POSITION_MAX];   /* looked so far */
    uint64_t lag;                    /* events of the feed beyond position, of any filter */
    uint64_t pending;                /* handed out, or to be handed out again */
    uint64_t instances;              /* that asked in the last minute */
    uint64_t max_deliver;
    int64_t ack_wait_ms;
    uint64_t max_ack_pending;
    uint64_t rejected; /* events that became letters */
    int64_t made_at_ms;
    int64_t asked_at_ms;  /* last asked for events; 0 = not since the tracker's start */
    int64_t oldest_at_ms; /* when the oldest event that is not settled was published, 0 = none */
    bool sink;            /* the tracker's own, of the settings */
    char sink_state[ALD_WORD_MAX]; /* delivering down paused */
};

extern const struct ald_schema MSG_CONSUMER_OPEN;   /* consumer.open */
extern const struct ald_schema MSG_PULL;            /* consumer.pull */
extern const struct ald_schema MSG_SETTLES;         /* consumer.settle */
extern const struct ald_schema MSG_SETTLE;          /* settle */
extern const struct ald_schema MSG_CONSUMER_CLOSE;  /* consumer.close */
extern const struct ald_schema MSG_CONSUMER_LIST;   /* consumer.list */
extern const struct ald_schema MSG_CONSUMER_DELETE; /* consumer.delete */
extern const struct ald_schema MSG_CONSUMER;        /* consumer */

#endif
