/* call.h - a request of a client's own, by a lease as if it were a poll: what is sent, and what is
 * told of the answer, which is not judged but for trouble with the account. Pure; any thread.
 */
#ifndef ALD_POLLER_CALL_H
#define ALD_POLLER_CALL_H

#include "common/config/profile_request.h"
#include "services/poller/fetch.h"
#include "services/poller/work.h"

/* Write it. NULL; else why it can't be, static. */
const char *call_request(const struct ald_profile *profile, const struct work_item *item,
                         struct ald_request *out);

/* The outcome that the answer was judged to be, as that of a call: the answer as it came. */
void call_answered(const struct fetch_answer *answer, struct msg_outcome *out);

#endif
