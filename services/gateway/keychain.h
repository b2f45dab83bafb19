/* keychain.h - public keys of providers as the tracker told them, which callbacks are proved with;
 * kept, so that a gateway which starts while the tracker is away can still tell who sent one.
 *
 * A signature that no key is good for may be a forgery, or of a key that is newer than ours. So the
 * tracker is told whose keys are missing (lacks), and until it has fetched them anew nobody can say
 * which of the two it was. What is done meanwhile is proof.h's.
 *
 * The file holds no secret, but who can write it can forge: 0600, replaced whole and durably, with
 * a checksum. Threads: new, told and head belong to the loop; look and miss to any.
 */
#ifndef ALD_GATEWAY_KEYCHAIN_H
#define ALD_GATEWAY_KEYCHAIN_H

#include <czmq.h>

#include "common/config/jwks.h"
#include "proto/messages.h"

enum {
    KEYCHAIN_FRESH_MS = 60000,   /* keys fetched so short a time ago are those in force */
    KEYCHAIN_OVERDUE_MS = 600000 /* so long others are waited for */
};

typedef struct keychain keychain_t;

/* What may be expected of other keys than those that are known. */
enum keychain_hope {
    KEYCHAIN_AWAITED, /* they may differ, and are fetched when somebody misses one */
    KEYCHAIN_OVERDUE, /* they were missed long ago, and have not come */
    KEYCHAIN_FRESH    /* nothing: these were fetched just now */
};

struct keychain_found {
    struct ald_jwks keys; /* a copy; none: not known yet */
    enum keychain_hope hope;
};

/* Read the file at path, if there is one that is sound. */
keychain_t *keychain_new(const char *path);
void keychain_destroy(keychain_t **self_p);

/* A welcome with this number came, msg stands at it, and frames of keys follow: use them from now
 * on, and write them down. Providers that are not named keep what they have. NULL is allowed. */
void keychain_told(keychain_t *self, uint64_t number, zmsg_t *msg);

/* Fill in what the tracker is to know: the number, and one whose keys are missed, in turn. NULL is
 * allowed. */
void keychain_head(keychain_t *self, struct msg_batch *head);

/* The keys of a provider that were fetched from this address. mono_ms: now. */
void keychain_look(keychain_t *self, const char *provider, const char *url, int64_t mono_ms,
                   struct keychain_found *out);

/* No key of it was good for a callback: it is missed until keys are told that were fetched anew. */
void keychain_miss(keychain_t *self, const char *provider, const char *url, int64_t mono_ms);

#endif
