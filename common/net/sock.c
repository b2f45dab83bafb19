#include "common/net/sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/net/gate.h"
#include "common/net/seat.h"

struct ald_sock {
    zsock_t *z;
    struct ald_seat seat;
    zloop_t *loop; /* that watches it, or NULL */
    zloop_reader_fn *ready;
    void *arg;
    bool turning; /* ready is at work */
    int again;    /* timer of its next call, or -1 */
    int guard;    /* timer that looks after the seat, or -1 */
    bool unseated;
    ald_gate_t *gate;
};

enum {
    SOCK_QUEUE = 1000,
    SOCK_HANDSHAKE_MS = 5000,
    SOCK_FRAME_MAX = 64 * 1024,
    SOCK_GUARD_MS = 5000
};

static const char IPC[] = "ipc://";
static const char TCP[] = "tcp://";

enum ald_rc ald_sock_endpoint(const struct ald_settings *settings, const char *channel, char *out,
                              size_t cap, struct ald_err *err)
{
    const struct {
        const char *channel;
        const char *endpoint;
    } overrides[] = {
        {"events", settings->bus.events},   {"query", settings->bus.query},
        {"jobs", settings->bus.jobs},       {"feed", settings->bus.feed},
        {"consume", settings->bus.consume}, {"letters", settings->bus.letters},
    };
    for (size_t i = 0; i < ALD_COUNT(overrides); i++)
        if (strcmp(overrides[i].channel, channel) == 0 && overrides[i].endpoint[0] != '\0')
            return ald_text_copy(out, cap, ald_span_str(overrides[i].endpoint));

    int n = snprintf(out, cap, "%s%s/%s", IPC, settings->bus.run, channel);
    size_t path_max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1 + strlen(IPC);
    if (n < 0 || (size_t)n >= cap || (size_t)n > path_max)
        return ald_err_set(err, ALD_TOOBIG,
                           "bus.run: the path %s/%s is longer than a socket "
                           "address holds; choose a shorter folder",
                           settings->bus.run, channel);
    return ALD_OK;
}

bool ald_sock_lives(const char *run, const char *channel)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", run, channel);
    if (n < 0 || (size_t)n >= sizeof address.sun_path)
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool lives = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return lives;
}

/* Without encryption a bus socket may only be reached from this machine. */
static bool sock_allowed(const char *endpoint)
{
    if (strncmp(endpoint, IPC, strlen(IPC)) == 0)
        return endpoint[strlen(IPC)] == '/';
    if (strncmp(endpoint, TCP, strlen(TCP)) != 0)
        return false;
    const char *host = endpoint + strlen(TCP);
    const char *port = strrchr(host, ':');
    char name[INET_ADDRSTRLEN];
    uint8_t address[4];
    if (!port ||
        ald_text_copy(name, sizeof name, ald_span_of(host, (size_t)(port - host))) != ALD_OK)
        return false;
    /* No names: they may mean anything, and ZeroMQ binds none. */
    return inet_pton(AF_INET, name, address) == 1 && address[0] == 127;
}

static void sock_options(zsock_t *z, const struct ald_sock_options *options)
{
    void *raw = zsock_resolve(z);
    int64_t frame = options->max_frame > 0 ? options->max_frame : SOCK_FRAME_MAX;
    (void)zmq_setsockopt(raw, ZMQ_MAXMSGSIZE, &frame, sizeof frame);
    zsock_set_linger(z, 0);
    zsock_set_sndtimeo(z, 0);
    zsock_set_rcvtimeo(z, 0);
    zsock_set_sndhwm(z, SOCK_QUEUE);
    zsock_set_rcvhwm(z, SOCK_QUEUE);
    zsock_set_handshake_ivl(z, SOCK_HANDSHAKE_MS);
    int heartbeat = options->heartbeat_ms > 0 ? (int)options->heartbeat_ms : 1000;
    zsock_set_heartbeat_ivl(z, heartbeat);
    zsock_set_heartbeat_timeout(z, heartbeat * 3);
    zsock_set_reconnect_ivl(z, 50);
    zsock_set_reconnect_ivl_max(z, 1000);
    if (options->type == ZMQ_ROUTER)
        zsock_set_router_mandatory(z, 1);
    if (options->type == ZMQ_DEALER)
        zsock_set_immediate(z, 1);
    if (options->type == ZMQ_XPUB)
        zsock_set_xpub_verbose(z, 1);
    if (options->type == ZMQ_SUB)
        zsock_set_subscribe(z, "");
}

