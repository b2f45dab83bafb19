/* watch.h - many descriptors and one timer as a single descriptor of a zloop: zloop walks through
 * all it has at each turn, an epoll set does not.
 *
 * It knows nothing of curl. Threads: the loop's.
 */
#ifndef ALD_POLLER_WATCH_H
#define ALD_POLLER_WATCH_H

#include <czmq.h>

#include "common/base/guard.h"
#include "common/base/rc.h"

typedef struct watch watch_t;

struct watch_ready {
    bool in, out, broken;
};

struct watch_options {
    void *self; /* passed to the functions below */
    void (*on_fd)(void *self, int fd, unsigned tag, struct watch_ready ready);
    void (*on_timer)(void *self);
    void (*on_turn)(void *self); /* after each round of the above */
};

/* ALD_OK: *out is the caller's and on the loop. ALD_IO: err says why. */
ALD_NODISCARD enum ald_rc watch_new(zloop_t *loop, const struct watch_options *options,
                                    watch_t **out, struct ald_err *err);
void watch_destroy(watch_t **self_p);

/* Watch a descriptor for these, from now on and in place of what it was watched for. tag comes back
 * with its events. False: the system refuses. */
bool watch_fd(watch_t *self, int fd, unsigned tag, struct watch_ready what_for);
void watch_forget(watch_t *self, int fd);

/* Who tells of a descriptor when it is opened, and before it is closed, spares the kernel being
 * told again what it knows: of others it is told each time, as their number may be another's now.
 */
void watch_opened(watch_t *self, int fd);
void watch_closing(watch_t *self, int fd);

/* Have on_timer called after after_ms at the latest, 0 being the loop's next turn. It may be called
 * sooner, for an earlier call of this; then whoever still waits asks again. */
void watch_timer(watch_t *self, int64_t after_ms);

/* Have on_turn called soon: at the end of this turn if there is one, else in the next. */
void watch_turn(watch_t *self);

#endif
