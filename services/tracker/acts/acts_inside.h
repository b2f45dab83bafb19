/* acts_inside.h - one message on its way to a decision: for acts.c and acts_replay.c, which do what
 * is decided, and acts_judge.c, which only tells it. One thread.
 */
#ifndef ALD_TRACKER_ACTS_INSIDE_H
#define ALD_TRACKER_ACTS_INSIDE_H

#include "services/tracker/acts/acts.h"
#include "services/tracker/acts/arrival.h"
#include "services/tracker/acts/ending.h"
#include "services/tracker/tracker.h"
#include "services/tracker/vault/vault_letters.h"

/* Everything about one message on its way to a decision. */
struct act {
    const struct msg_callback *message;
    struct ald_span bytes;
    const struct ald_profile *profile;
    struct ald_verdict verdict;
    struct pending_task *open;
    uint64_t task;                     /* open, ended or purged; 0 = none */
    const struct vault_letter *letter; /* that it is out of, which it keeps or closes: it makes no
                                        * other; NULL = none */
    bool vouched;                      /* a person put his word in place of the proof */
    bool manual;                       /* or edited the message */
    const char *peer; /* the network whose share it takes, once it is noted; NULL or
                       * "" = none's */
    struct vault_end end;
    char digest[65];
    struct arrival_facts facts;
    struct arrival_decision decision;
};

/* Gather the facts and decide; nothing is written. */
void act_decide(struct tracker *self, struct act *act, enum ald_proof proof, bool replay);

/* Do what an applied or heeded message asks for. arrival: its number. */
void act_apply(struct tracker *self, struct act *act, int64_t arrival, bool replay);

/* What it says, as an end or a correction. Borrows from the act. */
void act_ending(const struct act *act, int64_t arrival, bool replay, struct ending *out);

/* Publish what it says in the place of the result that its task, which has ended, has. */
void act_correct(struct tracker *self, struct act *act, int64_t arrival, bool replay);

void act_answer(struct msg_ack *ack, enum ald_disposition disposition, enum ald_reason reason);

/* Decide on a letter's message as of now; nothing is written. The door's proof is what its letter
 * recorded, whatever an edited message claims; only a person who may can put his word in its place.
 * False: the message can't be read. */
bool act_again(struct tracker *self, struct act *act, struct msg_callback *message,
               const struct msg_reinject *reinject, const struct vault_letter *letter);

/* Does this answer to a re-injection close the letter? */
bool act_closes(enum ald_disposition disposition);

/* May what a letter of the reason conflict says be published? "": yes, and act->decision has the
 * state; *same: it is what the task has already. Else a word for why not. Nothing is written. */
const char *act_publishable(struct act *act, bool *same);

#endif
