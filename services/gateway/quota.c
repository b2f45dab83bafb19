#include "services/gateway/quota.h"

#include <czmq.h>

#include "common/base/guard.h"
#include "common/base/text.h"
#include "services/gateway/peer.h"

enum {
    QUOTA_OTHER_ITEMS = 10000,
    QUOTA_OTHER_BYTES = 64 << 20,
    QUOTA_NETWORKS_MAX = 10000,
    QUOTA_NETWORK_LEAST = 16,
    QUOTA_KEY_MAX = ALD_PROVIDER_MAX + ALD_PEER_MAX
};

struct quota_share {
    char name[ALD_PROVIDER_MAX]; /* "": all that are not known */
    uint64_t items_max;
    uint64_t bytes_max;
    uint64_t items;
    uint64_t bytes;
};

struct quota {
    size_t count; /* the last one is of all that are not known */
    uint64_t items;
    zhashx_t *networks; /* "provider network" -> how many items, a uint64_t */
    struct quota_share *shares;
};

static struct quota_share *quota_find(quota_t *self, struct ald_span provider)
{
    for (size_t i = 0; i + 1 < self->count; i++)
        if (ald_span_eq_str(provider, self->shares[i].name))
            return &self->shares[i];
    return &self->shares[self->count - 1];
}

void quota_renew(quota_t *self, const ald_profiles_t *profiles)
{
    size_t count = profiles ? ald_profiles_count(profiles) + 1 : 1;
    struct quota_share *shares = calloc(count, sizeof *shares);
    ALD_ASSERT(shares);
    for (size_t i = 0; i < count; i++) {
        const struct ald_profile *profile = profiles ? ald_profiles_at(profiles, i) : NULL;
        const char *name = profile ? profile->name : "";
        const struct quota_share *old =
            self->count > 0 ? quota_find(self, ald_span_str(name)) : NULL;
        if (old && strcmp(old->name, name) == 0)
            shares[i] = *old;
        ald_text_cut(shares[i].name, sizeof shares[i].name, ald_span_str(name));
        shares[i].items_max = profile ? profile->quota_count : QUOTA_OTHER_ITEMS;
        shares[i].bytes_max = profile ? profile->quota_bytes : QUOTA_OTHER_BYTES;
    }
    free(self->shares);
    self->shares = shares;
    self->count = count;
}

quota_t *quota_new(const ald_profiles_t *profiles)
{
    quota_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->networks = zhashx_new();
    zhashx_set_destructor(self->networks, ald_item_free);
    quota_renew(self, profiles);
    return self;
}

void quota_destroy(quota_t **self_p)
{
    if (!*self_p)
        return;
    zhashx_destroy(&(*self_p)->networks);
    free((*self_p)->shares);
    free(*self_p);
    *self_p = NULL;
}

/* False: the peer is of no network, and so has no share. */
static bool quota_network(struct ald_span provider, struct ald_span peer, char key[QUOTA_KEY_MAX])
{
    char network[ALD_PEER_MAX];
    peer_network(peer, network);
    (void)snprintf(key, QUOTA_KEY_MAX, "%.*s %s", (int)provider.len, (const char *)provider.data,
                   network);
    return network[0] != '\0' && provider.len < ALD_PROVIDER_MAX;
}

static void quota_met(quota_t *self, const char *key)
{
    uint64_t *met = zhashx_lookup(self->networks, key);
    if (!met) {
        if (zhashx_size(self->networks) >= QUOTA_NETWORKS_MAX)
            zhashx_purge(self->networks);
        met = zmalloc(sizeof *met);
        zhashx_update(self->networks, key, met);
    }
    ++*met;
}

bool quota_take(quota_t *self, struct ald_span provider, struct ald_span peer, uint64_t bytes)
{
    char key[QUOTA_KEY_MAX];
    struct quota_share *share = quota_find(self, provider);
    uint64_t items_max = share->items_max;
    if (share->items >= items_max || share->bytes + bytes > share->bytes_max)
        return false;
    if (quota_network(provider, peer, key)) {
        const uint64_t *met = zhashx_lookup(self->networks, key);
        uint64_t tenth =
            items_max / 10 > QUOTA_NETWORK_LEAST ? items_max / 10 : QUOTA_NETWORK_LEAST;
        if (met && *met >= tenth)
            return false;
        quota_met(self, key);
    }
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

void quota_give(quota_t *self, struct ald_span provider, struct ald_span peer, uint64_t bytes)
{
    char key[QUOTA_KEY_MAX];
    struct quota_share *share = quota_find(self, provider);
    uint64_t *met = quota_network(provider, peer, key) ? zhashx_lookup(self->networks, key) : NULL;
    if (met && --*met == 0)
        zhashx_delete(self->networks, key);
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
