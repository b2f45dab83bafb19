/* jobs.h - the poller's side of the tracker's `jobs` channel: says how much work it can take, gets
 * leases, sends back outcomes until each is acknowledged.
 *
 * Two sockets to one endpoint: the courier's for outcomes, and one for ready and leases. Leases may
 * be lost, the tracker hands them out again; outcomes may not. It does not know what a poll is.
 * Threads: the loop's.
 */
#ifndef ALD_POLLER_JOBS_H
#define ALD_POLLER_JOBS_H

#include <czmq.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "proto/messages.h"

typedef struct jobs jobs_t;

struct jobs_options {
    const char *endpoint;
    const char *instance; /* ULID of this run: of its numbering too, as it keeps nothing */
    int64_t heartbeat_ms;
    size_t max_credit; /* the credit of an idle poller */
    void *self;        /* passed to the functions below */
    void (*on_lease)(void *self, const struct msg_lease *lease);
    /* A lease to submit; borrowed until it returns. */
    void (*on_submit)(void *self, const struct msg_submit *submit);
    /* A start was answered. go: it is on disk; else the right to submit is gone. */
    void (*on_started)(void *self, void *tag, bool go);
    /* The leases of a message are through. */
    void (*on_leases_end)(void *self);
    /* The leases that follow are of another run of the tracker. */
    void (*on_new_run)(void *self);
    /* An outcome was acknowledged. */
    void (*on_settled)(void *self);
};

/* ALD_OK: *out is the caller's and on the loop; else err says why. */
ALD_NODISCARD enum ald_rc jobs_new(zloop_t *loop, const struct jobs_options *options, jobs_t **out,
                                   struct ald_err *err);
void jobs_destroy(jobs_t **self_p);

/* What the poller could take and what it works on. Said to the tracker at once when it changed by a
 * sixteenth of max_credit, came to or from nothing, or the poller is idle; else within a second. */
void jobs_load(jobs_t *self, size_t credit, size_t busy);

/* Tell the tracker to give no more; outcomes go on. */
void jobs_stop(jobs_t *self);

/* Send an outcome; num is filled in here, spans are copied. One that the bus can't carry goes
 * without its result, as unknown. */
void jobs_report(jobs_t *self, const struct msg_outcome *outcome);

/* Ask whether a submission may be sent: answered by on_started, once. num is filled in here. False:
 * it can't be asked. */
ALD_NODISCARD bool jobs_start(jobs_t *self, struct msg_started *started, void *tag);

bool jobs_away(const jobs_t *self);   /* the tracker does not answer */
size_t jobs_owed(const jobs_t *self); /* outcomes not acknowledged */
size_t jobs_owed_bytes(const jobs_t *self);

#endif
