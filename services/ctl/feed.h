/* feed.h - what the ways of following results share: the feed itself (feed.c), and a consumer of it
 * that settles what was printed (feed_consumer.c). Threads: one.
 */
#ifndef ALD_CTL_FEED_H
#define ALD_CTL_FEED_H

#include "proto/msg_limits.h"
#include "services/ctl/ctl.h"

/* Where to begin to follow, and what. */
struct feed_place {
    char after[ALD_POSITION_MAX];
    char provider[ALD_PROVIDER_MAX];
    char state[ALD_WORD_MAX];
};

/* A line about an event, for people. */
void feed_show(struct ctl *ctl, struct ald_json event);
/* What --from or --after says; NULL: neither was given. */
const char *feed_from(const struct args *args);

/* Follow as the consumer of --consumer, made if it is not there: an event is settled when it was
 * printed. An exit code. */
int feed_consume(struct ctl *ctl, const struct args *args);

/* Where this consumer stands, without asking for events in its name. CTL_OK, or an exit code, said
 * why. */
int consumers_place(struct ctl *ctl, const char *name, struct feed_place *out);

#endif
