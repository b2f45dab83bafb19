/* messages.h - every message that aldaba's processes say to each other, as plain structs.
 *
 * A message is one flat MessagePack map, `k` (kind) and `v` (version) first. The structs below are
 * what it is decoded into at the edge, once; the tables in messages.c say which key is which field.
 * docs/PROTOCOL.md tells the conversations, channels.h where they happen.
 *
 * Units: *_ms is milliseconds; *_at_ms is wall time since 1970; a plain *_ms is a length of time.
 * Strings end in NUL and hold what the wire held, at most the array's size less one; a longer one
 * does not decode. Spans are borrowed from the frame that was decoded: who keeps one copies it.
 * Task ids and counters that can pass 2^53 travel as decimal text, so that no language rounds them.
 *
 * Fields are only ever added, and added as optional ones (absent = zero, "" or empty).
 */
#ifndef ALD_PROTO_MESSAGES_H
#define ALD_PROTO_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/base/span.h"
#include "proto/wire.h"

/* The sockets of libc, and so czmq.h, have a flag of this name, which aldaba never uses. Its header
 * is included above: the flag is there already and gives way, whatever is included later. */
#undef MSG_BATCH
#define MSG_BATCH ALD_MSG_BATCH

enum {
    ALD_PROVIDER_MAX = 33,     /* profile name: [a-z0-9-]{1,32} */
    ALD_PROVIDER_ID_MAX = 129, /* the provider's own id of a task, to the letter */
    ALD_KEY_MAX = 129,         /* idempotency key, the caller's */
    ALD_META_MAX = 1025,       /* caller's note, echoed in the event */
    ALD_CODE_MAX = 257,        /* a provider's error code or text, verbatim */
    ALD_ULID_MAX = 27,         /* 26 characters of a ULID */
    ALD_WORD_MAX = 33,         /* a state, class, reason, disposition ... from a closed list */
    ALD_TEXT_MAX = 257,        /* a sentence for people */
    ALD_POSITION_MAX = 129,    /* a position in the feed, opaque to clients */
    ALD_PEER_MAX = 46,         /* an address as text */
    ALD_QUERY_MAX = 256 * 1024 /* bytes of query string */
};

/* ---- events, jobs, letters: batches that are acknowledged by number (the courier) ---- */

/* First word of a sender to a receiver, and again whenever the receiver was away. */
struct msg_hello {
    char sender[ALD_ULID_MAX];   /* durable id of the sender's numbering */
    char instance[ALD_ULID_MAX]; /* this run of it */
    char role[ALD_WORD_MAX];     /* gateway, poller, dlq or tracker */
    uint64_t floor;              /* all numbers below are settled at the sender */
    int64_t spool_oldest_ms;     /* age of the oldest spooled item, 0 = spool empty */
    uint64_t spool_items;
};

/* The receiver's answer to a hello. */
struct msg_welcome {
    char instance[ALD_ULID_MAX]; /* this run of the receiver; a new one makes the sender send again
                                  */
    uint64_t max_item;           /* bytes: an item above it can't be taken */
    struct ald_span keys;        /* to gateways: the callback keys (token.h), else empty */
};

/* Head of a batch; its items follow, a frame each. The counters are of this run of a gateway. */
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
};

/* Head of the answer to a batch; one `ack` frame an item follows. */
struct msg_acks {
    char instance[ALD_ULID_MAX];
    uint64_t batch;
};

/* What became of one item. disposition: applied progress duplicate parked dead (on disk and
 * decided), busy (send it again later), refused (quota: not stored, not counted as received).
 * For a re-injection: applied duplicate progress close the letter, `still` keeps it open. */
struct msg_ack {
    uint64_t num;
    char disposition[ALD_WORD_MAX];
    char reason[ALD_WORD_MAX]; /* with dead and still: the letter's reason */
};

/* One callback as the gateway took it, untouched. */
struct msg_callback {
    uint64_t num;
    char provider[ALD_PROVIDER_MAX];
    uint64_t task;            /* from a genuine token, 0 = none */
    uint64_t attempt;         /* from the token */
    char proof[ALD_WORD_MAX]; /* what the door proved: auth token id none */
    char fault[ALD_WORD_MAX]; /* "" or why it can't be read: malformed oversized unauthenticated */
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
    bool by_person;           /* replayed by a person, not by the schedule */
    bool believe;             /* an administrator vouches for it (unauthenticated letters only) */
    struct ald_span original; /* an encoded msg_callback, perhaps edited */
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
    struct ald_span original; /* an encoded msg_callback; empty for expired */
};

/* ---- jobs: leases out, outcomes back ---- */

/* poller -> tracker: I can take `credit` more. Said again at least every second. */
struct msg_ready {
    char poller[ALD_ULID_MAX];
    uint64_t credit;
    uint64_t busy; /* leases it works on */
    bool stopping; /* take back what I have not begun */
};

