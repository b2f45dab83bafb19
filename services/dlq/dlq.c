#include "services/dlq/dlq.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/net/sock.h"
#include "common/store/disk_meter.h"
#include "proto/channels.h"
#include "services/dlq/browse.h"
#include "services/dlq/meters.h"

enum {
    DLQ_OPEN_AGAIN_MS = 1000,
    DLQ_BEAT_MS = 1000,
    DLQ_PURGE_MS = 60000,
    DLQ_QUOTA_ROUNDS = 10,   /* a tick */
    DLQ_CLOCK_BACK_MS = 1000 /* smaller steps back don't matter */
};

/* ---- the tick ---- */

static void dlq_open_again(struct dlq *self, int64_t mono_ms)
{
    struct ald_err err = {0};
    if (mono_ms - self->opened_ms < DLQ_OPEN_AGAIN_MS)
        return;
    self->opened_ms = mono_ms;
    copy_cancel(self->copy);
    enum ald_rc rc = shelf_open(self->shelf, &err);
    if (rc == ALD_OK)
        ald_log(ALD_INFO, "letters.open", "run=%s", shelf_run(self->shelf));
    else
        ald_log(ALD_ERROR, "letters.closed", "rc=%s text=%s", ald_rc_name(rc), ALD_Q(err.text));
}

static void dlq_upkeep(struct dlq *self, struct ald_now now)
{
    bool back = now.wall_ms < self->wall_ms - DLQ_CLOCK_BACK_MS;
    if (!back || upkeep_clock(&self->upkeep, now.wall_ms, letter_plan_longest_ms(&self->plan)))
        self->wall_ms = now.wall_ms; /* else at the next tick: the disk may be full just now */
    for (unsigned i = 0; i < DLQ_QUOTA_ROUNDS && upkeep_quota(&self->upkeep, now.wall_ms); i++)
        continue;
    if (now.mono_ms - self->beat_ms >= DLQ_BEAT_MS) {
        self->beat_ms = now.mono_ms;
        shelf_beat(self->shelf);
    }
    if (!self->purging && now.mono_ms - self->purged_ms < DLQ_PURGE_MS)
        return;
    self->purged_ms = now.mono_ms;
    self->purging = upkeep_purge(&self->upkeep, now.wall_ms); /* on with it at the next tick */
}

static int dlq_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop;
    (void)timer;
    struct dlq *self = arg;
    struct ald_now now = ald_clock_now();
    if (!shelf_ready(self->shelf))
        dlq_open_again(self, now.mono_ms);
    if (!shelf_ready(self->shelf))
        return 0;
    if (!copy_holds(self->copy)) /* what is dropped is told to the tracker, too */
        dlq_upkeep(self, now);
    reinject_sweep(self->reinject);
    runner_wake(self->runner);
    return 0;
}

static void dlq_work(void *arg)
{
    struct dlq *self = arg;
    reinject_sweep(self->reinject);
}

/* ---- start ---- */

static void dlq_configure(struct dlq *self, const struct ald_settings *settings)
{
    self->plan =
        (struct letter_plan){.backoff = {.first_ms = settings->dlq.first_after_ms,
                                         .percent = (unsigned)settings->dlq.factor_percent,
                                         .max_ms = settings->dlq.max_after_ms,
                                         .jitter_percent = (unsigned)settings->dlq.jitter_percent},
                             .max_attempts = (uint64_t)settings->dlq.max_attempts};
    self->upkeep.keep_ms = settings->store.keep_letters_ms;
    self->upkeep.quota_count = settings->dlq.quota_count;
    self->upkeep.quota_bytes = (int64_t)settings->dlq.quota_bytes;
}

void dlq_reload(void *arg, ald_profiles_t *fresh)
{
    struct dlq *self = arg;
    (void)fresh; /* letters are of any provider */
    dlq_configure(self, ald_service_settings(self->service));
}

