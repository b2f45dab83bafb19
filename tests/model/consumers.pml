/* consumers.pml - a durable consumer: hand-outs that are counted, leases, settlements, redelivery.
 *
 * EVENTS events lie in the feed. INSTANCES programs share the name of a consumer: each pulls, works,
 * and settles with its next pull. Tracker and programs are killed at every step, or the tracker's power
 * fails; an answer may be lost, leases end, an event may be given back (`nack`).
 *
 * Must hold:
 *   - what is acknowledged was worked on by somebody
 *   - what was said to be settled is never handed out again, whatever breaks
 *   - no more than one copy comes without the word that it may be one (`redelivered`)
 *   - what kills its consumer does it max_deliver times and no oftener, but for starts of the tracker
 *   - once nothing breaks any more, each event is acknowledged or a letter (`ends`)
 */
#ifndef EVENTS /* 1 or 2 */
#define EVENTS 2
#endif
#ifndef INSTANCES
#define INSTANCES 2
#endif
#ifndef MAX_DELIVER
#define MAX_DELIVER 2
#endif
#ifndef KILLS /* of programs */
#define KILLS 1
#endif
#ifndef STARTS /* of the tracker, after a kill -9 or a power cut */
#define STARTS 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef SLOW /* leases that are over while somebody works, and nacks */
#define SLOW 1
#endif

/* Broken on purpose; each must be found. */
#ifndef BUG_SAID_BEFORE_SETTLED /* the answer to a settlement leaves when it is written */
#define BUG_SAID_BEFORE_SETTLED 0
#endif
#ifndef BUG_COUNTED_AFTER_HAND_OUT /* the event leaves before its count has settled */
#define BUG_COUNTED_AFTER_HAND_OUT 0
#endif
#ifndef BUG_LAPSE_IS_NOT_COUNTED /* a lease that ended without a word is free */
#define BUG_LAPSE_IS_NOT_COUNTED 0
#endif
#ifndef BUG_RANGE_SETTLES_OTHERS /* a range settles what other instances have, too */
#define BUG_RANGE_SETTLES_OTHERS 0
#endif
#ifndef BUG_NACK_OF_ANYBODY /* who does not have it any more gives it back, also when it is settled */
#define BUG_NACK_OF_ANYBODY 0
#endif
#ifndef BUG_NO_LEASE_END
#define BUG_NO_LEASE_END 0
#endif

mtype:entry = { FRESH, LEASED, LEASED_ALONE, WAITING, SUSPECT, FREE, FREE_ALONE, ACKED, LETTER };
mtype:pull = { NO_PULL, ASKED, HEARD, ANSWERED };

#define NOBODY 7

/* An entry of the flight, as memory has it and is written, and as it has settled. */
mtype:entry state[EVENTS] = FRESH, state_settled[EVENTS] = FRESH;
byte count[EVENTS], count_settled[EVENTS];
byte holder[EVENTS] = NOBODY, holder_settled[EVENTS] = NOBODY;

/* The tracker's memory besides: the answer that waits at the gate. */
bool tracker_up = true;
bool gate_has[INSTANCES];

/* What an answer says: bit e: event e; bit e of again: and `redelivered`. */
mtype:pull pull[INSTANCES] = NO_PULL; /* ASKED: on its way, HEARD: waits, ANSWERED: on its way back */
byte events[INSTANCES], again[INSTANCES];

/* The programs. */
byte has[INSTANCES];    /* works on it */
byte done[INSTANCES];   /* worked on, to be settled */
byte settles[INSTANCES]; /* is in the pull that is not answered yet */

/* What an observer knows. */
bool plain[EVENTS], worked[EVENTS], told[EVENTS];
byte deaths[EVENTS];

byte kills, starts, losses, slow;
byte k, m;

