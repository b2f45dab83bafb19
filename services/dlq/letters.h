/* letters.h - what may become of a dead letter: the rules a reason, the schedule, the decisions.
 *
 * A letter is `open` until it is answered, `held` for a person after its last scheduled attempt,
 * `resolved` when a re-injection had an effect (or was found to have had one) and `dropped` when a
 * person or the quota closed it. Closed letters never open again.
 *
 * Pure: knows no store, socket or clock. Each decision changes the struct it is given and nothing
 * else; the caller commits the change before acting on it. Any thread.
 */
#ifndef ALD_DLQ_LETTERS_H
#define ALD_DLQ_LETTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/backoff.h"
#include "common/base/guard.h"
#include "proto/words.h"

enum letter_state { LETTER_OPEN, LETTER_HELD, LETTER_RESOLVED, LETTER_DROPPED, LETTER_STATES };

/* What a person says with a replay, one of: on disk as numbers. */
enum letter_word {
    LETTER_PLAIN,
    LETTER_BELIEVE, /* vouches for who sent it */
    LETTER_BUY,     /* its task is to be made anew, which is paid for */
    LETTER_PUBLISH  /* what it holds takes the place of what was published */
};

/* What the reason of a letter allows. */
struct letter_rule {
    bool scheduled;        /* re-injected without being asked */
    bool replay;           /* a person may have it judged again */
    bool edit;             /* a person may put another message in its place */
    enum letter_word word; /* that a replay needs */
    const char *refused;   /* one sentence, when replay is false */
    const char *needs;     /* one sentence, when the word is missing */
};

/* When letters are tried again; the settings dlq.* */
struct letter_plan {
    struct ald_backoff backoff;
    uint64_t max_attempts; /* then the schedule ends */
};

/* The part of a letter that decisions are made on. */
struct letter {
    enum ald_reason reason;
    enum letter_state state;
    uint64_t attempts;     /* begun so far, by schedule or person; never reset */
    uint64_t revision;     /* of the original that the next attempt judges */
    uint64_t pinned;       /* revision of the attempt under way, 0 = none is */
    int64_t due_at_ms;     /* the next attempt; 0 = none planned */
    bool by_person;        /* the planned or running attempt was asked for */
    enum letter_word word; /* and with this */
    bool empty;            /* there is no original to judge */
    bool closing;          /* the tracker has still to be told that it was dropped */
    int64_t closed_at_ms;
};

/* What a decision said. */
enum letter_verdict {
    LETTER_YES,
    LETTER_CLOSED,      /* resolved or dropped: nothing changes any more */
    LETTER_UNDER_WAY,   /* an attempt is not answered yet */
    LETTER_NOT_ALLOWED, /* by the reason's rule, see letter_rule.refused */
    LETTER_UNVOUCHED,   /* needs a word, see letter_rule.needs */
    LETTER_NOT_FORGED,  /* a word was said of a reason that does not take it */
    LETTER_EMPTY,       /* has no original */
    LETTER_NO_EDIT,     /* its message is not one that can be edited */
    LETTER_STALE,       /* another revision came in between */
    LETTER_REVISED,     /* there are as many revisions as may be */
    LETTER_VERDICTS
};

enum { LETTER_REVISIONS_MAX = 100 };

const struct letter_rule *letter_rule_of(enum ald_reason reason);

/* True for a message that anybody may have made: it counts in its provider's quota. Ends of our own
 * (expired, submit_*) and what a token or a signature proves never do. */
bool letter_unproven(enum ald_reason reason, enum ald_proof proof);

/* Put a new letter's fields but reason and empty in order and plan its first attempt. */
void letter_open(struct letter *self, const struct letter_plan *plan, int64_t now_ms,
                 uint64_t random);

/* The planned attempt begins: it gets the next number and pins the revision.
 * false: the letter is closed, an attempt is under way, or none is due yet; nothing changed. */
ALD_NODISCARD bool letter_begin(struct letter *self, int64_t now_ms);

/* The attempt under way was answered. applied, duplicate, progress, replaced and corrected resolve
 * the letter; dropped says that the tracker has closed it before; all else plans the next attempt
 * or, after the last, holds the letter. One that is closed already stays as it is. true: the letter
 * is closed now. */
bool letter_answer(struct letter *self, const struct letter_plan *plan,
                   enum ald_disposition disposition, int64_t now_ms, uint64_t random);

/* A person wants the letter judged again, however often: plans an attempt for now. */
ALD_NODISCARD enum letter_verdict letter_replay(struct letter *self, enum letter_word word,
                                                int64_t now_ms);

/* Of what was said. False: more than one word. */
ALD_NODISCARD bool letter_word_said(bool believe, bool buy, bool publish, enum letter_word *out);

/* From its number on disk; one that is none says nothing. */
enum letter_word letter_word_kept(int64_t number);

/* A person puts another message in the place of revision `seen`. The next attempt judges the new
 * one; an attempt under way keeps the one that it pinned, and nothing is tried by this alone. */
ALD_NODISCARD enum letter_verdict letter_edit(struct letter *self, uint64_t seen);

/* Has a person asked for an attempt that is not answered yet? */
bool letter_asked(const struct letter *self);

/* Close the letter without effect; the tracker must be told. */
ALD_NODISCARD enum letter_verdict letter_drop(struct letter *self, int64_t now_ms);

/* The tracker has closed it, and says so. false: it was closed before; nothing changed. */
bool letter_told(struct letter *self, bool dropped, int64_t now_ms);

/* One sentence for a person on why an attempt did nothing, by the word for it; the word itself if
 * there is none. */
const char *letter_refusal(const char *word);

/* One sentence for a person on why a decision was not YES. */
const char *letter_why(enum letter_verdict verdict, enum ald_reason reason);

static inline bool letter_closed(enum letter_state state)
{
    return state == LETTER_RESOLVED || state == LETTER_DROPPED;
}

/* The longest that an attempt can lie ahead: guards due times against a clock that was set back. */
int64_t letter_plan_longest_ms(const struct letter_plan *plan);

/* A word for the verdict, for counts: "" for YES. */
const char *letter_verdict_name(enum letter_verdict verdict);

const char *letter_state_name(enum letter_state state);
ALD_NODISCARD bool letter_state_find(const char *word, enum letter_state *out);

#endif
