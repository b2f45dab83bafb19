/* copy.h - an online copy of the letters, stepped between the transactions of the loop.
 *
 * One at a time. Threads: the loop's.
 */
#ifndef ALD_DLQ_COPY_H
#define ALD_DLQ_COPY_H

#include <czmq.h>

#include "services/dlq/shelf.h"

typedef struct copy copy_t;

/* Called once a copy: ALD_OK, or err says why there is none. */
typedef void copy_done_fn(void *context, enum ald_rc rc, const struct ald_err *err);

copy_t *copy_new(zloop_t *loop, shelf_t *shelf);
void copy_destroy(copy_t **self_p);

/* Begin to copy to <dir>/letters.db, making the folder. ALD_OK: done will be called, from the loop.
 * ALD_AGAIN: one is under way. ALD_EXISTS: there is one already. Else err says why; done is not
 * called. */
ALD_NODISCARD enum ald_rc copy_begin(copy_t *self, const char *dir, copy_done_fn *done,
                                     void *context, struct ald_err *err);

/* End the copy under way without a result, before its store is closed; done is called. */
void copy_cancel(copy_t *self);

#endif
