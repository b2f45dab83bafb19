#include "services/gateway/caller.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/net/alarm.h"
#include "common/net/sock.h"
#include "proto/channels.h"
#include "proto/messages.h"

enum {
    CALLER_CALLS_MAX = 512,
    CALLER_LINES_MAX = 24,   /* sockets: three of our own and control channels */
    CALLER_TICK_MS = 20,     /* while a question is under way */
    CALLER_ABSENT_MS = 1500, /* so long is an absent daemon waited for */
    CALLER_NAME_MAX = 96
};

/* A socket to one daemon. */
struct caller_line {
    char channel[CALLER_NAME_MAX];
    ald_sock_t *sock;
    int64_t used_ms;
};

/* A question, on the stack of the thread that asks. */
struct caller_call {
    struct caller_call *next;
    const char *channel;
    uint64_t req;
    zmsg_t *msg;    /* until it is sent */
    zmsg_t *answer; /* once it has come */
    int64_t until_ms;
    int64_t unsent_until_ms;
    enum ald_rc rc;
    bool done;
    pthread_cond_t woken;
};

struct caller {
    zloop_t *loop;
    const struct ald_settings *settings;
    int event;
    ald_alarm_t *alarm;
    struct caller_line lines[CALLER_LINES_MAX]; /* the loop's, as `active` */
    struct caller_call *active;

    pthread_mutex_t lock; /* of the rest, and of every call's rc, answer and done */
    struct caller_call *fresh;
    size_t count;
    uint64_t last_req;
    bool closed;
};

/* ---- threads ---- */

static bool caller_enter(caller_t *self, struct caller_call *call)
{
    bool entered = false;
    (void)pthread_mutex_lock(&self->lock);
    call->rc = self->closed ? ALD_CLOSED : ALD_FULL;
    if (!self->closed && self->count < CALLER_CALLS_MAX) {
        self->count++;
        call->req = ++self->last_req;
        entered = true;
    }
    (void)pthread_mutex_unlock(&self->lock);
    return entered;
}

static void caller_leave(caller_t *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->count--;
    (void)pthread_mutex_unlock(&self->lock);
}

static void caller_kick(caller_t *self)
{
    const uint64_t one = 1;
    ssize_t n = write(self->event, &one, sizeof one);
    (void)n;
}

static void caller_wait(caller_t *self, struct caller_call *call)
{
    (void)pthread_cond_init(&call->woken, NULL);
    (void)pthread_mutex_lock(&self->lock);
    if (self->closed) {
        call->rc = ALD_CLOSED;
        call->done = true;
    } else {
        call->next = self->fresh;
        self->fresh = call;
        caller_kick(self);
    }
    while (!call->done)
        (void)pthread_cond_wait(&call->woken, &self->lock);
    (void)pthread_mutex_unlock(&self->lock);
    (void)pthread_cond_destroy(&call->woken);
}

enum ald_rc caller_ask(caller_t *self, const char *channel, const struct ald_schema *schema,
                       void *msg, int64_t wait_ms, zmsg_t **answer)
{
    zmsg_t *none = NULL;
    return caller_ask_with(self, channel, schema, msg, &none, wait_ms, answer);
}

static void caller_append(zmsg_t *msg, zmsg_t *frames)
{
    for (zframe_t *frame = frames ? zmsg_pop(frames) : NULL; frame; frame = zmsg_pop(frames))
        zmsg_append(msg, &frame);
}

enum ald_rc caller_ask_with(caller_t *self, const char *channel, const struct ald_schema *schema,
                            void *msg, zmsg_t **frames_p, int64_t wait_ms, zmsg_t **answer)
{
    *answer = NULL;
    struct caller_call call = {.channel = channel};
    if (!caller_enter(self, &call)) {
        zmsg_destroy(frames_p);
        return call.rc;
    }
    memcpy(msg, &call.req, sizeof call.req);
    call.msg = zmsg_new();
    call.rc = ald_frame_add(call.msg, schema, msg);
    caller_append(call.msg, *frames_p);
    zmsg_destroy(frames_p);
    if (call.rc == ALD_OK) {
        int64_t now_ms = ald_clock_now().mono_ms;
        call.until_ms = now_ms + wait_ms;
        call.unsent_until_ms = now_ms + (wait_ms < CALLER_ABSENT_MS ? wait_ms : CALLER_ABSENT_MS);
        caller_wait(self, &call);
    }
    zmsg_destroy(&call.msg);
    caller_leave(self);
    *answer = call.answer;
    return call.rc;
}

