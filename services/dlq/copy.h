/* copy.h - an online copy of the letters, stepped between the transactions of the loop.
 *
 * A backup is this copy and then the tracker's, and the two must fit: a letter that the tracker has
 * handed over must be in ours, and one that it has closed must be known to have gone back. So from
 * the end of our copy to the end of the tracker's nothing may pass between us: the copy *holds*.
 * While it does, no letter is acknowledged, none begins to go back, none is dropped. Restored, the
 * two are then as after a kill of the dlq.
 *
 * A hold belongs to the backup that asked for it, by the name in `hold`, and to no other: what this
 * process does not know under that name was not held all the time. It is a short lease that the
 * asker begins anew, so that it ends soon after the asker.
 *
 * One at a time. Threads: the loop's.
 */
#ifndef ALD_DLQ_COPY_H
#define ALD_DLQ_COPY_H

#include <czmq.h>

#include "proto/messages.h"
#include "services/dlq/shelf.h"

typedef struct copy copy_t;

/* Called once a copy: ALD_OK, or err says why there is none. */
typedef void copy_done_fn(void *context, enum ald_rc rc, const struct ald_err *err);

copy_t *copy_new(zloop_t *loop, shelf_t *shelf);
void copy_destroy(copy_t **self_p);

/* Begin to copy to <dir>/letters.db, making the folder, and hold for hold_ms (0: not) once it is
 * there. ALD_OK: done will be called, from the loop. ALD_AGAIN: one is under way or holds.
 * ALD_EXISTS: there is one already. Else err says why; done is not called. */
ALD_NODISCARD enum ald_rc copy_begin(copy_t *self, const struct msg_backup *ask, copy_done_fn *done,
                                     void *context, struct ald_err *err);

/* May nothing pass between us and the tracker now? */
bool copy_holds(const copy_t *self);
/* Hold for ask->hold_ms from now on. ALD_OK: it holds, and has since the copy's end. ALD_AGAIN: the
 * copy is being made. ALD_NOTFOUND: no hold of this name, or it ran out. Else why there is no copy.
 */
ALD_NODISCARD enum ald_rc copy_renew(copy_t *self, const struct msg_backup *ask,
                                     struct ald_err *err);
/* End the hold of this name, or the copy. ALD_OK: it held until now. ALD_NOTFOUND: it did not, so
 * the copy fits nothing; a hold of another name stays. */
ALD_NODISCARD enum ald_rc copy_release(copy_t *self, const char *hold, struct ald_err *err);

/* End the copy under way without a result, before its store is closed; done is called. */
void copy_cancel(copy_t *self);

#endif
