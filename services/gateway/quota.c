#include "services/gateway/quota.h"

#include <stdlib.h>

enum { QUOTA_OTHER_ITEMS = 10000, QUOTA_OTHER_BYTES = 64 << 20 };

struct quota_share {
    const struct ald_profile *profile; /* NULL: all that are not known */
    uint64_t items;
    uint64_t bytes;
};

struct quota {
    size_t count;
    uint64_t items;
    struct quota_share shares[];
};

quota_t *quota_new(const ald_profiles_t *profiles)
{
    size_t count = ald_profiles_count(profiles) + 1;
    quota_t *self = calloc(1, sizeof *self + count * sizeof self->shares[0]);
    ALD_ASSERT(self);
    self->count = count;
    for (size_t i = 0; i + 1 < count; i++)
        self->shares[i].profile = ald_profiles_at(profiles, i);
    return self;
}

void quota_destroy(quota_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

static struct quota_share *quota_find(quota_t *self, struct ald_span provider)
{
    for (size_t i = 0; i + 1 < self->count; i++)
        if (ald_span_eq_str(provider, self->shares[i].profile->name))
            return &self->shares[i];
    return &self->shares[self->count - 1];
}

bool quota_take(quota_t *self, struct ald_span provider, uint64_t bytes)
{
    struct quota_share *share = quota_find(self, provider);
    uint64_t items_max = share->profile ? share->profile->quota_count : QUOTA_OTHER_ITEMS;
    uint64_t bytes_max = share->profile ? share->profile->quota_bytes : QUOTA_OTHER_BYTES;
    if (share->items >= items_max || share->bytes + bytes > bytes_max)
        return false;
    quota_found(self, provider, 1, bytes);
    return true;
}

void quota_found(quota_t *self, struct ald_span provider, uint64_t items, uint64_t bytes)
{
    struct quota_share *share = quota_find(self, provider);
    share->items += items;
    share->bytes += bytes;
    self->items += items;
}

void quota_give(quota_t *self, struct ald_span provider, uint64_t bytes)
{
    struct quota_share *share = quota_find(self, provider);
    if (share->items == 0)
        return;
    share->items--;
    share->bytes -= bytes < share->bytes ? bytes : share->bytes;
    self->items--;
}

uint64_t quota_items(const quota_t *self)
{
    return self->items;
}
