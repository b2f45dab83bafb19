#include "common/client/bus.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

enum { BUS_QUEUE = 1000, BUS_HEARTBEAT_MS = 1000, BUS_HANDSHAKE_MS = 5000, BUS_AGAIN_MS = 50 };

/* An event with the largest result, and what is around it. */
static const int64_t bus_frame_max = (int64_t)68 << 20;

static const char BUS_IPC[] = "ipc://";
static const char BUS_TCP[] = "tcp://";

bool bus_allowed(const char *endpoint)
{
    if (strlen(endpoint) >= BUS_ENDPOINT_MAX)
        return false;
    if (strncmp(endpoint, BUS_IPC, strlen(BUS_IPC)) == 0)
        return endpoint[strlen(BUS_IPC)] == '/';
    if (strncmp(endpoint, BUS_TCP, strlen(BUS_TCP)) != 0)
        return false;
    const char *host = endpoint + strlen(BUS_TCP);
    const char *port = strrchr(host, ':');
    char name[INET_ADDRSTRLEN];
    uint8_t address[4];
    return port &&
           ald_text_copy(name, sizeof name, ald_span_of(host, (size_t)(port - host))) == ALD_OK &&
           inet_pton(AF_INET, name, address) == 1 && address[0] == 127;
}

static bool bus_set(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

/* A message is kept for no one: what must arrive is sent again by who wants it. */
static bool bus_options(const struct bus_line *line)
{
    void *socket = line->socket;
    bool is_set = zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &bus_frame_max, sizeof bus_frame_max) == 0;
    is_set = is_set && bus_set(socket, ZMQ_LINGER, 0) && bus_set(socket, ZMQ_SNDHWM, BUS_QUEUE) &&
             bus_set(socket, ZMQ_RCVHWM, BUS_QUEUE) &&
             bus_set(socket, ZMQ_HANDSHAKE_IVL, BUS_HANDSHAKE_MS) &&
             bus_set(socket, ZMQ_HEARTBEAT_IVL, BUS_HEARTBEAT_MS) &&
             bus_set(socket, ZMQ_HEARTBEAT_TIMEOUT, 3 * BUS_HEARTBEAT_MS) &&
             bus_set(socket, ZMQ_RECONNECT_IVL, BUS_AGAIN_MS) &&
             bus_set(socket, ZMQ_RECONNECT_IVL_MAX, 20 * BUS_AGAIN_MS);
    if (line->type == ZMQ_DEALER)
        return is_set && bus_set(socket, ZMQ_IMMEDIATE, 1);
    return is_set && zmq_setsockopt(socket, ZMQ_SUBSCRIBE, line->topic, strlen(line->topic)) == 0 &&
           zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "head.", 5) == 0;
}

