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
    char consumer[ALD_CONSUMER_MAX];
};

struct msg_attempt {
    uint64_t attempt;
    uint64_t revision;
    int64_t at_ms;
    char by[ALD_WORD_MAX]; /* schedule or who */
    char outcome[ALD_WORD_MAX];
    char detail[ALD_TEXT_MAX];
};

extern const struct ald_schema MSG_LETTERS;       /* letters */
extern const struct ald_schema MSG_LETTER_SHOW;   /* letter.show */
extern const struct ald_schema MSG_LETTER_REPLAY; /* letter.replay */
extern const struct ald_schema MSG_LETTER_DROP;   /* letter.drop */
extern const struct ald_schema MSG_LETTER_VIEW;   /* letter.view */
extern const struct ald_schema MSG_ATTEMPT;       /* attempt */

#endif
