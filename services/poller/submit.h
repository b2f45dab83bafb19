/* submit.h - the request of one submission: what the lease brought, as the profile says it is sent.
 *
 * Pure: nothing is sent from here. One thread.
 */
#ifndef ALD_POLLER_SUBMIT_H
#define ALD_POLLER_SUBMIT_H

#include "common/config/profile_request.h"
#include "services/poller/work.h"

/* Fill it in, and remember where it goes. False: it can't be, whoever tries, and err says why. */
ALD_NODISCARD bool submit_request(const struct ald_profile *profile, struct work_submit *submit,
                                  struct ald_request *out, struct ald_err *err);

/* Take addresses out of its outcome that do not lie where it was sent: the account's key goes with
 * each poll. So with an id that is an address: without it the tracker holds the task for uncertain.
 */
void submit_check(const struct ald_profile *profile, const struct work_submit *submit,
                  struct msg_outcome *out);

/* The outcome of one that can't be: it is an end. */
void submit_refused(const char *error, struct msg_outcome *out);

#endif
