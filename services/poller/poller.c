#include "services/poller/poller.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/net/sock.h"
#include "proto/channels.h"
#include "services/poller/call.h"
#include "services/poller/poller_inside.h"
#include "services/poller/submit.h"
#include "services/poller/terms.h"

enum {
    POLLER_BEGIN = 256,        /* polls begun in a turn of the loop */
    POLLER_BEGIN_AGAIN_MS = 1, /* and then the next turn comes soon */
    POLLER_ABORT_MS = 5000,    /* what is under way after this long a drain is cut off */
    POLLER_REQUEST_MAX = 16 << 10,
    POLLER_HELD_MAX = 256 << 20, /* bytes of answers under way */
    POLLER_OWED_MAX = 64 << 20   /* bytes of outcomes; beyond it no more work is asked for */
};

static struct ald_metric polls_total = {
    .kind = ALD_COUNTER,
    .name = "aldaba_polls_total",
    .help = "Leases ended, by what their poll said.",
    .label = {"provider", "result"},
};
static struct ald_metric submits_total = {
    .kind = ALD_COUNTER,
    .name = "aldaba_submits_total",
    .help = "Leases to submit that ended, by what the provider said.",
    .label = {"provider", "result"},
};
static struct ald_metric alerts_total = {
    .kind = ALD_COUNTER,
    .name = "aldaba_code_alerts_total",
    .help = "Answers by a code of which the profile says that somebody should hear.",
    .label = {"provider"},
};
static struct ald_metric poll_seconds = {
    .kind = ALD_HISTOGRAM,
    .name = "aldaba_poll_seconds",
    .help = "Time from a poll's request to its answer or failure.",
    .bound = ald_metric_seconds,
    .bounds = ALD_METRIC_SECONDS,
};
static struct ald_metric submit_seconds = {
    .kind = ALD_HISTOGRAM,
    .name = "aldaba_submit_seconds",
    .help = "Time from a submission's request to its answer or failure.",
    .bound = ald_metric_seconds,
    .bounds = ALD_METRIC_SECONDS,
};
static struct ald_metric in_flight = {
    .kind = ALD_GAUGE,
    .name = "aldaba_polls_in_flight",
    .help = "Polls under way now.",
};
static struct ald_metric outcomes_owed = {
    .kind = ALD_GAUGE,
    .name = "aldaba_poll_outcomes_owed",
    .help = "Outcomes that the tracker has not acknowledged.",
};

void poller_say_load(poller_t *self)
{
    size_t owed = jobs_owed(self->jobs);
    size_t credit = work_credit(self->work);
    credit = credit > owed ? credit - owed : 0;
    if (jobs_owed_bytes(self->jobs) > POLLER_OWED_MAX)
        credit = 0;
    jobs_load(self->jobs, credit, work_queued(self->work) + work_under_way(self->work));
}

/* What the metrics call it: the verdict's word, the class of a code, or how far the poll came. */
static const char *poller_result(const struct msg_outcome *outcome)
{
    if (!outcome->left)
        return "unsent";
    if (!outcome->answered)
        return "unanswered";
    return strcmp(outcome->then, ald_then_name(ALD_THEN_CODE)) == 0 ? outcome->class_
                                                                    : outcome->then;
}

void poller_report(poller_t *self, const struct msg_lease *lease, struct msg_outcome *outcome)
{
    const char *metric = outcome->attempt > 0 ? submits_total.name : polls_total.name;
    /* A name that is no profile of ours is a peer's word: it gets no series of its own. */
    bool known = ald_profiles_find(self->profiles, lease->provider);
    if (!lease->jwks && lease->sink[0] == '\0') /* the tracker counts those */
        ald_metric_add(
            ald_metrics_get(metric, known ? lease->provider : NULL, poller_result(outcome)), 1);
    outcome->call = lease->call;
    outcome->push = lease->push;
    outcome->jwks = lease->jwks;
    memcpy(outcome->sink, lease->sink, sizeof outcome->sink);
    outcome->lane = lease->lane;
    outcome->seq = lease->seq;
    outcome->lease = lease->lease;
    outcome->task = lease->task;
    memcpy(outcome->provider, lease->provider, sizeof outcome->provider);
    outcome->at_ms = ald_clock_now().wall_ms;
    jobs_report(self->jobs, outcome);
}

