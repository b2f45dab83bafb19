/* disk.h - what stores need of the file system: room, a reserve, durable names, locks.
 *
 * Knows nothing of what is in the files. Threads: no state, any thread.
 */
#ifndef ALD_STORE_DISK_H
#define ALD_STORE_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failpoint.h"
#include "common/base/guard.h"
#include "common/base/rc.h"

/* What is too little room: either of the two. 0 = not asked. */
struct ald_disk_limit {
    unsigned min_free_percent;
    uint64_t min_free_bytes;
};

/* Is there room on path's file system for `bytes` more and the limit besides?
 * ALD_OK; ALD_FULL; ALD_IO: it can't be told. */
ALD_NODISCARD enum ald_rc ald_disk_room(const char *path, const struct ald_disk_limit *limit,
                                        uint64_t bytes);

/* Keep `bytes` of the disk in a file at path, to be given up by ald_store_unreserve when the disk
 * is full, so that deletes and checkpoints can go on. Does nothing when it is there.
 * ALD_OK; ALD_FULL: no room, nothing is left behind; ALD_IO. */
ALD_NODISCARD enum ald_rc ald_store_reserve(const char *path, uint64_t bytes);
/* Remove the reserve. True if there was one. */
bool ald_store_unreserve(const char *path);

/* Make the folder (0700) and those above it, durably. */
ALD_NODISCARD enum ald_rc ald_disk_folder(const char *path, struct ald_err *err);
/* Make names in the folder of path durable. */
ALD_NODISCARD enum ald_rc ald_disk_sync_folder_of(const char *path);
/* fsync path and drop it from the page cache, so that what is read next is what the disk has. A
 * path that is not there is ALD_OK. ALD_IO: errno says why; also for what is no regular file. */
ALD_NODISCARD enum ald_rc ald_disk_settle(const char *path);

/* Lock path (made 0600), without waiting. ALD_OK: *fd holds the lock until it is closed.
 * ALD_EXISTS: somebody has it. ALD_IO. err names the holder's file. */
ALD_NODISCARD enum ald_rc ald_disk_lock(const char *path, int *fd, struct ald_err *err);

/* Does a process hold the lock of this path? Makes nothing, and holds nothing when it returns. */
bool ald_disk_locked(const char *path);

#endif
