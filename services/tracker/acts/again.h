/* again.h - may a task be made anew in the place of the one that a letter is about? It is paid for,
 * so a person has said so, and it is made at most once a letter. The decision, and nothing else.
 *
 *     submit_failed, submit_uncertain, expired ──buy──▶ a new task; the letter is closed as
 * replaced └──no──▶ nothing has changed, and a word says why
 *
 * The task that is replaced stays what it is: ended, or, where nobody knows whether the provider
 * has it, open; then it may still be answered, and it is never submitted again. Pure; any thread.
 */
#ifndef ALD_TRACKER_AGAIN_H
#define ALD_TRACKER_AGAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/words.h"

struct again_facts {
    bool person;         /* a person asked for it, and said that it is to be bought */
    int64_t asked_at_ms; /* wall: the attempt began; 0 = not told */
    int64_t since_ms;    /* wall: this store was put back; 0 = never */
    bool submitted;      /* aldaba submitted the task */
    bool kept;           /* and what was sent is still there */
    bool answered;       /* an answer lies in an open letter */
};

/* Is a letter with this reason about a task that may be made anew? */
bool again_reason(enum ald_reason reason);

/* NULL: it may. Else why not, a word of PROTOCOL.md. */
const char *again_unfit(const struct again_facts *facts);

#endif