static enum ald_rc sock_open(const struct ald_sock_options *options, const char *endpoint,
                             ald_sock_t **out, struct ald_err *err)
{
    *out = NULL;
    if (!sock_allowed(endpoint))
        return ald_err_set(err, ALD_INVALID,
                           "%s: a bus endpoint is ipc:///absolute/path, or tcp://127.0.0.1:PORT: "
                           "nothing on the bus is encrypted",
                           endpoint);
    ald_sock_t *self = zmalloc(sizeof *self);
    self->seat = ALD_SEAT_NONE;
    self->again = -1;
    self->guard = -1;
    self->z = zsock_new(options->type);
    ALD_ASSERT(self->z);
    sock_options(self->z, options);
    *out = self;
    return ALD_OK;
}

enum ald_rc ald_sock_bind(const struct ald_sock_options *options, const char *endpoint,
                          ald_sock_t **out, struct ald_err *err)
{
    ald_sock_t *self = NULL;
    enum ald_rc rc = sock_open(options, endpoint, &self, err);
    if (rc != ALD_OK)
        return rc;
    rc = ald_seat_take(&self->seat, endpoint, err);
    if (rc == ALD_OK && zsock_attach(self->z, endpoint, true) != 0)
        rc = ald_err_set(err, ALD_IO, "%s: cannot bind: %s", endpoint, zmq_strerror(zmq_errno()));
    if (rc == ALD_OK)
        ald_seat_taken(&self->seat);
    if (rc != ALD_OK) {
        ald_sock_destroy(&self);
        return rc;
    }
    *out = self;
    return ALD_OK;
}

enum ald_rc ald_sock_serve(const struct ald_settings *settings, const char *channel, int type,
                           int64_t max_frame, ald_sock_t **out, struct ald_err *err)
{
    char endpoint[ALD_PATH_MAX + ALD_ENDPOINT_MAX];
    const struct ald_sock_options options = {
        .type = type, .max_frame = max_frame, .heartbeat_ms = settings->bus.heartbeat_ms};
    *out = NULL;
    enum ald_rc rc = ald_sock_endpoint(settings, channel, endpoint, sizeof endpoint, err);
    return rc == ALD_OK ? ald_sock_bind(&options, endpoint, out, err) : rc;
}

enum ald_rc ald_sock_connect(const struct ald_sock_options *options, const char *endpoint,
                             ald_sock_t **out, struct ald_err *err)
{
    ald_sock_t *self = NULL;
    enum ald_rc rc = sock_open(options, endpoint, &self, err);
    if (rc != ALD_OK)
        return rc;
    if (zsock_attach(self->z, endpoint, false) != 0) {
        ald_sock_destroy(&self);
        return ald_err_set(err, ALD_IO, "%s: cannot connect: %s", endpoint,
                           zmq_strerror(zmq_errno()));
    }
    *out = self;
    return ALD_OK;
}

static int sock_again(zloop_t *loop, int timer, void *arg);

/* ZeroMQ's descriptor tells that something has changed, once: whatever is done with the socket may
 * have taken that in. So after each use it is asked what is there. */
static void sock_look(ald_sock_t *self)
{
    if (self->again < 0 && (zsock_events(self->z) & ZMQ_POLLIN) != 0)
        self->again = zloop_timer(self->loop, 0, 1, sock_again, self);
}

static int sock_turn(ald_sock_t *self)
{
    self->turning = true;
    int rc = self->ready(self->loop, self->z, self->arg);
    self->turning = false;
    sock_look(self);
    return rc;
}

static int sock_again(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    ald_sock_t *self = arg;
    self->again = -1;
    return sock_turn(self);
}

static int sock_changed(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop, (void)item;
    return sock_turn(arg);
}

static zmq_pollitem_t sock_item(const ald_sock_t *self)
{
    return (zmq_pollitem_t){.fd = zsock_fd(self->z), .events = ZMQ_POLLIN};
}

/* ---- a seat that is pulled away ---- */

/* Bind once more where the socket was. Its old listener stays, out of everybody's reach: closing it
 * would remove the new one's file. Who is connected stays so. */
