/* vault_open.h - the part of vault.h that reads back what has not ended, at a start. One thread. */
#ifndef ALD_TRACKER_VAULT_OPEN_H
#define ALD_TRACKER_VAULT_OPEN_H

#include "services/tracker/vault/vault.h"

/* A task that has not ended: what is needed to go on with it. */
struct vault_open {
    uint64_t id;
    struct ald_span provider;
    struct ald_span provider_id;
    int64_t made_ms;
    int64_t stale_after_ms;
    int64_t give_up_after_ms;
    bool placed; /* it has a poll_url of its own, see vault_ways.h */
};

/* Call fn with each of them, oldest first. */
typedef void vault_open_fn(void *context, const struct vault_open *task);
void vault_each_open(struct vault *self, vault_open_fn *fn, void *context);

#endif
