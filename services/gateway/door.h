/* door.h - the public listener: a callback comes in, is put on a disk, and only then gets its 200.
 *
 * What is answered: 200 `OK` when stored, whatever is thought of it later; 503 with Retry-After
 * when it is stored nowhere (and the task is remembered for a hint, see hints.h), also when it
 * can't be told yet who sent it (proof.h); 413 over the profile's max_body (and the tracker is
 * told, so that the task is polled soon); 404 for a forged token, another route or a provider that
 * nobody knows; what the profile says (`ack.rejected`) for what does not prove its sender where
 * such is rejected; 400 for what nobody vouches for and nobody can read; nothing when the body did
 * not come whole.
 *
 * Threads: the listener's; one struct a thread.
 */
#ifndef ALD_GATEWAY_DOOR_H
#define ALD_GATEWAY_DOOR_H

#include <stdatomic.h>

#include "services/gateway/current.h"
#include "services/gateway/http/http.h"
#include "services/gateway/intake.h"
#include "services/gateway/keychain.h"
#include "services/gateway/keyring.h"
#include "services/gateway/post.h"

/* What the listener's threads share. Read-only once they run, but for what is atomic. */
struct door {
    struct intake_rules rules; /* without profiles: each request takes those that are in force */
    current_t *current;
    keyring_t *keyring;
    keychain_t *keychain;
    post_t *post;
    char retry[48];              /* the header line Retry-After */
    atomic_llong nobody_told_ms; /* when a provider that nobody knows was last told of; 0 = never */
};

/* For struct http_options; self is a struct door. */
void *door_worker_new(void *self);
void door_worker_free(void *self, void *worker);
void door_handle(void *self, void *worker, http_exchange_t *exchange);

#endif
