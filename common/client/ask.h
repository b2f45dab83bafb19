/* ask.h - one question to the tracker that is asked until it is answered.
 *
 * Pure. At most one request of an ask is under way; the one who owns it makes the number and the
 * bytes. A request without an answer is taken for lost after a time that doubles, and asked again
 * under another number: an answer that comes late to the old one is no answer to this ask.
 */
#ifndef ALD_CLIENT_ASK_H
#define ALD_CLIENT_ASK_H

#include <stdbool.h>
#include <stdint.h>

struct ask {
    uint64_t req;     /* under way; 0 = none */
    int64_t until_ms; /* of req: then it is lost */
    int64_t again_ms; /* not to be asked before */
    unsigned tries;   /* lost or refused for now, in a row */
};

/* May it be asked now? */
bool ask_due(const struct ask *self, int64_t now_ms);
/* It was sent; its answer may take wait_ms by itself. */
void ask_sent(struct ask *self, uint64_t req, int64_t now_ms, int64_t wait_ms);
/* Answered. */
void ask_done(struct ask *self);
/* Answered: not now. */
void ask_busy(struct ask *self, int64_t now_ms);
/* True, once: what is under way is lost. */
bool ask_overdue(struct ask *self, int64_t now_ms);
/* The connection is gone, and so is what was under way. */
void ask_reset(struct ask *self);
/* When it wants to be looked at again; INT64_MAX: not by itself. */
int64_t ask_wakes_ms(const struct ask *self);

#endif
