/* vault_purge.h - the part of the vault that lets go: what is older than its bound, and owed to
 * nobody, or owed for too long.
 *
 * Old results are gathered, up to GRAVES_MAX of them, and hidden: from then on the feed begins
 * above them. Then their tasks go, with all that hangs on them, in the order of tasks (graves.h
 * says why); then the results themselves, in their own order. Killed in between, the next start
 * gathers again what is still there.
 *
 * Errors are sticky, as in vault.h. One owner.
 */
#ifndef ALD_TRACKER_VAULT_PURGE_H
#define ALD_TRACKER_VAULT_PURGE_H

#include "services/tracker/vault/vault.h"

/* The fact that is hidden_seq: for the reader, and for whoever checks the file. */
#define VAULT_HIDDEN "hidden_seq"

/* How old things may become: wall times before which they are deleted. */
struct vault_bounds {
    int64_t results_ms;   /* ended tasks with their results */
    uint64_t owed_seq;    /* but not from here on, as a consumer has not settled them; 0 = all */
    int64_t lag_ms;       /* unless they are older than this */
    uint64_t lag_bytes;   /* or have so many bytes of results behind them */
    int64_t evidence_ms;  /* arrivals, but for parked and dead ones */
    int64_t kept_arrival; /* and those after this, whose senders are not on disk yet */
    int64_t tombs_ms;     /* what is remembered of purged tasks */
    int64_t keys_ms;      /* idempotency keys */
    int64_t spare_ms;     /* what was submitted, of tasks made before */
};

/* One step, in a transaction of its own: at most `limit` tasks, arrivals and so on, and four times
 * as many results, are gathered or deleted; GRAVES_MAX are sorted when they are all there. True
 * while more wait. */
bool vault_purge(struct vault *self, const struct vault_bounds *before, size_t limit,
                 int64_t now_ms);

#endif
