/* profile_load.h - one profile from its tree, in which what it extends has been merged already.
 * Inside common/config. Any thread. */
#ifndef ALD_CONFIG_PROFILE_LOAD_H
#define ALD_CONFIG_PROFILE_LOAD_H

#include "common/config/profile.h"

/* A loading under way. */
struct ald_profile_load {
    unsigned secrets; /* enum ald_secrets */
    struct ald_errors *errors;
    struct ald_errors *warnings; /* NULL: nobody wants them */
};

/* Read it, check it and compile what is compiled; all that is wrong is appended to errors. *out is
 * the caller's to clear in any case. */
void ald_profile_load(const struct ald_profile_load *self, const struct ald_node *node,
                      struct ald_profile *out);

/* Wipe what is secret in it and free what it owns. */
void ald_profile_clear(struct ald_profile *profile);

#endif