#define BIT(e) (1 << (e))
#define IN(set, e) (((set) >> (e)) & 1)
#define IS_OVER(s) (s == ACKED || s == LETTER)
#define IS_OUT(s) (s == LEASED || s == LEASED_ALONE)
#define LAST (EVENTS - 1)
#define SAME(e) (state[e] == state_settled[e] && count[e] == count_settled[e] && \
                 holder[e] == holder_settled[e])
#define SETTLED (SAME(0) && SAME(LAST))

#define HOLDS(i) ((IS_OUT(state[0]) && holder[0] == i) || (IS_OUT(state[LAST]) && holder[LAST] == i))
#define ALONE(i) ((state[0] == LEASED_ALONE && holder[0] == i) || \
                  (state[LAST] == LEASED_ALONE && holder[LAST] == i))
#define SUSPECTED(e) (state[e] == SUSPECT || state[e] == FREE_ALONE)
#define ANY_SUSPECT (SUSPECTED(0) || SUSPECTED(LAST))
#define COMES_AGAIN(e) (state[e] == WAITING || state[e] == FREE)

/* ---- settling ---- */

/* services/tracker/consumers/consumer_settle.c */
inline consumer_reject(e) {
    state[e] = LETTER;
    holder[e] = NOBODY
}

/* services/tracker/consumers/consumer_settle.c */
inline consumer_end(e) {
    assert(worked[e]); /* acknowledged, worked on */
    state[e] = ACKED;
    holder[e] = NOBODY
}

/* Of a pull: an ack of each event by its number, or of a range. */
/* services/tracker/consumers/consumer_settle.c */
inline consumer_settle(i) {
    for (k : 0 .. LAST) {
        if
        :: IN(settles[i], k) && !IS_OVER(state[k]) -> consumer_end(k)
        :: !IN(settles[i], k) && BUG_RANGE_SETTLES_OTHERS && settles[i] != 0 && IS_OUT(state[k]) ->
            consumer_end(k)
        :: else
        fi
    }
    k = 0
}

/* services/tracker/consumers/consumer_settle.c */
inline consumer_nack(e) {
    if
    :: count[e] >= MAX_DELIVER -> consumer_reject(e)
    :: else ->
        state[e] = WAITING;
        holder[e] = NOBODY
    fi
}

/* A lease is over without a word. */
/* services/tracker/consumers/consumer_settle.c */
inline consumer_lapse(e) {
    if
    :: BUG_LAPSE_IS_NOT_COUNTED -> state[e] = FREE_ALONE
    :: !BUG_LAPSE_IS_NOT_COUNTED && count[e] >= MAX_DELIVER -> consumer_reject(e)
    :: else -> state[e] = SUSPECT
    fi
}

/* ---- handing out ---- */

inline model_put(i, e, copy) {
    assert(!told[e]); /* settled, and said so */
    events[i] = events[i] | BIT(e);
    again[i] = (copy -> again[i] | BIT(e) : again[i])
}

/* services/tracker/consumers/consumer.c */
inline consumer_hand_fresh(i, e) {
    state[e] = LEASED;
    count[e] = 1;
    holder[e] = i;
    model_put(i, e, false)
}

/* services/tracker/consumers/consumer.c */
inline consumer_hand_again(i, e) {
    count[e] = count[e] + (state[e] == WAITING || state[e] == SUSPECT -> 1 : 0);
    state[e] = (SUSPECTED(e) -> LEASED_ALONE : LEASED);
    holder[e] = i;
    model_put(i, e, true)
}

