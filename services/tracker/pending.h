/* pending.h - tasks whose result is still owed: the heart of aldaba.
 *
 * Every task that has not ended is here, under its id and under (provider, provider id), with the
 * one moment at which something is due. Facts go in with the time; what should happen comes out.
 * Nothing here knows a socket, a clock or a file, and nothing here is durable: it is rebuilt from
 * the store at each start.
 *
 * A task's life, as far as it is here:
 *
 *     idle ──stale, or hinted──▶ queued ──a poller has credit──▶ leased ──outcome──▶ idle
 *       ▲                          │ its budget says when              │ lease over: queued again
 *       └── callback, any time: the task ends and leaves ──────────────┘
 *
 * Time is *service time*: milliseconds for which the tracker has been running, kept over restarts.
 * It stands still while the tracker is down or stopped, so no deadline passes unattended, and a
 * wall clock that jumps moves nothing.
 *
 * A task expires only after a poll was answered after its deadline, or last_poll_grace_ms later;
 * and not while `hold` is set: then gateways may still bring its callback from their spools.
 * Blocks, an open breaker and a used budget only make tasks wait: deadlines run on through them. A
 * pause by a person is our own doing: while it lasts no task that can be polled expires, and after
 * it each has last_poll_grace_ms again.
 *
 * Where the profile says so, one request asks for several tasks of an account: they are leased
 * together, and the first one's debit is that of all (pending_batch). Which of them are due is
 * decided here, as is what the budget lets go; a poller only sends what it was told.
 *
 * A provider that forgets its answers is asked before it does, however late a callback counts as
 * late and however long the next wait would be. A task of one that can't be asked at all only
 * waits; that its callback is late is said once.
 *
 * Polls that callbacks asked for are queued apart where the budget has a share for them. When the
 * share is used up such a task waits for it only until it would have been polled anyway.
 *
 * A task that aldaba submits itself begins otherwise: see pending_submit.h. Threads: one owner.
 */
#ifndef ALD_TRACKER_PENDING_H
#define ALD_TRACKER_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/rc.h"
#include "services/tracker/pending_task.h"

typedef struct pending pending_t;

struct pending_options {
    int64_t lease_ms;       /* the least time of a lease: see pending_lease_ms */
    int64_t request_max_ms; /* no request takes longer, whatever its profile says; 0: no limit */
    int64_t last_poll_grace_ms;
    uint64_t seed; /* for jitter */
};

/* A new task, or one read back from the store. */
struct pending_facts {
    uint64_t id;
    const struct ald_profile *profile;
    const char *provider_id;
    int64_t made_ms;
    int64_t stale_after_ms;
    int64_t give_up_after_ms;
    bool placed;  /* the provider said where it is polled; see ways.h */
    bool alerted; /* before the start it was said that it is late */
};

pending_t *pending_new(const struct pending_options *options);
void pending_destroy(pending_t **self_p);

/* Owe a task from now on. ALD_OK. ALD_EXISTS: known already, nothing changed. */
ALD_NODISCARD enum ald_rc pending_add(pending_t *self, const struct pending_facts *facts);

/* Polls of a task read back, some of them hinted: added to what it has. last_ms: pending_poll's
 * at_ms of the last one. */
void pending_polls(pending_t *self, struct pending_task *task, uint32_t polls, uint32_t hinted,
                   int64_t last_ms);

/* NULL when no such task is open. Borrowed until it ends. */
struct pending_task *pending_find(const pending_t *self, uint64_t id);
struct pending_task *pending_find_ref(const pending_t *self, const char *provider,
                                      const char *provider_id);

/* The provider said where a task is polled. */
void pending_place(pending_t *self, struct pending_task *task, int64_t now_ms);

/* The provider's id of a task became known. ALD_EXISTS: another open task has it. */
ALD_NODISCARD enum ald_rc pending_attach(pending_t *self, struct pending_task *task,
                                         const char *provider_id, int64_t now_ms);

/* A message asked to look: a poll goes now, at most one per `every` of the profile, and, as a
 * provider may be asked before it has stored what it told, others after the waits of the schedule.
 * None of them counts. The task's own polls begin when they were due, so that strangers who ask for
 * looks use none of them up. True if that changed anything. */
