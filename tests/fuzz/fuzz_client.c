/* What a tracker, or whoever took its place, says to libaldaba: the thread inside runs on this one,
 * with the input where its sockets would be. After the first byte, which says what is subscribed
 * to, each step is a message, a lost connection, or a call of the program.
 *
 * The sums of the queue stay true, and a live subscription gives no event twice. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/client/turn.h"
#include "tests/fuzz/input.h"

enum { CLIENT_STEPS = 64, CLIENT_EVENTS_MAX = 40, CLIENT_FRAME_MAX = 1 << 16 };

/* Link-time stand-ins for bus.h (--wrap). */
bool __wrap_bus_look(struct bus_line *line);
bool __wrap_bus_receive(struct bus_line *line, struct bus_message *out);
bool __wrap_bus_send(struct bus_line *line, const struct ald_buf *bytes, bool more);
void __wrap_bus_wait(struct bus *self, int wake_fd, long wait_ms);
enum ald_rc __wrap_bus_renew(struct bus *self, struct bus_line *line);

static struct client {
    aldaba_t handle;
    struct input in;
    unsigned steps;
    uint64_t asked[8]; /* the last requests, so that an answer can be one to them */
    unsigned asked_next;
    struct bus_line *coming; /* where the next message comes */
    bool changed;            /* the connection */
    uint64_t last_lane, last_seq;
} client;

static void client_frame(struct bus_message *out, struct ald_span bytes)
{
    if (out->count == out->cap) {
        out->cap = out->cap ? 2 * out->cap : 8;
        out->frames = realloc(out->frames, out->cap * sizeof *out->frames);
        ALD_ASSERT(out->frames);
    }
    zmq_msg_t *frame = &out->frames[out->count++];
    ALD_ASSERT(zmq_msg_init_size(frame, bytes.len) == 0);
    if (bytes.len > 0)
        memcpy(zmq_msg_data(frame), bytes.data, bytes.len);
}

static void client_encoded(struct bus_message *out, const struct ald_schema *schema,
                           const void *message)
{
    struct ald_buf bytes;
    ald_buf_init(&bytes, CLIENT_FRAME_MAX);
    if (ald_wire_encode(schema, message, &bytes) == ALD_OK)
        client_frame(out, ald_buf_span(&bytes));
    else
        client_frame(out, ald_span_str("?"));
    ald_buf_free(&bytes);
}

static uint64_t client_req(void)
{
    uint8_t which = input_byte(&client.in);
    return which < 0xf0 ? client.asked[which % ALD_COUNT(client.asked)] : which;
}

static void client_word(char *out, size_t cap)
{
    static const char *const words[] = {"ok", "exists", "busy", "invalid", "notfound", "full", "x"};
    ald_text_cut(out, cap, ald_span_str(words[input_byte(&client.in) % ALD_COUNT(words)]));
}

static void client_events(struct bus_message *out)
{
    struct msg_events head = {.req = client_req()};
    client_word(head.rc, sizeof head.rc);
    head.gap = (input_byte(&client.in) & 7) == 7;
    input_text(&client.in, '\n', head.position, sizeof head.position);
    input_text(&client.in, '\n', head.head, sizeof head.head);
    if ((input_byte(&client.in) & 3) == 3)
        input_text(&client.in, '\n', head.gap_before, sizeof head.gap_before);
    client_encoded(out, &MSG_EVENTS, &head);
    unsigned count = input_byte(&client.in) % CLIENT_EVENTS_MAX;
    uint64_t seq = input_u64(&client.in);
    for (unsigned i = 0; i < count; i++) {
        struct msg_event event = {.lane = 1 + input_byte(&client.in) % 2U, .seq = seq};
        seq += input_byte(&client.in) % 3U;
        memcpy(event.provider, "p", 2);
        memcpy(event.state, "done", 5);
        event.result = input_take(&client.in, input_byte(&client.in) % 8U);
        client_encoded(out, &MSG_EVENT, &event);
    }
}

static void client_answer(struct bus_message *out)
{
    struct msg_answer head = {.req = client_req()};
    struct msg_consumer consumer = {.ack_wait_ms = (int64_t)(input_u64(&client.in) & INT64_MAX)};
    client_word(head.rc, sizeof head.rc);
    client_encoded(out, &MSG_ANSWER, &head);
    memcpy(consumer.consumer, "c", 2);
    memcpy(consumer.mode, "shared", 7);
    client_encoded(out, &MSG_CONSUMER, &consumer);
}

static void client_hint(struct bus_message *out)
{
    struct msg_event event = {.lane = 1 + input_byte(&client.in) % 2U,
                              .seq = input_u64(&client.in),
                              .prev_all = input_u64(&client.in)};
    memcpy(event.provider, "p", 2);
    memcpy(event.state, "done", 5);
    input_text(&client.in, '\n', event.position, sizeof event.position);
    client_frame(out, ald_span_str("result.p.done."));
    client_encoded(out, &MSG_EVENT, &event);
}

static void client_head(struct bus_message *out)
{
    struct msg_head head = {.at_ms = 1};
    input_text(&client.in, '\n', head.position, sizeof head.position);
    client_frame(out, ald_span_str("head."));
    client_encoded(out, &MSG_HEAD, &head);
}

bool __wrap_bus_receive(struct bus_line *line, struct bus_message *out)
{
    *out = (struct bus_message){0};
    if (line != client.coming)
        return false;
    client.coming = NULL;
    uint8_t what = input_byte(&client.in);
    if ((what & 3) == 0) {
        for (unsigned i = 0; i <= (what >> 2 & 3); i++)
            client_frame(out, input_take(&client.in, input_byte(&client.in)));
    } else if (line == &client.handle.bus.feed) {
        if ((what & 3) == 1)
            client_head(out);
        else
            client_hint(out);
    } else if ((what & 3) == 1) {
        client_answer(out);
    } else {
        client_events(out);
    }
    return true;
}

