#include "services/poller/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/config/profile.h"
#include "common/net/alarm.h"
#include "common/net/courier.h"
#include "common/net/sock.h"
#include "common/net/window.h"

enum {
    JOBS_AGAIN_MS = 200, /* after the load could not be said */
    JOBS_SAY_MS = 1000,  /* the load is said again at least this often */
    JOBS_STEPS = 16,     /* of the credit: half a step of it lies idle on average */
    JOBS_RESEND_MS = 10000,
    /* A lease is some 300 bytes, a submission up to 960 KiB more, an event for a sink the most. */
    JOBS_FRAME_MAX = ALD_PUSHED_MAX + (64 << 10),
    JOBS_SPARE_MAX = 64 << 10 /* bytes of an outcome beside its result */
};

struct jobs {
    struct jobs_options options;
    zloop_t *loop;
    ald_courier_t *courier;
    ald_sock_t *sock;
    ald_alarm_t *alarm;
    struct ald_window settled;
    uint64_t last_num;
    char tracker[ALD_ULID_MAX]; /* run of the tracker that the leases are of */
    size_t credit;              /* that the poller has */
    struct msg_ready load;
    struct msg_ready said;
    int64_t said_ms; /* monotonic; 0 = it could not be said */
    uint64_t garbage;
};

static void jobs_say(jobs_t *self)
{
    zmsg_t *msg = zmsg_new();
    self->said_ms = 0;
    if (ald_frame_add(msg, &MSG_READY, &self->load) == ALD_OK &&
        ALD_SOCK_SEND("poller.ready", self->sock, &msg) == ALD_OK) {
        self->said = self->load;
        self->said_ms = ald_clock_now().mono_ms;
    }
    zmsg_destroy(&msg);
    if (self->said_ms == 0)
        ald_alarm_within(self->alarm, JOBS_AGAIN_MS);
}

/* Worth a message of its own? */
static bool jobs_news(const jobs_t *self)
{
    uint64_t now = self->load.credit;
    uint64_t said = self->said.credit;
    uint64_t change = now > said ? now - said : said - now;
    if (self->load.stopping != self->said.stopping)
        return true;
    if (change == 0)
        return false;
    return change >= (self->options.max_credit + JOBS_STEPS - 1) / JOBS_STEPS || now == 0 ||
           said == 0 || self->load.busy == 0;
}

/* No work is asked for before the welcome has said how large an outcome may be. */
static void jobs_update(jobs_t *self)
{
    bool welcome = ald_courier_receiver(self->courier)[0] != '\0';
    self->load.credit = welcome && !self->load.stopping ? self->credit : 0;
    if (jobs_news(self))
        jobs_say(self);
}

void jobs_load(jobs_t *self, size_t credit, size_t busy)
{
    self->credit = credit;
    self->load.busy = busy;
    jobs_update(self);
}

void jobs_stop(jobs_t *self)
{
    self->load.stopping = true;
    jobs_update(self);
}

static void jobs_ring(void *arg)
{
    jobs_t *self = arg;
    if (self->said_ms == 0 || ald_clock_now().mono_ms - self->said_ms >= JOBS_SAY_MS)
        jobs_say(self);
    if (self->said_ms != 0)
        ald_alarm_by(self->alarm, self->said_ms + JOBS_SAY_MS);
}

static void jobs_garbage(jobs_t *self, const char *what)
{
    self->garbage++;
    ald_log(ALD_WARN, "jobs.garbage", "what=%s count=%llu", what,
            (unsigned long long)self->garbage);
}

