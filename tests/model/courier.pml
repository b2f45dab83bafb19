/* courier.pml - a callback on its way: gateway and spool, tracker and gate.
 *
 * ITEMS copies of one task's callback come in, each under a number of its own. Gateway and tracker are
 * killed, or their machine loses its power, at every step; what is under way is lost, comes again, or
 * in another order. A commit of the tracker is written first and settles later: kill -9 keeps what is
 * written, a power cut what has settled, and any beginning of the rest.
 *
 * Must hold:
 *   - what was answered 2xx is on a disk that keeps it, from then on
 *   - a number is counted once and a task has one result, whatever comes again
 *   - nothing is acknowledged or published that a power cut could take back
 *   - once nothing breaks any more, each callback is answered or refused, the spool is empty, and the
 *     result of what was answered is published (`ends`, with -DLIVE)
 *
 * A way over the net is a set: what lies there may be taken at any time and stay there. What a clock
 * decides (late, sent again) may happen at any time.
 */
#ifndef ITEMS /* 1 or 2 */
#define ITEMS 2
#endif
#ifndef KILLS /* of either process */
#define KILLS 1
#endif
#ifndef CUTS /* of either one's power */
#define CUTS 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef REPEATS
#define REPEATS 1
#endif

/* Broken on purpose; each must be found. */
#ifndef BUG_NO_GATE /* the tracker says what is written, and has not settled */
#define BUG_NO_GATE 0
#endif
#ifndef BUG_REPEAT_PASSES_THE_GATE /* a number that memory knows is acknowledged at once */
#define BUG_REPEAT_PASSES_THE_GATE 0
#endif
#ifndef BUG_NO_START_UP_PROTOCOL /* what a start finds counts as settled, and is not */
#define BUG_NO_START_UP_PROTOCOL 0
#endif
#ifndef BUG_NO_DEDUP /* a number is taken again */
#define BUG_NO_DEDUP 0
#endif
#ifndef BUG_MEMORY_SURVIVES_A_FAILED_SYNC /* memory is not read back */
#define BUG_MEMORY_SURVIVES_A_FAILED_SYNC 0
#endif
#ifndef BUG_FLOOR_WITHOUT_SPOOL /* the floor passes what lies in the spool */
#define BUG_FLOOR_WITHOUT_SPOOL 0
#endif
#ifndef BUG_SPOOL_FORGETS_WHAT_IS_SENT /* a row goes when it is sent, not when it is acknowledged */
#define BUG_SPOOL_FORGETS_WHAT_IS_SENT 0
#endif
#ifndef BUG_ANSWERED_BEFORE_SPOOLED /* late, so 200, then into the spool */
#define BUG_ANSWERED_BEFORE_SPOOLED 0
#endif
#ifndef BUG_SPOOL_DOES_NOT_SYNC /* synchronous=NORMAL */
#define BUG_SPOOL_DOES_NOT_SYNC 0
#endif
#ifndef BUG_NEVER_SENT_AGAIN
#define BUG_NEVER_SENT_AGAIN 0
#endif

mtype:caller = { ABSENT, ASKS, ANSWERED, REFUSED };
mtype:parcel = { NOWHERE, WAITS, RIDES, LATE, STORED };
mtype:said = { NOTHING, SAID, COVERED, FREE };

/* The provider calls once for each item, in the order of their numbers. */
mtype:caller caller[ITEMS] = ABSENT;

/* The gateway. */
bool gateway_up = true;
mtype:parcel parcel[ITEMS] = NOWHERE; /* in the courier, or on its way into the spool */
bool drained[ITEMS]; /* it is the drain's: nobody waits for it */
bool gone[ITEMS];    /* acknowledged, its row is to be removed */
bool spool[ITEMS];   /* on disk */

/* On the way. */
bool batch_has[ITEMS];
bool acks_have[ITEMS];

/* The tracker's memory. */
bool tracker_up = true;
bool seen[ITEMS];
bool below[ITEMS]; /* the sender's floor has passed it */
bool ended;        /* the task is none of the open ones */

/* Its gate: what waits for the disk. COVERED: by the sync under way; FREE: it may leave. */
mtype:said ack[ITEMS] = NOTHING;
mtype:said event = NOTHING;

/* Its disk. */
byte written[ITEMS], syncing[ITEMS], settled[ITEMS]; /* arrivals */
byte results, results_syncing, results_settled;
bool sync_under_way;

