/* swap.h - a new folder in the place of an old one, for restore. Nothing is ever deleted but what
 * this file made itself and did not finish.
 *
 * The new folder is made beside the old one, whole and on disk, as DATA.restoring; then the two
 * change places in one step. What was there before is under another name then, DATA.before-TIME.
 * Killed at any point, DATA is the old folder or the new one, whole:
 *   - while copying: DATA.restoring holds a marker, and the next run makes it anew;
 *   - after the marker went, before the places were changed: DATA.restoring is a whole copy, which
 *     the next run puts aside like any other folder;
 *   - after it: DATA is the new one, and DATA.restoring the old one; the next run puts it aside.
 *
 * Threads: one.
 */
#ifndef ALD_CTL_SWAP_H
#define ALD_CTL_SWAP_H

#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/rc.h"

enum { SWAP_PATH_MAX = 600 };

struct swap {
    const char *place;          /* DATA, without a slash at its end */
    char beside[SWAP_PATH_MAX]; /* DATA.restoring */
    char before[SWAP_PATH_MAX]; /* where the old one is afterwards; "" there was none */
    char broken[SWAP_PATH_MAX]; /* what a run that was killed left, and where it is now; "" nothing
                                 */
};

enum swap_state { SWAP_ABSENT, SWAP_EMPTY, SWAP_FULL, SWAP_NO_FOLDER };

/* What is in the place now. */
enum swap_state swap_look(const char *place);

/* Called as bytes are copied. */
typedef void swap_bytes_fn(void *context, uint64_t bytes);

/* Make the folder beside, and copy files of `from` into it; all is on disk when it returns. If we
 * are root, all belongs to whom the folder in the place belongs. ALD_OK; ALD_FULL, ALD_IO: err says
 * why; what was made is made anew at the next run. */
ALD_NODISCARD enum ald_rc swap_prepare(struct swap *self, const char *place, const char *from,
                                       const char *const *names, size_t count, swap_bytes_fn *fn,
                                       void *context, struct ald_err *err);

/* Change places. ALD_OK: done, and on disk. ALD_EXISTS: somebody put something into a folder that
 * was empty. ALD_IO: nothing was changed, or all; err says what to do. */
ALD_NODISCARD enum ald_rc swap_change(struct swap *self, struct ald_err *err);

#endif
