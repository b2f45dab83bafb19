/* tracker.h - what the parts of the tracker share: one struct that hangs everything, and the order
 * in which things are done.
 *
 * Every channel does the same: read what has gathered, vault_begin, act on each item (acts.h),
 * tracker_commit; only then answer, publish and wake. An act may change memory before the commit:
 * when the commit fails, all memory is thrown away and read back from the store
 * (tracker_commit -> tracker_give_up_store).
 *
 * A commit is written then, and on disk a little later: its sync goes on while the next one is
 * made. Every socket of the tracker's is behind a gate (gate.h), which keeps what is said until all
 * that was written before is on disk. What leaves otherwise - the mark - waits for vault_settle.
 *
 * Threads: everything but the reader lives on the loop's thread.
 */
#ifndef ALD_TRACKER_TRACKER_H
#define ALD_TRACKER_TRACKER_H

#include <czmq.h>

#include "common/base/ident.h"
#include "common/net/alarm.h"
#include "common/net/service.h"
#include "common/net/sock.h"
#include "common/store/mark.h"
#include "proto/token.h"
#include "services/tracker/acts/park.h"
#include "services/tracker/acts/quota.h"
#include "services/tracker/pace.h"
#include "services/tracker/pending.h"
#include "services/tracker/senders.h"
#include "services/tracker/tail.h"
#include "services/tracker/vault/vault.h"

typedef struct calls calls_t;
typedef struct consumers consumers_t;
typedef struct events events_t;
typedef struct feed feed_t;
typedef struct jobs jobs_t;
typedef struct jwks jwks_t;
typedef struct outbox outbox_t;
typedef struct pushes pushes_t;
typedef struct query query_t;
typedef struct sinks sinks_t;
typedef struct reader reader_t;

struct tracker {
    ald_service_t *service;
    const struct ald_settings *settings;
    const ald_profiles_t *profiles; /* another one after a reload: renew.h */

    struct vault vault;
    ald_gate_t *gate; /* all that is said passes it */
    ald_mark_t *mark; /* NULL after an I/O error, until it is opened again */
    pending_t *pending;
    senders_t *senders;
    park_t *park;
    quota_t *quota;
    tail_t *tail; /* results not indexed yet */
    struct ald_idgen ids;
    char trace[ALD_TRACE_MAX + 8]; /* tracker_trace's */
    struct ald_keys keys;

    /* Service time: base + (monotonic now - since), without the gaps. It never runs on for more
     * than TRACKER_GAP_MS after a tick, so what is read first after a stop sees no leap. */
    int64_t run_base_ms;
    int64_t run_since_ms;
    int64_t turned_ms; /* monotonic time of the last turn */
    int64_t beat_ms;   /* service time of the last heartbeat row */
    int64_t told_mark_ms;
    int64_t indexed_at_ms;
    struct pace index_pace;
    struct pace purge_pace;
    bool purging; /* more is old than went the last time */
    int64_t purging_since_ms;
    int64_t purged_at_ms;
    int64_t kept_at_ms; /* monotonic: the senders' last snapshot */
    int64_t networks_at_ms;
    int64_t busy_ms;      /* monotonic: rows were last written */
    int64_t seen_rows;    /* arrivals and notes as of the last tick */
    int64_t kept_arrival; /* senders on disk are as of this arrival */
    bool learned;         /* callbacks taught what is not on disk (stale.h) */
    uint64_t orphans;     /* open tasks whose profile is not loaded (keep_orphans.h) */
    zhashx_t *away;       /* their providers, by name (keep_orphans.h) */
    uint64_t lowest_orphan;
    ald_alarm_t *alarm; /* of the next tick; NULL: there is no loop */
    bool open;          /* the store is, and everything is read back */
    bool older;         /* it may be an older copy: found when it was read back */
    int64_t retry_ms;

    struct ald_buf scratch; /* for judging */
    struct ald_buf kept;    /* for ways.h: parameters of a command, or a task's way */
    struct ald_buf evidence;

    calls_t *calls;
    consumers_t *consumers;
    events_t *events;
    feed_t *feed;
    jobs_t *jobs;
    jwks_t *jwks;
    outbox_t *outbox;
    pushes_t *pushes;
    query_t *query;
    sinks_t *sinks;
    reader_t *reader;
};

struct tracker_now {
    int64_t wall_ms;
    int64_t run_ms; /* service time */
};

struct tracker_now tracker_now(const struct tracker *self);

/* Every handler of the loop calls this first: if the loop has stood still (SIGSTOP, a suspended
 * machine), service time is set back by the gap before anybody reads it. True: it had. */
bool tracker_awake(struct tracker *self);

/* Something has changed: the next tick comes soon. tracker_awake does it too. */
void tracker_stir(struct tracker *self);

/* End a transaction. True: written, go on and tell: what is said waits until it is on disk. False:
 * nothing of it happened, all memory was thrown away; tell nobody anything. */
bool tracker_commit(struct tracker *self);

/* May callbacks still lie in spools? Then no task ends by our own verdict. */
/* For a line of the log about a task: " trace=..." when its caller gave one, else "". Borrowed
 * until the next call. */
const char *tracker_trace(struct tracker *self, uint64_t task);

bool tracker_hold(const struct tracker *self);

/* The result of an ended task: its sequence number if it is not indexed yet, else 0. */
uint64_t tracker_tail_seq(const struct tracker *self, uint64_t task);
void tracker_tail_add(struct tracker *self, uint64_t task, uint64_t seq);
/* One more callback of an ended task, whose result is at seq: how many that makes. */
uint32_t tracker_tail_met(struct tracker *self, uint64_t task, uint64_t seq);

/* A position of the feed as text; and back. */
void tracker_position(const struct tracker *self, uint64_t seq, char out[ALD_POSITION_MAX]);

#endif
