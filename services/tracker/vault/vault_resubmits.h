/* vault_resubmits.h - the part of the vault that is about tasks which are submitted again
 * (resubmission.h): a row for each time that it was decided, with the attempt that it follows and
 * the provider's id of that. They outlive the task's other rows, as what is left of a purged task
 * does: its ids go on naming it.
 *
 * Within the caller's transaction, errors sticky, as in vault.h. One owner.
 */
#ifndef ALD_TRACKER_VAULT_RESUBMITS_H
#define ALD_TRACKER_VAULT_RESUBMITS_H

#include "services/tracker/submission.h"
#include "services/tracker/vault/vault.h"

/* A row of resubmits. Texts are borrowed from the statement or the caller. */
struct vault_resubmit {
    uint64_t task;
    uint32_t no;      /* from 1 on */
    uint64_t attempt; /* that it follows */
    struct ald_span provider_id;
    bool failed;          /* the provider has said of that attempt that it failed ... */
    struct ald_span code; /* ... with this code; else it was late */
    int64_t made_ms;      /* service time: that attempt was started */
    uint32_t polls;       /* of the task until then */
    uint32_t requests;    /* of those, the ones that count */
    uint64_t lease;       /* read alone: of the last attempt, if it was taken; else 0 */
    uint64_t last;        /* the same: its number */
};

/* The provider has it, and what was sent is kept. */
void vault_submit_keep(struct vault *self, uint64_t task);

/* What is kept of a task. False: nothing is. */
bool vault_kept_find(struct vault *self, uint64_t task, struct submission *out);

/* Call fn with each task of which something is kept. */
typedef void vault_kept_fn(void *context, uint64_t task);
void vault_each_kept(struct vault *self, vault_kept_fn *fn, void *context);

/* It is decided: a row, what is kept waits to be sent, and the ways that the provider gave to what
 * it follows are forgotten. */
void vault_resubmit_add(struct vault *self, const struct vault_resubmit *row);

/* The provider said that the attempt which this row follows has failed. */
void vault_resubmit_failed(struct vault *self, uint64_t task, uint32_t no, const char *code);

/* That code. */
void vault_resubmit_code(struct vault *self, uint64_t task, uint32_t no, char out[ALD_CODE_MAX]);

/* Is this id ("" = not told: this attempt) one that another followed? */
bool vault_resubmit_followed(struct vault *self, uint64_t task, uint64_t attempt,
                             const char *provider_id);

/* Call fn with each row of a task that may be open, oldest first. */
typedef void vault_resubmit_fn(void *context, const struct vault_resubmit *row);
void vault_each_resubmit(struct vault *self, vault_resubmit_fn *fn, void *context);

#endif