static enum ald_rc dlq_open(struct dlq *self, const struct ald_settings *settings,
                            struct ald_err *err)
{
    char path[ALD_STORE_PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/letters.db", settings->store.data);
    if (length < 0 || (size_t)length >= sizeof path)
        return ald_err_set(err, ALD_TOOBIG, "store.data: the path is too long");
    self->shelf = shelf_new(path);
    self->copy = copy_new(ald_service_loop(self->service), self->shelf);
    self->upkeep.shelf = self->shelf;
    enum ald_rc rc = shelf_open(self->shelf, err);
    if (rc == ALD_OK &&
        !upkeep_clock(&self->upkeep, ald_clock_now().wall_ms, letter_plan_longest_ms(&self->plan)))
        self->wall_ms = INT64_MAX; /* at the first tick */
    return rc;
}

static enum ald_rc dlq_open_runner(struct dlq *self, const struct ald_settings *settings,
                                   struct ald_err *err)
{
    char endpoint[ALD_ENDPOINT_MAX];
    zloop_t *loop = ald_service_loop(self->service);
    enum ald_rc rc = ald_sock_endpoint(settings, ALD_CHANNEL_QUERY, endpoint, sizeof endpoint, err);
    if (rc != ALD_OK)
        return rc;
    struct judger_options judger = {
        .shelf = self->shelf, .endpoint = endpoint, .heartbeat_ms = settings->bus.heartbeat_ms};
    rc = judger_new(loop, &judger, &self->judger, err);
    if (rc != ALD_OK)
        return rc;
    struct runner_options runner = {.shelf = self->shelf,
                                    .copy = self->copy,
                                    .judger = self->judger,
                                    .context = self,
                                    .on_work = dlq_work};
    self->runner = runner_new(loop, &runner);
    return ALD_OK;
}

static enum ald_rc dlq_open_desk(struct dlq *self, const struct ald_settings *settings,
                                 struct ald_err *err)
{
    char endpoint[ALD_ENDPOINT_MAX];
    enum ald_rc rc =
        ald_sock_endpoint(settings, ALD_CHANNEL_LETTERS, endpoint, sizeof endpoint, err);
    if (rc != ALD_OK)
        return rc;
    struct desk_options options = {.shelf = self->shelf,
                                   .copy = self->copy,
                                   .judger = self->judger,
                                   .runner = self->runner,
                                   .plan = &self->plan,
                                   .endpoint = endpoint,
                                   .max_item_bytes = ALD_ITEM_MAX,
                                   .heartbeat_ms = settings->bus.heartbeat_ms,
                                   .context = self,
                                   .on_work = dlq_work};
    return desk_new(ald_service_loop(self->service), &options, &self->desk, err);
}

static enum ald_rc dlq_open_reinject(struct dlq *self, struct ald_err *err)
{
    const struct ald_settings *settings = ald_service_settings(self->service);
    char endpoint[ALD_ENDPOINT_MAX];
    enum ald_rc rc =
        ald_sock_endpoint(settings, ALD_CHANNEL_EVENTS, endpoint, sizeof endpoint, err);
    if (rc != ALD_OK)
        return rc;
    struct reinject_options options = {.shelf = self->shelf,
                                       .copy = self->copy,
                                       .plan = &self->plan,
                                       .endpoint = endpoint,
                                       .instance = ald_service_instance(self->service),
                                       .heartbeat_ms = settings->bus.heartbeat_ms};
    return reinject_new(ald_service_loop(self->service), &options, &self->reinject, err);
}

enum ald_rc dlq_start(void *arg, ald_service_t *service, struct ald_err *err)
{
    struct dlq *self = arg;
    const struct ald_settings *settings = ald_service_settings(service);
    self->service = service;
    meters_open();
    dlq_configure(self, settings);
    enum ald_rc rc = dlq_open(self, settings, err);
    if (rc == ALD_OK)
        rc = dlq_open_runner(self, settings, err);
    if (rc == ALD_OK)
        rc = dlq_open_desk(self, settings, err);
    if (rc == ALD_OK)
        rc = dlq_open_reinject(self, err);
    if (rc != ALD_OK)
        return rc;
    self->wall_ms = ald_clock_now().wall_ms;
    self->timer =
        zloop_timer(ald_service_loop(service), (size_t)settings->dlq.tick_ms, 0, dlq_tick, self);
    return ALD_OK;
}

/* ---- stop ---- */

void dlq_drain(void *arg)
{
    struct dlq *self = arg;
    desk_drain(self->desk);
    runner_drain(self->runner);
    reinject_drain(self->reinject);
}

bool dlq_drained(void *arg)
{
    const struct dlq *self = arg;
    return reinject_idle(self->reinject);
}

/* What is still under way is on disk and goes on with the next start: nothing is left undone. */
int dlq_stop(void *arg)
{
    struct dlq *self = arg;
    if (self->timer > 0)
        (void)zloop_timer_end(ald_service_loop(self->service), self->timer);
    reinject_destroy(&self->reinject);
    judger_destroy(&self->judger);
    runner_destroy(&self->runner);
    copy_destroy(&self->copy);
    desk_destroy(&self->desk);
    shelf_destroy(&self->shelf);
    return 0;
}

/* ---- health ---- */

bool dlq_healthy(void *arg, char *out, size_t cap)
{
    const struct dlq *self = arg;
    const char *why = "";
    if (!shelf_ready(self->shelf))
        why = "The store of the letters has failed; it is being opened again.";
    else if (desk_full(self->desk))
        why = "The disk is full: letters wait at the tracker.";
    ald_text_cut(out, cap, ald_span_str(why));
    return why[0] == '\0';
}

void dlq_measure(void *arg)
{
    struct dlq *self = arg;
    int64_t made_at_ms = 0;
    int64_t now_ms = ald_clock_now().wall_ms;
    if (browse_oldest(self->shelf, &made_at_ms) != ALD_OK)
        made_at_ms = 0;
    int64_t age_ms = made_at_ms > 0 && now_ms > made_at_ms ? now_ms - made_at_ms : 0;
    meters_measure(shelf_tally(self->shelf), age_ms);
    ald_disk_measure(ald_service_settings(self->service)->store.data);
}
