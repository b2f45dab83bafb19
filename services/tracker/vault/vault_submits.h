/* vault_submits.h - the part of the vault that is about tasks which aldaba submits itself: what is
 * to be sent, and how far it has come (submission.h). The parameters are kept until they are no
 * longer needed, and no longer: where they may be sent again (vault_resubmits.h), until the task's
 * end; for a person who may have the task made anew, as vault_again.h says.
 *
 * Within the caller's transaction, errors sticky, as in vault.h. One owner.
 */
#ifndef ALD_TRACKER_VAULT_SUBMITS_H
#define ALD_TRACKER_VAULT_SUBMITS_H

#include "services/tracker/submission.h"
#include "services/tracker/vault/vault.h"

/* What does not change. */
struct vault_submit {
    uint64_t task;
    int64_t made_ms; /* service time */
    int64_t within_ms;
    struct ald_span base;
    struct ald_span ticket;
    struct ald_span body;
};

void vault_submit_add(struct vault *self, const struct vault_submit *row);

/* How far it has come. asked_ms: wall time of the start, 0 = not started. */
void vault_submit_put(struct vault *self, uint64_t task, const struct submission *submit,
                      int64_t asked_ms);

/* It was started: the task's time, in service time, begins anew. */
void vault_submit_begin(struct vault *self, uint64_t task, int64_t now_ms);

/* When the task is polled first, after its start. */
void vault_submit_stale(struct vault *self, uint64_t task, int64_t stale_after_ms);

/* It waits, and may have been submitted all the same: uncertain, and no letter says so yet. */
void vault_submit_doubt(struct vault *self, uint64_t task);

/* It is over, one way or the other: the parameters are forgotten. */
void vault_submit_settle(struct vault *self, uint64_t task);

/* What is to be sent, copied to buf; base is filled (ALD_BASE_MAX). False: there is nothing. */
bool vault_submit_job(struct vault *self, uint64_t task, char *base, struct ald_buf *buf);

/* Was the task submitted by us? Then asked_ms is the wall time of its last start, 0: none was. Also
 * of ended tasks. */
bool vault_submit_asked(struct vault *self, uint64_t task, int64_t *asked_ms);

/* The task that a request made, 0 = none that is still waiting or started. */
uint64_t vault_submit_ticket(struct vault *self, const char *ticket);

/* Call fn with each that is not settled. */
typedef void vault_submit_fn(void *context, uint64_t task, const struct submission *submit);
void vault_each_submit(struct vault *self, vault_submit_fn *fn, void *context);

#endif
