/* msg_feed.h - on the channels feed and consume: results, as hints when they happen and by position
 * whenever they are asked for.
 *
 * Units, limits and what a span borrows: messages.h.
 */
#ifndef ALD_PROTO_MSG_FEED_H
#define ALD_PROTO_MSG_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/span.h"
#include "proto/msg_limits.h"
#include "proto/wire.h"

/* Read the feed: events after a position, in order. With wait_ms the answer waits for the first. */
struct msg_fetch {
    uint64_t req;
    char after[ALD_POSITION_MAX]; /* "" or "all" = the oldest kept, "new" = the head */
    char provider[ALD_PROVIDER_MAX];
    char state[ALD_WORD_MAX];
    uint64_t limit; /* events */
    uint64_t bytes; /* of results */
    int64_t wait_ms;
};

/* Head of the answer to a fetch; an `event` frame each follows. position: scanned to here, also
 * when nothing matched. gap: events before the first were purged. */
struct msg_events {
    uint64_t req;
    char rc[ALD_WORD_MAX];
    char detail[ALD_TEXT_MAX];
    char position[ALD_POSITION_MAX];
    char head[ALD_POSITION_MAX];
    bool gap;
    char gap_before[ALD_POSITION_MAX]; /* of a consumer: what it has not seen before here is gone */
    char gap_why[ALD_WORD_MAX];        /* retention lane */
};

/* A task's end. The one message that other people's programs read: names in docs/PROTOCOL.md. */
struct msg_event {
    uint64_t lane;
    uint64_t seq;
    uint64_t prev; /* last seq of the same topic; hints only */
    uint64_t task;
    char provider[ALD_PROVIDER_MAX];
    char provider_id[ALD_PROVIDER_ID_MAX];
    char key[ALD_KEY_MAX];
    char meta[ALD_META_MAX];
    char state[ALD_WORD_MAX];       /* done failed lost expired cancelled */
    struct ald_span result;         /* byte for byte what the provider sent as the answer */
    char result_type[ALD_WORD_MAX]; /* text json */
    char code[ALD_CODE_MAX];
    char source[ALD_WORD_MAX]; /* callback late poll replay manual */
    int64_t received_ms;       /* wall time; these two names are older than the _at_ms rule */
    int64_t published_ms;
    char trace[ALD_TEXT_MAX];
    uint64_t deliveries; /* to a consumer: how often it was handed out, this time included */
    bool redelivered;    /* to a consumer: it may have had it, or it comes out of its order */
    char corrects[ALD_POSITION_MAX]; /* the event of the same task that this one takes the place of
                                      */
    char consumer[ALD_CONSUMER_MAX]; /* in letters: who did not take it */
    uint64_t prev_all;               /* last seq before it; hints only, as the next two */
    uint64_t prev_provider;          /* last seq of the same provider */
    char position[ALD_POSITION_MAX]; /* up to this event */
};

/* Once a second on the feed, topic `head.`: where the feed stands. */
struct msg_head {
    char position[ALD_POSITION_MAX];
    int64_t at_ms;
};

extern const struct ald_schema MSG_FETCH;  /* fetch */
extern const struct ald_schema MSG_EVENTS; /* events */
extern const struct ald_schema MSG_EVENT;  /* event */
extern const struct ald_schema MSG_HEAD;   /* head */

#endif
