#include "services/gateway/adopt.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "proto/channels.h"
#include "services/gateway/drain.h"
#include "services/gateway/ledger.h"
#include "services/gateway/post.h"

enum {
    ADOPT_TICK_MS = 20,
    ADOPT_TELL_MS = 3000, /* so long the tracker may take to hear that nothing is left */
    ADOPT_DAMAGED = 1     /* exit code */
};

struct adopt {
    ald_service_t *service;
    drain_t *drain;
    post_t *post;
    int timer;
    struct ald_spool_stats found; /* at the start */
    uint64_t left;                /* items, when they became fewer */
    int64_t moved_ms;             /* then; monotonic */
    bool over;                    /* nothing is waited for any more */
    bool stopped;                 /* from outside */
};

static const char *adopt_dir(const adopt_t *self)
{
    return ald_service_settings(self->service)->gateway.spool;
}

/* ---- the loop ---- */

static bool adopt_ends(adopt_t *self, int64_t now_ms)
{
    struct ald_spool_stats stats;
    drain_stats(self->drain, &stats);
    if (stats.items < self->left) {
        self->left = stats.items;
        self->moved_ms = now_ms;
    }
    int64_t silent_ms = now_ms - self->moved_ms;
    if (stats.items == 0)
        return post_idle(self->post) &&
               (drain_told_empty(self->drain) || silent_ms >= ADOPT_TELL_MS);
    bool oversized = drain_oversized(self->drain) >= stats.items && post_idle(self->post);
    return oversized || silent_ms >= ald_service_patience_ms(self->service);
}

static int adopt_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop;
    (void)timer;
    adopt_t *self = arg;
    if (self->over || !adopt_ends(self, ald_clock_now().mono_ms))
        return 0;
    self->over = true;
    ald_service_quit(self->service, 0); /* the code is adopt_stop's */
    return 0;
}

/* ---- life ---- */

static enum ald_rc adopt_open(adopt_t *self, struct ald_err *err)
{
    const struct ald_settings *settings = ald_service_settings(self->service);
    enum ald_rc rc = ald_spool_find(adopt_dir(self), err);
    if (rc == ALD_OK)
        rc = drain_new(settings, NULL, &self->drain, err);
    if (rc == ALD_EXISTS)
        rc = ald_err_set(err, rc,
                         "A gateway has this spool, or somebody else drains it: let that go on, or "
                         "stop it first: %s",
                         adopt_dir(self));
    if (rc != ALD_OK)
        return rc;
    const struct post_options options = {.settings = settings,
                                         .instance = ald_service_instance(self->service),
                                         .drain = self->drain,
                                         .adopts = true};
    return post_new(ald_service_loop(self->service), &options, &self->post, err);
}

static enum ald_rc adopt_start(void *arg, ald_service_t *service, struct ald_err *err)
{
    adopt_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    *(adopt_t **)arg = self;
    self->service = service;
    self->timer = -1;
    ledger_register();
    enum ald_rc rc = adopt_open(self, err);
    if (rc != ALD_OK)
        return rc;
    drain_stats(self->drain, &self->found);
    self->left = self->found.items;
    self->moved_ms = ald_clock_now().mono_ms;
    self->timer = zloop_timer(ald_service_loop(service), ADOPT_TICK_MS, 0, adopt_tick, self);
    return ALD_OK;
}

static void adopt_ready(void *arg, char *out, size_t cap)
{
    const adopt_t *self = *(adopt_t **)arg;
    (void)snprintf(out, cap, "drains=%llu", (unsigned long long)self->found.items);
}

static void adopt_drain(void *arg)
{
    adopt_t *self = *(adopt_t **)arg;
    self->stopped = !self->over;
}

static bool adopt_drained(void *arg)
{
    const adopt_t *self = *(adopt_t **)arg;
    struct ald_spool_stats stats;
    drain_stats(self->drain, &stats);
    return self->over || (post_idle(self->post) && (stats.items == 0 || post_away(self->post)));
}

/* ---- the end ---- */

/* Why something is left, as the end of a sentence. */
static void adopt_why(const adopt_t *self, char *out, size_t cap)
{
    char endpoint[ALD_PATH_MAX + ALD_ENDPOINT_MAX] = "";
    const struct ald_settings *settings = ald_service_settings(self->service);
    (void)!ald_sock_endpoint(settings, ALD_CHANNEL_EVENTS, endpoint, sizeof endpoint, NULL);
    if (ald_spool_failed(drain_spool(self->drain)))
        (void)snprintf(out, cap, "the spool fails: %s",
                       ald_spool_message(drain_spool(self->drain)));
    else if (!post_welcomed(self->post))
        (void)snprintf(out, cap, "no tracker answers at %s", endpoint);
    else if (self->stopped)
        (void)snprintf(out, cap, "this was stopped");
    else if (drain_oversized(self->drain) > 0)
        (void)snprintf(out, cap, "%llu are larger than the tracker takes, the others wait",
                       (unsigned long long)drain_oversized(self->drain));
    else
        (void)snprintf(out, cap, "the tracker takes none now, and its log says why");
}

/* What became of it, for a person and for scripts. Returns the exit code. */
static int adopt_report(const adopt_t *self)
{
    struct ald_spool_stats stats;
    drain_stats(self->drain, &stats);
    uint64_t aside = stats.damaged - self->found.damaged;
    unsigned long long went = self->found.items - stats.items - aside;
    char why[ALD_PATH_MAX + ALD_ENDPOINT_MAX + 64];
    if (stats.damaged > 0)
        (void)fprintf(stderr,
                      "aldaba-gateway: %llu callbacks can't be read; they are kept in the table "
                      "damaged of %s, so keep that folder.\n",
                      (unsigned long long)stats.damaged, ALD_Q(adopt_dir(self)));
    if (stats.items > 0) {
        adopt_why(self, why, sizeof why);
        (void)fprintf(
            stderr,
            "aldaba-gateway: %llu callbacks went to the tracker, %llu are left in %s: %s. "
            "Nothing is lost; run it again.\n",
            went, (unsigned long long)stats.items, ALD_Q(adopt_dir(self)), ALD_Q(why));
        return ALD_EXIT_AGAIN;
    }
    (void)fprintf(stderr,
                  "aldaba-gateway: %llu callbacks went to the tracker; none waits in %s now.\n",
                  went, ALD_Q(adopt_dir(self)));
    return stats.damaged > 0 ? ADOPT_DAMAGED : 0;
}

static int adopt_stop(void *arg)
{
    adopt_t *self = *(adopt_t **)arg;
    if (!self)
        return 0;
    if (self->timer >= 0)
        (void)zloop_timer_end(ald_service_loop(self->service), self->timer);
    if (self->post)
        post_close(self->post);
    int code = self->post ? adopt_report(self) : 0;
    post_destroy(&self->post);
    drain_destroy(&self->drain);
    free(self);
    *(adopt_t **)arg = NULL;
    return code;
}

const struct ald_service_ops ADOPT_OPS = {
    .name = "gateway",
    .alone = true,
    .start = adopt_start,
    .ready = adopt_ready,
    .drain = adopt_drain,
    .drained = adopt_drained,
    .stop = adopt_stop,
};
