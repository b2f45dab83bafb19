/* seat.h - the place of a bound ipc:// socket in the file system: its path, the lock beside it, and
 * whether both are still there.
 *
 * libzmq silently steals a live endpoint, so who binds one holds a lock on `<path>.lock`. Peers
 * find a socket by its path alone: when that is removed beneath it (a cleaner, a folder made anew),
 * it serves those that are connected and is out of reach for all that come. Threads: one owner.
 */
#ifndef ALD_NET_SEAT_H
#define ALD_NET_SEAT_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/guard.h"
#include "common/base/rc.h"

enum { ALD_SEAT_PATH = 128 };

struct ald_seat {
    char path[ALD_SEAT_PATH]; /* "" = none: tcp://, or not bound */
    int lock;                 /* -1 = none */
    dev_t device;             /* of the socket's file */
    ino_t inode;
};

/* Of no endpoint. */
#define ALD_SEAT_NONE ((struct ald_seat){.lock = -1})

/* Before an endpoint is bound: see whether a socket can be there, and lock it. tcp:// needs
 * nothing. ALD_EXISTS: another process has it. ALD_IO, ALD_TOOBIG: err says what is in the way. */
ALD_NODISCARD enum ald_rc ald_seat_take(struct ald_seat *self, const char *endpoint,
                                        struct ald_err *err);
/* It is bound: nobody else may connect, and what is there now is the socket. */
void ald_seat_taken(struct ald_seat *self);
/* Is what is there now not what was taken? False for none. */
bool ald_seat_lost(const struct ald_seat *self);
/* Before a lost one is bound again: as ald_seat_take, and the lock is kept if it is still there;
 * the folder is made, as at a start. What fails changes nothing. */
ALD_NODISCARD enum ald_rc ald_seat_regain(struct ald_seat *self, const char *endpoint,
                                          struct ald_err *err);
/* Give the lock back. The files stay: removing them would race with the next owner. */
void ald_seat_leave(struct ald_seat *self);

#endif
