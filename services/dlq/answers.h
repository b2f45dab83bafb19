/* answers.h - what the desk says to questions and commands about letters: messages in, messages
 * out, the shelf between. Knows no socket. Threads: the shelf's.
 */
#ifndef ALD_DLQ_ANSWERS_H
#define ALD_DLQ_ANSWERS_H

#include <czmq.h>

#include "services/dlq/shelf.h"

struct answers {
    shelf_t *shelf;
    int64_t now_ms;
    const char *replay_note; /* what the running bulk replay waits for */
    bool work;               /* set: something became due or has to be told */
    bool replays;            /* set: a bulk replay may go on */
};

/* The answer to an encoded question: any of desk.c's that is answered at once. The caller's; NULL
 * when the question can't be read. */
zmsg_t *answers_of(struct answers *self, struct ald_span question);

/* The same of replay.start, replay.list, replay.show, replay.pause, replay.resume, replay.cancel.
 * NULL also when it is another question. */
zmsg_t *answers_of_replay(struct answers *self, struct ald_span question);

/* ---- what is said is put together of ---- */

/* Put the head in front of the views in msg; cursor "" = no more. Returns msg. */
zmsg_t *answers_head(zmsg_t *msg, uint64_t req, const char *word, const char *detail,
                     const char *cursor);
/* An answer without views that says rc in a sentence. */
zmsg_t *answers_rc(uint64_t req, enum ald_rc rc);
/* Append a letter's view; original is revision `shown`. */
void answers_view(zmsg_t *to, const struct shelf_row *row, struct ald_span original,
                  uint64_t shown);
/* A sentence, when a filter of letters is none. NULL: it is sound. */
const char *answers_list_wrong(const struct msg_letters *ask);
/* Who says so; "operator" for nobody. */
void answers_by(char out[ALD_WORD_MAX], const char *by);

/* An answer without views. */
zmsg_t *answers_plain(uint64_t req, enum ald_rc rc, const char *detail);

#endif
