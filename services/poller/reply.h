/* reply.h - the bytes of one HTTP answer as they come, within bounds of its own and of all answers
 * under way together.
 *
 * Pure; it does not parse beyond knowing whether the headers are all there, which libcurl does not
 * ask for. One thread.
 */
#ifndef ALD_POLLER_REPLY_H
#define ALD_POLLER_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"

enum {
    REPLY_HEADER_MAX = 64 << 10, /* bytes of status line and headers */
    REPLY_HEAD_MAX = 8 << 10     /* of them those that are kept */
};

/* Of all replies together; zero held at first. */
struct reply_budget {
    size_t held_bytes;
    size_t max_bytes;
};

struct reply {
    struct ald_buf body;
    struct ald_buf head; /* header lines as they came, whole ones, as many as there is room for */
    size_t header_bytes;
    bool too_big;
    bool crowded; /* the budget is used up */
    bool head_whole;
};

void reply_init(struct reply *self);

/* Free it; nothing of it may be held in a budget. */
void reply_free(struct reply *self);

/* Get ready for an answer of at most max_bytes. */
void reply_begin(struct reply *self, size_t max_bytes);

/* Forget the answer and give its bytes back. */
void reply_end(struct reply *self, struct reply_budget *budget);

/* Take a header line, or bytes of the body. False: it is over a bound, and reply_fault says which.
 * What fits of a body that is too big is kept. */
bool reply_take_header(struct reply *self, const char *data, size_t len);
bool reply_take_body(struct reply *self, struct reply_budget *budget, const char *data, size_t len);

/* What is wrong with it so far, for people; NULL: nothing. */
const char *reply_fault(const struct reply *self);

#endif
