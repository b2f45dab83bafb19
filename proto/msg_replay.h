/* msg_replay.h - on the channel letters: bulk replays, each a job of the dlq's that has all letters
 * of a filter tried again, at a rate. The answers are headed by msg_answer (msg_query.h).
 *
 * Units, limits and what a span borrows: messages.h.
 */
#ifndef ALD_PROTO_MSG_REPLAY_H
#define ALD_PROTO_MSG_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/msg_limits.h"
#include "proto/wire.h"

/* Begin one; the filters are those of msg_letters. */
struct msg_replay_start {
    uint64_t req;
    char reason[ALD_WORD_MAX];
    char provider[ALD_PROVIDER_MAX];
    char letter_state[ALD_WORD_MAX]; /* open or held; "" = both */
    uint64_t task;
    int64_t since_ms;
    int64_t until_ms;
    char q[ALD_KEY_MAX];
    char consumer[ALD_CONSUMER_MAX];
    uint64_t rate; /* letters a second; 0 = 50 */
    bool believe;
    bool dry_run; /* say what would become of them, and do nothing */
    char by[ALD_WORD_MAX];
    bool buy;     /* make the tasks of those that need it anew: each is paid for */
    bool publish; /* as corrections; of the three words a bulk replay has one */
};

/* show, pause, resume or cancel one: kinds of the same shape. */
struct msg_replay_ref {
    uint64_t req;
    char replay[ALD_ULID_MAX];
    char by[ALD_WORD_MAX];
};

/* All of them, newest first. */
struct msg_replay_list {
    uint64_t req;
    uint64_t limit;
    char cursor[ALD_POSITION_MAX];
};

/* How one stands; in an answer its counts follow. */
struct msg_replay {
    char replay[ALD_ULID_MAX];
    char state[ALD_WORD_MAX]; /* queued running paused done cancelled */
    char reason[ALD_WORD_MAX];
    char provider[ALD_PROVIDER_MAX];
    char letter_state[ALD_WORD_MAX];
    uint64_t task;
    int64_t since_ms;
    int64_t until_ms;
    char q[ALD_KEY_MAX];
    char consumer[ALD_CONSUMER_MAX];
    uint64_t rate;
    bool believe;
    bool dry_run;
    char by[ALD_WORD_MAX];
    int64_t made_at_ms;
    int64_t begun_at_ms; /* 0 = not yet */
    int64_t ended_at_ms;
    char bound[ALD_ULID_MAX];  /* the newest letter that it may take */
    char cursor[ALD_ULID_MAX]; /* the last one that it has looked at */
    uint64_t total;            /* letters that it had to look at, as counted at its start */
    uint64_t scanned;          /* and has */
    uint64_t seen;             /* of those, that match */
    uint64_t replayed;         /* of those, that were planned; in a dry run: judged */
    uint64_t answered;         /* of those, that have an outcome */
    uint64_t skipped;          /* seen and not planned */
    char note[ALD_TEXT_MAX];   /* what it waits for */
    bool buy;
    bool publish;
};

/* So many letters of this reason came to this result. */
struct msg_replay_count {
    char replay[ALD_ULID_MAX];
    char result[ALD_WORD_MAX]; /* applied duplicate progress still ... or skipped */
    char reason[ALD_WORD_MAX]; /* of the letters */
    char why[ALD_WORD_MAX];    /* with skipped */
    uint64_t count;
};

extern const struct ald_schema MSG_REPLAY_START;  /* replay.start */
extern const struct ald_schema MSG_REPLAY_SHOW;   /* replay.show */
extern const struct ald_schema MSG_REPLAY_LIST;   /* replay.list */
extern const struct ald_schema MSG_REPLAY_PAUSE;  /* replay.pause */
extern const struct ald_schema MSG_REPLAY_RESUME; /* replay.resume */
extern const struct ald_schema MSG_REPLAY_CANCEL; /* replay.cancel */
extern const struct ald_schema MSG_REPLAY;        /* replay */
extern const struct ald_schema MSG_REPLAY_COUNT;  /* replay.count */

#endif