/* A suspect goes alone; then what comes again; then what is new. */
/* services/tracker/consumers/consumer.c */
inline consumer_offer(i) {
    if
    :: SUSPECTED(0) -> consumer_hand_again(i, 0)
    :: !SUSPECTED(0) && SUSPECTED(LAST) -> consumer_hand_again(i, LAST)
    :: !ANY_SUSPECT && COMES_AGAIN(0) ->
        consumer_hand_again(i, 0);
        if
        :: EVENTS > 1 && COMES_AGAIN(LAST) -> consumer_hand_again(i, LAST)
        :: else
        fi
    :: !ANY_SUSPECT && !COMES_AGAIN(0) && COMES_AGAIN(LAST) -> consumer_hand_again(i, LAST)
    :: !ANY_SUSPECT && !COMES_AGAIN(0) && !COMES_AGAIN(LAST) && state[0] == FRESH ->
        consumer_hand_fresh(i, 0);
        if
        :: EVENTS > 1 && state[LAST] == FRESH -> consumer_hand_fresh(i, LAST)
        :: true /* its limit is one */
        fi
    :: else -> consumer_hand_fresh(i, LAST)
    fi;
    gate_has[i] = true
}

#define CAN_GO(e) (SUSPECTED(e) || COMES_AGAIN(e) || state[e] == FRESH)
#define MAY_BE_OFFERED(i) (!ALONE(i) && !(ANY_SUSPECT && HOLDS(i)) && (CAN_GO(0) || CAN_GO(LAST)))

/* ---- the tracker ---- */

inline model_settles() {
    for (m : 0 .. LAST) {
        state_settled[m] = state[m];
        count_settled[m] = count[m];
        holder_settled[m] = holder[m]
    }
    m = 0
}

/* What was leased is offered again, and not counted again. */
/* services/tracker/consumers/consumer_flight.c */
inline consumer_unpack() {
    for (m : 0 .. LAST) {
        state[m] = (state[m] == LEASED -> FREE : (state[m] == LEASED_ALONE -> FREE_ALONE : state[m]));
    }
    m = 0
}

/* services/tracker/consumers/consumers.c */
inline consumers_pull(i) {
    consumer_settle(i);
    pull[i] = HEARD
}

/* The answer leaves when all that it says is on disk: the settlements of its pull, too. */
/* services/tracker/consumers/consumers_write.c */
inline consumers_tell(i) {
    gate_has[i] = false;
    pull[i] = ANSWERED
}

inline model_tracker_ends() {
    tracker_up = false;
    for (m : 0 .. INSTANCES - 1) {
        gate_has[m] = false;
        events[m] = (pull[m] == HEARD -> 0 : events[m]);
        again[m] = (pull[m] == HEARD -> 0 : again[m]);
        pull[m] = (pull[m] == HEARD -> NO_PULL : pull[m])
    }
    m = 0
}

inline model_cut() {
    if
    :: true
    :: !SETTLED ->
        for (m : 0 .. LAST) {
            state[m] = state_settled[m];
            count[m] = count_settled[m];
            holder[m] = holder_settled[m]
        }
        m = 0
    fi
}

/* What the tracker does for one instance. */
proctype tracker(byte i) {
end:
    do
    :: atomic { tracker_up && pull[i] == ASKED -> consumers_pull(i) }
    :: atomic { tracker_up && pull[i] == HEARD && !gate_has[i] && MAY_BE_OFFERED(i) ->
            consumer_offer(i) }
    :: atomic { tracker_up && pull[i] == HEARD && !gate_has[i] && !MAY_BE_OFFERED(i) &&
            settles[i] != 0 -> gate_has[i] = true } /* consumers_end_waits: nothing, but it is settled */
    :: atomic { tracker_up && gate_has[i] && (SETTLED || (BUG_SAID_BEFORE_SETTLED && events[i] == 0) ||
            (BUG_COUNTED_AFTER_HAND_OUT && events[i] != 0)) -> consumers_tell(i) }
    od
}

/* The lease of nobody who could still say something. */
#define SILENT(e) (!IN(has[holder[e]], e) && !IN(done[holder[e]], e) && \
                   !(IN(events[holder[e]], e) && pull[holder[e]] != NO_PULL))
#define LAPSES(e) (IS_OUT(state[e]) && !BUG_NO_LEASE_END && (SILENT(e) || slow < SLOW))

inline model_lapse(e) {
    if
    :: SILENT(e)
    :: else -> slow++
    fi;
    consumer_lapse(e)
}

