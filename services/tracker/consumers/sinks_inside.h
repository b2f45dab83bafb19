/* sinks_inside.h - what the parts of sinks*.c share. Private to them. */
#ifndef ALD_TRACKER_SINKS_INSIDE_H
#define ALD_TRACKER_SINKS_INSIDE_H

#include "services/tracker/consumers/sink_breaker.h"
#include "services/tracker/consumers/sinks.h"

/* An event that was handed out to a sink and is not settled. */
struct sink_event {
    struct sink_event *next;
    uint64_t lane, seq, task, deliveries;
    char provider[ALD_PROVIDER_MAX];
    zframe_t *frame;
    uint64_t lease;   /* 0: no poller has it */
    uint64_t poller;  /* that has it */
    int64_t until_ms; /* monotonic: the lease ends; without one: not before */
    unsigned unheard; /* leases that ended without a word */
};

struct sink {
    struct ald_sink is; /* as the settings say; without secrets */
    struct sink_breaker breaker;
    bool paused;                /* it said that it wants no more */
    bool gone;                  /* from the settings */
    uint64_t asking;            /* number of the question that is under way; 0: none is */
    int64_t ask_ms;             /* monotonic: not before */
    char gap[ALD_POSITION_MAX]; /* to be echoed */
    struct sink_event *first;   /* in the order of their coming */
    size_t held, leased, bytes;
};

struct sinks {
    struct tracker *tracker;
    struct sink *list[ALD_SINKS_MAX];
    size_t count;
    uint64_t last_req;
    bool stale;  /* the settings were read while the store was away */
    bool queued; /* some of the settings wait for a place that another leaves */
    size_t turn; /* whose leases come first */
};

struct sink *sinks_find(const sinks_t *self, const char *name);
/* Add an event that came. False: the frame, which is the caller's still, holds none. */
bool sink_hold(struct sink *self, zframe_t *frame);
struct sink_event *sink_held(const struct sink *self, uint64_t lane, uint64_t seq);
/* No poller has it any more. */
void sink_unlease(struct sink *self, struct sink_event *event);
void sink_drop(struct sink *self, struct sink_event *event);

/* sinks_posts.c */
void sinks_posts_init(void);
/* Leases of it that are over. */
void sinks_unheard(sinks_t *self, struct sink *sink);

/* Settle, in the name of a sink: a message to consumers.c. */
void sinks_settle(sinks_t *self, const char *name, const struct msg_settle *settle);

#endif
