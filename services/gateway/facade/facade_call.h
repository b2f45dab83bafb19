/* facade_call.h - what a client of the facade asks and only the provider can answer: a balance,
 * what it thinks of an answer, anything else. It goes there by a poller, within the account's
 * budget, and the provider's answer comes back as it is.
 *
 * What the client thinks of an answer is said once: a second time is told to be one. Threads: the
 * request's, which waits.
 */
#ifndef ALD_GATEWAY_FACADE_CALL_H
#define ALD_GATEWAY_FACADE_CALL_H

#include "services/gateway/api/api_call.h"
#include "services/gateway/facade/facade_ask.h"

/* Ask the provider. NULL: out has its answer; else the protocol's word for why there is none. */
const char *facade_call(struct api_call *call, const char *provider, const struct facade_ask *ask,
                        const struct facade_fields *fields, struct ald_buf *out);

#endif