static void jobs_leases(jobs_t *self, zmsg_t *msg)
{
    struct msg_leases head;
    zframe_t *frame = zmsg_first(msg);
    if (!frame || ald_wire_decode(&MSG_LEASES, &head, ald_frame_span(frame)) != ALD_OK) {
        jobs_garbage(self, "leases");
        return;
    }
    if (strcmp(head.instance, self->tracker) != 0) {
        memcpy(self->tracker, head.instance, sizeof self->tracker);
        self->options.on_new_run(self->options.self);
    }
    while ((frame = zmsg_next(msg))) {
        struct ald_span bytes = ald_frame_span(frame);
        struct msg_lease lease;
        struct msg_submit submit;
        if (ald_wire_is(&MSG_SUBMIT, bytes) &&
            ald_wire_decode(&MSG_SUBMIT, &submit, bytes) == ALD_OK)
            self->options.on_submit(self->options.self, &submit);
        else if (ald_wire_decode(&MSG_LEASE, &lease, bytes) == ALD_OK)
            self->options.on_lease(self->options.self, &lease);
        else
            jobs_garbage(self, "lease");
    }
    self->options.on_leases_end(self->options.self);
}

static int jobs_read(zloop_t *loop, zsock_t *sock, void *arg)
{
    (void)loop, (void)sock;
    jobs_t *self = arg;
    for (zmsg_t *msg = ald_sock_recv(self->sock); msg; msg = ald_sock_recv(self->sock)) {
        jobs_leases(self, msg);
        zmsg_destroy(&msg);
    }
    return 0;
}

static void jobs_on_head(void *arg, struct msg_batch *head)
{
    jobs_t *self = arg;
    head->floor = ald_window_settle(&self->settled);
}

static void jobs_settle(jobs_t *self, uint64_t num)
{
    if (ald_window_set(&self->settled, num, 1) == ALD_OK)
        (void)ald_window_settle(&self->settled);
}

static void jobs_on_settled(void *arg, void *tag, const struct msg_ack *ack)
{
    jobs_t *self = arg;
    if (ack->num == 0 || ack->num > self->last_num) {
        jobs_garbage(self, "ack");
        return;
    }
    jobs_settle(self, ack->num);
    if (tag) /* of a start; of what comes a second time it is NULL */
        self->options.on_started(self->options.self, tag, strcmp(ack->disposition, "applied") == 0);
    self->options.on_settled(self->options.self);
}

static void jobs_on_welcome(void *arg, const struct msg_welcome *welcome, bool fresh, zmsg_t *msg)
{
    (void)welcome, (void)fresh, (void)msg;
    jobs_update(arg);
}

bool jobs_start(jobs_t *self, struct msg_started *started, void *tag)
{
    struct ald_buf bytes;
    ald_buf_init(&bytes, JOBS_SPARE_MAX);
    ALD_FAILPOINT_STEP("poller.start");
    started->num = ++self->last_num;
    bool good = ald_wire_encode(&MSG_STARTED, started, &bytes) == ALD_OK &&
                ald_courier_add(self->courier, started->num, ald_buf_span(&bytes), tag) == ALD_OK;
    ald_buf_free(&bytes);
    if (!good)
        jobs_settle(self, started->num);
    ald_courier_flush(self->courier);
    return good;
}

static enum ald_rc jobs_post(jobs_t *self, const struct msg_outcome *outcome)
{
    struct ald_buf bytes;
    ald_buf_init(&bytes, outcome->result.len + JOBS_SPARE_MAX);
    enum ald_rc rc = ald_wire_encode(&MSG_OUTCOME, outcome, &bytes);
    if (rc == ALD_OK)
        rc = ald_courier_add(self->courier, outcome->num, ald_buf_span(&bytes), NULL);
    ald_buf_free(&bytes);
    return rc;
}