/* ---- the loop ---- */

/* After this the call's memory may be gone. */
static void caller_done(caller_t *self, struct caller_call *call, enum ald_rc rc, zmsg_t *answer)
{
    (void)pthread_mutex_lock(&self->lock);
    call->rc = rc;
    call->answer = answer;
    call->done = true;
    (void)pthread_cond_signal(&call->woken);
    (void)pthread_mutex_unlock(&self->lock);
}

static void caller_answered(caller_t *self, uint64_t req, zmsg_t **msg_p)
{
    struct caller_call **at = &self->active;
    while (*at && (*at)->req != req)
        at = &(*at)->next;
    if (!*at)
        return;
    struct caller_call *call = *at;
    *at = call->next;
    zmsg_t *msg = *msg_p;
    *msg_p = NULL;
    caller_done(self, call, ALD_OK, msg);
}

/* The req of an answer's head; 0: it is none. */
static uint64_t caller_req(zmsg_t *msg)
{
    zframe_t *frame = zmsg_first(msg);
    struct msg_answer answer;
    struct msg_events events;
    if (!frame)
        return 0;
    if (ald_wire_decode(&MSG_ANSWER, &answer, ald_frame_span(frame)) == ALD_OK)
        return answer.req;
    if (ald_wire_decode(&MSG_EVENTS, &events, ald_frame_span(frame)) == ALD_OK)
        return events.req;
    return 0;
}

static void caller_receive(caller_t *self, struct caller_line *line)
{
    zmsg_t *msg = ald_sock_recv(line->sock);
    for (; msg; msg = ald_sock_recv(line->sock)) {
        caller_answered(self, caller_req(msg), &msg);
        zmsg_destroy(&msg);
    }
}

static int caller_read(zloop_t *loop, zsock_t *sock, void *arg)
{
    (void)loop;
    caller_t *self = arg;
    for (size_t i = 0; i < CALLER_LINES_MAX; i++)
        if (self->lines[i].sock && ald_sock_z(self->lines[i].sock) == sock)
            caller_receive(self, &self->lines[i]);
    return 0;
}

static void caller_hang_up(struct caller_line *line)
{
    if (!line->sock)
        return;
    ald_sock_destroy(&line->sock);
    line->channel[0] = '\0';
}

/* The place for a new line: a free one, else that of the control channel longest unused. */
static struct caller_line *caller_place(caller_t *self)
{
    struct caller_line *oldest = NULL;
    for (size_t i = 0; i < CALLER_LINES_MAX; i++) {
        struct caller_line *line = &self->lines[i];
        if (!line->sock)
            return line;
        bool control =
            strncmp(line->channel, ALD_CHANNEL_CONTROL, strlen(ALD_CHANNEL_CONTROL)) == 0;
        if (control && (!oldest || line->used_ms < oldest->used_ms))
            oldest = line;
    }
    ALD_ASSERT(oldest);
    caller_hang_up(oldest);
    return oldest;
}

static enum ald_rc caller_dial(caller_t *self, const char *channel, struct caller_line **out,
                               struct ald_err *err)
{
    char endpoint[ALD_PATH_MAX + ALD_ENDPOINT_MAX];
    enum ald_rc rc = ald_sock_endpoint(self->settings, channel, endpoint, sizeof endpoint, err);
    if (rc != ALD_OK)
        return rc;
    struct caller_line *line = caller_place(self);
    const struct ald_sock_options options = {
        .type = ZMQ_DEALER,
        .max_frame = ALD_ITEM_MAX, /* results that are kept may be of larger days */
        .heartbeat_ms = self->settings->bus.heartbeat_ms};
    rc = ald_sock_connect(&options, endpoint, &line->sock, err);
    if (rc != ALD_OK)
        return rc;
    ald_text_cut(line->channel, sizeof line->channel, ald_span_str(channel));
    ald_sock_watch(line->sock, self->loop, caller_read, self);
    *out = line;
    return ALD_OK;
}

