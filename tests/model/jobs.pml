/* jobs.pml - a task that is submitted and then polled: leases, starts, reports, and pollers that die.
 *
 * A lease is in the tracker's memory alone. The right to submit is asked for once more (`started`) and
 * is on disk before a byte leaves. A report is a fact, however late. Each lease has a poller of its own,
 * which may be killed at every step, as may the tracker, or its power fail; leases are lost, and what the
 * courier brings is lost, comes again, or in another order.
 *
 * Must hold:
 *   - the provider is given the task once, unless it said that it did not take it
 *   - nothing leaves whose start a power cut could take back
 *   - a task has one result, and a report that was acknowledged is on disk
 *   - once nothing breaks any more, the task ends (`ends`)
 *
 * That a lease does not come twice is the transport's: nobody sends one again (BUG_LEASE_TWICE).
 */
#ifndef LEASES /* enough for what may break; then none is given out */
#define LEASES 4
#endif
#ifndef KILLS /* of pollers, or the tracker */
#define KILLS 1
#endif
#ifndef CUTS
#define CUTS 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef REPEATS
#define REPEATS 1
#endif
#ifndef SLOW /* leases that are over while their poller works, or a submission that does not leave */
#define SLOW 1
#endif

/* Broken on purpose; each must be found. */
#ifndef BUG_NO_GATE /* the answer to a start leaves before it has settled */
#define BUG_NO_GATE 0
#endif
#ifndef BUG_SENT_WITHOUT_START /* a lease to submit is enough */
#define BUG_SENT_WITHOUT_START 0
#endif
#ifndef BUG_STARTED_IS_LEASED_AGAIN /* the end of a lease takes its start back */
#define BUG_STARTED_IS_LEASED_AGAIN 0
#endif
#ifndef BUG_START_OF_ANY_LEASE /* a start counts whoever asks */
#define BUG_START_OF_ANY_LEASE 0
#endif
#ifndef BUG_REPORT_OF_ANY_ATTEMPT /* "it never left" counts for the attempt under way */
#define BUG_REPORT_OF_ANY_ATTEMPT 0
#endif
#ifndef BUG_LATE_REPORT_IS_DROPPED /* only who has the lease may report */
#define BUG_LATE_REPORT_IS_DROPPED 0
#endif
#ifndef BUG_ENDED_AGAIN /* a second answer ends the task again */
#define BUG_ENDED_AGAIN 0
#endif
#ifndef BUG_NO_LEASE_END
#define BUG_NO_LEASE_END 0
#endif
#ifndef BUG_LEASE_TWICE /* the transport brings a lease a second time */
#define BUG_LEASE_TWICE 0
#endif

#define PLACES (LEASES + 1)

mtype:stage = { WAITING, STARTED, UNCERTAIN, TAKEN, ENDED };
mtype:job = { NO_JOB, ON_ITS_WAY, GOT, ASKS, MAY_SEND, SENT, REPORTS, RIDES, OVER };
mtype:report = { NO_REPORT, ACCEPTED, UNSENT, NOTHING_SAID, DONE };
mtype:word = { NO_WORD, GO, NO, HEARD };

/* The tracker's disk, as written and as settled. */
mtype:stage stage = WAITING, stage_settled = WAITING;
byte attempt, attempt_settled;
byte started_lease, started_lease_settled;
byte results, results_settled;

/* Its memory besides. */
bool tracker_up = true;
byte lease;      /* who has it; 0 = nobody */
byte last_lease; /* numbers go on over starts */
mtype:word said[PLACES] = NO_WORD; /* to a lease's poller; waits at the gate */

/* Leases: what is in them, and what their pollers do. */
bool submits[PLACES];
byte attempt_of[PLACES];
mtype:job job[PLACES] = NO_JOB;
mtype:report report[PLACES] = NO_REPORT;

/* On the way. */
bool started_way[PLACES], outcome_way[PLACES];
mtype:word started_ack_way[PLACES] = NO_WORD;
bool outcome_ack_way[PLACES];

byte bought; /* by the provider's own books */

byte kills, cuts, losses, repeats, slow;
byte k;

#define SETTLED (stage == stage_settled && attempt == attempt_settled && \
                 started_lease == started_lease_settled && results == results_settled)
#define PASSES_GATE (SETTLED || BUG_NO_GATE)

inline model_kept() {
    assert(bought <= 1);  /* paid for once */
    assert(results <= 1)  /* one result */
}

inline model_take(way) {
    if
    :: way = false
    :: repeats < REPEATS -> repeats++
    fi
}

/* ---- the tracker ---- */

/* services/tracker/pending_lease.c */
inline pending_lease() {
    last_lease++;
    lease = last_lease;
    submits[lease] = stage == WAITING;
    attempt_of[lease] = attempt + 1;
    job[lease] = ON_ITS_WAY
}

