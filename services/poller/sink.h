/* sink.h - an event on its way to a sink of the settings, by a lease as if it were a poll: what is
 * sent, and what is told of the answer, whose status alone counts. Redirects are not followed.
 *
 * The address is of the settings, so it may lead anywhere. Pure but for the list of sinks, which
 * another may take the place of between two calls. One owner.
 */
#ifndef ALD_POLLER_SINK_H
#define ALD_POLLER_SINK_H

#include "common/config/sinks.h"
#include "services/poller/fetch.h"
#include "services/poller/work.h"

enum { SINK_BODY_MAX = 32 << 20, SINK_ANSWER_MAX = 64 << 10 };

/* What a post is made in; used again for the next. */
struct sink_room {
    struct ald_buf body;
    struct ald_buf headers;
};

void sink_room_init(struct sink_room *room);
void sink_room_free(struct sink_room *room);

/* Write the post for a lease: as JSON, signed at now_s, its id the event's position, so that it is
 * the same however often it is sent. now_ms: monotonic. NULL: *out is it, borrowed from sink and
 * room but for done and arg, which stay empty. Else why it can't be, and *out is the outcome's
 * class: NONE, another poller or a later time may be able to, or PERMANENT. */
const char *sink_request(const struct ald_sink *sink, const struct work_item *item, int64_t now_s,
                         int64_t now_ms, struct sink_room *room, struct fetch_request *out,
                         enum ald_class *cls);

/* The outcome of it. error is borrowed from the answer. */
void sink_answered(const struct fetch_answer *answer, struct msg_outcome *out);
/* The same of one that was not begun. */
void sink_unsent(const char *error, enum ald_class cls, struct msg_outcome *out);

#endif