/* tracker -> poller: head of a message of leases, a `lease` frame each follows. */
struct msg_leases {
    char instance[ALD_ULID_MAX];
};

struct msg_lease {
    uint64_t lease; /* unique in this run of the tracker */
    uint64_t task;
    char provider[ALD_PROVIDER_MAX];
    char provider_id[ALD_PROVIDER_ID_MAX];
    int64_t lease_ms; /* the lease ends this long after it was received */
};

/* poller -> tracker: what a poll said (an item of a batch). A fact: applied however late. */
struct msg_outcome {
    uint64_t num;
    uint64_t lease;
    uint64_t task;
    char provider[ALD_PROVIDER_MAX];
    bool left;                 /* false: the request never left (refused, no DNS, handed back) */
    bool answered;             /* a whole HTTP answer came */
    char then[ALD_WORD_MAX];   /* profile.h: done failed pending lost code unknown ... */
    char class_[ALD_WORD_MAX]; /* class of the code: pending transient config permanent ... */
    char scope[ALD_WORD_MAX];  /* task account ip proxy */
    bool block;                /* the whole account waits for wait_ms */
    char code[ALD_CODE_MAX];
    int64_t wait_ms;
    int64_t grace_ms;
    struct ald_span result;
    bool result_json;
    uint64_t http; /* status, 0 = none */
    char error[ALD_TEXT_MAX];
    struct ald_span evidence; /* first bytes of the answer */
    int64_t took_ms;
    int64_t at_ms;
};

/* ---- query: questions and commands of the API ---- */

/* Register (provider_id given) or reserve (provider_id empty) a task. */
struct msg_register {
    uint64_t req; /* echoed in the answer */
    char provider[ALD_PROVIDER_MAX];
    char provider_id[ALD_PROVIDER_ID_MAX];
    char key[ALD_KEY_MAX];
    char digest[65]; /* of the request body, so that a key used twice for two things is seen */
    char meta[ALD_META_MAX];
    int64_t stale_after_ms;   /* 0 = the profile's */
    int64_t give_up_after_ms; /* 0 = the profile's */
};

struct msg_attach {
    uint64_t req;
    uint64_t task;
    char provider_id[ALD_PROVIDER_ID_MAX];
};

struct msg_cancel {
    uint64_t req;
    uint64_t task;
};

/* One task; with wait_ms the answer comes when it has ended or the time is up. */
struct msg_get {
    uint64_t req;
    uint64_t task;
    int64_t wait_ms;
};

struct msg_list {
    uint64_t req;
    char state[ALD_WORD_MAX];
    char provider[ALD_PROVIDER_MAX];
    char q[ALD_PROVIDER_ID_MAX]; /* an id, provider id or key, whole */
    int64_t since_ms;
    int64_t until_ms;
    uint64_t limit;
    char cursor[ALD_POSITION_MAX];
};

/* A question without arguments but one: status, audit (deep), backup (dir). */
struct msg_status {
    uint64_t req;
};

struct msg_audit {
    uint64_t req;
    bool deep;
};

struct msg_backup {
    uint64_t req;
    char dir[ALD_META_MAX];
};

/* Head of every answer; the frames after it are task_view, note, event, figure, letter_view or
 * attempt maps. rc: ok notfound exists invalid conflict busy gone full io */
struct msg_answer {
    uint64_t req;
    char rc[ALD_WORD_MAX];
    char detail[ALD_TEXT_MAX];
    char cursor[ALD_POSITION_MAX]; /* "" = no more */
    bool more;
};

struct msg_task_view {
    uint64_t task;
    char provider[ALD_PROVIDER_MAX];
    char provider_id[ALD_PROVIDER_ID_MAX];
    char key[ALD_KEY_MAX];
    char meta[ALD_META_MAX];
    char state[ALD_WORD_MAX];
    char source[ALD_WORD_MAX];
    struct ald_span result;
    bool result_json;
    char code[ALD_CODE_MAX];
    int64_t created_at_ms;
    int64_t ended_at_ms;
    int64_t stale_at_ms; /* first poll, if no callback comes */
    int64_t give_up_at_ms;
    uint64_t polls;
    char token[64]; /* callback token; "" when the task has ended */
    char position[ALD_POSITION_MAX];
};

/* A line of a task's timeline. */
struct msg_note {
    int64_t at_ms;
    char what[ALD_WORD_MAX]; /* created attached callback poll result cancelled letter ... */
    char text[ALD_TEXT_MAX];
};

/* A number of the status or of the books. */
struct msg_figure {
    char group[ALD_WORD_MAX]; /* arrivals tasks letters gateway status provider poller ... */
    char name[ALD_KEY_MAX];   /* such as received, or <provider>.pending */
    int64_t value;
    char text[ALD_TEXT_MAX]; /* with figures that are words */
};

/* ---- consume and feed: results ---- */

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
};

