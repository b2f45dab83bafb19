/* api_submit.h - what POST /v1/tasks does beside registering: takes params and files out of the
 * body, as they are written, and withdraws a submission that nobody waits for.
 *
 * What is in them is checked as far as any profile could use it; what a profile makes of it is the
 * poller's business. Threads: the request's.
 */
#ifndef ALD_GATEWAY_API_SUBMIT_H
#define ALD_GATEWAY_API_SUBMIT_H

#include "services/gateway/api/api_call.h"

/* The two parts of a body, both the caller's to free. */
struct api_submit {
    struct ald_buf rest; /* the object without params and files */
    struct ald_buf
        submission; /* {"params": ..., "files": ...}, numbers by lexeme; empty: neither */
};

void api_submit_init(struct api_submit *self);
void api_submit_free(struct api_submit *self);

/* Take worker->body apart. False: a problem was answered. */
ALD_NODISCARD bool api_submit_read(struct api_call *call, struct api_submit *out);

/* Give the registration of this ticket up. A sentence of what became of it, static. */
const char *api_submit_withdraw(struct api_call *call, const char *ticket);

#endif
