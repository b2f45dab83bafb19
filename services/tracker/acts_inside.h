/* acts_inside.h - one message on its way to a decision: for acts.c, which does what is decided, and
 * acts_judge.c, which only tells it.
 */
#ifndef ALD_TRACKER_ACTS_INSIDE_H
#define ALD_TRACKER_ACTS_INSIDE_H

#include "services/tracker/arrival.h"
#include "services/tracker/tracker.h"
#include "services/tracker/vault_letters.h"

/* Everything about one message on its way to a decision. */
struct act {
    const struct msg_callback *message;
    struct ald_span bytes;
    const struct ald_profile *profile;
    struct ald_verdict verdict;
    struct pending_task *open;
    uint64_t task;   /* open, ended or purged; 0 = none */
    bool reinjected; /* out of a letter, which it keeps or closes: it makes no other */
    bool manual;     /* a person put his word in place of the proof, or edited the message */
    struct vault_end end;
    char digest[65];
    struct arrival_facts facts;
    struct arrival_decision decision;
};

/* Decide on a letter's message as of now; nothing is written. The door's proof is what its letter
 * recorded, whatever an edited message claims; only a person who may can put his word in its place.
 * False: the message can't be read. */
bool act_again(struct tracker *self, struct act *act, struct msg_callback *message,
               const struct msg_reinject *reinject, const struct vault_letter *letter);

/* Does this answer to a re-injection close the letter? */
bool act_closes(enum ald_disposition disposition);

#endif
