/* arrival.h - what becomes of one callback: the decision, and nothing else.
 *
 * Facts in (what the message says, what the door proved, what is known of its task), a decision
 * out. Used for callbacks as they come, for parked ones when their task is registered, and for
 * re-injections. Pure; any thread.
 */
#ifndef ALD_TRACKER_ARRIVAL_H
#define ALD_TRACKER_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config/profile.h"
#include "proto/messages.h"
#include "proto/words.h"

/* What a task may bring: letters about conflicts, letters, messages that are kept whole. */
enum { ARRIVAL_CONFLICTS_MAX = 4, ARRIVAL_LETTERS_MAX = 64, ARRIVAL_KEPT_MAX = 64 };

/* What is known of the task that the message is about. */
enum arrival_task {
    ARRIVAL_TASK_UNKNOWN, /* never heard of */
    ARRIVAL_TASK_OPEN,
    ARRIVAL_TASK_ENDED,
    ARRIVAL_TASK_PURGED /* ended, and its rows are gone */
};

struct arrival_facts {
    const struct msg_callback *message;
    enum ald_proof proof;
    const struct ald_profile *profile; /* NULL: none of that name is loaded */
    const struct ald_verdict *verdict; /* of the message; NULL without a profile */
    const char *digest;                /* of its result, when the verdict is an end */
    enum arrival_task task;
    const char *task_provider_id; /* of an open or ended task; "" = not known */
    enum ald_state ended_state;   /* with ARRIVAL_TASK_ENDED */
    const char *ended_digest;
    bool ended_before;   /* what it says was published, and corrected since */
    unsigned letters;    /* that the task has had */
    unsigned conflicts;  /* of those, about conflicts */
    bool conflict_known; /* one of them has this digest */
    bool id_away;        /* its id is an address that may be anybody's */
    bool replay;         /* not fresh from the door: never parks */
    bool followed;       /* it is about an attempt that another follows (resubmission.h) */
    bool again;          /* a failure by a code that says so is followed by another attempt */
    bool under_way;      /* ... if the message tells the id of the one that is not settled */
};

struct arrival_decision {
    enum ald_disposition disposition;
    enum ald_reason reason; /* with ALD_DISP_DEAD */
    const char *cause;      /* one sentence; static */
    bool ends;              /* with ALD_DISP_APPLIED */
    bool corrects;          /* with ALD_DISP_APPLIED: published in the place of our own verdict */
    enum ald_state state;
    bool hint;    /* the task's next poll comes forward */
    bool told;    /* believed, it says that the task is at its end or has a result to fetch */
    bool again;   /* it failed, believed, and is submitted again */
    bool failed;  /* an attempt that another follows failed, believed */
    bool fill_id; /* the verdict's id becomes the task's provider id */
};

void arrival_decide(const struct arrival_facts *facts, struct arrival_decision *out);

/* Does this count in the quota of strangers? An id that nobody knows proves nothing, whoever was
 * let in to say it. */
bool arrival_unproven(enum ald_proof proof, enum ald_reason reason);

/* The state that a verdict ends a task with. False: it is no end. */
bool arrival_end(const struct ald_verdict *verdict, enum ald_state *state);

#endif
