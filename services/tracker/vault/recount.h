/* recount.h - all rows of the store counted again and held against the books: `audit --deep`.
 *
 * A page of rows at a time, each in a short transaction of its own on a read-only handle, so that
 * nobody waits for it. Rows that are added meanwhile are counted, too: the last page reaches the
 * end of every table and reads the books in the same transaction. What moves or leaves behind the
 * count's back (a letter is closed, a parked callback finds its task, old rows are purged) is seen
 * in the books, and then all is counted once more, a few times.
 *
 * It does not know how the numbers came about: that the ledgers add up is books_balance's matter.
 * One owner, with a store handle of its own.
 */
#ifndef ALD_TRACKER_RECOUNT_H
#define ALD_TRACKER_RECOUNT_H

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/store/store.h"
#include "proto/msg_limits.h"
#include "services/tracker/vault/books.h"

enum { RECOUNT_PAGE_ROWS = 500, RECOUNT_TRIES = 6 };

/* Rows of each table, by what the books count of them. */
struct recount_sums {
    int64_t arrivals, results, letters, tasks;
    int64_t counted[BOOK_COUNT];
    int64_t homeless; /* results whose task is not there */
    int64_t twice;    /* results of a task that has another one, corrections aside */
    int64_t astray;   /* corrections of a result of another task */
    int64_t strange;  /* rows in a state that is none */
};

struct recount {
    unsigned tries;
    bool begun; /* `before` is read */
    int64_t arrival, result, task;
    char letter[ALD_ULID_MAX];
    struct recount_sums sums;
    struct books before;
    struct books now;
};

void recount_begin(struct recount *self);

/* One page. ALD_AGAIN: go on. ALD_OK: all is counted. ALD_TIMEOUT: what is counted never stood
 * still, there is no answer. Else the store's error. */
ALD_NODISCARD enum ald_rc recount_page(struct recount *self, ald_store_t *store);

/* After ALD_OK: call fn with each count, and what is wrong with it, or "". */
typedef void recount_fn(void *context, const char *name, int64_t value, const char *problem);
void recount_tell(const struct recount *self, recount_fn *fn, void *context);

/* After ALD_OK: rows of tasks that have not ended. */
int64_t recount_open(const struct recount *self);

#endif
