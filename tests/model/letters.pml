/* letters.pml - a dead letter: outbox of the tracker, dlq, and its way back.
 *
 * A task's transaction makes a letter and its row in the outbox. The courier brings it to the dlq, which
 * sends it back to be judged, at most ATTEMPTS times by its schedule. Meanwhile its answer may come by
 * another way, so that the tracker closes it; and a person may drop it. Tracker and dlq are killed, or
 * lose their power, at every step; what is under way is lost, comes again, or in another order.
 *
 * Must hold:
 *   - an open letter is in one of the two places, and the dlq has none that the tracker could forget
 *   - what it says takes effect once, and not when it was dropped: but of an attempt that came twice
 *     the second copy may have an effect after a person dropped the letter on the answer to the first
 *   - a closed letter never opens again
 *   - once nothing breaks any more, the outbox is empty and both sides agree on what is open (`ends`)
 *
 * The dlq syncs within its commits, so there is no difference between its two ways to end.
 */
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef SCHEDULED /* its reason goes back by schedule; 0: as submit_uncertain, which waits */
#define SCHEDULED 1
#endif
#ifndef PERSON /* somebody may drop it */
#define PERSON 1
#endif
#ifndef KILLS
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

/* Broken on purpose; each must be found. */
#ifndef BUG_NO_GATE /* a letter leaves before its transaction has settled */
#define BUG_NO_GATE 0
#endif
#ifndef BUG_OUTBOX_FORGETS_WHAT_IS_SENT /* its row goes when it is sent, not when it is acknowledged */
#define BUG_OUTBOX_FORGETS_WHAT_IS_SENT 0
#endif
#ifndef BUG_ACKNOWLEDGED_BEFORE_KEPT /* the dlq acknowledges, and commits then */
#define BUG_ACKNOWLEDGED_BEFORE_KEPT 0
#endif
#ifndef BUG_PURGED_BELOW_NO_FLOOR /* a tombstone goes while the letter may be sent again */
#define BUG_PURGED_BELOW_NO_FLOOR 0
#endif
#ifndef BUG_JUDGED_AGAIN /* the tracker judges a letter that it has closed */
#define BUG_JUDGED_AGAIN 0
#endif
#ifndef BUG_ANSWER_OPENS_A_CLOSED_LETTER /* `still` to an attempt, after the tracker has closed it */
#define BUG_ANSWER_OPENS_A_CLOSED_LETTER 0
#endif
#ifndef BUG_CLOSING_PASSES_ITS_LETTER /* the dlq takes the closing of a letter that is still to come */
#define BUG_CLOSING_PASSES_ITS_LETTER 0
#endif
#ifndef BUG_DROPPED_UNDER_WAY /* a letter is dropped whose attempt is not answered */
#define BUG_DROPPED_UNDER_WAY 0
#endif
#ifndef BUG_NEVER_SENT_AGAIN
#define BUG_NEVER_SENT_AGAIN 0
#endif

#define PLACES (ATTEMPTS + 1)

mtype:letter = { NONE, OPEN, HELD, RESOLVED, DROPPED, PURGED };
mtype:word = { NO_WORD, STILL, APPLIED, DROPPED_BEFORE };

/* The tracker's disk, as written and as settled. Its memory is what is written. */
mtype:letter letter = NONE, letter_settled = NONE;
mtype:word outcome = NO_WORD, outcome_settled = NO_WORD;
bool outbox, outbox_settled_row;   /* the letter's row */
bool telling, telling_settled_row; /* the row that says: it is closed */
byte effects, effects_settled;

/* And its memory. */
bool tracker_up = true;
bool outbox_rides, telling_rides;
bool outbox_acked, telling_acked; /* to be deleted */
mtype:word said[PLACES] = NO_WORD; /* to an attempt; waits at the gate */
bool told_dropped;                 /* to a person's drop; the same */

/* The dlq's disk. */
bool dlq_up = true;
mtype:letter shelf = NONE;
byte attempts;
byte pinned;  /* an attempt is under way */
byte sending; /* and this is its number */
bool closing; /* the tracker is to be told that a person dropped it */
bool floor;   /* the tracker says that the letter's row is gone */

/* And its memory. */
bool sending_rides, closing_rides;
bool keeps; /* BUG_ACKNOWLEDGED_BEFORE_KEPT: not committed yet */