/* A lease is over, or its poller gone. */
/* services/tracker/pending_lease.c */
inline pending_return() {
    lease = 0;
    if
    :: stage == STARTED && BUG_STARTED_IS_LEASED_AGAIN -> stage = WAITING
    :: stage == STARTED && !BUG_STARTED_IS_LEASED_AGAIN -> submit_unsure()
    :: else
    fi
}

/* services/tracker/acts/acts_submit.c */
inline submit_unsure() {
    stage = UNCERTAIN
}

/* services/tracker/acts/acts_submit.c */
inline act_started(n) {
    if
    :: stage == WAITING && attempt_of[n] == attempt + 1 && (lease == n || BUG_START_OF_ANY_LEASE) ->
        stage = STARTED;
        attempt = attempt_of[n];
        started_lease = n;
        said[n] = GO
    :: stage == STARTED && (started_lease == n || BUG_START_OF_ANY_LEASE) -> said[n] = GO
    :: else -> said[n] = NO
    fi
}

/* Is it about what is open? */
#define MATTERS(n) ((stage == STARTED || stage == UNCERTAIN) && \
                    ((attempt_of[n] == attempt && started_lease == n) || BUG_REPORT_OF_ANY_ATTEMPT))
#define HAS_LEASE(n) (lease == n || !BUG_LATE_REPORT_IS_DROPPED)

/* services/tracker/acts/acts_submit.c */
inline submit_outcome(n) {
    if
    :: report[n] == ACCEPTED && stage != TAKEN && stage != ENDED && HAS_LEASE(n) -> stage = TAKEN
    :: report[n] == UNSENT && MATTERS(n) -> stage = WAITING
    :: report[n] == NOTHING_SAID && stage == STARTED && MATTERS(n) -> submit_unsure()
    :: else
    fi;
    lease = (lease == n -> 0 : lease)
}

/* services/tracker/acts/acts_poll.c */
inline poll_outcome(n) {
    if
    :: report[n] == DONE && (stage != ENDED || BUG_ENDED_AGAIN) -> ending_apply()
    :: else
    fi;
    lease = (lease == n -> 0 : lease)
}

/* services/tracker/acts/ending.c */
inline ending_apply() {
    stage = ENDED;
    results++
}

/* services/tracker/acts/acts_poll.c */
inline act_outcome(n) {
    said[n] = HEARD;
    if
    :: submits[n] -> submit_outcome(n)
    :: else -> poll_outcome(n)
    fi
}

/* Nobody can say any more what became of it. */
/* services/tracker/acts/acts_due.c */
inline due_expire() {
    ending_apply()
}

inline model_settles() {
    stage_settled = stage;
    attempt_settled = attempt;
    started_lease_settled = started_lease;
    results_settled = results
}

inline model_cut() {
    if
    :: true
    :: !SETTLED ->
        stage = stage_settled;
        attempt = attempt_settled;
        started_lease = started_lease_settled;
        results = results_settled
    fi
}

/* services/tracker/tracker.c */
inline tracker_open() {
    model_settles(); /* open_settle */
    lease = (stage == STARTED -> started_lease : 0);
    tracker_up = true
}

inline model_tracker_ends() {
    tracker_up = false;
    lease = 0;
    for (k : 1 .. LEASES) {
        said[k] = NO_WORD
    }
    k = 0
}

/* Nothing will come of it any more. */
#define SILENT(n) (job[n] == OVER && !started_way[n] && !outcome_way[n])

proctype tracker() {
end:
    do
    :: atomic { !tracker_up -> tracker_open() }
    :: atomic { tracker_up && (stage == WAITING || stage == TAKEN) && lease == 0 &&
            last_lease < LEASES && PASSES_GATE -> pending_lease() }
    :: atomic { tracker_up && lease != 0 && !BUG_NO_LEASE_END && (SILENT(lease) || slow < SLOW) ->
            if
            :: SILENT(lease)
            :: else -> slow++
            fi;
            pending_return() }
    :: atomic { tracker_up && stage == UNCERTAIN -> due_expire(); model_kept() }
    od
}

/* Its jobs channel, a lease at a time. */
proctype jobs(byte n) {
end:
    do
    :: atomic { tracker_up && started_way[n] && said[n] == NO_WORD ->
            model_take(started_way[n]); act_started(n) }
    :: atomic { tracker_up && outcome_way[n] && said[n] == NO_WORD ->
            model_take(outcome_way[n]); act_outcome(n); model_kept() }
    :: atomic { tracker_up && said[n] != NO_WORD && PASSES_GATE -> /* inbox_send */
            if
            :: said[n] == HEARD -> outcome_ack_way[n] = true
            :: else -> started_ack_way[n] = said[n]
            fi;
            said[n] = NO_WORD }
    od
}

proctype beside() {
end:
    do
    :: atomic { tracker_up && !SETTLED -> model_settles() }
    od
}

/* ---- a lease's poller ---- */