bool __wrap_bus_look(struct bus_line *line)
{
    if (line != &client.handle.bus.consume || !client.changed)
        return false;
    client.changed = false;
    line->up = !line->up;
    line->epoch += line->up;
    return true;
}

bool __wrap_bus_send(struct bus_line *line, const struct ald_buf *bytes, bool more)
{
    struct msg_settles any;
    (void)more;
    for (size_t i = 0; ALD_SCHEMAS[i] != NULL; i++)
        if (ald_wire_is(ALD_SCHEMAS[i], ald_buf_span(bytes)) && ALD_SCHEMAS[i] != &MSG_SETTLE) {
            /* Every request has its req first. */
            static _Alignas(16) uint8_t message[8192];
            enum ald_rc rc = ald_wire_decode(ALD_SCHEMAS[i], message, ald_buf_span(bytes));
            ALD_ASSERT(rc == ALD_OK);
            memcpy(&any.req, message, sizeof any.req);
            client.asked[client.asked_next++ % ALD_COUNT(client.asked)] = any.req;
        }
    return line->up;
}

enum ald_rc __wrap_bus_renew(struct bus *self, struct bus_line *line)
{
    (void)self;
    line->up = false;
    line->socket = &client;
    return ALD_OK;
}

/* The program takes the next event. */
static void client_take(void)
{
    const struct aldaba_event *event = NULL;
    if (aldaba_next(&client.handle, 0, &event) != ALDABA_OK)
        return;
    ALD_ASSERT(event && event->position && event->provider && event->result);
    if (handle_is_durable(&client.handle))
        return;
    ALD_ASSERT(event->lane != client.last_lane || event->seq > client.last_seq);
    client.last_lane = event->lane;
    client.last_seq = event->seq;
}

static void client_settle(uint8_t what)
{
    uint64_t lane = 1 + input_byte(&client.in) % 2U;
    uint64_t seq = input_u64(&client.in);
    if ((what & 3) == 0)
        (void)aldaba_ack(&client.handle, lane, seq);
    else if ((what & 3) == 1)
        (void)aldaba_nack(&client.handle, lane, seq, 5, "later");
    else if ((what & 3) == 2)
        (void)aldaba_ack_to(&client.handle, lane, seq);
    else
        (void)aldaba_extend(&client.handle, lane, seq, 0);
}

static void client_sums(void)
{
    size_t count = 0;
    size_t bytes = 0;
    for (const struct item *item = client.handle.queue.first; item; item = item->next) {
        count++;
        bytes += item->event.result_bytes;
    }
    ALD_ASSERT(count == client.handle.queue.count && bytes == client.handle.queue.bytes);
}

void __wrap_bus_wait(struct bus *self, int wake_fd, long wait_ms)
{
    (void)wake_fd;
    (void)wait_ms;
    client_sums();
    if (client.in.left.len == 0 || ++client.steps > CLIENT_STEPS) {
        client.handle.ending = true;
        return;
    }
    uint8_t what = input_byte(&client.in);
    switch (what & 7) {
    case 0:
    case 1:
    case 2:
        client.coming = &self->consume;
        break;
    case 3:
    case 4:
        client.coming = &self->feed;
        break;
    case 5:
        client.changed = true;
        break;
    case 6:
        client_settle(what >> 3);
        break;
    default:
        for (unsigned i = 0; i <= (what >> 3); i++)
            client_take();
        break;
    }
}

static void client_open(uint8_t how, int ready_fd, int wake_fd)
{
    aldaba_t *self = &client.handle;
    memset(&client, 0, sizeof client);
    self->pid = getpid();
    self->buffer = (how & 0x40) != 0 ? 4 : 100;
    self->buffer_bytes = 1 << 16;
    self->ready_fd = ready_fd;
    self->wake_fd = wake_fd;
    self->bus.consume.socket = self->bus.feed.socket = &client;
    self->bus.consume.up = (how & 0x80) == 0;
    self->comes_again = (how & 2) != 0;
    self->ack_wait_ms = 30000;
    (void)pthread_mutex_init(&self->lock, NULL);
    (void)pthread_cond_init(&self->settled, NULL);
    if ((how & 1) != 0)
        memcpy(self->consumer, "c", 2);
    if ((how & 4) != 0)
        memcpy(self->provider, "p", 2);
    if ((how & 8) != 0)
        memcpy(self->state, "done", 5);
    memcpy(self->from, "all", 4);
    memcpy(self->instance, "i", 2);
    memcpy(self->mode, "shared", 7);
    chain_init(&self->live.chain, "all");
    self->live.behind = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int ready_fd = -1;
    static int wake_fd = -1;
    struct input in = {.left = ald_span_of(data, size)};
    uint64_t drained = 0;
    if (ready_fd < 0) {
        ready_fd = eventfd(0, EFD_NONBLOCK);
        wake_fd = eventfd(0, EFD_NONBLOCK);
    }
    client_open(input_byte(&in), ready_fd, wake_fd);
    client.in = in;
    (void)loop_run(&client.handle);
    aldaba_t *self = &client.handle;
    item_free(self->current);
    item_list_free(&self->queue);
    item_list_free(&self->live.hints);
    held_free(&self->held);
    (void)pthread_cond_destroy(&self->settled);
    (void)pthread_mutex_destroy(&self->lock);
    (void)!read(ready_fd, &drained, sizeof drained);
    (void)!read(wake_fd, &drained, sizeof drained);
    return 0;
}