/* On the way. */
bool letter_way, letter_ack_way, telling_way, telling_ack_way, closing_way, closing_ack_way;
bool telling_busy;  /* it was too early; it comes again later */
bool telling_alone; /* the head of the batch says that nothing is before it */
bool reinject_way[PLACES];
mtype:word answer_way[PLACES] = NO_WORD;

bool answered, dropped; /* once each */
bool was_closed;        /* at the dlq */
bool twice;             /* an attempt was sent again while its first copy was on its way */

byte kills, cuts, losses, repeats;
byte k;

#define IS_CLOSED(l) (l == RESOLVED || l == DROPPED)
#define SETTLED (letter == letter_settled && outcome == outcome_settled && \
                 outbox == outbox_settled_row && telling == telling_settled_row && \
                 effects == effects_settled)
#define PASSES_GATE (SETTLED || BUG_NO_GATE)

inline model_kept() {
    assert(effects <= 1);                                                   /* once */
    assert(!(effects == 1 && shelf == DROPPED) || twice);                   /* or dropped */
    assert(letter_settled != OPEN || outbox_settled_row || shelf != NONE);  /* in one of two places */
    assert(shelf == NONE || letter_settled != NONE);                        /* known to the tracker */
    assert(!was_closed || IS_CLOSED(shelf) || shelf == PURGED)              /* closed for good */
}

inline model_take(way) {
    if
    :: way = false
    :: repeats < REPEATS -> repeats++
    fi
}

/* ---- the tracker ---- */

/* services/tracker/acts/ending.c */
inline ending_letter() {
    letter = OPEN;
    outbox = true
}

/* Its answer came, by another way. */
/* services/tracker/acts/ending.c */
inline ending_answered() {
    answered = true;
    letter = RESOLVED;
    outcome = APPLIED;
    telling = true
}

/* services/tracker/outbox.c */
inline outbox_send(rides, way) {
    rides = true;
    way = true
}

/* services/tracker/outbox.c */
inline outbox_settled(rides, acked) {
    rides = false;
    acked = true
}

/* services/tracker/outbox.c */
inline outbox_clear(row, acked) {
    row = false;
    acked = false
}

/* The answer waits at the gate. */
/* services/tracker/acts/acts_replay.c */
inline act_reinject(n) {
    if
    :: letter == OPEN || (BUG_JUDGED_AGAIN && letter != NONE) ->
        if
        :: said[n] = STILL
        :: said[n] = APPLIED;
            letter = RESOLVED;
            outcome = APPLIED;
            effects++
        fi
    :: letter == NONE -> said[n] = STILL /* a store from before the letter */
    :: else -> said[n] = outcome         /* act_closed: as it was then */
    fi
}

/* services/tracker/acts/acts_replay.c */
inline act_closing() {
    if
    :: letter == OPEN -> letter = DROPPED; outcome = DROPPED_BEFORE
    :: else
    fi;
    told_dropped = true
}

inline model_tracker_ends() {
    tracker_up = false;
    outbox_rides = false;
    telling_rides = false;
    outbox_acked = false;
    telling_acked = false;
    told_dropped = false;
    for (k : 0 .. ATTEMPTS) {
        said[k] = NO_WORD
    }
    k = 0
}

inline model_settles() {
    letter_settled = letter;
    outcome_settled = outcome;
    outbox_settled_row = outbox;
    telling_settled_row = telling;
    effects_settled = effects
}

inline model_cut() {
    if
    :: true
    :: !SETTLED ->
        letter = letter_settled;
        outcome = outcome_settled;
        outbox = outbox_settled_row;
        telling = telling_settled_row;
        effects = effects_settled;
        answered = answered && letter != NONE && letter != OPEN /* else it comes again */
    fi
}

#define OUTBOX_QUIET (!letter_way && !letter_ack_way)
#define TELLING_QUIET (!telling_way && !telling_ack_way)

