/* The feed as Server-Sent Events: what `fetch` gives, event by event, until one side goes. */
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "services/gateway/api/api_follow.h"
#include "services/gateway/api/event_stream.h"

struct events_stream {
    struct api_call *call;
    struct event_stream out;
    struct msg_fetch ask;
    struct api_follow follow; /* of a consumer, if one was named */
};

/* What lies before the first event of this page is not to be had; or the client read another feed:
 * the store was set back, and this one goes on in a lane of its own. */
static void events_gap(struct events_stream *self, zmsg_t *answer, const char *position)
{
    struct msg_event event;
    char before[ALD_POSITION_MAX];
    ald_text_cut(before, sizeof before, ald_span_str(position));
    zframe_t *frame = zmsg_next(answer);
    if (frame && api_read(frame, &MSG_EVENT, &event))
        (void)snprintf(before, sizeof before, "%llu:%llu", (unsigned long long)event.lane,
                       (unsigned long long)event.seq);
    (void)zmsg_first(answer);
    size_t lane = strcspn(before, ":") + 1;
    bool other = strchr(self->ask.after, ':') && strncmp(self->ask.after, before, lane) != 0;
    event_stream_gap(&self->out, before, other);
}

/* Write what a fetch gave. False: the stream is over. */
static bool events_page(struct events_stream *self, zmsg_t *answer)
{
    struct msg_events head;
    struct msg_event event;
    bool any = false;
    if (!api_read(zmsg_first(answer), &MSG_EVENTS, &head) || strcmp(head.rc, "ok") != 0)
        return false;
    if (head.gap)
        events_gap(self, answer, head.position);
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer)) {
        if (!api_read(frame, &MSG_EVENT, &event))
            continue;
        event_stream_event(&self->out, &event, 0);
        any = true;
    }
    if (!any && !head.gap && strcmp(self->ask.after, head.position) != 0)
        event_stream_place(&self->out, head.position); /* only events of others */
    memcpy(self->ask.after, head.position, sizeof self->ask.after);
    return event_stream_flush(&self->out);
}

static void events_loop(struct events_stream *self)
{
    struct api *api = self->call->api;
    bool goes_on = true;
    while (goes_on && !atomic_load(&api->stopping) && !http_gone(self->call->exchange)) {
        zmsg_t *answer = NULL;
        enum ald_rc rc = caller_ask(api->caller, ALD_CHANNEL_CONSUME, &MSG_FETCH, &self->ask,
                                    EVENT_STREAM_WAIT_MS + API_WAIT_MS, &answer);
        goes_on = rc == ALD_OK ? events_page(self, answer) : event_stream_away(&self->out, rc);
        zmsg_destroy(&answer);
    }
}

/* Where to begin: Last-Event-ID of a client that comes again, else after=, else now. A consumer
 * has a place of its own. False: a problem was answered. */
static bool events_begin(struct events_stream *self)
{
    struct msg_fetch *ask = &self->ask;
    struct api_follow *follow = &self->follow;
    char ack[ALD_WORD_MAX] = "";
    const struct api_query_field fields[] = {
        {.name = "after", .kind = API_QUERY_TEXT, .out = ask->after, .cap = sizeof ask->after},
        {.name = "provider",
         .kind = API_QUERY_TEXT,
         .out = ask->provider,
         .cap = sizeof ask->provider},
        {.name = "state",
         .kind = API_QUERY_WORD,
         .out = ask->state,
         .cap = sizeof ask->state,
         .words = "done, failed, lost, expired, cancelled"},
        {.name = "consumer",
         .kind = API_QUERY_TEXT,
         .out = follow->consumer,
         .cap = sizeof follow->consumer},
        {.name = "instance",
         .kind = API_QUERY_TEXT,
         .out = follow->instance,
         .cap = sizeof follow->instance},
        {.name = "ack", .kind = API_QUERY_WORD, .out = ack, .cap = sizeof ack, .words = "sent"},
    };
    if (!api_query(self->call, fields, ALD_COUNT(fields)))
        return false;
    follow->ack_sent = ack[0] != '\0';
    const bool named = follow->consumer[0] != '\0';
    if (named && !self->call->may_change) {
        api_problem(self->call, 403,
                    "What a consumer is handed out changes its place: that needs one of "
                    "gateway.tokens. Without consumer= a token of gateway.read_tokens will do.");
        return false;
    }
    if (named && (ask->after[0] != '\0' || ask->provider[0] != '\0' || ask->state[0] != '\0')) {
        api_problem(self->call, 400,
                    "A consumer has its own place and filter: leave out after, provider and state, "
                    "or give them to PUT /v1/consumers/NAME when it is made.");
        return false;
    }
    if (!named && (follow->ack_sent || follow->instance[0] != '\0')) {
        api_problem(self->call, 400, "instance and ack are of a consumer: name it with consumer=.");
        return false;
    }
    const char *last = http_header(self->call->request, "Last-Event-ID");
    if (last && last[0] != '\0' && strlen(last) < sizeof ask->after)
        ald_text_cut(ask->after, sizeof ask->after, ald_span_str(last));
    if (ask->after[0] == '\0' && !named)
        ald_text_cut(ask->after, sizeof ask->after, ald_span_str("new"));
    ask->limit = EVENT_STREAM_LIMIT;
    ask->bytes = EVENT_STREAM_BYTES;
    return true;
}

/* The first fetch does not wait: a wrong position is a problem, not a stream that ends. */
static bool events_open(struct events_stream *self, zmsg_t **answer)
{
    struct api_call *call = self->call;
    struct msg_events head;
    enum ald_rc rc = caller_ask(call->api->caller, ALD_CHANNEL_CONSUME, &MSG_FETCH, &self->ask,
                                API_WAIT_MS, answer);
    if (rc != ALD_OK) {
        api_unasked(call, ALD_CHANNEL_CONSUME, rc);
        return false;
    }
    if (!api_read(zmsg_first(*answer), &MSG_EVENTS, &head)) {
        api_refused(call, "io", "");
        return false;
    }
    if (strcmp(head.rc, "ok") != 0) {
        api_refused(call, head.rc, head.detail);
        return false;
    }
    return true;
}

static void events_run(struct events_stream *self)
{
    zmsg_t *answer = NULL;
    if (events_open(self, &answer) && event_stream_begin(&self->out, self->call) &&
        events_page(self, answer)) {
        self->ask.wait_ms = EVENT_STREAM_WAIT_MS;
        events_loop(self);
    }
    zmsg_destroy(&answer);
}

void api_events(struct api_call *call)
{
    struct events_stream stream = {.call = call};
    if (!events_begin(&stream))
        return;
    if (!api_wait_enter(call->api)) {
        api_wait_full(call);
        return;
    }
    if (stream.follow.consumer[0] != '\0')
        api_follow(call, &stream.follow, stream.ask.after);
    else
        events_run(&stream);
    api_wait_leave(call->api);
}
