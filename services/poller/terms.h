/* terms.h - what a request of the poller may take, and in words why one can't be made. Any thread.
 */
#ifndef ALD_POLLER_TERMS_H
#define ALD_POLLER_TERMS_H

#include "common/config/profile.h"
#include "common/config/settings.h"

/* The least of what profile, poller and lease allow. */
int64_t terms_timeout(const struct ald_settings *settings, const struct ald_profile *profile,
                      int64_t rest_ms);

/* A sentence for what ald_profile_request returned, static. */
const char *terms_why(enum ald_rc rc);

/* Requests under way within what the process may open: libzmq ends it when descriptors run out. */
size_t terms_under_way(int64_t wanted);

#endif
