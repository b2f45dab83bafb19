#include "services/gateway/api/api_follow.h"

#include <stdio.h>
#include <string.h>

#include "common/base/ident.h"
#include "common/base/text.h"
#include "common/net/sock.h"
#include "services/gateway/api/event_stream.h"

struct follow_stream {
    struct api_call *call;
    struct event_stream out;
    const struct api_follow *follow;
    struct msg_pull ask;
    zmsg_t *sent;          /* settlements of what was written last */
    zmsg_t *proven;        /* of what was written before a write that succeeded */
    zmsg_t *back;          /* what gives the last page back */
    zmsg_t *unread;        /* what gives back what was never written */
    struct msg_settle run; /* rising numbers that were written last: from first to seq */
    struct msg_settle had; /* up to here events were handed out to this stream; seq 0 = none */
};

static void follow_put(zmsg_t *frames, const char *verb, uint64_t lane, uint64_t first,
                       uint64_t seq)
{
    struct msg_settle settle = {.lane = lane, .first = first, .seq = seq};
    ald_text_cut(settle.verb, sizeof settle.verb, ald_span_str(verb));
    ald_frame_put(frames, &MSG_SETTLE, &settle);
}

/* A write succeeded after those that are `sent`. */
static void follow_prove(struct follow_stream *self)
{
    for (zframe_t *frame = zmsg_pop(self->sent); frame; frame = zmsg_pop(self->sent))
        zmsg_append(self->proven, &frame);
}

static void follow_event(struct follow_stream *self, const struct msg_event *event, zmsg_t *page)
{
    struct msg_settle *run = &self->run;
    if (run->seq == 0 || event->lane != run->lane || event->seq <= run->seq)
        *run = (struct msg_settle){.lane = event->lane, .first = event->seq};
    run->seq = event->seq;
    event_stream_event(&self->out, event, run->first);
    follow_put(self->back, "nack", event->lane, 0, event->seq);
    if (self->follow->ack_sent)
        follow_put(page, "ack", event->lane, 0, event->seq);
    if (event->lane != self->had.lane || event->seq > self->had.seq)
        self->had = (struct msg_settle){.lane = event->lane, .seq = event->seq};
}

/* The client went while the question was on its way: nobody has read what is in this answer. */
static bool follow_unread(struct follow_stream *self, zmsg_t *answer)
{
    struct msg_event event;
    if (!http_gone(self->call->exchange))
        return false;
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_EVENT, &event))
            follow_put(self->unread, "release", event.lane, 0, event.seq);
    return true;
}

/* Write what a pull gave. False: the stream is over. */
static bool follow_page(struct follow_stream *self, zmsg_t *answer)
{
    struct msg_events head;
    struct msg_event event;
    if (!api_read(zmsg_first(answer), &MSG_EVENTS, &head) || strcmp(head.rc, "ok") != 0 ||
        follow_unread(self, answer))
        return false;
    zmsg_t *page = zmsg_new();
    zmsg_destroy(&self->back);
    self->back = zmsg_new();
    if (head.gap_before[0] != '\0')
        event_stream_gap(&self->out, head.gap_before, strcmp(head.gap_why, "lane") == 0);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer))
        if (api_read(frame, &MSG_EVENT, &event))
            follow_event(self, &event, page);
    if (zmsg_size(self->sent) > 0 && self->call->worker->out.len == 0)
        ald_buf_put_str(&self->call->worker->out, ": sent\n\n");
    bool wrote = self->call->worker->out.len > 0;
    bool ok = event_stream_flush(&self->out);
    if (ok && wrote) {
        follow_prove(self);
        zmsg_destroy(&self->sent);
        self->sent = page;
        page = NULL;
        memcpy(self->ask.gap_seen, head.gap_before, sizeof self->ask.gap_seen);
    }
    zmsg_destroy(&page);
    return ok;
}

/* Ask for more, with what is proven. What was not asked, or not answered, is said again: a
 * settlement may come twice. */
static enum ald_rc follow_pull(struct follow_stream *self, zmsg_t **answer)
{
    zmsg_t *frames = zmsg_dup(self->proven);
    enum ald_rc rc = caller_ask_with(self->call->api->caller, ALD_CHANNEL_CONSUME, &MSG_PULL,
                                     &self->ask, &frames, self->ask.wait_ms + API_WAIT_MS, answer);
    if (rc == ALD_OK) {
        zmsg_destroy(&self->proven);
        self->proven = zmsg_new();
    }
    return rc;
}

static void follow_loop(struct follow_stream *self)
{
    struct api *api = self->call->api;
    bool goes_on = true;
    while (goes_on && !atomic_load(&api->stopping) && !http_gone(self->call->exchange)) {
        zmsg_t *answer = NULL;
        enum ald_rc rc = follow_pull(self, &answer);
        goes_on = rc == ALD_OK ? follow_page(self, answer) : event_stream_away(&self->out, rc);
        zmsg_destroy(&answer);
    }
}

/* What this stream was handed out and nobody settled is free for others at once. Under a name that
 * the client chose another stream may have begun, which has taken all before the last page: what
 * the name holds by now is that one's. */