static bool bus_watch(struct bus *self, struct bus_line *line)
{
    char name[32];
    (void)snprintf(name, sizeof name, "inproc://watch-%u", ++self->opened);
    if (zmq_socket_monitor(line->socket, name,
                           ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0)
        return false;
    line->monitor = zmq_socket(self->context, ZMQ_PAIR);
    return line->monitor && bus_set(line->monitor, ZMQ_LINGER, 0) &&
           zmq_connect(line->monitor, name) == 0;
}

static void bus_line_close(struct bus_line *line)
{
    if (line->socket) {
        (void)zmq_socket_monitor(line->socket, NULL, 0);
        (void)zmq_close(line->socket);
    }
    if (line->monitor)
        (void)zmq_close(line->monitor);
    line->socket = NULL;
    line->monitor = NULL;
    line->up = false;
}

static enum ald_rc bus_line_open(struct bus *self, struct bus_line *line)
{
    if (line->endpoint[0] == '\0')
        return ALD_OK;
    line->socket = zmq_socket(self->context, line->type);
    if (line->socket && bus_options(line) && bus_watch(self, line) &&
        zmq_connect(line->socket, line->endpoint) == 0)
        return ALD_OK;
    bus_line_close(line);
    return ALD_IO;
}

enum ald_rc bus_open(struct bus *self)
{
    self->context = zmq_ctx_new();
    if (!self->context)
        return ALD_IO;
    self->consume.type = ZMQ_DEALER;
    self->feed.type = ZMQ_SUB;
    if (bus_line_open(self, &self->consume) == ALD_OK && bus_line_open(self, &self->feed) == ALD_OK)
        return ALD_OK;
    bus_close(self);
    return ALD_IO;
}

void bus_close(struct bus *self)
{
    bus_line_close(&self->consume);
    bus_line_close(&self->feed);
    if (self->context)
        (void)zmq_ctx_term(self->context);
    self->context = NULL;
}

enum ald_rc bus_renew(struct bus *self, struct bus_line *line)
{
    bus_line_close(line);
    return bus_line_open(self, line);
}

void bus_wait(struct bus *self, int wake_fd, long wait_ms)
{
    zmq_pollitem_t items[5] = {{.fd = wake_fd, .events = ZMQ_POLLIN}};
    int count = 1;
    void *const sockets[] = {self->consume.socket, self->consume.monitor, self->feed.socket,
                             self->feed.monitor};
    for (size_t i = 0; i < ALD_COUNT(sockets); i++)
        if (sockets[i])
            items[count++] = (zmq_pollitem_t){.socket = sockets[i], .events = ZMQ_POLLIN};
    (void)zmq_poll(items, count, wait_ms);
}

/* A monitor's message is two frames: the event's number and value, and an address. */
bool bus_look(struct bus_line *line)
{
    bool was_up = line->up;
    uint64_t was_epoch = line->epoch;
    struct bus_message message;
    struct bus_line told = {.socket = line->monitor};
    while (told.socket && bus_receive(&told, &message)) {
        uint16_t event = 0;
        struct ald_span first = bus_frame_span(&message.frames[0]);
        if (first.len >= sizeof event)
            memcpy(&event, first.data, sizeof event);
        line->up = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
        line->epoch += line->up;
        bus_message_free(&message);
    }
    return line->up != was_up || line->epoch != was_epoch;
}

static bool bus_message_grow(struct bus_message *message)
{
    if (message->count < message->cap)
        return true;
    size_t cap = message->cap ? message->cap * 2 : 8;
    zmq_msg_t *frames = malloc(cap * sizeof *frames);
    if (!frames)
        return false;
    /* A zmq_msg_t may not be moved by realloc. */
    for (size_t i = 0; i < message->count; i++) {
        (void)zmq_msg_init(&frames[i]);
        (void)zmq_msg_move(&frames[i], &message->frames[i]);
    }
    free(message->frames);
    message->frames = frames;
    message->cap = cap;
    return true;
}

bool bus_receive(struct bus_line *line, struct bus_message *out)
{
    *out = (struct bus_message){0};
    bool more = true;
    while (more) {
        zmq_msg_t frame;
        (void)zmq_msg_init(&frame);
        if (zmq_msg_recv(&frame, line->socket, ZMQ_DONTWAIT) < 0) {
            (void)zmq_msg_close(&frame);
            break;
        }
        more = zmq_msg_more(&frame) != 0;
        if (out->count < BUS_FRAMES_MAX && bus_message_grow(out)) {
            (void)zmq_msg_init(&out->frames[out->count]);
            (void)zmq_msg_move(&out->frames[out->count++], &frame);
        }
        (void)zmq_msg_close(&frame);
    }
    if (out->count > 0)
        return true;
    bus_message_free(out);
    return false;
}

void bus_message_free(struct bus_message *message)
{
    for (size_t i = 0; i < message->count; i++)
        (void)zmq_msg_close(&message->frames[i]);
    free(message->frames);
    *message = (struct bus_message){0};
}

struct ald_span bus_frame_span(zmq_msg_t *frame)
{
    return ald_span_of(zmq_msg_data(frame), zmq_msg_size(frame));
}

bool bus_send(struct bus_line *line, const struct ald_buf *bytes, bool more)
{
    return line->socket && zmq_send(line->socket, bytes->data, bytes->len,
                                    ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0;
}