static enum ald_rc sock_seat_again(ald_sock_t *self, struct ald_err *err)
{
    char endpoint[sizeof IPC + sizeof self->seat.path];
    (void)snprintf(endpoint, sizeof endpoint, "%s%s", IPC, self->seat.path);
    enum ald_rc rc = ald_seat_regain(&self->seat, endpoint, err);
    if (rc != ALD_OK)
        return rc;
    if (zsock_attach(self->z, endpoint, true) != 0)
        return ald_err_set(err, ALD_IO, "%s: cannot bind: %s", endpoint, zmq_strerror(zmq_errno()));
    ald_seat_taken(&self->seat);
    return ALD_OK;
}

static int sock_guard(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    ald_sock_t *self = arg;
    struct ald_err err = {0};
    if (!ald_seat_lost(&self->seat))
        return 0;
    enum ald_rc rc = sock_seat_again(self, &err);
    if (rc == ALD_OK)
        ald_log(
            ALD_WARN, "sock.back",
            "path=%s text=\"the socket or its lock was removed by somebody; it is there again\"",
            ALD_Q(self->seat.path));
    else if (!self->unseated)
        ald_log(ALD_ERROR, "sock.gone", "path=%s text=%s", ALD_Q(self->seat.path), ALD_Q(err.text));
    self->unseated = rc != ALD_OK;
    return 0;
}

void ald_sock_watch(ald_sock_t *self, zloop_t *loop, zloop_reader_fn *ready, void *arg)
{
    ALD_ASSERT(!self->loop);
    self->loop = loop;
    self->ready = ready;
    self->arg = arg;
    zmq_pollitem_t item = sock_item(self);
    ALD_ASSERT(zloop_poller(loop, &item, sock_changed, self) == 0);
    zloop_poller_set_tolerant(loop, &item);
    if (self->seat.path[0] != '\0')
        self->guard = zloop_timer(loop, SOCK_GUARD_MS, 0, sock_guard, self);
    sock_look(self);
}

static void sock_unwatch(ald_sock_t *self)
{
    if (!self->loop)
        return;
    zmq_pollitem_t item = sock_item(self);
    zloop_poller_end(self->loop, &item);
    if (self->again >= 0)
        (void)zloop_timer_end(self->loop, self->again);
    if (self->guard >= 0)
        (void)zloop_timer_end(self->loop, self->guard);
}

void ald_sock_destroy(ald_sock_t **self_p)
{
    ald_sock_t *self = *self_p;
    if (!self)
        return;
    sock_unwatch(self);
    if (self->gate)
        ald_gate_leave(self->gate, self);
    zsock_destroy(&self->z);
    ald_seat_leave(&self->seat);
    free(self);
    *self_p = NULL;
}

zsock_t *ald_sock_z(ald_sock_t *self)
{
    return self->z;
}

void ald_sock_wait(ald_sock_t *self, int fd, int timeout_ms)
{
    struct pollfd items[] = {{.fd = zsock_fd(self->z), .events = POLLIN},
                             {.fd = fd, .events = POLLIN}};
    if ((zsock_events(self->z) & ZMQ_POLLIN) == 0)
        (void)poll(items, ALD_COUNT(items), timeout_ms);
}

zmsg_t *ald_sock_recv(ald_sock_t *self)
{
    return zmsg_recv(self->z); /* its time limit is 0 */
}

void ald_sock_gate(ald_sock_t *self, ald_gate_t *gate)
{
    self->gate = gate;
}

void ald_sock_send_then(ald_sock_t *self, zmsg_t **msg_p, ald_sent_fn *then, void *arg)
{
    if (self->gate && ald_gate_take(self->gate, self, msg_p, then, arg))
        return;
    bool sent = ald_sock_send(self, msg_p) == ALD_OK;
    zmsg_destroy(msg_p);
    then(arg, sent);
}

enum ald_rc ald_sock_send(ald_sock_t *self, zmsg_t **msg_p)
{
    if (self->gate && ald_gate_take(self->gate, self, msg_p, NULL, NULL))
        return ALD_OK;
    enum ald_rc rc = zmsg_send(msg_p, self->z) == 0 ? ALD_OK : ALD_AGAIN;
    if (self->loop && !self->turning)
        sock_look(self);
    return rc;
}

#ifdef ALDABA_FAILPOINTS
enum ald_rc ald_sock_fail(zmsg_t **msg_p)
{
    if (!ald_failpoint_drop())
        return ALD_AGAIN;
    zmsg_destroy(msg_p);
    return ALD_OK;
}

void ald_sock_fail_then(zmsg_t **msg_p, ald_sent_fn *then, void *arg)
{
    bool sent = ald_sock_fail(msg_p) == ALD_OK;
    zmsg_destroy(msg_p);
    then(arg, sent);
}
#endif