static void follow_give_back(struct follow_stream *self)
{
    struct msg_settles ask = {0};
    zmsg_t *answer = NULL;
    zmsg_t *frames = zmsg_dup(self->proven);
    memcpy(ask.consumer, self->ask.consumer, sizeof ask.consumer);
    memcpy(ask.instance, self->ask.instance, sizeof ask.instance);
    if (self->follow->instance[0] == '\0' && self->had.seq > 0)
        follow_put(frames, "nack", self->had.lane, 1, self->had.seq);
    for (zframe_t *frame = self->follow->instance[0] ? zmsg_pop(self->back) : NULL; frame;
         frame = zmsg_pop(self->back))
        zmsg_append(frames, &frame);
    for (zframe_t *frame = zmsg_pop(self->unread); frame; frame = zmsg_pop(self->unread))
        zmsg_prepend(frames, &frame); /* before a range that would count it */
    if (zmsg_size(frames) == 0)
        zmsg_destroy(&frames);
    else
        (void)!caller_ask_with(self->call->api->caller, ALD_CHANNEL_CONSUME, &MSG_SETTLES, &ask,
                               &frames, API_WAIT_MS, &answer);
    zmsg_destroy(&answer);
}

/* The first pull does not wait: a consumer that is not there is a problem, not a stream that ends.
 */
static bool follow_open(struct follow_stream *self, zmsg_t **answer)
{
    struct api_call *call = self->call;
    struct msg_events head;
    enum ald_rc rc = follow_pull(self, answer);
    if (rc != ALD_OK) {
        api_unasked(call, ALD_CHANNEL_CONSUME, rc);
        return false;
    }
    if (!api_read(zmsg_first(*answer), &MSG_EVENTS, &head)) {
        api_refused(call, "io", "");
        return false;
    }
    if (strcmp(head.rc, "ok") != 0) {
        api_consumer_refused(call, self->follow->consumer, head.rc, head.detail);
        return false;
    }
    return true;
}

/* LANE:SEQ or LANE:SEQ:FIRST. How many numbers there are; 0: it is neither. */
static size_t follow_numbers(const char *text, uint64_t out[3])
{
    struct ald_span rest = ald_span_str(text);
    size_t count = 0;
    while (count < 3) {
        size_t len = ald_span_find(rest, ':');
        if (ald_text_u64(ald_span_of(rest.data, len), &out[count]) != ALD_OK)
            return 0;
        count++;
        if (len == rest.len)
            return count >= 2 ? count : 0;
        rest = ald_span_skip(rest, len + 1);
    }
    return 0;
}

/* What a stream before had under this name. It saw, in rising order, all that it was handed out
 * from the first number of its Last-Event-ID to the second, and that is settled. Of the rest nobody
 * knows whether it came: it is handed out again, so that nothing is held under the name that this
 * stream does not write. False: a problem was answered. */
static bool follow_claim(struct follow_stream *self, const char *last)
{
    struct msg_consumer_ref ask = {0};
    struct msg_answer head = {.rc = "io"};
    struct msg_consumer view = {0};
    uint64_t seen[3];
    uint64_t handed[3] = {0};
    zmsg_t *answer = NULL;
    memcpy(ask.consumer, self->ask.consumer, sizeof ask.consumer);
    enum ald_rc rc = caller_ask(self->call->api->caller, ALD_CHANNEL_CONSUME, &MSG_CONSUMER_LIST,
                                &ask, API_WAIT_MS, &answer);
    if (rc != ALD_OK) {
        api_unasked(self->call, ALD_CHANNEL_CONSUME, rc);
        return false;
    }
    (void)api_read(zmsg_first(answer), &MSG_ANSWER, &head);
    zframe_t *frame = zmsg_next(answer);
    bool known = strcmp(head.rc, "ok") == 0 && frame && api_read(frame, &MSG_CONSUMER, &view);
    if (known && follow_numbers(last, seen) == 3 && seen[2] > 0 && seen[2] <= seen[1])
        follow_put(self->proven, "ack", seen[0], seen[2], seen[1]);
    if (known && follow_numbers(view.handed, handed) == 2 && handed[1] > 0)
        follow_put(self->proven, "nack", handed[0], 1, handed[1]);
    zmsg_destroy(&answer);
    if (!known)
        api_consumer_refused(self->call, self->follow->consumer, head.rc, head.detail);
    return known;
}

static bool follow_begin(struct follow_stream *self, const char *last)
{
    char ulid[ALD_ULID_MAX];
    const struct api_follow *follow = self->follow;
    memcpy(self->ask.consumer, follow->consumer, sizeof self->ask.consumer);
    memcpy(self->ask.instance, follow->instance, sizeof self->ask.instance);
    self->ask.limit = EVENT_STREAM_LIMIT;
    self->ask.bytes = EVENT_STREAM_BYTES;
    if (self->ask.instance[0] != '\0')
        return follow_claim(self, last);
    ald_ulid_new(ulid);
    (void)snprintf(self->ask.instance, sizeof self->ask.instance, "sse-%s", ulid);
    return true;
}

void api_follow(struct api_call *call, struct api_follow *follow, const char *last)
{
    struct follow_stream stream = {.call = call,
                                   .follow = follow,
                                   .sent = zmsg_new(),
                                   .proven = zmsg_new(),
                                   .back = zmsg_new(),
                                   .unread = zmsg_new()};
    zmsg_t *answer = NULL;
    if (follow_begin(&stream, last) && follow_open(&stream, &answer)) {
        if (event_stream_begin(&stream.out, call) && follow_page(&stream, answer)) {
            stream.ask.wait_ms = EVENT_STREAM_WAIT_MS;
            follow_loop(&stream);
        }
        follow_give_back(&stream);
    }
    zmsg_destroy(&answer);
    zmsg_destroy(&stream.sent);
    zmsg_destroy(&stream.proven);
    zmsg_destroy(&stream.back);
    zmsg_destroy(&stream.unread);
}
