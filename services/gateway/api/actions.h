/* actions.h - what people had this gateway do: a record of their commands, for people to look at.
 *
 * A line of JSON each, in two files that are filled in turn, so that the record is bounded: at
 * least the newest ACTIONS_FILE_MAX bytes are kept. A line is on disk when actions_add returns. It
 * is written after the command was answered: what a kill cut off in between is not in it, and
 * nothing depends on it. Commands that reach another gateway are in that one's record.
 *
 * Threads: any; a lock is held while the files are written or read.
 */
#ifndef ALD_GATEWAY_ACTIONS_H
#define ALD_GATEWAY_ACTIONS_H

#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/json_out.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum { ACTIONS_FILE_MAX = 1 << 20, ACTIONS_ASKED_MAX = 512 };

typedef struct actions actions_t;

/* One command; all borrowed. */
struct action {
    int64_t at_ms;
    const char *what;      /* method and route, with {id} */
    const char *of;        /* what stood for {id}, or "" */
    struct ald_span by;    /* who, as they said */
    struct ald_span asked; /* the body, cut at ACTIONS_ASKED_MAX bytes */
    const char *peer;
    unsigned status; /* of the answer */
};

/* The record in the files folder/actions-a.log and -b.log. Never NULL: what can't be opened is told
 * by actions_add. */
actions_t *actions_new(const char *folder);
void actions_destroy(actions_t **self_p);

/* ALD_IO: it could not be written; errno says why. */
ALD_NODISCARD enum ald_rc actions_add(actions_t *self, const struct action *action);

/* Put the members `actions` (newest first, at most limit) and `cursor` ("" = there are no more)
 * into an object that is open. before: the cursor of the page before, or "". A line that is no
 * record (half of one, after a crash) is passed over. ALD_IO: it could not be read; what could be
 * is put. */
ALD_NODISCARD enum ald_rc actions_put(actions_t *self, struct ald_json_out *out, uint64_t limit,
                                      const char *before);

#endif
