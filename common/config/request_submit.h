/* request_submit.h - the request of a submission: what the caller gives, the profile's own
 * parameters over it, and our callback URL where the profile says. Nothing is sent from here. Any
 * thread.
 */
#ifndef ALD_CONFIG_REQUEST_SUBMIT_H
#define ALD_CONFIG_REQUEST_SUBMIT_H

#include "common/config/ruled.h"

/* Contract of ald_profile_request. A parameter that the profile's ${param.NAME} uses is not given a
 * second time. */
ALD_NODISCARD enum ald_rc ald_request_submit(const struct ald_ruled *ruled,
                                             const struct ald_request_in *in,
                                             struct ald_request *out);

/* The same by another form of the profile's. */
ALD_NODISCARD enum ald_rc ald_request_given(const struct ald_ruled *ruled,
                                            const struct ald_request_form *form,
                                            const struct ald_request_in *in,
                                            struct ald_request *out);

#endif