bool pending_hint(pending_t *self, struct pending_task *task, int64_t now_ms);

/* The account of a profile, made if there is none: to put back what the store knows of its budget,
 * and for a person's pause. */
struct pending_account *pending_account(pending_t *self, const struct ald_profile *profile);

/* The task has ended: forget it. *task_p is NULL after. */
void pending_end(pending_t *self, struct pending_task **task_p, int64_t now_ms);

/* What a poll said, as far as scheduling goes. */
struct pending_poll {
    uint64_t lease;
    int64_t at_ms; /* when it was over, by its poller's clock: what it is known again by */
    bool left;     /* the request left */
    bool answered; /* a whole answer came */
    bool sense;    /* the answer said something: pending, a code of the table */
    bool alone;    /* ask for it alone until an answer says something */
    bool block;    /* the account waits for wait_ms; this poll is not held against the task */
    int64_t wait_ms;
    enum budget_sign sign;
    const char *code; /* for people: why the account waits */
};

/* Was this poll counted already? Its outcome was sent again: never that of the lease which the task
 * has now. Two are remembered, as the outcome of a lease that was taken away may come again after
 * that of the next; the last one is read back after a start. */
bool pending_reported(const struct pending_task *task, uint64_t lease, int64_t at_ms);

/* A poll came back and the task goes on: counts it and sets the next due. A poll whose lease was
 * taken away counts as what it is, but does not move the one that has the lease now. */
void pending_polled(pending_t *self, struct pending_task *task, const struct pending_poll *poll,
                    int64_t now_ms);

/* The outcome of this lease is here: may its request have fetched a result besides? */
void pending_fetched(struct pending_task *task, uint64_t lease, bool fetched);
/* One poll more left for the provider; what it said is not for its schedule. */
void pending_poll_left(struct pending_task *task);

enum pending_due_kind {
    PENDING_NOTHING, /* no task is due */
    PENDING_WAITS,   /* its due was moved (a poll was queued, a lease taken back): look again */
    PENDING_LATE,    /* *task's callback is late and there is nothing to poll: said once */
    PENDING_EXPIRE,  /* *task must end: its deadline is over */
    PENDING_UNSURE   /* the lease of *task's started submission is over: pending_submit_unsure */
};

/* Look at the task that is due first. hold: no task may expire now. */
enum pending_due_kind pending_due(pending_t *self, int64_t now_ms, bool hold,
                                  struct pending_task **task);

/* When this one is looked at. */
int64_t pending_due_ms(const pending_t *self, const struct pending_task *task);
/* When pending_due has something to look at, if nothing comes in; INT64_MAX: never. */
int64_t pending_next_ms(const pending_t *self);
/* When pending_lease may give a queued task, if nothing is told: not above now_ms: now, or it can't
 * be said. INT64_MAX: none is queued. */
int64_t pending_ready_ms(const pending_t *self, int64_t now_ms);

/* How long a lease of this profile lasts: as the settings say, or longer, so that no request of it
 * is cut off by its lease. */
int64_t pending_lease_ms(const pending_t *self, const struct ald_profile *profile);

/* Take the next task to poll or to submit, fairly among accounts whose budget lets one go, and
 * lease it to poller. NULL: nothing to do now. */
struct pending_task *pending_lease(pending_t *self, uint64_t poller, uint64_t lease,
                                   int64_t now_ms);

/* Take one more task into the request that lead, just leased, is asked for in. It costs no debit of
 * its own. NULL: there is none, or the request is full, or lead is asked for alone. */
struct pending_task *pending_lease_with(pending_t *self, struct pending_task *lead, uint64_t lease,
                                        int64_t now_ms);

/* A lease did not reach its poller, or the poller is gone: queue its tasks again. */
void pending_return(pending_t *self, struct pending_task *task, int64_t now_ms);
void pending_poller_gone(pending_t *self, uint64_t poller, int64_t now_ms);

/* Lowest open id, or 0. */
uint64_t pending_lowest(const pending_t *self);

/* Accounts: NULL past the last. */
struct pending_account *pending_account_at(const pending_t *self, size_t index);

#endif
