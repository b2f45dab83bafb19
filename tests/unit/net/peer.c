#include "tests/unit/net/peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "proto/joined.h"

enum { PATIENCE_MS = 10000, TURNS = 8 };

#define SENDER "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define INSTANCE "01ARZ3NDEKTSV4RRFFQ69G5FB1"

static int64_t clock_added_ms;

struct ald_now __real_ald_clock_now(void);
struct ald_now __wrap_ald_clock_now(void);
struct ald_now __wrap_ald_clock_now(void)
{
    struct ald_now now = __real_ald_clock_now();
    now.mono_ms += clock_added_ms;
    now.wall_ms += clock_added_ms;
    return now;
}

void peer_wait(int64_t ms)
{
    clock_added_ms += ms;
}

static void peer_settled(void *arg, void *tag, const struct msg_ack *ack)
{
    struct peer *self = arg;
    assert_true(self->settled_count < PEER_SEEN_MAX);
    self->settled[self->settled_count].num = ack->num;
    self->settled[self->settled_count].tag = tag;
    memcpy(self->settled[self->settled_count++].disposition, ack->disposition, ALD_WORD_MAX);
}

static void peer_late(void *arg, uint64_t num, void *tag, bool sent)
{
    (void)tag;
    struct peer *self = arg;
    assert_true(self->late_count < PEER_SEEN_MAX);
    self->late_sent[self->late_count] = sent;
    self->late[self->late_count++] = num;
}

static void peer_oversized(void *arg, uint64_t num, void *tag, struct ald_span bytes)
{
    (void)tag, (void)bytes;
    struct peer *self = arg;
    assert_true(self->oversized_count < PEER_SEEN_MAX);
    self->oversized[self->oversized_count++] = num;
}

static void peer_head(void *arg, struct msg_batch *head)
{
    const struct peer *self = arg;
    head->floor = self->floor;
    head->spool_items = 3;
}

static void peer_welcomed(void *arg, const struct msg_welcome *welcome, bool fresh, zmsg_t *msg)
{
    (void)welcome, (void)msg;
    struct peer *self = arg;
    self->welcomes++;
    self->fresh += fresh;
}

void peer_start(struct peer *self, bool late, int64_t resend_after_ms)
{
    *self = (struct peer){.loop = zloop_new()};
    folder_make(&self->folder);
    zloop_set_nonstop(self->loop, true);
    (void)snprintf(self->endpoint, sizeof self->endpoint, "ipc://%s",
                   folder_file(&self->folder, "events"));
    struct ald_sock_options router = {.type = ZMQ_ROUTER, .max_frame = 4 << 20};
    struct ald_err err = {0};
    assert_int_equal(ald_sock_bind(&router, self->endpoint, &self->receiver, &err), ALD_OK);
    struct ald_courier_options options = {.endpoint = self->endpoint,
                                          .role = "gateway",
                                          .sender = SENDER,
                                          .instance = INSTANCE,
                                          .heartbeat_ms = 1000,
                                          .resend_after_ms =
                                              resend_after_ms ? resend_after_ms : 3600000,
                                          .ack_min_ms = 250,
                                          .ack_max_ms = 1500,
                                          .self = self,
                                          .on_settled = peer_settled,
                                          .on_late = late ? peer_late : NULL,
                                          .on_oversized = late ? NULL : peer_oversized,
                                          .on_head = peer_head,
                                          .on_welcome = peer_welcomed};
    assert_int_equal(ald_courier_new(self->loop, &options, &self->courier, &err), ALD_OK);
}

void peer_stop(struct peer *self)
{
    ald_courier_destroy(&self->courier);
    ald_sock_destroy(&self->receiver);
    zframe_destroy(&self->who);
    zloop_destroy(&self->loop);
    folder_remove(&self->folder);
}

/* A look at the condition every few ms, on the loop. */
struct peer_look {
    struct peer *peer;
    peer_condition *condition;
    int64_t until_ms;
    int turns; /* that are left, when there is no condition */
    bool held;
};

static int peer_look(zloop_t *loop, int timer, void *arg)
{
    (void)loop;
    (void)timer;
    struct peer_look *look = arg;
    look->held = look->condition ? look->condition(look->peer) : --look->turns <= 0;
    return look->held || __real_ald_clock_now().mono_ms > look->until_ms ? -1 : 0;
}

static bool peer_run(struct peer *self, peer_condition *condition)
{
    struct peer_look look = {.peer = self,
                             .condition = condition,
                             .until_ms = __real_ald_clock_now().mono_ms + PATIENCE_MS,
                             .turns = TURNS};
    int timer = zloop_timer(self->loop, 15, 0, peer_look, &look);
    (void)zloop_start(self->loop);
    zloop_timer_end(self->loop, timer);
    return look.held;
}

void peer_until(struct peer *self, peer_condition *condition)
{
    assert_true(peer_run(self, condition));
}

