/* keyring.h - the callback keys as the tracker gave them, kept so that a gateway which starts while
 * the tracker is away still knows a genuine token.
 *
 * The file holds secrets: 0600, replaced whole and durably.
 * Threads: take belongs to the loop; keys may be read by any thread through a copy of its own.
 */
#ifndef ALD_GATEWAY_KEYRING_H
#define ALD_GATEWAY_KEYRING_H

#include <stdbool.h>

#include "proto/token.h"

typedef struct keyring keyring_t;

/* What a thread last saw. Zeroed at first. */
struct keyring_copy {
    unsigned generation;
    struct ald_keys keys;
};

/* Read the file at path, if there is one that is sound. */
keyring_t *keyring_new(const char *path);
void keyring_destroy(keyring_t **self_p);

/* Use the keys of this blob from now on and write them down when they are new. An empty or broken
 * blob changes nothing. */
void keyring_take(keyring_t *self, struct ald_span blob);

/* The keys in force, borrowed from copy, which is brought up to date. NULL: none are known. */
const struct ald_keys *keyring_keys(keyring_t *self, struct keyring_copy *copy);
bool keyring_known(keyring_t *self);

/* `--verify DIR`: the spool in dir, and the file of keys beside it. As ald_spool_check. */
struct ald_report;
ALD_NODISCARD enum ald_rc keyring_verify(const char *dir, struct ald_report *report,
                                         struct ald_err *err);

#endif
