/* bus.h - the sockets of one handle: a DEALER to the tracker's `consume`, and a SUB on its `feed`
 * where it is asked for; and whether they are connected.
 *
 * libzmq alone, in a context of the handle's own: the layer above it that aldaba's daemons use
 * keeps state for the whole process and sets signal handlers, which a library must not. What is
 * sent never waits; what can't be sent is said. Decodes nothing. Threads: all functions in the
 * thread inside the handle, but bus_open and bus_close, which run before it and after it.
 */
#ifndef ALD_CLIENT_BUS_H
#define ALD_CLIENT_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum { BUS_ENDPOINT_MAX = 256, BUS_TOPIC_MAX = 80, BUS_FRAMES_MAX = 4096 };

struct bus_line {
    char endpoint[BUS_ENDPOINT_MAX]; /* "" = none */
    char topic[BUS_TOPIC_MAX];       /* of a SUB */
    int type;
    void *socket;
    void *monitor; /* tells connections */
    bool up;
    uint64_t epoch; /* connections so far */
};

struct bus {
    void *context;
    struct bus_line consume;
    struct bus_line feed;
    unsigned opened; /* sockets, so that names of monitors differ */
};

/* A message that came: its frames, which are the caller's. */
struct bus_message {
    zmq_msg_t *frames;
    size_t count, cap;
};

/* Is it an endpoint of this machine? Nothing on the bus is encrypted. */
bool bus_allowed(const char *endpoint);

/* Open the sockets that self->consume and self->feed name by endpoint and topic. ALD_OK, ALD_IO
 * (errno tells). */
ALD_NODISCARD enum ald_rc bus_open(struct bus *self);
void bus_close(struct bus *self);

/* Close the line's socket and open another: no answer comes any more to what was sent on the old
 * one. ALD_IO: it has none now; try again. */
ALD_NODISCARD enum ald_rc bus_renew(struct bus *self, struct bus_line *line);

/* Wait until a socket or wake_fd has something, up to wait_ms. */
void bus_wait(struct bus *self, int wake_fd, long wait_ms);

/* Take what the monitor says. True: the connection came or went since the last call. */
bool bus_look(struct bus_line *line);

/* The next message without waiting; false: none. Frames beyond BUS_FRAMES_MAX are dropped. */
bool bus_receive(struct bus_line *line, struct bus_message *out);
void bus_message_free(struct bus_message *message);
struct ald_span bus_frame_span(zmq_msg_t *frame);

/* Send bytes as a frame, `more` of the same message to follow. false: not taken, not connected. */
bool bus_send(struct bus_line *line, const struct ald_buf *bytes, bool more);

#endif