static void poller_report_unsent(poller_t *self, const struct msg_lease *lease, uint64_t attempt,
                                 const char *error)
{
    struct msg_outcome outcome = {.attempt = attempt};
    verdict_make_unsent(error, &outcome);
    poller_report(self, lease, &outcome);
}

void poller_hand_back(poller_t *self, struct work_item *item, const char *error)
{
    const bool several = item->with != NULL;
    while (item) {
        struct work_item *next = item->with;
        struct msg_outcome outcome = {.attempt = item->submit ? item->submit->attempt : 0,
                                      .alone = several};
        verdict_make_unsent(error, &outcome);
        poller_report(self, &item->lease, &outcome);
        work_end(self->work, &item);
        item = next;
    }
}

/* The poll said that there is a result to be asked for: ask in the same lease. False: it can't be,
 * and the outcome is what the poll said. */
static bool poller_fetch_too(poller_t *self, const struct ald_profile *profile,
                             struct work_item *item, const struct msg_outcome *outcome)
{
    bool wanted = strcmp(outcome->then, ald_then_name(ALD_THEN_FETCH)) == 0;
    int64_t now_ms = ald_clock_now().mono_ms;
    if (!wanted || item->fetching || !ald_profile_asks(profile, ALD_STAGE_FETCH) ||
        item->until_ms <= now_ms || self->draining)
        return false;
    item->fetching = true;
    if (self->room.result_url[0] != '\0') {
        free(item->result_url);
        item->result_url = strdup(self->room.result_url);
    }
    return poller_ask(self, item, now_ms) == NULL;
}

static void poller_alert(const poller_t *self, const struct work_item *item,
                         const struct msg_outcome *outcome)
{
    if (!self->room.alert)
        return;
    ald_metric_add(ald_metrics_get(alerts_total.name, item->lease.provider), 1);
    ald_log(ALD_ERROR, "code.alert", "provider=%s task=%" PRIu64 " code=%s detail=%s",
            item->lease.provider, item->lease.task, ALD_Q(outcome->code), ALD_Q(outcome->detail));
}

/* One answer for several tasks: to each its own. */
static void poller_on_parts(poller_t *self, const struct ald_profile *profile,
                            struct work_item *item, const struct fetch_answer *answer)
{
    size_t count = 0;
    for (const struct work_item *one = item; one; one = one->with)
        count++;
    verdict_read_batch(profile, answer, &self->room, count);
    for (size_t i = 0; item; i++) {
        struct work_item *next = item->with;
        struct msg_outcome outcome = {0};
        verdict_make_part(profile, answer, &self->room, i, &outcome);
        poller_alert(self, item, &outcome);
        poller_report(self, &item->lease, &outcome);
        work_end(self->work, &item);
        item = next;
    }
}

void poller_on_answer(void *arg, const struct fetch_answer *answer)
{
    ALD_FAILPOINT_STEP("poller.answer");
    struct work_item *item = arg;
    poller_t *self = item->owner;
    const struct ald_profile *profile = ald_profiles_find(item->profiles, item->lease.provider);
    ALD_ASSERT(profile);
    struct msg_outcome outcome = {.attempt = item->submit ? item->submit->attempt : 0};
    if (item->with) {
        ald_metric_observe(&poll_seconds, (double)answer->took_ms / 1000);
        poller_on_parts(self, profile, item, answer);
        poller_begin_some(self);
        poller_say_load(self);
        return;
    }
    self->room.stage = item->submit     ? ALD_STAGE_SUBMIT
                       : item->fetching ? ALD_STAGE_FETCH
                                        : ALD_STAGE_POLL;
    verdict_make(profile, answer, &self->room, &outcome);
    poller_alert(self, item, &outcome);
    ald_metric_observe(item->submit ? &submit_seconds : &poll_seconds,
                       (double)answer->took_ms / 1000);
    outcome.fetched = item->fetching && answer->left;
    outcome.left = outcome.left || item->fetching; /* its poll was answered */
    if (item->submit)
        submit_check(profile, item->submit, &outcome);
    if (item->lease.call)
        call_answered(answer, &outcome);
    else if (!item->submit && poller_fetch_too(self, profile, item, &outcome))
        return;
    poller_report(self, &item->lease, &outcome);
    work_end(self->work, &item);
    poller_begin_some(self);
    poller_say_load(self);
}

