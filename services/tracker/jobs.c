#include "services/tracker/jobs.h"

#include <inttypes.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "proto/channels.h"
#include "services/tracker/acts/acts.h"
#include "services/tracker/acts/acts_submit.h"
#include "services/tracker/calls.h"
#include "services/tracker/consumers/sinks.h"
#include "services/tracker/inbox.h"
#include "services/tracker/jwks.h"
#include "services/tracker/pending_batch.h"
#include "services/tracker/pushes.h"
#include "services/tracker/rest.h"
#include "services/tracker/vault/vault_submits.h"
#include "services/tracker/vault/vault_ways.h"

enum { JOBS_POLLERS_MAX = 256, JOBS_GONE_MS = 5000, JOBS_LEASES_A_MESSAGE = 256 };
enum { JOBS_BYTES_A_MESSAGE = 1 << 20 };
enum { JOBS_CREDIT_MAX = 20000 }; /* what poller.max_in_flight may be */

static struct ald_metric jobs_leased = {.kind = ALD_COUNTER,
                                        .name = "aldaba_leases_total",
                                        .help = "Polls and submissions handed out."};

static struct ald_metric jobs_garbage = {
    .kind = ALD_COUNTER,
    .name = "aldaba_jobs_garbage_total",
    .help = "Messages on the jobs channel that could not be read."};

struct jobs_poller {
    uint64_t no; /* of this run; leases carry it */
    char id[ALD_ULID_MAX];
    zframe_t *who;
    uint64_t credit;
    bool batches;     /* it asks for several tasks in one request */
    bool jwks;        /* it fetches public keys */
    bool sinks;       /* it posts to sinks */
    int64_t heard_ms; /* monotonic */
};

struct jobs {
    struct tracker *tracker;
    ald_sock_t *sock;
    struct inbox inbox;
    struct jobs_poller pollers[JOBS_POLLERS_MAX];
    size_t count;
    uint64_t last_no;
    uint64_t last_lease;
    struct ald_buf submission; /* the one that is handed out */
};

static struct jobs_poller *jobs_poller(jobs_t *self, const char *id)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->pollers[i].id, id) == 0)
            return &self->pollers[i];
    if (self->count == JOBS_POLLERS_MAX)
        return NULL;
    struct jobs_poller *poller = &self->pollers[self->count++];
    *poller = (struct jobs_poller){.no = ++self->last_no};
    ald_text_cut(poller->id, sizeof poller->id, ald_span_str(id));
    ald_log(ALD_INFO, "poller.joined", "poller=%s", id);
    return poller;
}

static void jobs_poller_gone(jobs_t *self, size_t index, const char *why)
{
    struct jobs_poller *poller = &self->pollers[index];
    ald_log(ALD_INFO, "poller.left", "poller=%s why=%s", poller->id, why);
    pending_poller_gone(self->tracker->pending, poller->no, tracker_now(self->tracker).run_ms);
    sinks_poller_gone(self->tracker->sinks, poller->no);
    zframe_destroy(&poller->who);
    self->pollers[index] = self->pollers[--self->count];
}

/* The head of a message of leases, when there is none yet. */
static void jobs_begin(const jobs_t *self, zmsg_t **msg_p, const struct jobs_poller *poller)
{
    struct msg_leases head = {0};
    if (*msg_p)
        return;
    ald_text_cut(head.instance, sizeof head.instance,
                 ald_span_str(ald_service_instance(self->tracker->service)));
    *msg_p = zmsg_new();
    zframe_t *who = zframe_dup(poller->who);
    zmsg_append(*msg_p, &who);
    ald_frame_put(*msg_p, &MSG_LEASES, &head);
}

/* The right to poll a task, and what its poll takes. */
static void jobs_lease(jobs_t *self, const struct pending_task *task, zmsg_t *msg)
{
    struct tracker *tracker = self->tracker;
    struct vault_way way = {0};
    struct msg_lease lease = {.lease = task->look->lease,
                              .task = task->id,
                              .lease_ms =
                                  pending_lease_ms(tracker->pending, task->account->profile)};
    ald_text_cut(lease.provider, sizeof lease.provider, ald_span_str(task->account->profile->name));
    ald_text_cut(lease.provider_id, sizeof lease.provider_id, ald_span_str(task->provider_id));
    if (task->account->profile->ruled)
        (void)vault_way_find(&tracker->vault, task->id, &tracker->kept, &way);
    lease.batch =
        task->look->batch ? task->look->batch->lead : 0; /* an older poller does not read it */
    lease.poll_url = way.poll_url;
    lease.result_url = way.result_url;
    lease.params = way.params;
    ald_frame_put(msg, &MSG_LEASE, &lease);
}

