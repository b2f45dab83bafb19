/* vault_index.h - the part of the vault that knows which task has which rows: written in runs of
 * many rows, in the order of tasks, so that a page is changed once for all of them.
 *
 * Errors are sticky, as in vault.h. One owner.
 */
#ifndef ALD_TRACKER_VAULT_INDEX_H
#define ALD_TRACKER_VAULT_INDEX_H

#include "services/tracker/vault/vault.h"

/* Begin a run of the index: it takes the rows that there are now. Between transactions. */
void vault_index_begin(struct vault *self);
/* Index so many more of them, in the order of tasks, in a transaction of its own. The last step
 * tells that the run is through; after a kill before it, a new run begins with the same rows.
 * lowest_open: no task below it is open. True: the run is through. */
bool vault_index_step(struct vault *self, size_t rows, uint64_t lowest_open);
bool vault_index_running(const struct vault *self);
/* Rows that no finished run has indexed. */
int64_t vault_unindexed(const struct vault *self);

/* Call fn with (task, seq) of every result that is not indexed yet. */
typedef void vault_seq_fn(void *context, uint64_t task, uint64_t seq);
void vault_each_unindexed(struct vault *self, vault_seq_fn *fn, void *context);

#endif
