#include "services/tracker/tracker.h"

#include <inttypes.h>
#include <sched.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/net/gate.h"
#include "common/store/disk.h"
#include "services/tracker/acts/acts.h"
#include "services/tracker/acts/arrival.h"
#include "services/tracker/calls.h"
#include "services/tracker/consumers/consumers.h"
#include "services/tracker/consumers/position.h"
#include "services/tracker/consumers/sinks.h"
#include "services/tracker/events.h"
#include "services/tracker/feed.h"
#include "services/tracker/figures.h"
#include "services/tracker/jobs.h"
#include "services/tracker/jwks.h"
#include "services/tracker/keep.h"
#include "services/tracker/keep_budgets.h"
#include "services/tracker/keep_orphans.h"
#include "services/tracker/keyfile.h"
#include "services/tracker/outbox.h"
#include "services/tracker/program.h"
#include "services/tracker/pushes.h"
#include "services/tracker/query.h"
#include "services/tracker/reader/reader.h"
#include "services/tracker/renew.h"
#include "services/tracker/rest.h"
#include "services/tracker/vault/verify.h"

enum {
    TRACKER_GAP_MS = 1000, /* a loop that stood still so long was stopped: service time too */
    TRACKER_RETRY_MS = 1000,
    TRACKER_DUE_LIMIT = 500,
    TRACKER_IDLE_MS = 200,
    TRACKER_SCRATCH = 64 << 20
};

struct tracker_now tracker_now(const struct tracker *self)
{
    struct ald_now now = ald_clock_now();
    int64_t mono_ms = now.mono_ms;
    if (mono_ms > self->turned_ms + TRACKER_GAP_MS)
        mono_ms = self->turned_ms + TRACKER_GAP_MS;
    return (struct tracker_now){.wall_ms = now.wall_ms,
                                .run_ms = self->run_base_ms + mono_ms - self->run_since_ms};
}

const char *tracker_trace(struct tracker *self, uint64_t task)
{
    struct vault_words words;
    vault_task_words(&self->vault, task, &words);
    (void)snprintf(self->trace, sizeof self->trace, "%s%s", words.trace[0] ? " trace=" : "",
                   words.trace);
    return self->trace;
}

bool tracker_hold(const struct tracker *self)
{
    return senders_hold(self->senders, tracker_now(self).run_ms);
}

uint64_t tracker_tail_seq(const struct tracker *self, uint64_t task)
{
    struct tail_task ended;
    return tail_get(self->tail, task, &ended) ? ended.seq : 0;
}

void tracker_tail_add(struct tracker *self, uint64_t task, uint64_t seq)
{
    const struct tail_task ended = {.task = task, .seq = seq};
    tail_put(self->tail, &ended);
}

uint32_t tracker_tail_met(struct tracker *self, uint64_t task, uint64_t seq)
{
    struct tail_task ended = {.task = task, .seq = seq};
    if (!tail_get(self->tail, task, &ended))
        ended.arrivals = vault_arrivals_of(&self->vault, task, ARRIVAL_KEPT_MAX);
    ended.arrivals++;
    tail_put(self->tail, &ended); /* into the young: this callback is not of the run */
    return ended.arrivals;
}

void tracker_position(const struct tracker *self, uint64_t seq, char out[ALD_POSITION_MAX])
{
    position_write(self->vault.lane, seq, out);
}

static uint64_t tracker_written(void *arg)
{
    const struct tracker *self = arg;
    return self->vault.store ? ald_store_written(self->vault.store) : 0;
}

/* Without a store nothing is promised: what is said then, such as that it is away, need not wait.
 */
static uint64_t tracker_settled(void *arg)
{
    const struct tracker *self = arg;
    return self->vault.store ? ald_store_settled(self->vault.store) : UINT64_MAX;
}

static bool tracker_settle(void *arg)
{
    struct tracker *self = arg;
    return self->vault.store && vault_settle(&self->vault) == ALD_OK;
}

static ald_gate_t *tracker_gate(struct tracker *self)
{
    const struct ald_gate_options options = {.written = tracker_written,
                                             .settled = tracker_settled,
                                             .settle = tracker_settle,
                                             .store = self};
    return ald_gate_new(&options);
}