/* Without its result when that does not fit. */
static void jobs_post_some(jobs_t *self, struct msg_outcome *item)
{
    enum ald_rc rc = jobs_post(self, item);
    if (rc != ALD_OK) {
        item->result = item->evidence = (struct ald_span){0};
        item->result_json = item->answered = item->block = false;
        item->code[0] = '\0';
        snprintf(item->then, sizeof item->then, "%s", ald_then_name(ALD_THEN_UNKNOWN));
        snprintf(item->class_, sizeof item->class_, "%s", ald_class_name(ALD_CLASS_NONE));
        snprintf(item->error, sizeof item->error, "the answer does not fit the bus: %s",
                 ald_rc_name(rc));
        rc = jobs_post(self, item);
    }
    if (rc != ALD_OK) {
        jobs_settle(self, item->num); /* the lease's end tells the tracker */
        ald_log(ALD_ERROR, "jobs.unsent", "task=%llu rc=%s", (unsigned long long)item->task,
                ald_rc_name(rc));
    }
}

void jobs_report(jobs_t *self, const struct msg_outcome *outcome)
{
    struct msg_outcome item = *outcome;
    ALD_FAILPOINT_STEP("poller.outcome");
    item.num = ++self->last_num;
    jobs_post_some(self, &item);
    ald_courier_flush(self->courier);
}

/* The tracker that came back takes less. */
static void jobs_on_oversized(void *arg, uint64_t num, void *tag, struct ald_span bytes)
{
    jobs_t *self = arg;
    struct msg_outcome outcome;
    (void)tag; /* a start is small */
    if (ald_wire_decode(&MSG_OUTCOME, &outcome, bytes) == ALD_OK && outcome.num == num)
        jobs_post_some(self, &outcome);
    else
        jobs_settle(self, num);
}

static enum ald_rc jobs_open(jobs_t *self, struct ald_err *err)
{
    const struct jobs_options *options = &self->options;
    const struct ald_courier_options courier = {
        .endpoint = options->endpoint,
        .role = "poller",
        .sender = options->instance,
        .instance = options->instance,
        .heartbeat_ms = options->heartbeat_ms,
        .resend_after_ms = JOBS_RESEND_MS,
        .self = self,
        .on_settled = jobs_on_settled,
        .on_oversized = jobs_on_oversized,
        .on_head = jobs_on_head,
        .on_welcome = jobs_on_welcome,
    };
    enum ald_rc rc = ald_courier_new(self->loop, &courier, &self->courier, err);
    const struct ald_sock_options sock = {
        .type = ZMQ_DEALER, .max_frame = JOBS_FRAME_MAX, .heartbeat_ms = options->heartbeat_ms};
    if (rc == ALD_OK)
        rc = ald_sock_connect(&sock, options->endpoint, &self->sock, err);
    if (rc != ALD_OK)
        return rc;
    ald_sock_watch(self->sock, self->loop, jobs_read, self);
    ald_alarm_within(self->alarm, JOBS_AGAIN_MS);
    return ALD_OK;
}

enum ald_rc jobs_new(zloop_t *loop, const struct jobs_options *options, jobs_t **out,
                     struct ald_err *err)
{
    jobs_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    *self = (jobs_t){.options = *options, .loop = loop};
    self->alarm = ald_alarm_new(loop, jobs_ring, self);
    ald_window_init(&self->settled, 1);
    self->load.batches = true;
    self->load.jwks = true;
    self->load.sinks = true;
    snprintf(self->load.poller, sizeof self->load.poller, "%s", options->instance);
    enum ald_rc rc = jobs_open(self, err);
    self->options.endpoint = NULL; /* the caller's */
    if (rc == ALD_OK)
        *out = self;
    else
        jobs_destroy(&self);
    return rc;
}

void jobs_destroy(jobs_t **self_p)
{
    jobs_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    ald_alarm_destroy(&self->alarm);
    ald_sock_destroy(&self->sock);
    ald_courier_destroy(&self->courier);
    ald_window_free(&self->settled);
    free(self);
}

bool jobs_away(const jobs_t *self)
{
    return ald_courier_away(self->courier);
}

size_t jobs_owed(const jobs_t *self)
{
    return ald_courier_items(self->courier);
}

size_t jobs_owed_bytes(const jobs_t *self)
{
    return ald_courier_bytes(self->courier);
}