proctype tracker() {
end:
    do
    :: atomic { !tracker_up -> model_settles(); tracker_up = true } /* open_settle */
    :: atomic { tracker_up && letter == NONE && !answered -> ending_letter(); model_kept() }
    :: atomic { tracker_up && letter == OPEN && !answered -> ending_answered() }
    :: atomic { tracker_up && outbox && !outbox_rides && !outbox_acked && PASSES_GATE ->
            outbox_send(outbox_rides, letter_way);
            outbox = outbox && !BUG_OUTBOX_FORGETS_WHAT_IS_SENT }
    :: atomic { tracker_up && telling && !telling_rides && !telling_acked && PASSES_GATE &&
            (!telling_busy || !outbox || shelf != NONE) ->
            outbox_send(telling_rides, telling_way); telling_alone = !outbox }
    :: atomic { tracker_up && letter_ack_way -> model_take(letter_ack_way);
            outbox_settled(outbox_rides, outbox_acked) }
    :: atomic { tracker_up && telling_ack_way -> model_take(telling_ack_way);
            outbox_settled(telling_rides, telling_acked) }
    :: atomic { tracker_up && outbox_acked -> outbox_clear(outbox, outbox_acked); model_kept() }
    :: atomic { tracker_up && telling_acked -> outbox_clear(telling, telling_acked) }
    :: atomic { tracker_up && outbox_rides && OUTBOX_QUIET && !BUG_NEVER_SENT_AGAIN ->
            outbox_rides = false } /* courier_call_back */
    :: atomic { tracker_up && telling_rides && TELLING_QUIET && !BUG_NEVER_SENT_AGAIN ->
            telling_rides = false }
    :: atomic { tracker_up && closing_way && !told_dropped -> model_take(closing_way); act_closing() }
    od
}

/* Its events channel, a number at a time. */
proctype events(byte n) {
end:
    do
    :: atomic { tracker_up && reinject_way[n] && said[n] == NO_WORD ->
            model_take(reinject_way[n]); twice = twice || reinject_way[n];
            act_reinject(n); model_kept() }
    :: atomic { tracker_up && said[n] != NO_WORD && PASSES_GATE ->
            answer_way[n] = said[n]; said[n] = NO_WORD } /* inbox_send */
    od
}

/* The sync beside, and what leaves after it. */
proctype beside() {
end:
    do
    :: atomic { tracker_up && !SETTLED -> model_settles() }
    :: atomic { tracker_up && told_dropped && PASSES_GATE -> told_dropped = false;
            closing_ack_way = true }
    od
}

/* ---- the dlq ---- */

/* services/dlq/intake.c */
inline intake_take() {
    letter_ack_way = true;
    if
    :: shelf == NONE && !BUG_ACKNOWLEDGED_BEFORE_KEPT -> shelf = OPEN
    :: shelf == NONE && BUG_ACKNOWLEDGED_BEFORE_KEPT -> keeps = true
    :: shelf == PURGED -> shelf = OPEN /* nobody knows it any more */
    :: else                            /* duplicate */
    fi
}

/* services/dlq/letters.c */
inline letter_told() {
    if
    :: shelf == OPEN || shelf == HELD ->
        shelf = RESOLVED;
        was_closed = true;
        pinned = 0;
        sending = (BUG_ANSWER_OPENS_A_CLOSED_LETTER -> sending : 0);
        sending_rides = false
    :: else
    fi
}

/* Its letter may be on its way still: then `busy`, and the closing comes again. */
/* services/dlq/intake.c */
inline intake_close() {
    if
    :: shelf == NONE && !telling_alone && !BUG_CLOSING_PASSES_ITS_LETTER ->
        telling_rides = false;
        telling_busy = true
    :: else -> telling_ack_way = true; letter_told()
    fi
}

/* services/dlq/reinject.c */
inline reinject_begin() {
    attempts++;
    pinned = 1;
    sending = attempts
}

/* services/dlq/reinject.c */
inline reinject_post_attempt() {
    sending_rides = true;
    twice = twice || reinject_way[sending] || said[sending] != NO_WORD ||
            answer_way[sending] != NO_WORD;
    reinject_way[sending] = true
}

/* services/dlq/letters.c */
inline letter_answer(word) {
    pinned = 0;
    if
    :: IS_CLOSED(shelf) && !BUG_ANSWER_OPENS_A_CLOSED_LETTER
    :: (!IS_CLOSED(shelf) || BUG_ANSWER_OPENS_A_CLOSED_LETTER) ->
        if
        :: word == APPLIED -> shelf = RESOLVED; was_closed = true
        :: word == DROPPED_BEFORE -> shelf = DROPPED; was_closed = true
        :: word == STILL && attempts >= ATTEMPTS -> shelf = HELD
        :: else
        fi
    fi
}

/* services/dlq/reinject.c */
inline reinject_apply(n, word) {
    if
    :: sending == n ->
        letter_answer(word);
        sending = 0;
        sending_rides = false
    :: else /* settled already */
    fi
}