static void tracker_give_up_store(struct tracker *self);

/* More is on disk, or a sync has failed. */
static int tracker_on_settled(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop, (void)item;
    struct tracker *self = arg;
    tracker_stir(self); /* what could not be sent comes back */
    ald_store_settle_heard(self->vault.store);
    ald_gate_turn(self->gate);
    (void)ald_store_settled(self->vault.store); /* when there was nothing to send, too */
    if (ald_store_failed(self->vault.store) && vault_settle(&self->vault) != ALD_OK)
        tracker_give_up_store(self);
    return 0;
}

static zmq_pollitem_t tracker_settle_item(const struct tracker *self)
{
    return (zmq_pollitem_t){.fd = ald_store_settle_fd(self->vault.store), .events = ZMQ_POLLIN};
}

static void tracker_watch_store(struct tracker *self)
{
    zmq_pollitem_t item = tracker_settle_item(self);
    zloop_t *loop = ald_service_loop(self->service);
    if (item.fd < 0)
        return;
    ALD_ASSERT(zloop_poller(loop, &item, tracker_on_settled, self) == 0);
    zloop_poller_set_tolerant(loop, &item);
}

static void tracker_unwatch_store(struct tracker *self)
{
    if (!self->open)
        return;
    zmq_pollitem_t item = tracker_settle_item(self);
    if (item.fd >= 0)
        zloop_poller_end(ald_service_loop(self->service), &item);
}

/* While callbacks keep two processors busy, handing a sync to another thread and hearing of its end
 * costs more than it hides (docs/PERFORMANCE.md). */
static bool tracker_syncs_beside(const struct ald_settings *settings)
{
    cpu_set_t ours;
    if (strcmp(settings->tracker.sync, "auto") != 0)
        return strcmp(settings->tracker.sync, "beside") == 0;
    return sched_getaffinity(0, sizeof ours, &ours) != 0 || CPU_COUNT(&ours) > 2;
}

/* Throw away what was read back of the store, or is of it, and the store. */
static void tracker_forget(struct tracker *self)
{
    consumers_forget(self->consumers);
    reader_destroy(&self->reader); /* before the writer opens: closing a file drops all its locks */
    self->open = false;
    keep_forget(self);
    vault_close(&self->vault);
    calls_forget(self->calls);
    jwks_forget(self->jwks);
    pushes_forget(self->pushes);
    sinks_forget(self->sinks);
}

static enum ald_rc tracker_open(struct tracker *self, struct ald_err *err)
{
    const struct vault_options options = {.data = self->settings->store.data,
                                          .wal_max_bytes = self->settings->store.wal_max_bytes,
                                          .sync_beside = tracker_syncs_beside(self->settings)};
    enum ald_rc rc = vault_open(&self->vault, &options, err);
    if (rc != ALD_OK)
        return rc;
    rc = keep_read_back(self, err);
    if (rc == ALD_OK)
        rc = ALD_FAILPOINT("tracker.reader", reader_new(self, &self->reader, err), ALD_IO);
    if (rc != ALD_OK) {
        tracker_forget(self);
        return rc;
    }
    self->open = true;
    tracker_watch_store(self);
    return ALD_OK;
}

/* Throw memory away; it is read back at the next try. */
static void tracker_close_store(struct tracker *self)
{
    ald_gate_turn(self->gate);
    ald_gate_forget(self->gate);
    tracker_unwatch_store(self);
    feed_forget(self->feed);
    query_forget(self->query);
    tracker_forget(self);
    self->retry_ms = ald_clock_now().mono_ms + TRACKER_RETRY_MS;
    outbox_reset(self->outbox);
    jobs_reset(self->jobs);
    ald_gate_turn(self->gate); /* who was told that it has failed */
}

/* The store failed: nothing in memory can be trusted to be on disk. */
static void tracker_give_up_store(struct tracker *self)
{
    ald_log(ALD_ERROR, "store.failed", "rc=%s text=%s", ald_rc_name(self->vault.rc),
            ALD_Q(ald_store_message(self->vault.store)));
    tracker_close_store(self);
}