/* services/poller/work.c */
inline work_add(n) {
    job[n] = GOT
}

/* services/poller/jobs.c */
inline jobs_start(n) {
    job[n] = ASKS;
    started_way[n] = true
}

/* services/poller/jobs.c */
inline jobs_on_settled(n) {
    if
    :: job[n] == ASKS && started_ack_way[n] == GO -> job[n] = MAY_SEND
    :: job[n] == ASKS && started_ack_way[n] == NO -> job[n] = OVER
    :: else
    fi
}

/* services/poller/poller_ask.c */
inline poller_send(n) {
    assert(BUG_SENT_WITHOUT_START || attempt_settled >= attempt_of[n]); /* its start is on disk */
    job[n] = SENT;
    bought++
}

/* services/poller/jobs.c */
inline jobs_report(n, what) {
    job[n] = RIDES;
    report[n] = what;
    outcome_way[n] = true
}

#define STARTED_QUIET(n) (!started_way[n] && started_ack_way[n] == NO_WORD && said[n] == NO_WORD)
#define OUTCOME_QUIET(n) (!outcome_way[n] && !outcome_ack_way[n] && said[n] == NO_WORD)

proctype poller(byte n) {
end:
    do
    :: atomic { job[n] == ON_ITS_WAY -> work_add(n) }
    :: atomic { BUG_LEASE_TWICE && job[n] == RIDES && repeats < REPEATS && submits[n] ->
            repeats++; work_add(n) }
    :: atomic { job[n] == GOT && submits[n] && !BUG_SENT_WITHOUT_START -> jobs_start(n) }
    :: atomic { job[n] == GOT && submits[n] && BUG_SENT_WITHOUT_START -> poller_send(n); model_kept() }
    :: atomic { job[n] == GOT && slow < SLOW -> slow++; jobs_report(n, UNSENT) } /* handed back */
    :: atomic { job[n] == GOT && !submits[n] -> jobs_report(n, DONE) }
    :: atomic { job[n] == GOT && !submits[n] && slow < SLOW -> slow++; jobs_report(n, NOTHING_SAID) }
    :: atomic { job[n] == ASKS && STARTED_QUIET(n) -> started_way[n] = true }
    :: atomic { started_ack_way[n] != NO_WORD ->
            jobs_on_settled(n);
            if
            :: started_ack_way[n] = NO_WORD
            :: repeats < REPEATS -> repeats++
            fi }
    :: atomic { job[n] == MAY_SEND -> poller_send(n); model_kept() }
    :: atomic { job[n] == MAY_SEND && slow < SLOW -> slow++; jobs_report(n, UNSENT) }
    :: atomic { job[n] == SENT -> jobs_report(n, ACCEPTED) }
    :: atomic { job[n] == SENT && slow < SLOW -> slow++; jobs_report(n, NOTHING_SAID) }
    :: atomic { job[n] == RIDES && OUTCOME_QUIET(n) -> outcome_way[n] = true }
    :: atomic { outcome_ack_way[n] -> model_take(outcome_ack_way[n]);
            if
            :: job[n] == RIDES -> job[n] = OVER
            :: else
            fi;
            assert(report[n] != DONE || results_settled == 1);
            assert(report[n] != ACCEPTED || stage_settled == TAKEN || stage_settled == ENDED) }
    od
}

/* ---- what breaks ---- */

#define LIVES(n) (job[n] != NO_JOB && job[n] != ON_ITS_WAY && job[n] != OVER)

proctype faults() {
    do
    :: atomic { kills < KILLS && LIVES(1) -> kills++; job[1] = OVER }
    :: atomic { kills < KILLS && LIVES(2) -> kills++; job[2] = OVER }
    :: atomic { kills < KILLS && tracker_up -> kills++; model_tracker_ends() }
    :: atomic { cuts < CUTS -> cuts++; model_cut(); model_tracker_ends() }
    :: atomic { losses < LOSSES && job[1] == ON_ITS_WAY -> losses++; job[1] = OVER }
    :: atomic { losses < LOSSES && job[2] == ON_ITS_WAY -> losses++; job[2] = OVER }
    :: atomic { losses < LOSSES && started_way[1] -> losses++; started_way[1] = false }
    :: atomic { losses < LOSSES && started_ack_way[1] != NO_WORD -> losses++;
            started_ack_way[1] = NO_WORD }
    :: atomic { losses < LOSSES && outcome_way[1] -> losses++; outcome_way[1] = false }
    :: atomic { losses < LOSSES && outcome_ack_way[1] -> losses++; outcome_ack_way[1] = false }
    :: break
    od
}

init {
    atomic {
        run tracker();
        run beside();
        for (k : 1 .. LEASES) {
            run jobs(k);
            run poller(k)
        }
        k = 0;
        run faults()
    }
}

#ifdef LIVE
ltl ends { <> (stage_settled == ENDED) }
#endif
