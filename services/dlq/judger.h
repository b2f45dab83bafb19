/* judger.h - what would a letter's re-injection do now? Asked of the tracker, on its channel query:
 * today's profile judges the message, and nothing is changed, on either side.
 *
 * What the letter's own rules forbid is answered without asking. At most JUDGER_MAX questions are
 * under way. Threads: the loop's.
 */
#ifndef ALD_DLQ_JUDGER_H
#define ALD_DLQ_JUDGER_H

#include <czmq.h>

#include "services/dlq/shelf.h"

enum { JUDGER_MAX = 64 };

typedef struct judger judger_t;

struct judger_options {
    shelf_t *shelf;
    const char *endpoint; /* the tracker's query channel */
    int64_t heartbeat_ms;
};

/* ALD_OK: judged says it. ALD_TIMEOUT: asked, and no answer. ALD_AGAIN: the tracker is away, for
 * two seconds by now, or can't say it. Else the letter can't be asked about. judged is borrowed for
 * the call. */
typedef void judger_done_fn(void *context, enum ald_rc rc, const struct msg_judged *judged);

ALD_NODISCARD enum ald_rc judger_new(zloop_t *loop, const struct judger_options *options,
                                     judger_t **out, struct ald_err *err);
/* Questions under way are answered ALD_AGAIN. */
void judger_destroy(judger_t **self_p);

/* Ask about the message as it is now. ALD_OK: done is called once, perhaps before this returns.
 * ALD_FULL: too many questions are under way; done is not called. */
ALD_NODISCARD enum ald_rc judger_ask(judger_t *self, const struct shelf_row *row,
                                     enum letter_word word, judger_done_fn *done, void *context);

#endif