bool tracker_commit(struct tracker *self)
{
    consumers_act(self->consumers);
    if (vault_commit(&self->vault) == ALD_OK) {
        feed_tell(self->feed);
        consumers_tell(self->consumers);
        outbox_sweep(self->outbox);
        return true;
    }
    tracker_give_up_store(self);
    return false;
}

static void tracker_retry_store(struct tracker *self)
{
    struct ald_err err = {0};
    if (ald_clock_now().mono_ms < self->retry_ms)
        return;
    if (tracker_open(self, &err) == ALD_OK) {
        ald_log(ALD_INFO, "store.back", "seq=%" PRIu64, self->vault.last_seq);
        return;
    }
    ald_log(ALD_ERROR, "store.closed", "text=%s", ALD_Q(err.text));
    self->retry_ms = ald_clock_now().mono_ms + TRACKER_RETRY_MS;
}

void tracker_stir(struct tracker *self)
{
    if (self->alarm)
        ald_alarm_within(self->alarm, REST_LEAST_MS);
}

/* True: the loop had stood still. */
static bool tracker_turn(struct tracker *self)
{
    int64_t now_ms = ald_clock_now().mono_ms;
    int64_t gap_ms = now_ms - self->turned_ms;
    self->turned_ms = now_ms;
    if (gap_ms < TRACKER_GAP_MS)
        return false;
    self->run_since_ms += gap_ms;
    ald_log(ALD_WARN, "tracker.stood_still", "gap_ms=%" PRId64, gap_ms);
    return true;
}

bool tracker_awake(struct tracker *self)
{
    tracker_stir(self);
    return tracker_turn(self);
}

static void tracker_clocks(struct tracker *self)
{
    vault_begin(&self->vault);
    act_due(self, TRACKER_DUE_LIMIT);
    act_parked_due(self, TRACKER_DUE_LIMIT);
    keep_budgets(self);
    (void)tracker_commit(self);
}

static void tracker_tick(struct tracker *self)
{
    if (!self->open) {
        tracker_retry_store(self);
        return;
    }
    bool stood = tracker_turn(self);
    events_drain(self->events); /* what others say comes before what clocks say */
    if (self->open)
        jobs_drain(self->jobs);
    if (self->open && !stood) {
        sinks_tick(self->sinks);
        consumers_tick(self->consumers);
        tracker_clocks(self);
    }
    if (!self->open)
        return;
    jobs_tick(self->jobs);
    outbox_clear(self->outbox);
    if (!self->open)
        return;
    outbox_sweep(self->outbox);
    query_tick(self->query);
    calls_tick(self->calls);
    int64_t now_ms = ald_clock_now().mono_ms;
    int64_t rows = self->vault.last_arrival + self->vault.last_note;
    if (rows != self->seen_rows)
        self->busy_ms = now_ms;
    self->seen_rows = rows;
    keep_tick(self, now_ms - self->busy_ms >= TRACKER_IDLE_MS);
}

static void tracker_ring(void *arg)
{
    struct tracker *self = arg;
    tracker_tick(self);
    ald_alarm_within(self->alarm, rest_ms(self));
}

static int tracker_second(zloop_t *loop, int timer, void *arg)
{
    (void)loop;
    (void)timer;
    struct tracker *self = arg;
    feed_tick(self->feed);
    return 0;
}

static enum ald_rc tracker_channels(struct tracker *self, struct ald_err *err)
{
    enum ald_rc rc = feed_new(self, &self->feed, err);
    if (rc == ALD_OK)
        rc = outbox_new(self, &self->outbox, err);
    if (rc == ALD_OK)
        rc = query_new(self, &self->query, err);
    if (rc == ALD_OK)
        rc = jobs_new(self, &self->jobs, err);
    if (rc == ALD_OK)
        rc = events_new(self, &self->events, err);
    return rc;
}