static int poller_on_begin_timer(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    poller_t *self = arg;
    self->begin_again = false;
    poller_begin_some(self);
    poller_say_load(self);
    return 0;
}

/* Begin what there is room for, in portions: the loop has other things to do. */
void poller_begin_some(poller_t *self)
{
    int64_t now_ms = ald_clock_now().mono_ms;
    for (unsigned i = 0; i < POLLER_BEGIN; i++) {
        struct work_item *item = NULL;
        enum ald_rc rc = work_begin(self->work, now_ms, &item);
        if (!item)
            return;
        if (rc == ALD_OK)
            (void)work_gather(self->work, item, ALD_BATCH_MAX);
        const char *error =
            rc == ALD_OK ? poller_ask(self, item, now_ms) : "its time was up before its turn";
        if (error)
            poller_hand_back(self, item, error);
    }
    if (!self->begin_again)
        zloop_timer(self->loop, POLLER_BEGIN_AGAIN_MS, 1, poller_on_begin_timer, self);
    self->begin_again = true;
}

static void poller_on_lease(void *arg, const struct msg_lease *lease)
{
    poller_t *self = arg;
    if (self->draining) {
        poller_report_unsent(self, lease, 0, "handed back: the poller stops");
        return;
    }
    enum ald_rc rc = work_add(self->work, lease, ald_clock_now().mono_ms);
    if (rc == ALD_FULL)
        poller_report_unsent(self, lease, 0, "handed back: the poller has no room");
    if (rc == ALD_EXISTS)
        ald_log(ALD_WARN, "poller.lease_twice", "lease=%llu", (unsigned long long)lease->lease);
}

static void poller_on_submit(void *arg, const struct msg_submit *submit)
{
    poller_t *self = arg;
    struct msg_lease lease = {.lease = submit->lease, .task = submit->task};
    memcpy(lease.provider, submit->provider, sizeof lease.provider);
    enum ald_rc rc =
        self->draining ? ALD_CLOSED : work_add_submit(self->work, submit, ald_clock_now().mono_ms);
    if (rc == ALD_CLOSED)
        poller_report_unsent(self, &lease, submit->attempt, "handed back: the poller stops");
    if (rc == ALD_FULL)
        poller_report_unsent(self, &lease, submit->attempt, "handed back: the poller has no room");
    if (rc == ALD_EXISTS)
        ald_log(ALD_WARN, "poller.lease_twice", "lease=%llu", (unsigned long long)lease.lease);
}

static void poller_on_leases_end(void *arg)
{
    poller_begin_some(arg);
    poller_say_load(arg);
}

static void poller_on_new_run(void *arg)
{
    poller_t *self = arg;
    work_new_run(self->work);
}

static void poller_on_settled(void *arg)
{
    poller_say_load(arg);
}

static enum ald_rc poller_open(poller_t *self, const char *instance, struct ald_err *err)
{
    const struct fetch_options fetch = {
        .max_under_way = self->max_in_flight,
        .per_host = (size_t)self->settings->poller.connections_per_host,
        .max_held_bytes = POLLER_HELD_MAX,
    };
    enum ald_rc rc = fetch_new(self->loop, &fetch, &self->fetch, err);
    if (rc != ALD_OK)
        return rc;
    self->work = work_new(self->max_in_flight);
    char endpoint[ALD_PATH_MAX + 64];
    rc = ald_sock_endpoint(self->settings, ALD_CHANNEL_JOBS, endpoint, sizeof endpoint, err);
    if (rc != ALD_OK)
        return rc;
    const struct jobs_options jobs = {
        .endpoint = endpoint,
        .instance = instance,
        .heartbeat_ms = self->settings->bus.heartbeat_ms,
        .max_credit = self->max_in_flight,
        .self = self,
        .on_lease = poller_on_lease,
        .on_submit = poller_on_submit,
        .on_started = poller_on_started,
        .on_leases_end = poller_on_leases_end,
        .on_new_run = poller_on_new_run,
        .on_settled = poller_on_settled,
    };
    rc = jobs_new(self->loop, &jobs, &self->jobs, err);
    if (rc == ALD_OK)
        poller_say_load(self);
    return rc;
}

