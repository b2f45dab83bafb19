/* api_follow.h - a durable consumer as Server-Sent Events: what its pulls give, event by event,
 * until one side goes.
 *
 * Settled is what the client settles by POST; or, with ack_sent, a page that was written whole and
 * after which another write succeeded, as the first write to a client that is gone often does. A
 * client that comes again as the same instance settles by Last-Event-ID what it had seen. When the
 * stream ends, what is handed out to it goes back and is handed out again.
 */
#ifndef ALD_GATEWAY_API_FOLLOW_H
#define ALD_GATEWAY_API_FOLLOW_H

#include "services/gateway/api/api_call.h"

struct api_follow {
    char consumer[ALD_CONSUMER_MAX];
    char instance[ALD_WORD_MAX]; /* "": one of its own, for this stream */
    bool ack_sent;
};

/* last: the Last-Event-ID, or "". Answers. */
void api_follow(struct api_call *call, struct api_follow *follow, const char *last);

#endif
