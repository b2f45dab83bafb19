/* vault_again.h - the part of the vault that is about tasks which a person has made anew: what was
 * submitted is kept for that (spare), as long as its task is open or has an open letter, and which
 * task took the place of which is on record.
 *
 * What is spare is in the table of submissions, with the bytes that it takes; vault.spare_bytes is
 * their sum. It is read for nothing but a new task. Within the caller's transaction, errors sticky,
 * as in vault.h. One owner.
 */
#ifndef ALD_TRACKER_VAULT_AGAIN_H
#define ALD_TRACKER_VAULT_AGAIN_H

#include "services/tracker/vault/vault.h"

/* Nobody sends it any more, and it is kept, if all that is spare is at most `most` bytes then.
 * False: it is not, and what there was is forgotten. */
bool vault_spare_keep(struct vault *self, uint64_t task, uint64_t most);

/* It does not count as spare any more; who calls deletes it. */
void vault_spare_forget(struct vault *self, uint64_t task);

/* Forget what was submitted for tasks that were made before this wall time; at most limit. */
void vault_spare_purge(struct vault *self, int64_t before_ms, size_t limit);

/* Call fn with each task of which something is spare, oldest first. */
typedef void vault_again_fn(void *context, uint64_t task);
void vault_each_spare(struct vault *self, vault_again_fn *fn, void *context);

/* What is known of a task that is made anew. Texts as in msg_limits.h. */
struct vault_again {
    char provider[ALD_PROVIDER_MAX];
    char meta[ALD_META_MAX];
    char base[ALD_BASE_MAX];
    int64_t give_up_after_ms;
    int64_t within_ms;
};

/* body is filled with what was submitted, and empty if that is forgotten. False: aldaba did not
 * submit this task, or it is purged. */
bool vault_again_find(struct vault *self, uint64_t task, struct vault_again *out,
                      struct ald_buf *body);

/* A task stands in the place of another, because of this letter. */
void vault_again_add(struct vault *self, uint64_t task, uint64_t replaces, const char *letter);

/* The task that was made because of this letter, 0 = none. */
uint64_t vault_again_of(struct vault *self, uint64_t replaces, const char *letter);

/* Call fn with each task, perhaps open, that another stands in the place of. */
void vault_each_replaced(struct vault *self, vault_again_fn *fn, void *context);

#endif
