#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/merge.h"
#include "common/config/profile.h"
#include "common/config/profile_load.h"

enum { PROFILES_MAX = 4096 };

/* A profile that a newer set does not have, and the set that it lies in. */
struct profiles_kept {
    const struct ald_profile *profile;
    ald_profiles_t *home;
};

struct ald_profiles {
    atomic_size_t references;
    size_t kept_count;
    struct profiles_kept *kept;
    const struct ald_profile **by_name; /* own and kept ones, sorted */
    size_t count;                       /* own ones */
    struct ald_profile list[];
};

static int profiles_compare(const void *left, const void *right)
{
    const struct ald_profile *const *a = left;
    const struct ald_profile *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

static void profiles_sort(ald_profiles_t *self)
{
    size_t count = ald_profiles_count(self);
    free(self->by_name);
    self->by_name = calloc(count + 1, sizeof(struct ald_profile *));
    ALD_ASSERT(self->by_name != NULL);
    for (size_t i = 0; i < count; i++)
        self->by_name[i] = ald_profiles_at(self, i);
    qsort(self->by_name, count, sizeof(struct ald_profile *), profiles_compare);
}

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
    atomic_init(&self->references, 1);
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
    profiles_sort(self);
    *out = self;
    return ALD_OK;
}

void ald_profiles_destroy(ald_profiles_t **self_p)
{
    ald_profiles_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL || atomic_fetch_sub(&self->references, 1) > 1)
        return;
    for (size_t i = 0; i < self->kept_count; i++)
        ald_profiles_destroy(&self->kept[i].home); /* older than this one: it ends */
    for (size_t i = 0; i < self->count; i++)
        ald_profile_clear(&self->list[i]);
    free(self->kept);
    free(self->by_name);
    free(self);
}

ald_profiles_t *ald_profiles_share(ald_profiles_t *self)
{
    if (self != NULL)
        atomic_fetch_add(&self->references, 1);
    return self;
}

/* Where a profile of this set lies. */
static ald_profiles_t *profiles_home(ald_profiles_t *self, size_t index)
{
    return index < self->count ? self : self->kept[index - self->count].home;
}

void ald_profiles_keep(ald_profiles_t *fresh, ald_profiles_t *old)
{
    size_t count = ald_profiles_count(old);
    size_t kept = 0;
    ALD_ASSERT(fresh->kept_count == 0);
    fresh->kept = calloc(count + 1, sizeof *fresh->kept);
    ALD_ASSERT(fresh->kept != NULL);
    for (size_t i = 0; i < count; i++) {
        const struct ald_profile *profile = ald_profiles_at(old, i);
        if (ald_profiles_find(fresh, profile->name) == NULL)
            fresh->kept[kept++] = (struct profiles_kept){
                .profile = profile, .home = ald_profiles_share(profiles_home(old, i))};
    }
    fresh->kept_count = kept;
    profiles_sort(fresh);
}

const struct ald_profile *ald_profiles_find(const ald_profiles_t *self, const char *name)
{
    size_t low = 0;
    size_t high = ald_profiles_count(self);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(self->by_name[middle]->name, name);
        if (order == 0)
            return self->by_name[middle];
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

size_t ald_profiles_count(const ald_profiles_t *self)
{
    return self->count + self->kept_count;
}

const struct ald_profile *ald_profiles_at(const ald_profiles_t *self, size_t index)
{
    if (index < self->count)
        return &self->list[index];
    index -= self->count;
    return index < self->kept_count ? self->kept[index].profile : NULL;
}

bool ald_profiles_gone(const ald_profiles_t *self, const struct ald_profile *profile)
{
    for (size_t i = 0; i < self->kept_count; i++)
        if (self->kept[i].profile == profile)
            return true;
    return false;
}
