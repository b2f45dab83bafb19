/* poller_inside.h - what poller.c and poller_ask.c share. Nobody else includes it. */
#ifndef ALD_POLLER_POLLER_INSIDE_H
#define ALD_POLLER_POLLER_INSIDE_H

#include "common/config/profile_request.h"
#include "services/poller/fetch.h"
#include "services/poller/jobs.h"
#include "services/poller/poller.h"
#include "services/poller/push.h"
#include "services/poller/sink.h"
#include "services/poller/verdict.h"
#include "services/poller/work.h"

struct poller {
    zloop_t *loop;
    ald_profiles_t *profiles;
    const struct ald_settings *settings;
    size_t max_in_flight;
    fetch_t *fetch;
    work_t *work;
    jobs_t *jobs;
    struct verdict_room room;
    struct ald_request request;
    struct ald_request submission;
    struct push_blocks push_blocks;
    struct sink_room sink_room;
    struct ald_buf ids; /* of a poll for several tasks */
    bool begin_again;   /* a timer for more beginnings is set */
    bool draining;
    int64_t abort_at_ms; /* monotonic */
};

/* Ask the provider, or the tracker whether a submission may start. NULL: under way; else why it
 * can't be. */
const char *poller_ask(poller_t *self, struct work_item *item, int64_t now_ms);
/* The tracker's answer to a start. arg: the poller; tag: the item. */
void poller_on_started(void *arg, void *tag, bool go);
/* The provider's, or why there is none. arg: the item. */
void poller_on_answer(void *arg, const struct fetch_answer *answer);

/* Tell the tracker how much more it may hand out. */
void poller_say_load(poller_t *self);
/* Begin what is queued, as far as there is room. */
void poller_begin_some(poller_t *self);
/* An outcome of this lease goes to the tracker. */
void poller_report(poller_t *self, const struct msg_lease *lease, struct msg_outcome *outcome);
/* The item, and those that were to be asked for with it, go back unsent and end: what can't be said
 * for several perhaps can for one. */
void poller_hand_back(poller_t *self, struct work_item *item, const char *error);

#endif
