#include "common/net/gate.h"

#include <stdlib.h>

struct gate_message {
    uint64_t ticket; /* commits that must be on disk first */
    ald_sock_t *sock;
    zmsg_t *msg; /* NULL: forgotten */
    size_t bytes;
    ald_sent_fn *then; /* or NULL */
    void *arg;
};

struct ald_gate {
    struct ald_gate_options options;
    struct gate_message *ring; /* of ALD_GATE_MESSAGES */
    size_t first, count;
    size_t bytes;
    bool opening; /* what is sent now is what was kept */
};

ald_gate_t *ald_gate_new(const struct ald_gate_options *options)
{
    ald_gate_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self != NULL);
    self->options = *options;
    self->ring = calloc(ALD_GATE_MESSAGES, sizeof *self->ring);
    ALD_ASSERT(self->ring != NULL);
    return self;
}

static struct gate_message *gate_at(const ald_gate_t *self, size_t i)
{
    return &self->ring[(self->first + i) % ALD_GATE_MESSAGES];
}

static void gate_drop(ald_gate_t *self, struct gate_message *kept)
{
    if (kept->msg == NULL)
        return;
    self->bytes -= kept->bytes;
    zmsg_destroy(&kept->msg);
    if (kept->then != NULL)
        kept->then(kept->arg, true);
}

void ald_gate_forget(ald_gate_t *self)
{
    if (self == NULL)
        return;
    for (size_t i = 0; i < self->count; i++)
        gate_drop(self, gate_at(self, i));
    self->count = 0;
}

void ald_gate_destroy(ald_gate_t **self_p)
{
    ald_gate_t *self = *self_p;
    if (self == NULL)
        return;
    ald_gate_forget(self);
    free(self->ring);
    free(self);
    *self_p = NULL;
}

/* Who can't be reached any more misses it, as anything that was on its way. */
static void gate_send(ald_gate_t *self, struct gate_message kept)
{
    ALD_FAILPOINT_STEP("gate.send");
    self->bytes -= kept.bytes;
    if (kept.then != NULL)
        ald_sock_send_then(kept.sock, &kept.msg, kept.then, kept.arg);
    else if (ald_sock_send(kept.sock, &kept.msg) != ALD_OK)
        zmsg_destroy(&kept.msg);
}

void ald_gate_turn(ald_gate_t *self)
{
    if (self == NULL || self->count == 0 || self->opening)
        return;
    uint64_t settled = self->options.settled(self->options.store);
    self->opening = true;
    while (self->count > 0 && gate_at(self, 0)->ticket <= settled) {
        struct gate_message kept = *gate_at(self, 0);
        self->first = (self->first + 1) % ALD_GATE_MESSAGES;
        self->count--;
        if (kept.msg != NULL)
            gate_send(self, kept);
    }
    self->opening = false;
}

static bool gate_room(ald_gate_t *self)
{
    if (self->count < ALD_GATE_MESSAGES && self->bytes < ALD_GATE_BYTES)
        return true;
    bool settled = self->options.settle(self->options.store);
    ald_gate_turn(self);
    return settled;
}

bool ald_gate_take(ald_gate_t *self, ald_sock_t *sock, zmsg_t **msg_p, ald_sent_fn *then, void *arg)
{
    if (self->opening)
        return false;
    uint64_t written = self->options.written(self->options.store);
    bool said = gate_room(self);
    if (said && self->count == 0 && self->options.settled(self->options.store) >= written)
        return false;
    struct gate_message kept = {.ticket = written,
                                .sock = sock,
                                .msg = *msg_p,
                                .bytes = zmsg_content_size(*msg_p),
                                .then = then,
                                .arg = arg};
    *msg_p = NULL;
    self->bytes += kept.bytes;
    if (said)
        *gate_at(self, self->count++) = kept;
    else
        gate_drop(self, &kept); /* the store has failed: it must never be said */
    return true;
}

void ald_gate_leave(ald_gate_t *self, const ald_sock_t *sock)
{
    for (size_t i = 0; i < self->count; i++)
        if (gate_at(self, i)->sock == sock)
            gate_drop(self, gate_at(self, i));
}