void peer_turns(struct peer *self)
{
    (void)peer_run(self, NULL);
}

static zmsg_t *peer_next(struct peer *self, const struct ald_schema *schema)
{
    zmsg_t *msg = ald_sock_recv(self->receiver);
    for (; msg; msg = ald_sock_recv(self->receiver)) {
        zframe_destroy(&self->who);
        self->who = zmsg_pop(msg);
        zframe_t *frame = zmsg_first(msg);
        if (frame && ald_wire_is(schema, ald_frame_span(frame)))
            return msg;
        zmsg_destroy(&msg);
    }
    return NULL;
}

static zmsg_t *heard;
static const struct ald_schema *awaited;

static bool peer_heard(struct peer *self)
{
    heard = peer_next(self, awaited);
    return heard != NULL;
}

void peer_hear_hello(struct peer *self, struct msg_hello *out)
{
    awaited = &MSG_HELLO;
    peer_until(self, peer_heard);
    assert_int_equal(ald_wire_decode(&MSG_HELLO, out, ald_frame_span(zmsg_first(heard))), ALD_OK);
    zmsg_destroy(&heard);
}

void peer_hear_batch(struct peer *self, struct peer_batch *out)
{
    *out = (struct peer_batch){0};
    awaited = &MSG_BATCH;
    peer_until(self, peer_heard);
    zframe_t *frame = zmsg_first(heard);
    assert_int_equal(ald_wire_decode(&MSG_BATCH, &out->head, ald_frame_span(frame)), ALD_OK);
    for (frame = zmsg_next(heard); frame; frame = zmsg_next(heard)) {
        struct ald_span left = ald_frame_span(frame);
        struct ald_span item;
        out->frames++;
        while (ald_joined_next(&left, &item)) {
            assert_true(out->count < ALD_COURIER_ITEMS);
            ald_text_cut(out->item[out->count++], sizeof out->item[0], item);
        }
    }
    zmsg_destroy(&heard);
}

bool peer_hears_batch(struct peer *self)
{
    peer_turns(self);
    zmsg_t *msg = peer_next(self, &MSG_BATCH);
    bool there = msg != NULL;
    zmsg_destroy(&msg);
    return there;
}

static void peer_send(struct peer *self, zmsg_t *msg)
{
    assert_non_null(self->who);
    zframe_t *who = zframe_dup(self->who);
    zmsg_prepend(msg, &who);
    assert_int_equal(ald_sock_send(self->receiver, &msg), ALD_OK);
}

void peer_welcome(struct peer *self, const char *instance, uint64_t max_item)
{
    struct msg_welcome welcome = {.max_item = max_item, .joined = self->joins};
    self->instance = instance;
    ald_text_cut(welcome.instance, sizeof welcome.instance, ald_span_str(instance));
    zmsg_t *msg = zmsg_new();
    assert_int_equal(ald_frame_add(msg, &MSG_WELCOME, &welcome), ALD_OK);
    peer_send(self, msg);
}

void peer_answers(struct peer *self, uint64_t batch, const struct msg_ack *acks, size_t count)
{
    struct msg_acks head = {.batch = batch};
    ald_text_cut(head.instance, sizeof head.instance, ald_span_str(self->instance));
    zmsg_t *msg = zmsg_new();
    assert_int_equal(ald_frame_add(msg, &MSG_ACKS, &head), ALD_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ald_frame_add(msg, &MSG_ACK, &acks[i]), ALD_OK);
    peer_send(self, msg);
}

void peer_acks(struct peer *self, uint64_t batch, const uint64_t *nums, size_t count,
               const char *disposition)
{
    struct msg_ack acks[8] = {0};
    assert_true(count <= ALD_COUNT(acks));
    for (size_t i = 0; i < count; i++) {
        acks[i].num = nums[i];
        ald_text_cut(acks[i].disposition, sizeof acks[i].disposition, ald_span_str(disposition));
    }
    peer_answers(self, batch, acks, count);
}

void peer_say(struct peer *self, const void *bytes, size_t len)
{
    zmsg_t *msg = zmsg_new();
    (void)zmsg_addmem(msg, bytes, len);
    peer_send(self, msg);
}

static unsigned welcomes_before;

static bool peer_met(struct peer *self)
{
    return self->welcomes > welcomes_before;
}

void peer_meet(struct peer *self, const char *instance)
{
    struct msg_hello hello;
    welcomes_before = self->welcomes;
    peer_hear_hello(self, &hello);
    peer_welcome(self, instance, 1 << 20);
    peer_until(self, peer_met);
}

void peer_add(struct peer *self, uint64_t num, void *tag)
{
    char bytes[16];
    int n = snprintf(bytes, sizeof bytes, "n%d", (int)num);
    assert_int_equal(ald_courier_add(self->courier, num, ald_span_of(bytes, (size_t)n), tag),
                     ALD_OK);
}
