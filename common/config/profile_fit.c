/* Whether what profiles let in passes the bus. */
#include "common/config/profile.h"

static void profile_unfit(const struct ald_node *providers, const char *name, const char *key,
                          struct ald_errors *errors)
{
    const struct ald_node nowhere = {.file = "providers"};
    const struct ald_node *own = ald_node_find(providers, name);
    const struct ald_node *at = ald_node_at(own, key);
    at = at != NULL ? at : own;
    ald_errors_add(errors, at != NULL ? at : &nowhere,
                   "%s: %s must not be larger than bus.max_item.", name, key);
}

bool ald_profiles_fit(const ald_profiles_t *self, const struct ald_node *providers,
                      uint64_t max_item_bytes, struct ald_errors *errors)
{
    size_t before = errors->count;
    for (size_t i = 0; i < ald_profiles_count(self); i++) {
        const struct ald_profile *profile = ald_profiles_at(self, i);
        if (profile->max_body > max_item_bytes)
            profile_unfit(providers, profile->name, "callback.max_body", errors);
        if (profile->poll_max_bytes > max_item_bytes)
            profile_unfit(providers, profile->name, "poll.max_bytes", errors);
    }
    return errors->count == before;
}