/* consumer_due, and the sync beside. */
proctype clock() {
end:
    do
    :: atomic { !tracker_up -> consumer_unpack(); model_settles(); tracker_up = true }
    :: atomic { tracker_up && LAPSES(0) -> model_lapse(0) }
    :: atomic { tracker_up && EVENTS > 1 && LAPSES(LAST) -> model_lapse(LAST) }
    od
}

proctype beside() {
end:
    do
    :: atomic { tracker_up && !SETTLED -> model_settles() }
    od
}

/* ---- the programs ---- */

inline model_receives(i) {
    for (m : 0 .. LAST) {
        if
        :: IN(events[i], m) ->
            assert(!plain[m] || IN(again[i], m)); /* one without `redelivered` */
            plain[m] = plain[m] || !IN(again[i], m)
        :: else
        fi;
        told[m] = told[m] || IN(settles[i], m)
    }
    m = 0;
    has[i] = has[i] | events[i];
    done[i] = done[i] & ~settles[i];
    settles[i] = 0;
    events[i] = 0;
    again[i] = 0;
    pull[i] = NO_PULL
}

inline model_works(i, e) {
    has[i] = has[i] & ~BIT(e);
    done[i] = done[i] | BIT(e);
    worked[e] = true
}

/* It is killed, perhaps by what it has. The next one of the same name knows of nothing. */
inline model_dies(i) {
    for (m : 0 .. LAST) {
        if
        :: IN(has[i], m) ->
            deaths[m]++;
            assert(deaths[m] <= MAX_DELIVER + starts)
        :: else
        fi
    }
    m = 0;
    has[i] = 0;
    done[i] = 0;
    settles[i] = 0;
    events[i] = 0;
    again[i] = 0;
    gate_has[i] = false;
    pull[i] = NO_PULL
}

proctype program(byte i) {
end:
    do
    :: atomic { pull[i] == NO_PULL && has[i] == 0 && tracker_up ->
            settles[i] = done[i];
            pull[i] = ASKED }
    :: atomic { pull[i] == ANSWERED -> model_receives(i) }
    :: atomic { IN(has[i], 0) -> model_works(i, 0) }
    :: atomic { EVENTS > 1 && IN(has[i], LAST) -> model_works(i, LAST) }
    :: atomic { IN(has[i], 0) && slow < SLOW && tracker_up -> slow++;
            has[i] = has[i] & ~BIT(0);
            if
            :: holder[0] == i || BUG_NACK_OF_ANYBODY -> consumer_nack(0)
            :: else
            fi }
    od
}

/* ---- what breaks ---- */

proctype faults() {
    do
    :: atomic { kills < KILLS && (has[0] | done[0]) != 0 -> kills++; model_dies(0) }
    :: atomic { kills < KILLS && pull[0] == HEARD && !gate_has[0] -> kills++; model_dies(0) }
    :: atomic { kills < KILLS && INSTANCES > 1 && has[INSTANCES - 1] != 0 -> kills++;
            model_dies(INSTANCES - 1) }
    :: atomic { starts < STARTS && tracker_up -> starts++; model_tracker_ends() }
    :: atomic { starts < STARTS && tracker_up -> starts++; model_cut(); model_tracker_ends() }
    :: atomic { losses < LOSSES && pull[0] == ANSWERED -> losses++;
            events[0] = 0; again[0] = 0; pull[0] = NO_PULL }
    :: atomic { losses < LOSSES && pull[0] == ASKED -> losses++; pull[0] = NO_PULL }
    :: break
    od
}

init {
    atomic {
        for (k : 0 .. INSTANCES - 1) {
            run tracker(k);
            run program(k)
        }
        k = 0;
        run clock();
        run beside();
        run faults()
    }
}

#ifdef LIVE
ltl ends { <> (IS_OVER(state_settled[0]) && IS_OVER(state_settled[LAST])) }
#endif
