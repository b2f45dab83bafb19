/* msg_courier.h - on the channels events, jobs and letters: a sender says hello, then sends batches
 * whose items are acknowledged by number. And the items themselves, but for a poller's outcomes
 * (msg_jobs.h).
 *
 * Units, limits and what a span borrows: messages.h.
 */
#ifndef ALD_PROTO_MSG_COURIER_H
#define ALD_PROTO_MSG_COURIER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/base/span.h"
#include "proto/msg_limits.h"
#include "proto/wire.h"

/* In the place of the instance of a gateway's run that gives no numbers, only sends what another
 * one has left. */
#define MSG_NUMBERLESS "00000000000000000000000000"

/* The sockets of libc, and so czmq.h, have a flag of this name, which aldaba never uses. Its header
 * is included above: the flag is there already and gives way, whatever is included later. */
#undef MSG_BATCH
#define MSG_BATCH ALD_MSG_BATCH

/* First word of a sender to a receiver, and again whenever the receiver was away. */
struct msg_hello {
    char sender[ALD_ULID_MAX];   /* durable id of the sender's numbering */
    char instance[ALD_ULID_MAX]; /* this run of it */
    char role[ALD_WORD_MAX];     /* gateway, poller, dlq or tracker */
    uint64_t floor;              /* all numbers below are settled at the sender */
    int64_t spool_oldest_ms;     /* age of the oldest spooled item, 0 = spool empty */
    uint64_t spool_items;
    uint64_t jwks; /* of a gateway: which public keys of providers it has, as told; 1 = none */
    char lacks[ALD_PROVIDER_MAX]; /* and one whose callback they were not good for; "" = none */
};

/* The receiver's answer to a hello. To a gateway it also comes unasked, and a `jwks` frame for each
 * provider follows, when the gateway has other public keys than these. */
struct msg_welcome {
    char instance[ALD_ULID_MAX]; /* this run of the receiver; a new one makes the sender send again
                                  */
    uint64_t max_item;           /* bytes: an item above it can't be taken */
    struct ald_span keys;        /* to gateways: the callback keys (token.h), else empty */
    uint64_t jwks;               /* and which public keys of providers are in force */
    bool joined;                 /* it takes batches whose frames hold several items (joined.h) */
    uint64_t seen; /* to gateways: it knows this number of the sender's, and none above */
    bool renumber; /* to gateways: a later run speaks by this id; take another one */
};

/* Public keys of a provider's, as they were fetched from the address that its profile names. */
struct msg_jwks {
    char provider[ALD_PROVIDER_MAX];
    char url[ALD_URL_MAX];
    int64_t fetched_at_ms;
    struct ald_span keys; /* one behind the other, 32 bytes each */
};

/* Head of a batch; its items follow, a frame each or joined. The counters are of this run of a
 * gateway. */
struct msg_batch {
    char sender[ALD_ULID_MAX];
    char instance[ALD_ULID_MAX];
    uint64_t batch; /* number of this batch in this run, echoed in the acks */
    uint64_t floor;
    int64_t spool_oldest_ms;
    uint64_t spool_items;
    uint64_t answered;     /* 2xx answers begun */
    uint64_t acknowledged; /* of those, because the tracker had it on disk */
    uint64_t spooled;      /* of those, because the spool had it on disk */
    uint64_t unanswered;   /* on disk, but the client was gone */
    uint64_t refused;      /* answered 503 */
    uint64_t jwks;         /* as in hello */
    char lacks[ALD_PROVIDER_MAX];
};

/* Head of the answer to a batch; one `ack` frame an item follows. */
struct msg_acks {
    char instance[ALD_ULID_MAX];
    uint64_t batch;
};

/* What became of one item, or of several that are numbered one after the other. disposition:
 * applied progress duplicate parked dead (on disk and decided), busy (send it again later), refused
 * (quota: not stored, not counted as received). For a re-injection: applied duplicate progress
 * replaced corrected close the letter, `still` keeps it open. */
