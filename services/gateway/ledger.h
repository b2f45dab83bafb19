/* ledger.h - what the public listener answered, counted once an answer (the gateway's ledger).
 *
 * answered + unanswered = acknowledged + spooled: an arrival on disk was answered 2xx, or its
 * client was gone. refused and the rest stored nothing. The counts are of this run of the process
 * and are also its metrics. Any thread.
 */
#ifndef ALD_GATEWAY_LEDGER_H
#define ALD_GATEWAY_LEDGER_H

#include <stdint.h>

#include "proto/messages.h"

enum ledger_count {
    LEDGER_ACKNOWLEDGED, /* on the tracker's disk */
    LEDGER_SPOOLED,      /* on our own */
    LEDGER_ANSWERED,     /* 2xx written */
    LEDGER_UNANSWERED,   /* on disk, but the answer could not be written */
    LEDGER_REFUSED,      /* 503 */
    LEDGER_FORGED,       /* 404 */
    LEDGER_NOBODY,       /* 404: of a provider that is not in the settings */
    LEDGER_UNREADABLE,   /* 400 */
    LEDGER_REJECTED,     /* as the profile says: its sender is not proved */
    LEDGER_OVERSIZED,    /* 413 */
    LEDGER_CUT,          /* the body did not come whole: no answer */
    LEDGER_COUNT
};

/* Show the counters among the metrics. Once, before any thread. */
void ledger_register(void);

void ledger_add(enum ledger_count count);
uint64_t ledger_read(enum ledger_count count);

/* What was found of a callback's proof. */
void ledger_proof(const char *provider, const char *result);

/* One is on a disk. provider: a profile's name, NULL for a token of one that is gone. */
void ledger_store(const char *provider);

/* How long an arrival took from its whole body to its place on disk. */
void ledger_took(int64_t took_ms);

/* Fill the counters of a batch head. */
void ledger_head(struct msg_batch *head);

#endif