/* A client's own request, if one may go. */
static bool jobs_call(jobs_t *self, zmsg_t **msg_p, const struct jobs_poller *poller)
{
    struct msg_lease lease;
    if (!calls_lease(self->tracker->calls, self->last_lease + 1, &lease))
        return false;
    self->last_lease++;
    jobs_begin(self, msg_p, poller);
    ald_frame_put(*msg_p, &MSG_LEASE, &lease);
    return true;
}

/* A provider's public keys, if they are due. */
static bool jobs_jwks(jobs_t *self, zmsg_t **msg_p, const struct jobs_poller *poller)
{
    struct msg_lease lease;
    if (!poller->jwks || !jwks_lease(self->tracker->jwks, self->last_lease + 1, &lease))
        return false;
    self->last_lease++;
    jobs_begin(self, msg_p, poller);
    ald_frame_put(*msg_p, &MSG_LEASE, &lease);
    return true;
}

/* The right to ask for a start. Returns its size. Without its row, as after an error of the disk,
 * the lease is nobody's and ends by itself. */
static size_t jobs_submit(jobs_t *self, const struct pending_task *task, zmsg_t *msg)
{
    struct tracker *tracker = self->tracker;
    const char *provider = task->account->profile->name;
    char base[ALD_BASE_MAX] = "";
    char token[ALD_TOKEN_MAX];
    struct vault_words words;
    struct msg_submit submit = {.lease = task->look->lease,
                                .task = task->id,
                                .attempt = task->submit->attempt + 1,
                                .lease_ms =
                                    pending_lease_ms(tracker->pending, task->account->profile)};
    if (!vault_submit_job(&tracker->vault, task->id, base, &self->submission))
        return 0;
    ald_text_cut(submit.provider, sizeof submit.provider, ald_span_str(provider));
    ald_token_make(&tracker->keys, provider, task->id, (unsigned)(submit.attempt & 0xff), token);
    vault_task_words(&tracker->vault, task->id, &words);
    ald_callback_url(submit.callback_url, base, provider, token, words.trace);
    submit.submission = ald_buf_span(&self->submission);
    ald_frame_put(msg, &MSG_SUBMIT, &submit);
    return submit.submission.len;
}

struct jobs_push {
    jobs_t *jobs;
    const struct jobs_poller *poller;
};

static void jobs_push_begin(void *arg, zmsg_t **msg)
{
    const struct jobs_push *push = arg;
    jobs_begin(push->jobs, msg, push->poller);
}

/* Callers' pingbacks. */
static size_t jobs_pushes(jobs_t *self, zmsg_t **msg, const struct jobs_poller *poller)
{
    struct jobs_push push = {.jobs = self, .poller = poller};
    return pushes_lease(self->tracker->pushes, &self->last_lease, poller->credit, msg,
                        jobs_push_begin, &push);
}

/* Events for sinks. */
static size_t jobs_sinks(jobs_t *self, zmsg_t **msg, const struct jobs_poller *poller)
{
    struct jobs_push push = {.jobs = self, .poller = poller};
    return poller->sinks ? sinks_lease(self->tracker->sinks, poller->no, &self->last_lease,
                                       poller->credit, msg, jobs_push_begin, &push)
                         : 0;
}

/* Leases on their way. */
struct jobs_parcel {
    jobs_t *jobs;
    uint64_t poller;
};

static void jobs_sent(void *arg, bool sent)
{
    struct jobs_parcel *parcel = arg;
    jobs_t *self = parcel->jobs;
    for (size_t i = 0; !sent && i < self->count; i++)
        if (self->pollers[i].no == parcel->poller) {
            jobs_poller_gone(self, i, "unreachable");
            break;
        }
    free(parcel);
}

static void jobs_send(jobs_t *self, const struct jobs_poller *poller, zmsg_t **msg_p)
{
    struct jobs_parcel *parcel = zmalloc(sizeof *parcel);
    *parcel = (struct jobs_parcel){.jobs = self, .poller = poller->no};
    ALD_SOCK_SEND_THEN("jobs.lease", self->sock, msg_p, jobs_sent, parcel);
}