/* A task's end. The one message that other people's programs read: names in interfaces.md. */
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
};

/* Once a second on the feed, topic `head.`: where the feed stands. */
struct msg_head {
    char position[ALD_POSITION_MAX];
    int64_t at_ms;
};

/* ---- letters: the desk ---- */

struct msg_letters {
    uint64_t req;
    char reason[ALD_WORD_MAX];
    char provider[ALD_PROVIDER_MAX];
    char state[ALD_WORD_MAX]; /* open held resolved dropped; "" = open and held */
    uint64_t task;
    uint64_t limit;
    char cursor[ALD_POSITION_MAX];
};

/* show, replay or drop one letter: three kinds of the same shape. */
struct msg_letter_ref {
    uint64_t req;
    char letter[ALD_ULID_MAX];
    bool believe; /* replay only */
    char by[ALD_WORD_MAX];
};

struct msg_letter_view {
    char letter[ALD_ULID_MAX];
    char reason[ALD_WORD_MAX];
    char cause[ALD_TEXT_MAX];
    char state[ALD_WORD_MAX]; /* open held resolved dropped */
    char outcome[ALD_WORD_MAX];
    char provider[ALD_PROVIDER_MAX];
    uint64_t task;
    char provider_id[ALD_PROVIDER_ID_MAX];
    char proof[ALD_WORD_MAX];
    int64_t made_at_ms;
    int64_t due_at_ms; /* next re-injection, 0 = none by schedule */
    int64_t closed_at_ms;
    uint64_t attempts;
    uint64_t revision;
    struct ald_span original; /* only when one letter is asked for */
};

struct msg_attempt {
    uint64_t attempt;
    uint64_t revision;
    int64_t at_ms;
    char by[ALD_WORD_MAX]; /* schedule or who */
    char outcome[ALD_WORD_MAX];
    char detail[ALD_TEXT_MAX];
};

/* ---- control: every daemon ---- */

/* what: health, metrics or drain. The answer's detail or the blob frame after it says it. */
struct msg_control {
    uint64_t req;
    char what[ALD_WORD_MAX];
};

struct msg_blob {
    struct ald_span bytes;
};

/* Kinds on the wire. One schema a kind; two kinds may share a struct. */
extern const struct ald_schema MSG_HELLO;         /* hello */
extern const struct ald_schema MSG_WELCOME;       /* welcome */
extern const struct ald_schema MSG_BATCH;         /* batch */
extern const struct ald_schema MSG_ACKS;          /* acks */
extern const struct ald_schema MSG_ACK;           /* ack */
extern const struct ald_schema MSG_CALLBACK;      /* callback */
extern const struct ald_schema MSG_REINJECT;      /* reinject */
extern const struct ald_schema MSG_CLOSING;       /* closing */
extern const struct ald_schema MSG_LETTER;        /* letter */
extern const struct ald_schema MSG_READY;         /* ready */
extern const struct ald_schema MSG_LEASES;        /* leases */
extern const struct ald_schema MSG_LEASE;         /* lease */
extern const struct ald_schema MSG_OUTCOME;       /* outcome */
extern const struct ald_schema MSG_REGISTER;      /* register */
extern const struct ald_schema MSG_ATTACH;        /* attach */
extern const struct ald_schema MSG_CANCEL;        /* cancel */
extern const struct ald_schema MSG_GET;           /* get */
extern const struct ald_schema MSG_LIST;          /* list */
extern const struct ald_schema MSG_STATUS;        /* status */
extern const struct ald_schema MSG_AUDIT;         /* audit */
extern const struct ald_schema MSG_BACKUP;        /* backup */
extern const struct ald_schema MSG_ANSWER;        /* answer */
extern const struct ald_schema MSG_TASK_VIEW;     /* task */
extern const struct ald_schema MSG_NOTE;          /* note */
extern const struct ald_schema MSG_FIGURE;        /* figure */
extern const struct ald_schema MSG_FETCH;         /* fetch */
extern const struct ald_schema MSG_EVENTS;        /* events */
extern const struct ald_schema MSG_EVENT;         /* event */
extern const struct ald_schema MSG_HEAD;          /* head */
extern const struct ald_schema MSG_LETTERS;       /* letters */
extern const struct ald_schema MSG_LETTER_SHOW;   /* letter.show */
extern const struct ald_schema MSG_LETTER_REPLAY; /* letter.replay */
extern const struct ald_schema MSG_LETTER_DROP;   /* letter.drop */
extern const struct ald_schema MSG_LETTER_VIEW;   /* letter.view */
extern const struct ald_schema MSG_ATTEMPT;       /* attempt */
extern const struct ald_schema MSG_CONTROL;       /* control */
extern const struct ald_schema MSG_BLOB;          /* blob */

/* All of them, ended by NULL: for tests, documents and dispatch. */
extern const struct ald_schema *const ALD_SCHEMAS[];

#endif
