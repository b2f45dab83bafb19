#include "common/net/control.h"

#include <string.h>

#include "common/base/text.h"
#include "proto/messages.h"

enum { CONTROL_METRICS_MAX = 4 << 20 };

struct ald_control {
    struct ald_control_ops ops;
    zloop_t *loop;
    ald_sock_t *sock;
};

static void control_answer(ald_control_t *self, zframe_t **who_p, const struct msg_control *ask)
{
    struct msg_answer answer = {.req = ask->req};
    struct ald_buf text;
    ald_buf_init(&text, CONTROL_METRICS_MAX);
    const char *rc = "ok";
    if (strcmp(ask->what, "health") == 0) {
        if (!self->ops.healthy(self->ops.self, answer.detail, sizeof answer.detail))
            rc = "busy";
    } else if (strcmp(ask->what, "metrics") == 0) {
        self->ops.metrics(self->ops.self, &text);
    } else if (strcmp(ask->what, "drain") == 0) {
        self->ops.drain(self->ops.self);
    } else {
        rc = "invalid";
    }
    ald_text_cut(answer.rc, sizeof answer.rc, ald_span_str(rc));

    zmsg_t *msg = zmsg_new();
    zmsg_append(msg, who_p);
    struct msg_blob blob = {.bytes = ald_buf_span(&text)};
    enum ald_rc sent = ald_frame_add(msg, &MSG_ANSWER, &answer);
    if (sent == ALD_OK && text.len > 0)
        sent = ald_frame_add(msg, &MSG_BLOB, &blob);
    if (sent == ALD_OK)
        sent = ALD_SOCK_SEND("control.answer", self->sock, &msg);
    zmsg_destroy(&msg); /* who asked is gone: nobody misses the answer */
    ald_buf_free(&text);
}

static int control_read(zloop_t *loop, zsock_t *sock, void *arg)
{
    (void)loop;
    (void)sock;
    ald_control_t *self = arg;
    zmsg_t *msg = ald_sock_recv(self->sock);
    for (; msg; msg = ald_sock_recv(self->sock)) {
        zframe_t *who = zmsg_pop(msg);
        zframe_t *frame = zmsg_first(msg);
        struct msg_control ask;
        if (who && frame && ald_wire_decode(&MSG_CONTROL, &ask, ald_frame_span(frame)) == ALD_OK)
            control_answer(self, &who, &ask);
        zframe_destroy(&who);
        zmsg_destroy(&msg);
    }
    return 0;
}

enum ald_rc ald_control_new(zloop_t *loop, const char *endpoint, const struct ald_control_ops *ops,
                            ald_control_t **out, struct ald_err *err)
{
    *out = NULL;
    struct ald_sock_options options = {.type = ZMQ_ROUTER};
    ald_sock_t *sock = NULL;
    enum ald_rc rc = ald_sock_bind(&options, endpoint, &sock, err);
    if (rc != ALD_OK)
        return rc;
    ald_control_t *self = zmalloc(sizeof *self);
    *self = (ald_control_t){.ops = *ops, .loop = loop, .sock = sock};
    ald_sock_watch(sock, loop, control_read, self);
    *out = self;
    return ALD_OK;
}

void ald_control_destroy(ald_control_t **self_p)
{
    ald_control_t *self = *self_p;
    if (!self)
        return;
    ald_sock_destroy(&self->sock);
    free(self);
    *self_p = NULL;
}
