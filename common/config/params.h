/* params.h - what the caller gave for a task beside its id, as far as asking for it takes it: the
 * members of a JSON object that a profile's polls and fetches name as ${param.NAME}. Any thread.
 */
#ifndef ALD_CONFIG_PARAMS_H
#define ALD_CONFIG_PARAMS_H

#include "common/config/extract.h"
#include "common/config/profile.h"

/* Write those of params, a JSON object, that requests of the profile name after the submission, as
 * an object; nothing when there are none. Only texts, numbers and booleans are taken.
 * ALD_OK. ALD_INVALID: params is no object. ALD_TOOBIG: they do not go into out. */
ALD_NODISCARD enum ald_rc ald_params_keep(const struct ald_profile *profile, struct ald_span params,
                                          struct ald_buf *out);

/* For struct ald_request_in: arg is a struct ald_params. */
struct ald_params {
    struct ald_json object;
    struct ald_buf text; /* of the one that was asked for last */
};

/* params is borrowed; what is no object holds nothing. */
void ald_params_init(struct ald_params *self, struct ald_span params);
void ald_params_free(struct ald_params *self);

/* The text of a member, until the next call. NULL: there is none. */
const char *ald_params_text(void *self, const char *name);

#endif