bool published; /* somebody has had the event */

byte kills, cuts, losses, repeats;
byte k; /* of loops inside steps; 0 between them */

/* The gateway would tell a higher floor than the tracker has heard. */
#define PASSED(n) (caller[n] != ABSENT && caller[n] != ASKS && parcel[n] == NOWHERE && \
                   (!spool[n] || BUG_FLOOR_WITHOUT_SPOOL))
#define FLOOR_MOVES (PASSED(0) && (!below[0] || (PASSED(ITEMS - 1) && !below[ITEMS - 1])))

/* ---- what must hold ---- */

inline model_kept() {
    for (k : 0 .. ITEMS - 1) {
        assert(caller[k] != ANSWERED || spool[k] || settled[k] > 0); /* answered, on disk */
        assert(written[k] <= 1);                                     /* counted once */
    }
    k = 0;
    assert(results <= 1);                          /* one result */
    assert(!published || results_settled == 1)     /* published, on disk */
}

/* ---- the net ---- */

/* It is taken; or it stays, for another time. */
inline model_take(way) {
    if
    :: way = false
    :: repeats < REPEATS -> repeats++
    fi
}

/* Sent again when nothing of it is on the way any more, or waits at the gate. Earlier, too, but not
 * without end. */
#define QUIET(n) (!batch_has[n] && !acks_have[n] && ack[n] == NOTHING)
#define MAY_BE_SENT_AGAIN(n) (!BUG_NEVER_SENT_AGAIN && (QUIET(n) || repeats < REPEATS))

inline model_again(n) {
    if
    :: QUIET(n)
    :: else -> repeats++
    fi
}

/* ---- the gateway ---- */

/* services/gateway/post.c */
inline post_take(n) {
    caller[n] = ASKS;
    parcel[n] = WAITS;
    drained[n] = false
}

/* services/gateway/post.c */
inline post_end(n) {
    if
    :: caller[n] == ASKS -> caller[n] = ANSWERED
    :: else
    fi
}

/* common/net/courier.c */
inline courier_send(n) {
    parcel[n] = RIDES;
    batch_has[n] = true;
    spool[n] = spool[n] && !(drained[n] && BUG_SPOOL_FORGETS_WHAT_IS_SENT)
}

/* common/net/courier.c */
inline courier_call_back(n) {
    parcel[n] = WAITS
}

/* services/gateway/drain.c */
inline drain_acked(n) {
    gone[n] = spool[n]
}

/* common/net/courier.c */
inline courier_settle(n) {
    if
    :: (parcel[n] == WAITS || parcel[n] == RIDES) && !drained[n] ->
        parcel[n] = NOWHERE;
        post_end(n)
    :: (parcel[n] == WAITS || parcel[n] == RIDES) && drained[n] ->
        parcel[n] = NOWHERE;
        drain_acked(n)
    :: else -> drain_acked(n)
    fi
}

/* services/gateway/post.c */
inline post_late(n) {
    parcel[n] = LATE;
    if
    :: BUG_ANSWERED_BEFORE_SPOOLED -> post_end(n)
    :: else
    fi
}

/* services/gateway/drain.c */
inline drain_late(n) {
    parcel[n] = NOWHERE
}

/* services/gateway/drain.c */
inline drain_store(n) {
    spool[n] = true;
    parcel[n] = STORED
}

/* services/gateway/post.c */
inline post_spool(n) {
    post_end(n);
    parcel[n] = NOWHERE
}

/* services/gateway/drain.c */
inline drain_send(n) {
    parcel[n] = WAITS;
    drained[n] = true
}

/* services/gateway/drain.c */
inline drain_forget(n) {
    spool[n] = false;
    gone[n] = false
}

/* All numbers below it are settled. What waits in a gateway that was killed is asked about by
 * nobody, unless it lies in the spool. */
/* services/gateway/post.c */
inline post_floor() {
    k = 0;
    do
    :: k < ITEMS && PASSED(k) -> below[k] = true; k++
    :: else -> break
    od;
    k = 0
}

inline model_gateway_ends() {
    gateway_up = false;
    for (k : 0 .. ITEMS - 1) {
        parcel[k] = NOWHERE;
        drained[k] = false;
        gone[k] = false;
        if
        :: caller[k] == ASKS -> caller[k] = REFUSED /* no answer is none */
        :: else
        fi
    }
    k = 0
}

