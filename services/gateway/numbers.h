/* numbers.h - the numbers of this gateway's items: given out to workers from ranges that the spool
 * has put aside on disk, and marked when their items are settled.
 *
 * Threads: numbers_next is for any, and so is numbers_close; the others are the loop's.
 */
#ifndef ALD_GATEWAY_NUMBERS_H
#define ALD_GATEWAY_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/store/spool.h"

typedef struct numbers numbers_t;

/* Numbers below first are nobody's here: they are settled, or lie in the spool. */
numbers_t *numbers_new(ald_spool_t *spool, uint64_t first);
void numbers_destroy(numbers_t **self_p);

/* One that was never given out; 0: none can be had now. */
uint64_t numbers_next(numbers_t *self);
/* Give none out any more. */
void numbers_close(numbers_t *self);

/* Keep a range in reserve. False: the spool gives none now. */
bool numbers_supply(numbers_t *self);
/* Its item is settled, or there will be none. */
void numbers_mark(numbers_t *self, uint64_t num);
/* All below are settled. */
uint64_t numbers_floor(numbers_t *self);

#endif
