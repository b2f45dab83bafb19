#include "services/tracker/acts/quota.h"

#include <arpa/inet.h>
#include <czmq.h>
#include <string.h>

#include "common/base/guard.h"

enum { QUOTA_KEY_MAX = 96, QUOTA_NETWORKS_MAX = 10000, QUOTA_NETWORK_LEAST = 16 };

struct quota_share {
    int64_t count;
    int64_t bytes;
};

struct quota {
    zhashx_t *letters;  /* provider -> quota_share */
    zhashx_t *networks; /* "provider network" -> quota_share */
};

quota_t *quota_new(void)
{
    quota_t *self = zmalloc(sizeof *self);
    self->letters = zhashx_new();
    zhashx_set_destructor(self->letters, ald_item_free);
    self->networks = zhashx_new();
    zhashx_set_destructor(self->networks, ald_item_free);
    return self;
}

void quota_destroy(quota_t **self_p)
{
    quota_t *self = *self_p;
    if (!self)
        return;
    zhashx_destroy(&self->networks);
    zhashx_destroy(&self->letters);
    free(self);
    *self_p = NULL;
}

/* "provider 192.0.2.0" or "provider 2001:db8::". An IPv4 peer may be told as ::ffff:192.0.2.7. */
static void quota_network(const char *provider, const char *peer, char out[QUOTA_KEY_MAX])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    uint8_t address[16] = {0};
    char network[INET6_ADDRSTRLEN] = "";
    if (inet_pton(AF_INET, peer, address) == 1) {
        address[3] = 0;
        (void)inet_ntop(AF_INET, address, network, sizeof network);
    } else if (inet_pton(AF_INET6, peer, address) == 1 && memcmp(address, mapped, 12) == 0) {
        address[15] = 0;
        (void)inet_ntop(AF_INET, address + 12, network, sizeof network);
    } else if (inet_pton(AF_INET6, peer, address) == 1) {
        memset(address + 8, 0, 8);
        (void)inet_ntop(AF_INET6, address, network, sizeof network);
    }
    (void)snprintf(out, QUOTA_KEY_MAX, "%s %s", provider, network);
}

static struct quota_share *quota_share(zhashx_t *in, const char *key)
{
    struct quota_share *share = zhashx_lookup(in, key);
    if (share)
        return share;
    share = zmalloc(sizeof *share);
    zhashx_update(in, key, share);
    return share;
}

bool quota_room(const quota_t *self, const char *provider, const char *peer, uint64_t bytes,
                uint64_t parked_count, uint64_t parked_bytes, uint64_t count, uint64_t max_bytes)
{
    const struct quota_share *letters = zhashx_lookup(self->letters, provider);
    uint64_t have = parked_count + (letters ? (uint64_t)letters->count : 0);
    uint64_t have_bytes = parked_bytes + (letters ? (uint64_t)letters->bytes : 0);
    if (have >= count || have_bytes + bytes > max_bytes)
        return false;
    if (peer[0] == '\0')
        return true;
    char network[QUOTA_KEY_MAX];
    quota_network(provider, peer, network);
    const struct quota_share *met = zhashx_lookup(self->networks, network);
    uint64_t share = count / 10 > QUOTA_NETWORK_LEAST ? count / 10 : QUOTA_NETWORK_LEAST;
    return !met || (uint64_t)met->count < share;
}

void quota_met(quota_t *self, const char *provider, const char *peer)
{
    if (zhashx_size(self->networks) >= QUOTA_NETWORKS_MAX)
        zhashx_purge(self->networks);
    char network[QUOTA_KEY_MAX];
    quota_network(provider, peer, network);
    quota_share(self->networks, network)->count++;
}

void quota_left(quota_t *self, const char *provider, const char *peer)
{
    char network[QUOTA_KEY_MAX];
    quota_network(provider, peer, network);
    struct quota_share *share = zhashx_lookup(self->networks, network);
    if (share && share->count > 0)
        share->count--;
}

void quota_forget(quota_t *self)
{
    zhashx_purge(self->networks);
}

void quota_letter(quota_t *self, const char *provider, int64_t count, int64_t bytes)
{
    struct quota_share *share = quota_share(self->letters, provider);
    share->count += count;
    share->bytes += bytes;
    if (share->count < 0 || share->bytes < 0)
        *share = (struct quota_share){0};
}