/* What the gateway does about one item. */
#define UNDER_WAY(n) (parcel[n] == WAITS || parcel[n] == RIDES)

proctype gateway(byte n) {
end:
    do
    :: atomic { !gateway_up -> gateway_up = true }
    :: atomic { gateway_up && caller[n] == ABSENT && (n == 0 || caller[n - 1] != ABSENT) ->
            post_take(n) }
    :: atomic { gateway_up && parcel[n] == WAITS -> courier_send(n) }
    :: atomic { gateway_up && acks_have[n] -> model_take(acks_have[n]); courier_settle(n);
            model_kept() }
    :: atomic { gateway_up && parcel[n] == RIDES && MAY_BE_SENT_AGAIN(n) ->
            model_again(n); courier_call_back(n) }
    :: atomic { gateway_up && UNDER_WAY(n) && !drained[n] -> post_late(n); model_kept() }
    :: atomic { gateway_up && parcel[n] == RIDES && drained[n] && MAY_BE_SENT_AGAIN(n) ->
            model_again(n); drain_late(n) }
    :: atomic { gateway_up && parcel[n] == LATE -> drain_store(n) }
    :: atomic { gateway_up && parcel[n] == STORED -> post_spool(n); model_kept() }
    :: atomic { gateway_up && spool[n] && parcel[n] == NOWHERE && !gone[n] -> drain_send(n) }
    :: atomic { gateway_up && gone[n] -> drain_forget(n); model_kept() }
    od
}

/* ---- the tracker ---- */

/* services/tracker/senders.c */
inline sender_note(n) {
    seen[n] = true
}

/* services/tracker/acts/ending.c */
inline ending_apply() {
    ended = true;
    results++;
    event = SAID
}

/* With tracker_commit: it is written. */
/* services/tracker/acts/acts.c */
inline act_callback(n) {
    ack[n] = (ack[n] == NOTHING -> SAID : ack[n]); /* two answers to a number say the same */
    if
    :: (seen[n] || below[n]) && !BUG_NO_DEDUP -> /* sender_seen: as it was answered first */
        ack[n] = (BUG_REPEAT_PASSES_THE_GATE -> FREE : ack[n])
    :: else ->
        sender_note(n);
        written[n]++;
        if
        :: !ended -> ending_apply()
        :: else
        fi
    fi;
    if
    :: BUG_NO_GATE ->
        ack[n] = FREE;
        event = (event == SAID -> FREE : event)
    :: else
    fi
}

/* services/tracker/inbox.c */
inline inbox_send(n) {
    ack[n] = NOTHING;
    acks_have[n] = true;
    assert(below[n] || settled[n] > 0) /* acknowledged, on disk */
}

/* services/tracker/feed.c */
inline feed_tell() {
    event = NOTHING;
    published = true
}

/* What the tracker does about one item. */
proctype tracker(byte n) {
end:
    do
    :: atomic { tracker_up && batch_has[n] -> model_take(batch_has[n]); act_callback(n);
            model_kept() }
    :: atomic { tracker_up && ack[n] == FREE -> inbox_send(n) }
    od
}

/* ---- its disk, and what goes on beside ---- */

#define UNSETTLED (results != results_settled || written[0] != settled[0] || \
                   written[ITEMS - 1] != settled[ITEMS - 1])
#define GATE_KEEPS (event == SAID || ack[0] == SAID || ack[ITEMS - 1] == SAID)

inline model_sync_begins() {
    sync_under_way = true;
    for (k : 0 .. ITEMS - 1) {
        syncing[k] = written[k];
        ack[k] = (ack[k] == SAID -> COVERED : ack[k])
    }
    k = 0;
    results_syncing = results;
    event = (event == SAID -> COVERED : event)
}

inline model_sync_is_over() {
    sync_under_way = false;
    for (k : 0 .. ITEMS - 1) {
        syncing[k] = 0
    }
    k = 0;
    results_syncing = 0
}

/* What the sync has covered may leave. */
/* common/net/gate.c */
inline gate_turn() {
    for (k : 0 .. ITEMS - 1) {
        settled[k] = syncing[k];
        ack[k] = (ack[k] == COVERED -> FREE : ack[k])
    }
    k = 0;
    results_settled = results_syncing;
    event = (event == COVERED -> FREE : event)
}

