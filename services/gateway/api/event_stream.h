/* event_stream.h - Server-Sent Events to one client: what all streams of events write alike.
 *
 * What is written gathers in the thread's buffer and leaves in one piece. A client that does not
 * take it within the listener's time is dropped, so nothing gathers for it; what it has not had it
 * finds again by Last-Event-ID, or as its consumer. Knows no daemon but what fetches and pulls have
 * in common.
 * Threads: one stream, one thread.
 */
#ifndef ALD_GATEWAY_EVENT_STREAM_H
#define ALD_GATEWAY_EVENT_STREAM_H

#include "services/gateway/api/api_call.h"

enum {
    EVENT_STREAM_LIMIT = 100,
    EVENT_STREAM_BYTES = 1 << 20,
    EVENT_STREAM_WAIT_MS = 2000 /* of one question: so soon is a stop or a lost client seen */
};

struct event_stream {
    struct api_call *call;
    int64_t said_ms; /* when something was written last */
};

/* Begin the answer. False: the client is gone. */
ALD_NODISCARD bool event_stream_begin(struct event_stream *self, struct api_call *call);

/* Put an event, or the word that those before a position are gone. first: the number that the run
 * of rising ones began with in which it stands, part of its id then; 0 = of no interest. */
void event_stream_event(struct event_stream *self, const struct msg_event *event, uint64_t first);
void event_stream_gap(struct event_stream *self, const char *before, bool other_lane);
/* Put where to go on, though nothing was of interest. */
void event_stream_place(struct event_stream *self, const char *position);

/* Write what was put; if that is nothing, a sign of life once in a while. False: the client is
 * gone, or too slow. */
ALD_NODISCARD bool event_stream_flush(struct event_stream *self);

/* A question was not answered: is the stream to go on? It waits with the client while the daemon is
 * away; what could not even be asked failed at once, and is not asked again at once. */
ALD_NODISCARD bool event_stream_away(struct event_stream *self, enum ald_rc rc);

#endif
