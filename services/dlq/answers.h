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
    bool work; /* set: something became due or has to be told */
};

/* The answer to an encoded question: letters, letter.show, letter.replay, letter.drop or status.
 * The caller's; NULL when the question can't be read. */
zmsg_t *answers_of(struct answers *self, struct ald_span question);

/* An answer without views. */
zmsg_t *answers_plain(uint64_t req, enum ald_rc rc, const char *detail);

#endif