/* services/dlq/letters.c */
inline letter_drop() {
    dropped = true;
    shelf = DROPPED;
    was_closed = true;
    closing = true
}

/* The time to keep them is far longer than anything is on its way. */
/* services/dlq/rows.c */
inline shelf_purge() {
    shelf = PURGED
}

inline model_dlq_ends() {
    dlq_up = false;
    sending_rides = false;
    closing_rides = false;
    keeps = false
}

#define REINJECT_QUIET (!reinject_way[sending] && answer_way[sending] == NO_WORD)
#define CLOSING_QUIET (!closing_way && !closing_ack_way && !told_dropped)

proctype dlq() {
end:
    do
    :: atomic { !dlq_up -> dlq_up = true }
    :: atomic { dlq_up && letter_way -> model_take(letter_way); intake_take(); model_kept() }
    :: atomic { dlq_up && keeps -> keeps = false; shelf = OPEN }
    :: atomic { dlq_up && telling_way -> model_take(telling_way); intake_close(); model_kept() }
    :: atomic { dlq_up && SCHEDULED && shelf == OPEN && pinned == 0 && attempts < ATTEMPTS ->
            reinject_begin() }
    :: atomic { dlq_up && sending != 0 && !sending_rides -> reinject_post_attempt() }
    :: atomic { dlq_up && sending != 0 && sending_rides && REINJECT_QUIET && said[sending] == NO_WORD &&
            !BUG_NEVER_SENT_AGAIN -> sending_rides = false }
    :: atomic { dlq_up && PERSON && (shelf == OPEN || shelf == HELD) && !dropped &&
            (pinned == 0 || BUG_DROPPED_UNDER_WAY) -> letter_drop(); model_kept() }
    :: atomic { dlq_up && closing && !closing_rides -> closing_rides = true; closing_way = true }
    :: atomic { dlq_up && closing && closing_rides && CLOSING_QUIET && !BUG_NEVER_SENT_AGAIN ->
            closing_rides = false }
    :: atomic { dlq_up && closing_ack_way -> model_take(closing_ack_way); closing = false;
            closing_rides = false }
    :: atomic { dlq_up && tracker_up && PASSES_GATE && letter != NONE && !outbox && !floor ->
            floor = true } /* shelf_floor_note */
    :: atomic { dlq_up && IS_CLOSED(shelf) && !closing && sending == 0 && !letter_way &&
            (floor || BUG_PURGED_BELOW_NO_FLOOR) -> shelf_purge(); model_kept() }
    od
}

/* The answers to its attempts. */
proctype answers(byte n) {
    mtype:word word;
end:
    do
    :: atomic { dlq_up && answer_way[n] != NO_WORD ->
            word = answer_way[n];
            if
            :: answer_way[n] = NO_WORD
            :: repeats < REPEATS -> repeats++
            fi;
            reinject_apply(n, word);
            word = NO_WORD;
            model_kept() }
    od
}

/* ---- what breaks ---- */

proctype faults() {
    do
    :: atomic { kills < KILLS && dlq_up -> kills++; model_dlq_ends() }
    :: atomic { kills < KILLS && tracker_up -> kills++; model_tracker_ends() }
    :: atomic { cuts < CUTS -> cuts++; model_cut(); model_tracker_ends(); model_kept() }
    :: atomic { losses < LOSSES && letter_way -> losses++; letter_way = false }
    :: atomic { losses < LOSSES && letter_ack_way -> losses++; letter_ack_way = false }
    :: atomic { losses < LOSSES && telling_way -> losses++; telling_way = false }
    :: atomic { losses < LOSSES && closing_ack_way -> losses++; closing_ack_way = false }
    :: atomic { losses < LOSSES && answer_way[1] != NO_WORD -> losses++; answer_way[1] = NO_WORD }
    :: break
    od
}

init {
    atomic {
        run tracker();
        run beside();
        run dlq();
        for (k : 1 .. ATTEMPTS) {
            run events(k);
            run answers(k)
        }
        k = 0;
        run faults()
    }
}

#define WAITS ((SCHEDULED && shelf == HELD) || (!SCHEDULED && shelf == OPEN)) /* for a person */
#define AGREED ((letter == OPEN && WAITS) || \
                (IS_CLOSED(letter) && (IS_CLOSED(shelf) || shelf == PURGED)))

#ifdef LIVE
ltl ends { <> (AGREED && !outbox && !telling && sending == 0 && !closing) }
#endif
