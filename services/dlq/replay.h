/* replay.h - a bulk replay: which letters it takes, how fast, and when it is over.
 *
 * It looks at the live letters from the oldest to the one that was the newest at its start, each
 * once, and asks for an attempt of those that match and may be tried. What it has looked at and
 * what it has asked for are committed together, and so are an attempt's answer and its count: a
 * kill at any point neither skips a letter nor counts one twice. No more than REPLAY_WINDOW of its
 * attempts wait for an answer at once, which is also what is still tried after it was paused or
 * cancelled.
 *
 * Pure: knows no store, socket or clock. Any thread.
 */
#ifndef ALD_DLQ_REPLAY_H
#define ALD_DLQ_REPLAY_H

#include "proto/messages.h"
#include "services/dlq/letters.h"

enum { REPLAY_WINDOW = 200, REPLAY_RATE = 50, REPLAY_RATE_MAX = 1000, REPLAY_UNFINISHED_MAX = 100 };

enum replay_state {
    REPLAY_QUEUED, /* another one runs */
    REPLAY_RUNNING,
    REPLAY_PAUSED,
    REPLAY_DONE,
    REPLAY_CANCELLED,
    REPLAY_STATES
};

struct replay {
    char id[ALD_ULID_MAX];
    enum replay_state state;
    struct msg_letters filter; /* its req, limit and cursor mean nothing */
    uint64_t rate;             /* letters a second */
    enum letter_word word;     /* that is said with each */
    bool dry_run;
    char by[ALD_WORD_MAX];
    int64_t made_at_ms;
    int64_t begun_at_ms; /* 0 = not yet */
    int64_t ended_at_ms;
    char bound[ALD_ULID_MAX];  /* the last letter to look at; "" = there is none */
    char cursor[ALD_ULID_MAX]; /* the last one looked at; "" = none yet */
    uint64_t total;            /* live letters at its start */
    uint64_t scanned;          /* looked at */
    uint64_t seen;             /* of those, that match the filter */
    uint64_t replayed;         /* of those, asked for (in a dry run: judged) */
    uint64_t answered;         /* of those, with an outcome */
    uint64_t skipped;          /* seen, and not asked for */
};

/* Each false: it has ended, and nothing changed. */
ALD_NODISCARD bool replay_pause(struct replay *self);
ALD_NODISCARD bool replay_resume(struct replay *self);
ALD_NODISCARD bool replay_cancel(struct replay *self, int64_t now_ms);

/* One that waits begins. */
void replay_begin(struct replay *self, int64_t now_ms);

/* Ask for an attempt of a letter that matches. "": it is planned, and counted. Else the word for
 * why it was skipped, which is counted, too. */
const char *replay_take(struct replay *self, struct letter *letter, int64_t now_ms);

/* It has looked at so many letters, up to cursor; end: there are no more below its bound. */
void replay_looked(struct replay *self, const char *cursor, uint64_t scanned, bool end);
/* Has it looked at all? */
bool replay_looked_through(const struct replay *self);
/* End it, when there is nothing to look at and nothing to wait for. */
bool replay_over(struct replay *self, int64_t now_ms);

/* How many attempts may be asked for before one is answered. */
uint64_t replay_room(const struct replay *self);

static inline bool replay_ended(enum replay_state state)
{
    return state == REPLAY_DONE || state == REPLAY_CANCELLED;
}

const char *replay_state_name(enum replay_state state);
ALD_NODISCARD bool replay_state_find(const char *word, enum replay_state *out);

/* Its rate: a bucket that begins empty and holds a fifth of a second. */
struct replay_pace {
    int64_t at_ms; /* 0 = not begun */
    int64_t milli; /* thousandths of letters */
};

/* How many letters may be taken now. */
uint64_t replay_pace_room(struct replay_pace *self, uint64_t rate, int64_t mono_ms);
void replay_pace_use(struct replay_pace *self, uint64_t letters);

#endif