static enum ald_rc tracker_start(void *arg, ald_service_t *service, struct ald_err *err)
{
    struct tracker *self = arg;
    self->service = service;
    self->settings = ald_service_settings(service);
    self->profiles = ald_service_profiles(service);
    self->ids.tracker = (unsigned)self->settings->tracker.id;
    self->gate = tracker_gate(self);
    self->calls = calls_new(self);
    self->consumers = consumers_new(self);
    self->jwks = jwks_new(self);
    self->sinks = sinks_new(self);
    self->pushes = pushes_new(self); /* reading back may end tasks that have one */
    ald_buf_init(&self->scratch, TRACKER_SCRATCH);
    ald_buf_init(&self->kept, 2 * ALD_URL_MAX + ALD_KEPT_PARAMS_MAX);
    ald_buf_init(&self->evidence, (size_t)TRACKER_SCRATCH + (1 << 20));
    bool made = false;
    enum ald_rc rc = ald_disk_folder(self->settings->store.data, err);
    if (rc == ALD_OK)
        rc = keyfile_load(self->settings, &self->keys, &made, err);
    if (rc == ALD_OK)
        rc = keep_mark_open(self, err);
    if (rc == ALD_OK)
        rc = tracker_open(self, err);
    if (rc == ALD_OK)
        rc = keyfile_check(self->settings, &self->vault, &self->keys, made, err);
    if (rc == ALD_OK)
        rc = tracker_channels(self, err);
    if (rc != ALD_OK)
        return rc;
    zloop_t *loop = ald_service_loop(service);
    self->alarm = ald_alarm_new(loop, tracker_ring, self);
    tracker_stir(self);
    (void)zloop_timer(loop, 1000, 0, tracker_second, self);
    return ALD_OK;
}

static void tracker_reload(void *arg, ald_profiles_t *fresh)
{
    struct tracker *self = arg;
    renew_profiles(self, fresh);
    tracker_stir(self);
    sinks_renew(self->sinks);
    if (!self->open || !keep_orphans_found(self))
        return;
    ald_log(ALD_INFO, "tracker.reads_back", "orphans=%" PRIu64, self->orphans);
    keep_last(self);
    if (self->open)
        tracker_close_store(self);
    self->retry_ms = 0;
    tracker_retry_store(self);
}

static void tracker_drain(void *arg)
{
    (void)arg; /* silence after the loop ends is what makes others wait or spool */
}

static bool tracker_drained(void *arg)
{
    struct tracker *self = arg;
    if (self->open)
        events_drain(self->events);
    return true;
}

static int tracker_stop(void *arg)
{
    struct tracker *self = arg;
    if (self->feed && self->outbox)
        keep_last(self);
    if (self->open && tracker_settle(self))
        ald_gate_turn(self->gate);
    tracker_unwatch_store(self);
    ald_alarm_destroy(&self->alarm);
    events_destroy(&self->events);
    jobs_destroy(&self->jobs);
    calls_destroy(&self->calls);
    jwks_destroy(&self->jwks);
    pushes_destroy(&self->pushes);
    sinks_destroy(&self->sinks);
    query_destroy(&self->query);
    reader_destroy(&self->reader);
    outbox_destroy(&self->outbox);
    consumers_destroy(&self->consumers);
    feed_destroy(&self->feed);
    keep_forget(self);
    vault_close(&self->vault);
    ald_gate_destroy(&self->gate);
    ald_mark_destroy(&self->mark);
    ald_buf_free(&self->scratch);
    ald_buf_free(&self->kept);
    ald_buf_free(&self->evidence);
    return 0;
}

static bool tracker_healthy(void *arg, char *out, size_t cap)
{
    struct tracker *self = arg;
    if (!self->open)
        ald_text_cut(out, cap, ald_span_str("the store cannot be written; it is tried again"));
    return self->open;
}

static void tracker_measure(void *arg)
{
    figures_measure(arg);
}

const struct ald_service_ops TRACKER_OPS = {
    .name = "tracker",
    .help = "Owns tasks and results; decides what callbacks and polls mean.",
    .profiles = true,
    .start = tracker_start,
    .drain = tracker_drain,
    .drained = tracker_drained,
    .stop = tracker_stop,
    .healthy = tracker_healthy,
    .reload = tracker_reload,
    .measure = tracker_measure,
    .verify = verify_look,
};
