/* words.h - the closed lists that aldaba speaks in, and their names on the wire, in the API and on
 * disk. A word is never renamed. Pure; any thread. */
#ifndef ALD_PROTO_WORDS_H
#define ALD_PROTO_WORDS_H

#include <stdbool.h>

#include "common/base/guard.h"

/* A task's state. From ALD_STATE_DONE on it has ended, and an ended task never changes. */
enum ald_state {
    ALD_STATE_ACCEPTED,   /* on disk; the provider has not been asked, or its id is not known */
    ALD_STATE_SUBMITTING, /* the provider may have it: bytes were sent, no answer yet */
    ALD_STATE_PENDING,    /* the provider has it */
    ALD_STATE_POLLING,    /* pending, and a poll is under way */
    ALD_STATE_DONE,
    ALD_STATE_FAILED,
    ALD_STATE_LOST, /* the provider says that it knows no such task */
    ALD_STATE_EXPIRED,
    ALD_STATE_CANCELLED,
    ALD_STATE_COUNT
};

/* What became of an arrival. Exactly one each; moves only out of parked and dead. */
enum ald_disposition {
    ALD_DISP_APPLIED,   /* became its task's result */
    ALD_DISP_PROGRESS,  /* valid, not an end: a hint, "pending" */
    ALD_DISP_DUPLICATE, /* its task had ended, with the same answer or one told not to care about */
    ALD_DISP_PARKED,    /* of a task not known yet */
    ALD_DISP_DEAD,      /* has an open letter */
    ALD_DISP_DROPPED,   /* its letter was closed without effect */
    ALD_DISP_COUNT,
    /* Answers that are no dispositions: the item was not taken. */
    ALD_DISP_BUSY = ALD_DISP_COUNT,
    ALD_DISP_REFUSED,
    ALD_DISP_STILL, /* a re-injection changed nothing */
    /* A letter was closed by a person's word. On disk as numbers, with those above. */
    ALD_DISP_REPLACED,  /* by a new task in the place of the letter's */
    ALD_DISP_CORRECTED, /* by publishing what it holds */
    ALD_DISP_ANSWERS
};

/* Why a message lies in the dead letter queue. */
enum ald_reason {
    ALD_REASON_NONE,
    ALD_REASON_MALFORMED,
    ALD_REASON_UNAUTHENTICATED,
    ALD_REASON_UNKNOWN_TASK,
    ALD_REASON_UNMAPPED_STATUS,
    ALD_REASON_CONFLICT,
    ALD_REASON_SUBMIT_FAILED,
    ALD_REASON_SUBMIT_UNCERTAIN,
    ALD_REASON_EXPIRED,
    ALD_REASON_CONSUMER_REJECTED,
    ALD_REASON_COUNT
};

/* How a task's result came. */
enum ald_source {
    ALD_SOURCE_CALLBACK,
    ALD_SOURCE_LATE, /* a callback after our own polling had begun */
    ALD_SOURCE_POLL,
    ALD_SOURCE_REPLAY, /* a callback that lay in the dead letter queue */
    ALD_SOURCE_MANUAL, /* a person, or the tracker's own verdict (expired, cancelled) */
    ALD_SOURCE_SUBMIT, /* the answer to its submission, or that it was never submitted */
    ALD_SOURCE_COUNT
};

/* What the door proved about an arrival; no replay raises it. */
enum ald_proof { ALD_PROOF_NONE, ALD_PROOF_ID, ALD_PROOF_TOKEN, ALD_PROOF_AUTH, ALD_PROOF_COUNT };

const char *ald_state_name(enum ald_state state);
const char *ald_disposition_name(enum ald_disposition disposition);
const char *ald_reason_name(enum ald_reason reason); /* "" for ALD_REASON_NONE */
const char *ald_source_name(enum ald_source source);
const char *ald_proof_name(enum ald_proof proof);

/* Find a word. true: *out is set. false: not in the list, *out unchanged. "" is the reason NONE. */
ALD_NODISCARD bool ald_state_find(const char *word, enum ald_state *out);
ALD_NODISCARD bool ald_disposition_find(const char *word, enum ald_disposition *out);
ALD_NODISCARD bool ald_reason_find(const char *word, enum ald_reason *out);
ALD_NODISCARD bool ald_source_find(const char *word, enum ald_source *out);
ALD_NODISCARD bool ald_proof_find(const char *word, enum ald_proof *out);

static inline bool ald_state_ended(enum ald_state state)
{
    return state >= ALD_STATE_DONE;
}

#endif
