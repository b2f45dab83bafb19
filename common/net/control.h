/* control.h - the control channel of a daemon: others ask for its health or metrics, or make it
 * drain. Answers come from the loop's thread, so that an answer also says that the loop turns.
 */
#ifndef ALD_NET_CONTROL_H
#define ALD_NET_CONTROL_H

#include "common/base/buf.h"
#include "common/net/sock.h"

typedef struct ald_control ald_control_t;

struct ald_control_ops {
    void *self;
    bool (*healthy)(void *self, char *out, size_t cap);
    void (*metrics)(void *self, struct ald_buf *out);
    void (*drain)(void *self);
};

ALD_NODISCARD enum ald_rc ald_control_new(zloop_t *loop, const char *endpoint,
                                          const struct ald_control_ops *ops, ald_control_t **out,
                                          struct ald_err *err);
void ald_control_destroy(ald_control_t **self_p);

#endif
