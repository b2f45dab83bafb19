/* books.h - the four ledgers' counters (rule 8 of GUARANTEES.md), kept in the same transactions as
 * what they count. Totals only ever describe what is committed; purging moves nothing out of them.
 *
 *   arrivals  received = applied + progress + duplicate + parked + dead + dropped
 *   tasks     created = open + done + failed + lost + expired + cancelled
 *             results by source = the five ends;  applied = results of callback, late and replay,
 *             and corrections that arrivals brought
 *   letters   made = open + resolved + dropped
 *
 * Pure. One owner.
 */
#ifndef ALD_TRACKER_BOOKS_H
#define ALD_TRACKER_BOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/words.h"

enum book {
    BOOK_RECEIVED,
    BOOK_DISPOSITION,                                /* + enum ald_disposition */
    BOOK_PURGED = BOOK_DISPOSITION + ALD_DISP_COUNT, /* arrivals deleted by age, + disposition */
    BOOK_CREATED = BOOK_PURGED + ALD_DISP_COUNT,
    BOOK_STATE,                                 /* + enum ald_state; ended ones only */
    BOOK_SOURCE = BOOK_STATE + ALD_STATE_COUNT, /* + enum ald_source */
    BOOK_TASKS_PURGED = BOOK_SOURCE + ALD_SOURCE_COUNT,
    BOOK_LETTERS_MADE,
    BOOK_LETTERS_RESOLVED,
    BOOK_LETTERS_DROPPED,
    BOOK_POLLS,
    BOOK_STATE_PURGED,                                        /* of ended tasks, + enum ald_state */
    BOOK_SOURCE_PURGED = BOOK_STATE_PURGED + ALD_STATE_COUNT, /* of their results, + source */
    BOOK_MOVED = BOOK_SOURCE_PURGED + ALD_SOURCE_COUNT, /* arrivals that left park or letter */
    BOOK_CORRECTIONS,         /* events that take the place of a result; no task ends by one */
    BOOK_CORRECTIONS_APPLIED, /* of those, the ones that arrivals brought */
    BOOK_CORRECTIONS_PURGED,
    BOOK_COUNT
};

struct books {
    int64_t value[BOOK_COUNT];
    bool dirty[BOOK_COUNT];
};

void books_add(struct books *self, unsigned book, int64_t n);

/* Name on disk and in the audit, such as "arrivals.applied"; static. */
const char *books_name(unsigned book);

/* Do the ledgers balance, with `open` tasks and `letters_open` open letters known otherwise? If
 * not, *which is the first identity that fails, as a sentence. */
bool books_balance(const struct books *self, int64_t open, int64_t letters_open,
                   const char **which);

#endif
