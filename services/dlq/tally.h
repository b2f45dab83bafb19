/* tally.h - how many letters there are, by reason and state, and a mark of the set that is open.
 *
 * Kept in the transactions that change letters, so that no question needs to count rows. Numbers
 * are of all letters ever taken: purging the row of a closed letter changes none of them.
 * Pure; copied before a transaction and put back when it fails.
 */
#ifndef ALD_DLQ_TALLY_H
#define ALD_DLQ_TALLY_H

#include <stdint.h>

#include "services/dlq/letters.h"

struct tally {
    int64_t count[ALD_REASON_COUNT][LETTER_STATES];
    uint64_t open_xor; /* of tally_mark of every open and held letter: equal sets, equal xor */
    int64_t purged;    /* rows of closed letters deleted */
};

/* The mark of a letter id: the first 53 bits of SHA-256 of its text. */
uint64_t tally_mark(const char *id);

void tally_add(struct tally *self, const char *id, enum ald_reason reason, enum letter_state state);
void tally_move(struct tally *self, const char *id, enum ald_reason reason, enum letter_state from,
                enum letter_state to);

void tally_turn(struct tally *self, enum letter_state state, enum ald_reason from,
                enum ald_reason to);

int64_t tally_state(const struct tally *self, enum letter_state state);
int64_t tally_reason(const struct tally *self, enum ald_reason reason); /* open and held */

#endif
