/* msg_desk.h - on the channel letters: what people and the API ask of the dead letter queue. The
 * answers are headed by msg_answer (msg_query.h).
 *
 * Units, limits and what a span borrows: messages.h.
 */
#ifndef ALD_PROTO_MSG_DESK_H
#define ALD_PROTO_MSG_DESK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/span.h"
#include "proto/msg_limits.h"
#include "proto/wire.h"

struct msg_letters {
    uint64_t req;
    char reason[ALD_WORD_MAX];
    char provider[ALD_PROVIDER_MAX];
    char state[ALD_WORD_MAX]; /* open held resolved dropped; "" = open and held */
    uint64_t task;
    uint64_t limit;
    char cursor[ALD_POSITION_MAX];
    int64_t since_ms; /* made at or after, and before; 0 = whenever */
    int64_t until_ms;
    char q[ALD_KEY_MAX]; /* stands in the cause, the ids or the message as it is now */
    char consumer[ALD_CONSUMER_MAX];
};

/* show, replay, drop or judge one letter: kinds of the same shape. */
struct msg_letter_ref {
    uint64_t req;
    char letter[ALD_ULID_MAX];
    bool believe; /* replay and judge only */
    char by[ALD_WORD_MAX];
    uint64_t revision; /* show only: which message; 0 = as it is now */
    bool buy;          /* replay and judge only: a new task, which is paid for */
    bool publish;      /* replay and judge only: as a correction */
};

/* Put other bytes in a message's place. Only what is set is changed; the revisions before stay. */
struct msg_letter_edit {
    uint64_t req;
    char letter[ALD_ULID_MAX];
    uint64_t revision; /* that was looked at: another came since, and nothing is changed */
    char by[ALD_WORD_MAX];
    bool set_query;
    bool set_body;
    bool set_content_type;
    bool set_headers;
    struct ald_span query;
    struct ald_span body;
    char content_type[ALD_TEXT_MAX];
    struct ald_span headers; /* "Name: value\n" */
};

/* Open and held letters by reason, cause and provider. */
struct msg_letter_groups {
    uint64_t req;
    char reason[ALD_WORD_MAX];
    char provider[ALD_PROVIDER_MAX];
    uint64_t limit;
    char cursor[ALD_POSITION_MAX];
};

struct msg_letter_group {
    char reason[ALD_WORD_MAX];
    char cause[ALD_TEXT_MAX];
    char provider[ALD_PROVIDER_MAX];
    uint64_t count;
    int64_t oldest_at_ms;
    int64_t newest_at_ms;
    char example[ALD_ULID_MAX]; /* the newest */
};

/* dlq -> tracker, on query: what would a re-injection of this letter do now? Nothing is changed. */
struct msg_judge {
    uint64_t req;
    char letter[ALD_ULID_MAX];
    uint64_t revision;
    char reason[ALD_WORD_MAX];
    bool believe;
    struct ald_span original; /* empty where the letter has none */
    bool buy;
    bool publish;
};

/* What a re-injection would do. */
struct msg_judged {
    char letter[ALD_ULID_MAX];
    char disposition[ALD_WORD_MAX];        /* as of its ack; "" = it is not done at all */
    char reason[ALD_WORD_MAX];             /* with still */
    char why[ALD_TEXT_MAX];                /* a sentence: why not, or what stands in the way */
    uint64_t task;                         /* that it is about; 0 = none is known */
    char task_state[ALD_WORD_MAX];         /* of that task, now */
    char state[ALD_WORD_MAX];              /* that it would get; "" = it stays as it is */
    char provider_id[ALD_PROVIDER_ID_MAX]; /* that the message names */
    char then[ALD_WORD_MAX];               /* what the rules say: done failed pending fetch ... */
    char rule[ALD_WORD_MAX];               /* which one fired; "" = none */
    char code[ALD_CODE_MAX];
    char code_row[ALD_TEXT_MAX]; /* of the profile's table */
    char code_class[ALD_WORD_MAX];
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
    char consumer[ALD_CONSUMER_MAX];
    uint64_t shown; /* the revision that original is; 0 = the newest */
};

/* A line of a letter's history. */
struct msg_attempt {
    uint64_t attempt; /* its number; 0 = something else happened, see what */
    uint64_t revision;
    int64_t at_ms;
    char by[ALD_WORD_MAX]; /* schedule or who */
    char outcome[ALD_WORD_MAX];
    char detail[ALD_TEXT_MAX];
    char what[ALD_WORD_MAX];   /* made edited closed; "" = an attempt */
    char replay[ALD_ULID_MAX]; /* the bulk replay that asked for it */
};

extern const struct ald_schema MSG_LETTERS;       /* letters */
extern const struct ald_schema MSG_LETTER_SHOW;   /* letter.show */
extern const struct ald_schema MSG_LETTER_REPLAY; /* letter.replay */
extern const struct ald_schema MSG_LETTER_DROP;   /* letter.drop */
extern const struct ald_schema MSG_LETTER_VIEW;   /* letter.view */
extern const struct ald_schema MSG_ATTEMPT;       /* attempt */
extern const struct ald_schema MSG_LETTER_JUDGE;  /* letter.judge */
extern const struct ald_schema MSG_LETTER_EDIT;   /* letter.edit */
extern const struct ald_schema MSG_LETTER_GROUPS; /* letter.groups */
extern const struct ald_schema MSG_LETTER_GROUP;  /* letter.group */
extern const struct ald_schema MSG_JUDGE;         /* judge */
extern const struct ald_schema MSG_JUDGED;        /* judged */

#endif