/* Leases for one poller, as many as it has credit for. If it can't be reached it is gone. */
static void jobs_hand_out(jobs_t *self, struct jobs_poller *poller)
{
    struct tracker *tracker = self->tracker;
    const int64_t now_ms = tracker_now(tracker).run_ms;
    zmsg_t *msg = NULL;
    uint64_t count = 0;
    struct pending_task *lead = NULL; /* others may be asked for in the same request */
    size_t bytes = 0;
    for (; poller->credit > 0 && jobs_call(self, &msg, poller); count++)
        poller->credit--;
    for (; poller->credit > 0 && jobs_jwks(self, &msg, poller); count++)
        poller->credit--;
    size_t pushed = jobs_pushes(self, &msg, poller);
    poller->credit -= pushed;
    size_t posted = jobs_sinks(self, &msg, poller);
    poller->credit -= posted;
    count += pushed + posted;
    while (poller->credit > 0 && count < JOBS_LEASES_A_MESSAGE && bytes < JOBS_BYTES_A_MESSAGE) {
        const uint64_t no = self->last_lease + 1;
        struct pending_task *task =
            lead && poller->batches ? pending_lease_with(tracker->pending, lead, no, now_ms) : NULL;
        if (!task)
            lead = task = pending_lease(tracker->pending, poller->no, no, now_ms);
        if (!task)
            break;
        self->last_lease++;
        jobs_begin(self, &msg, poller);
        if (task->submit)
            bytes += jobs_submit(self, task, msg);
        else
            jobs_lease(self, task, msg);
        poller->credit--;
        count++;
    }
    if (!msg)
        return;
    ald_metric_add(&jobs_leased, (int64_t)count);
    jobs_send(self, poller, &msg);
}

void jobs_tick(jobs_t *self)
{
    if (!self->tracker->open)
        return;
    int64_t now_ms = ald_clock_now().mono_ms;
    for (size_t i = self->count; i-- > 0;) {
        if (now_ms - self->pollers[i].heard_ms > JOBS_GONE_MS)
            jobs_poller_gone(self, i, "silent");
        else
            jobs_hand_out(self, &self->pollers[i]);
    }
}

/* A poller that says that it has credit is given what there is at once; here is what comes then. */
int64_t jobs_rest_ms(const jobs_t *self)
{
    const struct tracker *tracker = self->tracker;
    const int64_t mono_ms = ald_clock_now().mono_ms;
    const int64_t run_ms = tracker_now(tracker).run_ms;
    int64_t least_ms = REST_NOTHING;
    bool credit = false;
    bool jwks = false;
    for (size_t i = 0; i < self->count; i++) {
        const struct jobs_poller *poller = &self->pollers[i];
        least_ms = rest_less(least_ms, rest_until(poller->heard_ms + JOBS_GONE_MS + 1, mono_ms));
        credit = credit || poller->credit > 0;
        jwks = jwks || (poller->credit > 0 && poller->jwks);
    }
    if (credit) {
        least_ms = rest_less(least_ms, pushes_rest_ms(tracker->pushes));
        least_ms =
            rest_less(least_ms, rest_until(pending_ready_ms(tracker->pending, run_ms), run_ms));
    }
    return jwks ? rest_less(least_ms, jwks_rest_ms(tracker->jwks)) : least_ms;
}

static void jobs_ready(jobs_t *self, zframe_t **who_p, const struct msg_ready *ready)
{
    struct jobs_poller *poller = jobs_poller(self, ready->poller);
    if (!poller)
        return;
    poller->heard_ms = ald_clock_now().mono_ms;
    poller->credit = ready->credit < JOBS_CREDIT_MAX ? ready->credit : JOBS_CREDIT_MAX;
    if (ready->stopping)
        poller->credit = 0;
    poller->batches = ready->batches;
    poller->jwks = ready->jwks;
    poller->sinks = ready->sinks;
    zframe_destroy(&poller->who);
    poller->who = *who_p;
    *who_p = NULL;
}

/* Of what is no task's poll. */
static void jobs_called(jobs_t *self, const struct msg_outcome *outcome, struct msg_ack *ack)
{
    struct tracker *tracker = self->tracker;
    const char *word = outcome->sink[0] ? sinks_outcome(tracker->sinks, outcome)
                       : outcome->push  ? pushes_outcome(tracker->pushes, outcome)
                       : outcome->jwks  ? jwks_outcome(tracker->jwks, outcome)
                                        : calls_outcome(tracker->calls, outcome);
    ack->num = outcome->num;
    ald_text_cut(ack->disposition, sizeof ack->disposition, ald_span_str(word));
}

static bool jobs_item(jobs_t *self, struct ald_span bytes, struct msg_ack *ack)
{
    struct msg_outcome outcome;
    struct msg_started started;
    if (ald_wire_is(&MSG_STARTED, bytes) &&
        ald_wire_decode(&MSG_STARTED, &started, bytes) == ALD_OK)
        act_started(self->tracker, &started, ack);
    else if (ald_wire_decode(&MSG_OUTCOME, &outcome, bytes) != ALD_OK)
        return false;
    else if (outcome.call || outcome.push || outcome.jwks)
        jobs_called(self, &outcome, ack);
    else
        act_outcome(self->tracker, &outcome, ack);
    return true;
}

