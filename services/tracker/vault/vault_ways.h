/* vault_ways.h - in tracker.db: what asking for a task takes beside its id. Most tasks have none.
 * One thread, as vault.h.
 */
#ifndef ALD_TRACKER_VAULT_WAYS_H
#define ALD_TRACKER_VAULT_WAYS_H

#include "services/tracker/vault/vault.h"

/* A row of ways; empty = not known. */
struct vault_way {
    struct ald_span poll_url;
    struct ald_span result_url;
    struct ald_span params; /* a JSON object */
};

/* What is empty in it stays as it was. */
void vault_way_set(struct vault *self, uint64_t task, const struct vault_way *way);

/* True if there is a row. room is reset and holds what *out borrows. */
bool vault_way_find(struct vault *self, uint64_t task, struct ald_buf *room, struct vault_way *out);

#endif
