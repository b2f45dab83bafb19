#include <stdlib.h>
#include <string.h>

#include "common/config/merge.h"
#include "common/config/profile.h"
#include "common/config/profile_load.h"

enum { PROFILES_MAX = 4096 };

struct ald_profiles {
    size_t count;
    struct ald_profile list[];
};

enum ald_rc ald_profiles_load(const struct ald_node *providers, unsigned secrets,
                              struct ald_errors *errors, ald_profiles_t **out)
{
    return ald_profiles_load_warned(providers, secrets, errors, NULL, out);
}

static bool profiles_form_ok(const struct ald_node *providers, struct ald_errors *errors)
{
    if (providers == NULL)
        return true;
    if (providers->count > PROFILES_MAX)
        ald_errors_add(errors, providers, "There are more than %d profiles.", PROFILES_MAX);
    else if (providers->kind != ALD_NODE_MAP)
        ald_errors_add(errors, providers, "providers must hold profiles by their names.");
    else
        return true;
    return false;
}

enum ald_rc ald_profiles_load_warned(const struct ald_node *providers, unsigned secrets,
                                     struct ald_errors *errors, struct ald_errors *warnings,
                                     ald_profiles_t **out)
{
    const struct ald_profile_load load = {
        .secrets = secrets, .errors = errors, .warnings = warnings};
    size_t before = errors->count;
    *out = NULL;
    if (!profiles_form_ok(providers, errors))
        return ALD_INVALID;
    size_t count = providers == NULL ? 0 : providers->count;
    ald_profiles_t *self = calloc(1, sizeof *self + count * sizeof *self->list);
    ALD_ASSERT(self != NULL);
    struct ald_merge merge;
    ald_merge_init(&merge, providers, errors);
    for (const struct ald_node *node = count == 0 ? NULL : providers->first; node != NULL;
         node = node->next) {
        ald_yaml_t *doc = NULL;
        const struct ald_node *whole = ald_merge_profile(&merge, node, &doc);
        if (whole != NULL)
            ald_profile_load(&load, whole, &self->list[self->count++]);
        ald_yaml_destroy(&doc);
    }
    ald_merge_free(&merge);
    if (errors->count > before) {
        ald_profiles_destroy(&self);
        return ALD_INVALID;
    }
    *out = self;
    return ALD_OK;
}

void ald_profiles_destroy(ald_profiles_t **self_p)
{
    ald_profiles_t *self = *self_p;
    if (self == NULL)
        return;
    for (size_t i = 0; i < self->count; i++)
        ald_profile_clear(&self->list[i]);
    free(self);
    *self_p = NULL;
}

const struct ald_profile *ald_profiles_find(const ald_profiles_t *self, const char *name)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->list[i].name, name) == 0)
            return &self->list[i];
    return NULL;
}

size_t ald_profiles_count(const ald_profiles_t *self)
{
    return self->count;
}

const struct ald_profile *ald_profiles_at(const ald_profiles_t *self, size_t index)
{
    return index < self->count ? &self->list[index] : NULL;
}