struct msg_ack {
    uint64_t num;
    char disposition[ALD_WORD_MAX];
    char reason[ALD_WORD_MAX]; /* with dead and still: the letter's reason, or why nothing was
                                * bought or published; with replaced: the new task */
    uint64_t count; /* num, num + 1 ... so many of them; 0 = one. At most ALD_ACK_COUNT_MAX */
    uint64_t task;  /* with cause: the task that the letter is about, 0 = none is known */
    char cause[ALD_TEXT_MAX]; /* with still: why the letter is one now, for that reason */
};

enum { ALD_ACK_COUNT_MAX = 512 };

/* One callback as the gateway took it, untouched. */
struct msg_callback {
    uint64_t num;
    char provider[ALD_PROVIDER_MAX];
    uint64_t task;            /* from a genuine token, 0 = none */
    uint64_t attempt;         /* from the token */
    char proof[ALD_WORD_MAX]; /* what the door proved: auth token id none */
    char fault[ALD_WORD_MAX]; /* "" or why it can't be read: malformed oversized
                               * unauthenticated unstored */
    char detail[ALD_TEXT_MAX];
    char method[ALD_WORD_MAX];
    char path[ALD_TEXT_MAX]; /* with {token} in place of the token */
    struct ald_span query;   /* raw, not decoded */
    char content_type[ALD_TEXT_MAX];
    struct ald_span headers; /* "Name: value\n" of the profile's allow-list */
    struct ald_span body;    /* raw */
    char peer[ALD_PEER_MAX];
    int64_t received_at_ms;
    bool spooled; /* was answered 2xx from the spool: must be taken */
    char trace[ALD_TEXT_MAX];
};

/* dlq -> tracker: judge this letter's message again. */
struct msg_reinject {
    uint64_t num;
    char letter[ALD_ULID_MAX];
    uint64_t attempt;
    uint64_t revision;
    char reason[ALD_WORD_MAX];
    bool by_person; /* replayed by a person, not by the schedule */
    bool believe;   /* an administrator vouches for it (unauthenticated letters only) */
    struct ald_span
        original;        /* an encoded msg_callback, perhaps edited; empty where there is none */
    bool buy;            /* make the task anew, which is paid for */
    bool publish;        /* publish what the letter holds, as a correction */
    int64_t asked_at_ms; /* with buy: when the attempt began */
};

/* dlq -> tracker: a letter was closed without effect. */
struct msg_closing {
    uint64_t num;
    char letter[ALD_ULID_MAX];
    char state[ALD_WORD_MAX]; /* dropped or resolved */
    int64_t at_ms;
};

/* tracker -> dlq: a message that needs judgement. */
struct msg_letter {
    uint64_t num;
    char letter[ALD_ULID_MAX];
    char reason[ALD_WORD_MAX];
    char cause[ALD_TEXT_MAX]; /* one sentence: why */
    char provider[ALD_PROVIDER_MAX];
    uint64_t task; /* 0 = none */
    char provider_id[ALD_PROVIDER_ID_MAX];
    char proof[ALD_WORD_MAX];
    int64_t made_at_ms;
    struct ald_span original; /* an encoded msg_callback, or the msg_event that a consumer did not
                                 take; empty for expired */
    char consumer[ALD_CONSUMER_MAX]; /* consumer_rejected: whose letter it is */
};

extern const struct ald_schema MSG_HELLO;    /* hello */
extern const struct ald_schema MSG_WELCOME;  /* welcome */
extern const struct ald_schema MSG_JWKS;     /* jwks */
extern const struct ald_schema MSG_BATCH;    /* batch */
extern const struct ald_schema MSG_ACKS;     /* acks */
extern const struct ald_schema MSG_ACK;      /* ack */
extern const struct ald_schema MSG_CALLBACK; /* callback */
extern const struct ald_schema MSG_REINJECT; /* reinject */
extern const struct ald_schema MSG_CLOSING;  /* closing */
extern const struct ald_schema MSG_LETTER;   /* letter */

#endif