static void jobs_batch(jobs_t *self, zframe_t **who_p, const struct msg_batch *head, zmsg_t *msg)
{
    inbox_begin(&self->inbox, who_p, ald_service_instance(self->tracker->service), head->batch);
    zframe_t *frame = zmsg_next(msg);
    for (; frame; frame = zmsg_next(msg)) {
        struct msg_ack ack = {0};
        if (jobs_item(self, ald_frame_span(frame), &ack))
            inbox_ack(&self->inbox, &ack);
        else
            ald_metric_add(&jobs_garbage, 1);
    }
}

static void jobs_message(jobs_t *self, zmsg_t *msg)
{
    zframe_t *who = zmsg_pop(msg);
    zframe_t *first = zmsg_first(msg);
    struct ald_span bytes = first ? ald_frame_span(first) : ald_span_of(NULL, 0);
    struct msg_batch head;
    struct msg_ready ready;
    struct msg_hello hello;
    if (ald_wire_is(&MSG_BATCH, bytes) && ald_wire_decode(&MSG_BATCH, &head, bytes) == ALD_OK) {
        jobs_batch(self, &who, &head, msg);
    } else if (ald_wire_decode(&MSG_READY, &ready, bytes) == ALD_OK) {
        jobs_ready(self, &who, &ready);
    } else if (ald_wire_decode(&MSG_HELLO, &hello, bytes) == ALD_OK) {
        struct msg_welcome welcome = {.max_item = ALD_ITEM_MAX};
        ald_text_cut(welcome.instance, sizeof welcome.instance,
                     ald_span_str(ald_service_instance(self->tracker->service)));
        inbox_welcome(self->sock, &who, &welcome);
    } else {
        ald_metric_add(&jobs_garbage, 1);
    }
    zframe_destroy(&who);
}

void jobs_drain(jobs_t *self)
{
    struct tracker *tracker = self->tracker;
    zmsg_t *msg = NULL;
    bool full = true;
    while (full && tracker->open) {
        bool begun = false;
        while (self->inbox.count < INBOX_MESSAGES && (msg = ald_sock_recv(self->sock))) {
            if (!begun)
                vault_begin(&tracker->vault);
            begun = true;
            jobs_message(self, msg);
            zmsg_destroy(&msg);
        }
        full = self->inbox.count == INBOX_MESSAGES;
        if (begun && tracker_commit(tracker))
            inbox_send(&self->inbox, self->sock);
        inbox_forget(&self->inbox);
    }
}

static int jobs_read(zloop_t *loop, zsock_t *sock, void *arg)
{
    (void)loop;
    (void)sock;
    jobs_t *self = arg;
    (void)tracker_awake(self->tracker);
    jobs_drain(self);
    if (!self->tracker->open) {
        zmsg_t *msg = ald_sock_recv(self->sock); /* the store is away: silence */
        zmsg_destroy(&msg);
        return 0;
    }
    jobs_tick(self);
    return 0;
}

enum ald_rc jobs_new(struct tracker *tracker, jobs_t **out, struct ald_err *err)
{
    ald_sock_t *sock = NULL;
    enum ald_rc rc =
        ald_sock_serve(tracker->settings, ALD_CHANNEL_JOBS, ZMQ_ROUTER, ALD_ITEM_MAX, &sock, err);
    if (rc != ALD_OK)
        return rc;
    jobs_t *self = zmalloc(sizeof *self);
    self->tracker = tracker;
    self->sock = sock;
    ald_buf_init(&self->submission, ALD_SUBMISSION_MAX);
    /* Above every lease of an earlier run, whose outcomes may still come; below 2^53. */
    self->last_lease = (uint64_t)ald_clock_now().wall_ms * 1000;
    ald_metric_register(&jobs_leased);
    ald_metric_register(&jobs_garbage);
    ald_sock_gate(sock, tracker->gate);
    ald_sock_watch(sock, ald_service_loop(tracker->service), jobs_read, self);
    *out = self;
    return ALD_OK;
}

void jobs_reset(jobs_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        self->pollers[i].credit = 0; /* they tell it anew within a second */
}

void jobs_destroy(jobs_t **self_p)
{
    jobs_t *self = *self_p;
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++)
        zframe_destroy(&self->pollers[i].who);
    inbox_forget(&self->inbox);
    ald_buf_free(&self->submission);
    ald_sock_destroy(&self->sock);
    free(self);
    *self_p = NULL;
}

size_t jobs_pollers(const jobs_t *self)
{
    return self->count;
}
