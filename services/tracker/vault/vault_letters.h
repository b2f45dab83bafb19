/* vault_letters.h - the tracker's side of dead letters: one row a letter, and the outbox that
 * carries it to the dlq in the transaction that made it. And what is known of senders.
 *
 * Errors are sticky, as in vault.h. One owner.
 */
#ifndef ALD_TRACKER_VAULT_LETTERS_H
#define ALD_TRACKER_VAULT_LETTERS_H

#include "services/tracker/vault/vault.h"

enum vault_letter_state { VAULT_LETTER_OPEN, VAULT_LETTER_RESOLVED, VAULT_LETTER_DROPPED };

struct vault_letter {
    enum ald_reason reason;
    enum vault_letter_state state;
    enum ald_disposition outcome; /* once closed */
    uint64_t task;
    int64_t arrival; /* 0 = none */
    enum ald_proof proof;
    uint64_t size;
    char provider[ALD_PROVIDER_MAX];
    char digest[ALD_POSITION_MAX]; /* of a conflicting answer; of a consumer's letter: its name, a
                                      space, the event's lane:seq */
};

/* Make a letter: its row and its place in the outbox. letter->num is set; the books count it. */
void vault_letter_add(struct vault *self, struct msg_letter *letter, int64_t arrival,
                      const char *digest);
/* False: there is no such letter. */
bool vault_letter_find(struct vault *self, const char *letter, struct vault_letter *out);
/* Close an open letter; the books count it. */
void vault_letter_close(struct vault *self, const char *letter, enum vault_letter_state state,
                        enum ald_disposition outcome);
/* An open letter is one for this reason now, and of this task (0 = none is known). */
void vault_letter_turn(struct vault *self, const char *letter, enum ald_reason reason,
                       uint64_t task, const char *digest);
/* The dlq is to be told that a letter was closed: by the outbox. closing->num is set. */
void vault_letter_tell(struct vault *self, struct msg_closing *closing);
/* The letters of a task, open or closed. */
struct vault_letters_of {
    unsigned all;
    unsigned conflicts;
    bool known; /* a conflict has this digest */
};
void vault_letters_of(struct vault *self, uint64_t task, const char *digest,
                      struct vault_letters_of *out);

/* The open letter of a task with this reason, which is no consumer's. False: there is none. */
bool vault_letter_of(struct vault *self, uint64_t task, enum ald_reason reason,
                     char out[ALD_ULID_MAX]);

/* Is there an open letter of a callback that came to this task's own address, or was signed, and
 * could not be read or believed? */
bool vault_letter_heard(struct vault *self, uint64_t task);

/* Open letters without full proof, counted by provider, reason and proof. */
typedef void vault_unproven_fn(void *context, const char *provider, const struct vault_letter *sum,
                               uint64_t count);
void vault_each_unproven(struct vault *self, vault_unproven_fn *fn, void *context);

typedef bool vault_outbox_fn(void *context, uint64_t num, struct ald_span message);
/* Letters on their way to the dlq above num, in order, until fn says false. */
void vault_outbox_each(struct vault *self, uint64_t after, vault_outbox_fn *fn, void *context);
void vault_outbox_remove(struct vault *self, uint64_t num);
/* All numbers below are gone from the outbox. */
uint64_t vault_outbox_floor(struct vault *self);

/* XOR over the ids of open letters (and those in the outbox) of the first 53 bits of their
 * SHA-256: equal sets have equal sums. */
void vault_letter_sums(struct vault *self, int64_t *open, uint64_t *open_sum, int64_t *outbox,
                       uint64_t *outbox_sum);

/* Senders of callbacks: number -> disposition above a floor. */
struct vault_sender {
    int64_t no;
    struct ald_span sender;
    uint64_t floor;
    struct ald_span marks;
    int64_t heard_ms;
};

typedef void vault_sender_fn(void *context, const struct vault_sender *sender);
void vault_each_sender(struct vault *self, vault_sender_fn *fn, void *context);
/* Add or overwrite by no. */
void vault_sender_put(struct vault *self, const struct vault_sender *sender);

#endif
