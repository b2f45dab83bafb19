/* piles.h - live letters that are alike, counted in the transactions that change them: one row for
 * each reason, cause and provider, so that a desk with ten thousand letters shows what is wrong
 * without reading them.
 *
 * A row is there as long as a letter is in it. Letters hold its number; that of a closed one is 0.
 * Threads: the shelf's.
 */
#ifndef ALD_DLQ_PILES_H
#define ALD_DLQ_PILES_H

#include "services/dlq/shelf.h"

/* Count a letter in, making the row if it is the first. *pile: its number. */
ALD_NODISCARD enum ald_rc piles_join(shelf_t *shelf, const struct shelf_row *row, int64_t *pile);
/* Count a letter out. */
ALD_NODISCARD enum ald_rc piles_leave(shelf_t *shelf, int64_t pile);

/* The rows that match ask, in the order of their making, each handed to seen with its oldest and
 * newest letter. cursor (ALD_POSITION_MAX bytes) is where to go on, "" = there are no more. */
ALD_NODISCARD enum ald_rc
piles_list(shelf_t *shelf, const struct msg_letter_groups *ask, void *context,
           void (*seen)(void *context, const struct msg_letter_group *group), char *cursor);

/* Put right what a program that knows no piles has left, in a transaction of the caller's. Writes
 * nothing when nothing is wrong. */
ALD_NODISCARD enum ald_rc piles_mend(shelf_t *shelf);

#endif
