/* jwks.h - public keys of a provider, by a lease as if it were a poll: what is asked, and what is
 * told of the answer, which the tracker reads.
 *
 * The address is that of this poller's own profile, so nobody on the bus can send it elsewhere. No
 * secret goes with it. Pure; any thread.
 */
#ifndef ALD_POLLER_JWKS_H
#define ALD_POLLER_JWKS_H

#include "common/config/profile.h"
#include "services/poller/fetch.h"
#include "services/poller/work.h"

enum { JWKS_TIMEOUT_MS = 10000 };

/* Write it; the address is borrowed from the profile. done and arg stay as they are. NULL; else why
 * it can't be, static. */
const char *jwks_request(const struct ald_profile *profile, struct fetch_request *out);

/* The outcome of it, borrowing from profile and answer. */
void jwks_answered(const struct ald_profile *profile, const struct fetch_answer *answer,
                   struct msg_outcome *out);

#endif
