/* fault_vfs.h - a disk for the store's engine that fails, dies or forgets on request.
 *
 * It stands between SQLite and the file system and counts every write, sync and truncation. At the
 * n-th of them it returns an error (once, or from then on), or kills the process in the middle of a
 * write. It also remembers what was written and not synced, as a kernel does: after a sync failed,
 * those pages count as written although the disk never got them; every handle that was open on the
 * file learns it from its own next sync, once (Linux: errseq_t, since 4.13). What the store itself
 * does beside its engine (the fsyncs of its start-up protocol) does not pass here; fault_restart
 * stands for it.
 *
 * One plan. A store may write on several threads; the functions here belong to one.
 */
#ifndef ALD_TEST_FAULT_VFS_H
#define ALD_TEST_FAULT_VFS_H

#include <stdbool.h>

enum fault_kind { FAULT_NONE, FAULT_IO, FAULT_FULL, FAULT_KILL };

/* Put the disk under every store opened from now on. */
void fault_install(void);
/* Fail at the n-th operation from now (1 = the next). forever: and at all later ones. */
void fault_plan(enum fault_kind kind, unsigned n, bool forever);
/* No more faults. Returns whether the plan's operation was reached. */
bool fault_heal(void);

/* Forget what failed syncs left behind: the cache was dropped, the disk is read again. */
void fault_restart(void);
/* Forget all that was not synced: the plug was pulled. */
void fault_powercut(void);
/* Stop remembering. */
void fault_forget(void);

#endif