/* common/net/gate.c */
inline gate_forget() {
    for (k : 0 .. ITEMS - 1) {
        ack[k] = NOTHING
    }
    k = 0;
    event = NOTHING
}

/* Of what was written since the last sync: all, what a sync had begun with, or nothing. */
inline model_survives() {
    if
    :: true
    :: sync_under_way ->
        for (k : 0 .. ITEMS - 1) {
            written[k] = syncing[k]
        }
        results = results_syncing
    :: UNSETTLED ->
        for (k : 0 .. ITEMS - 1) {
            written[k] = settled[k]
        }
        results = results_settled
    fi;
    k = 0
}

/* The start-up protocol: what is found is brought to the disk before anybody may rely on it. */
/* common/store/sqlite_open.c */
inline open_settle() {
    if
    :: !BUG_NO_START_UP_PROTOCOL ->
        for (k : 0 .. ITEMS - 1) {
            settled[k] = written[k]
        }
        k = 0;
        results_settled = results
    :: else
    fi
}

/* All memory is read back from the store. */
/* services/tracker/tracker.c */
inline tracker_open() {
    open_settle();
    for (k : 0 .. ITEMS - 1) {
        seen[k] = written[k] > 0;
        below[k] = false
    }
    k = 0;
    ended = results > 0;
    event = (ended && !published -> FREE : NOTHING); /* who fetches is given it */
    tracker_up = true
}

inline model_tracker_ends() {
    tracker_up = false;
    gate_forget();
    model_sync_is_over();
    for (k : 0 .. ITEMS - 1) {
        seen[k] = false;
        below[k] = false
    }
    k = 0;
    ended = false
}

/* The sync has failed: nobody knows what of it is on the disk, and nothing is told. */
/* services/tracker/tracker.c */
inline tracker_give_up_store() {
    model_survives();
    gate_forget();
    model_sync_is_over();
    if
    :: BUG_MEMORY_SURVIVES_A_FAILED_SYNC -> open_settle()
    :: else -> model_tracker_ends()
    fi
}

proctype beside() {
end:
    do
    :: atomic { !tracker_up -> tracker_open(); model_kept() }
    :: atomic { tracker_up && !sync_under_way && (UNSETTLED || GATE_KEEPS) -> model_sync_begins() }
    :: atomic { tracker_up && sync_under_way -> gate_turn(); model_sync_is_over(); model_kept() }
    :: atomic { tracker_up && event == FREE -> feed_tell(); model_kept() }
    od
}

/* A hello, or the head of a batch, brings the floor. */
proctype heads() {
end:
    do
    :: atomic { tracker_up && gateway_up && FLOOR_MOVES -> post_floor() }
    od
}

/* ---- what breaks ---- */

proctype faults() {
    do
    :: atomic { kills < KILLS && gateway_up -> kills++; model_gateway_ends(); model_kept() }
    :: atomic { kills < KILLS && tracker_up -> kills++; model_tracker_ends(); model_kept() }
    :: atomic { cuts < CUTS -> cuts++; model_survives(); model_tracker_ends(); model_kept() }
    :: atomic { BUG_SPOOL_DOES_NOT_SYNC && cuts < CUTS -> cuts++; model_gateway_ends();
            spool[0] = false; model_kept() }
    :: atomic { cuts < CUTS && tracker_up && sync_under_way -> cuts++; tracker_give_up_store();
            model_kept() }
    :: atomic { losses < LOSSES && batch_has[0] -> losses++; batch_has[0] = false }
    :: atomic { losses < LOSSES && acks_have[0] -> losses++; acks_have[0] = false }
    :: break
    od
}

init {
    atomic {
        for (k : 0 .. ITEMS - 1) {
            run gateway(k);
            run tracker(k)
        }
        k = 0;
        run beside();
        run heads();
        run faults()
    }
}

#define OVER(n) ((caller[n] == ANSWERED || caller[n] == REFUSED) && !spool[n] && parcel[n] == NOWHERE)
#define KNOWN(n) (caller[n] != ANSWERED || published)

#ifdef LIVE
ltl ends { <> (OVER(0) && OVER(ITEMS - 1) && KNOWN(0) && KNOWN(ITEMS - 1)) }
#endif
