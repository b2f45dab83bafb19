/* profile_of.h - a profile from YAML text, for tests. */
#ifndef ALD_TESTS_CONFIG_PROFILE_OF_H
#define ALD_TESTS_CONFIG_PROFILE_OF_H

#include "common/config/profile.h"

/* Load a `providers` mapping and these of its secrets (enum ald_secrets); errors are the caller's
 * to free. NULL: errors say why. */
ald_profiles_t *profiles_of(const char *yaml, unsigned secrets, struct ald_errors *errors);

/* The profile `p` with these keys (flow YAML inside of braces) and a poll; fails the test when it
 * does not load. */
struct ald_profile profile_of(const char *keys);

#endif
