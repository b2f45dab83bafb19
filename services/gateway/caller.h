/* caller.h - questions of the API's threads to the other daemons, one answer each.
 *
 * A thread asks and waits with a deadline of its own; the sockets belong to the loop. Answers are
 * matched by `req`; one that comes too late is dropped. The number of questions under way is
 * bounded. Channels are those of channels.h and the control channels of daemons, `control-...`.
 *
 * Nothing is asked twice: a question that was sent and not answered may have had its effect.
 */
#ifndef ALD_GATEWAY_CALLER_H
#define ALD_GATEWAY_CALLER_H

#include <czmq.h>

#include "common/config/settings.h"
#include "proto/wire.h"

typedef struct caller caller_t;

ALD_NODISCARD enum ald_rc caller_new(zloop_t *loop, const struct ald_settings *settings,
                                     caller_t **out, struct ald_err *err);
/* Let all that wait go on, and take no more questions. */
void caller_close(caller_t *self);
/* Nobody may be in caller_ask any more. */
void caller_destroy(caller_t **self_p);

/* Ask msg, whose first member is its `uint64_t req`, and wait at most wait_ms. Any thread.
 * ALD_OK: *answer is the caller's, its first frame a head with our req.
 * ALD_AGAIN: the daemon is away and was not asked. ALD_TIMEOUT: asked, no answer. ALD_FULL: too
 * many questions under way. ALD_CLOSED: we are stopping. ALD_TOOBIG, ALD_INVALID: it can't be said.
 */
ALD_NODISCARD enum ald_rc caller_ask(caller_t *self, const char *channel,
                                     const struct ald_schema *schema, void *msg, int64_t wait_ms,
                                     zmsg_t **answer);

/* The same with frames behind the question, which are taken over and may be NULL. */
ALD_NODISCARD enum ald_rc caller_ask_with(caller_t *self, const char *channel,
                                          const struct ald_schema *schema, void *msg,
                                          zmsg_t **frames_p, int64_t wait_ms, zmsg_t **answer);

#endif
