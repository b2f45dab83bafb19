/* profile_plain.h - of a profile with rules of its own, what the table of profile settings reads:
 * all but what is compiled (ruled.h). Any thread. */
#ifndef ALD_CONFIG_PROFILE_PLAIN_H
#define ALD_CONFIG_PROFILE_PLAIN_H

#include "common/config/yaml.h"

/* Does it have rules of its own, or a part of such? */
bool ald_profile_is_ruled(const struct ald_node *profile);

/* Say what is wrong with the name of a profile: its key, and own, what it calls itself, may be "".
 */
void ald_profile_name_check(const struct ald_node *profile, const char *own,
                            struct ald_errors *errors);

/* What is left, in doc: without the keys that are compiled, `backoff: 1.5` as a share, and
 * `retry-after|10s` as its time alone. NULL: doc is full. */
const struct ald_node *ald_profile_plain(ald_yaml_t *doc, const struct ald_node *profile);

#endif