enum ald_rc poller_start(void *arg, ald_service_t *service, struct ald_err *err)
{
    struct ald_metric *const metrics[] = {&polls_total,   &submits_total, &poll_seconds,
                                          &in_flight,     &outcomes_owed, &alerts_total,
                                          &submit_seconds};
    for (size_t i = 0; i < ALD_COUNT(metrics); i++)
        ald_metric_register(metrics[i]);
    poller_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    *(poller_t **)arg = self;
    self->loop = ald_service_loop(service);
    self->profiles = ald_service_profiles(service);
    self->settings = ald_service_settings(service);
    self->max_in_flight = terms_under_way(self->settings->poller.max_in_flight);
    push_blocks_load(&self->settings->facade.pingback_allow, &self->push_blocks);
    verdict_room_init(&self->room);
    sink_room_init(&self->sink_room);
    ald_request_init(&self->request, POLLER_REQUEST_MAX);
    ald_buf_init(&self->ids, POLLER_REQUEST_MAX);
    ald_request_init(&self->submission, ALD_SUBMIT_REQUEST_MAX);
    return poller_open(self, ald_service_instance(service), err);
}

void poller_ready(void *arg, char *out, size_t cap)
{
    const poller_t *self = *(poller_t **)arg;
    snprintf(out, cap, "in_flight=%zu", self->max_in_flight);
}

void poller_reload(void *arg, ald_profiles_t *fresh)
{
    (*(poller_t **)arg)->profiles = fresh;
}

void poller_drain(void *arg)
{
    poller_t *self = *(poller_t **)arg;
    self->draining = true;
    self->abort_at_ms = ald_clock_now().mono_ms + POLLER_ABORT_MS;
    jobs_stop(self->jobs);
    struct work_item *item = NULL;
    while ((item = work_take_back(self->work))) {
        poller_hand_back(self, item, "handed back: the poller stops");
    }
}

bool poller_drained(void *arg)
{
    poller_t *self = *(poller_t **)arg;
    if (ald_clock_now().mono_ms >= self->abort_at_ms)
        fetch_abort_all(self->fetch, "cut off: the poller stops");
    return work_under_way(self->work) == 0 && jobs_owed(self->jobs) == 0;
}

int poller_stop(void *arg)
{
    poller_t *self = *(poller_t **)arg;
    if (!self)
        return 0;
    bool left = self->jobs && (work_under_way(self->work) > 0 || jobs_owed(self->jobs) > 0);
    fetch_destroy(&self->fetch);
    jobs_destroy(&self->jobs);
    work_destroy(&self->work);
    verdict_room_free(&self->room);
    sink_room_free(&self->sink_room);
    ald_request_free(&self->request);
    ald_buf_free(&self->ids);
    ald_request_free(&self->submission);
    free(self);
    *(poller_t **)arg = NULL;
    return left ? ALD_EXIT_AGAIN : 0;
}

bool poller_healthy(void *arg, char *out, size_t cap)
{
    const poller_t *self = *(poller_t **)arg;
    bool away = jobs_away(self->jobs);
    snprintf(out, cap, "%s", away ? "the tracker does not answer" : "");
    return !away;
}

void poller_measure(void *arg)
{
    const poller_t *self = *(poller_t **)arg;
    ald_metric_set(&in_flight, (int64_t)fetch_under_way(self->fetch));
    ald_metric_set(&outcomes_owed, (int64_t)jobs_owed(self->jobs));
}