static struct caller_line *caller_line(caller_t *self, const char *channel)
{
    for (size_t i = 0; i < CALLER_LINES_MAX; i++)
        if (self->lines[i].sock && strcmp(self->lines[i].channel, channel) == 0)
            return &self->lines[i];
    struct caller_line *line = NULL;
    struct ald_err err = {0};
    if (caller_dial(self, channel, &line, &err) != ALD_OK)
        ald_log(ALD_WARN, "caller.dial", "channel=%s text=%s", ALD_Q(channel), ALD_Q(err.text));
    return line;
}

static void caller_send(caller_t *self, struct caller_call *call, int64_t now_ms)
{
    struct caller_line *line = caller_line(self, call->channel);
    if (!line)
        return;
    line->used_ms = now_ms;
    if (ALD_SOCK_SEND("caller.ask", line->sock, &call->msg) == ALD_OK)
        call->msg = NULL;
}

/* Send what is not sent and end what is late. */
static void caller_round(caller_t *self)
{
    int64_t now_ms = ald_clock_now().mono_ms;
    struct caller_call **at = &self->active;
    while (*at) {
        struct caller_call *call = *at;
        if (call->msg)
            caller_send(self, call, now_ms);
        bool unsent = call->msg && now_ms >= call->unsent_until_ms;
        if (unsent || now_ms >= call->until_ms) {
            *at = call->next;
            caller_done(self, call, call->msg ? ALD_AGAIN : ALD_TIMEOUT, NULL);
        } else {
            at = &call->next;
        }
    }
}

static void caller_turn(caller_t *self)
{
    (void)pthread_mutex_lock(&self->lock);
    struct caller_call *fresh = self->fresh;
    self->fresh = NULL;
    (void)pthread_mutex_unlock(&self->lock);
    while (fresh) {
        struct caller_call *next = fresh->next;
        fresh->next = self->active;
        self->active = fresh;
        fresh = next;
    }
    if (self->active)
        caller_round(self);
    if (self->active)
        ald_alarm_within(self->alarm, CALLER_TICK_MS);
}

static int caller_event(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop;
    uint64_t count;
    ssize_t n = read(item->fd, &count, sizeof count);
    (void)n;
    caller_turn(arg);
    return 0;
}

static void caller_ring(void *arg)
{
    caller_t *self = arg;
    for (size_t i = 0; i < CALLER_LINES_MAX; i++)
        if (self->lines[i].sock)
            caller_receive(self, &self->lines[i]);
    caller_turn(self);
}

enum ald_rc caller_new(zloop_t *loop, const struct ald_settings *settings, caller_t **out,
                       struct ald_err *err)
{
    static const char *const own[] = {ALD_CHANNEL_QUERY, ALD_CHANNEL_CONSUME, ALD_CHANNEL_LETTERS};
    *out = NULL;
    caller_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->loop = loop;
    self->settings = settings;
    (void)pthread_mutex_init(&self->lock, NULL);
    self->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ALD_ASSERT(self->event >= 0);
    zmq_pollitem_t item = {.fd = self->event, .events = ZMQ_POLLIN};
    (void)zloop_poller(loop, &item, caller_event, self);
    zloop_poller_set_tolerant(loop, &item);
    self->alarm = ald_alarm_new(loop, caller_ring, self);
    for (size_t i = 0; i < ALD_COUNT(own); i++) {
        struct caller_line *line = NULL;
        enum ald_rc rc = caller_dial(self, own[i], &line, err);
        if (rc != ALD_OK) {
            caller_destroy(&self);
            return rc;
        }
    }
    *out = self;
    return ALD_OK;
}

void caller_close(caller_t *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->closed = true;
    (void)pthread_mutex_unlock(&self->lock);
    caller_turn(self);
    while (self->active) {
        struct caller_call *call = self->active;
        self->active = call->next;
        caller_done(self, call, ALD_CLOSED, NULL);
    }
}

void caller_destroy(caller_t **self_p)
{
    caller_t *self = *self_p;
    if (!self)
        return;
    zmq_pollitem_t item = {.fd = self->event, .events = ZMQ_POLLIN};
    zloop_poller_end(self->loop, &item);
    ald_alarm_destroy(&self->alarm);
    for (size_t i = 0; i < CALLER_LINES_MAX; i++)
        caller_hang_up(&self->lines[i]);
    close(self->event);
    (void)pthread_mutex_destroy(&self->lock);
    free(self);
    *self_p = NULL;
}
