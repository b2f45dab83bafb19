/* merge.h - a profile with what it extends, as one tree.
 *
 * Maps are merged key by key, anything else replaces what was there; null takes a key away; `key+`
 * puts its list before the inherited one. The profile that is extended is another one of the same
 * settings, or a bundled one; at most eight in a row. Secrets, and the place of a callback's id,
 * are replaced as a whole. Nodes keep the place where they were written. One thread a struct.
 */
#ifndef ALD_CONFIG_MERGE_H
#define ALD_CONFIG_MERGE_H

#include "common/config/yaml.h"

enum { ALD_MERGE_BUNDLED_MAX = 64, ALD_MERGE_CHAIN_MAX = 8 };

struct ald_merge {
    const struct ald_node *providers; /* name -> profile */
    struct ald_errors *errors;
    ald_yaml_t *bundled[ALD_MERGE_BUNDLED_MAX]; /* those read so far */
};

void ald_merge_init(struct ald_merge *self, const struct ald_node *providers,
                    struct ald_errors *errors);
void ald_merge_free(struct ald_merge *self);

/* The whole profile. *doc is what it lives in and the caller's; NULL when it extends nothing and is
 * node itself. NULL: said why. */
const struct ald_node *ald_merge_profile(struct ald_merge *self, const struct ald_node *node,
                                         ald_yaml_t **doc);

/* A copy of a tree in doc under another key; NULL: doc is full. */
struct ald_node *ald_merge_copy(ald_yaml_t *doc, const struct ald_node *node, const char *key);

#endif
