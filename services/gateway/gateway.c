#include "services/gateway/gateway.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/net/alarm.h"
#include "common/store/disk_meter.h"
#include "services/gateway/api/api.h"
#include "services/gateway/door.h"
#include "services/gateway/drain.h"
#include "services/gateway/facade/facade.h"
#include "services/gateway/ledger.h"

enum {
    GATEWAY_TICK_MS = 50,        /* while somebody is waited for, or something has changed */
    GATEWAY_IDLE_MS = 1000,      /* else */
    GATEWAY_MAPPED = 256 * 1024, /* an allocation this large goes back to the system when freed */
    GATEWAY_KEEP_ALIVE_MS = 1000,
    GATEWAY_API_KEEP_ALIVE_MS = 2000,
    GATEWAY_API_TIMEOUT_MS = 10000,
    GATEWAY_FILES = 64, /* descriptors besides connections */
    GATEWAY_QUEUE_MIN = 16,
    GATEWAY_QUEUE_MAX = 256
};

struct gateway {
    ald_service_t *service;
    int event; /* eventfd: a listener's thread wakes the loop; -1: none */
    ald_alarm_t *alarm;
    drain_t *drain;
    keyring_t *keyring;
    keychain_t *keychain;
    post_t *post;
    caller_t *caller;
    struct peer_rules peers;
    current_t *current;
    struct door door;
    struct api api;
    http_t *public;
    http_t *private;
    int64_t leave_ms; /* when the doors may close, monotonic; 0: at once */
};

static struct ald_metric gateway_spool_items = {.kind = ALD_GAUGE,
                                                .name = "aldaba_gateway_spool_items",
                                                .help = "Callbacks that wait in the spool."};
static struct ald_metric gateway_spool_bytes = {.kind = ALD_GAUGE,
                                                .name = "aldaba_gateway_spool_bytes",
                                                .help = "Bytes of callbacks in the spool."};
static struct ald_metric gateway_spool_oldest = {.kind = ALD_GAUGE_MS,
                                                 .name = "aldaba_gateway_spool_oldest_seconds",
                                                 .help =
                                                     "Age of the oldest callback in the spool."};
static struct ald_metric gateway_spool_oversized = {
    .kind = ALD_GAUGE,
    .name = "aldaba_gateway_spool_oversized",
    .help = "Callbacks of the spool that are larger than the tracker takes, and wait."};
static struct ald_metric gateway_spool_damaged = {
    .kind = ALD_GAUGE,
    .name = "aldaba_gateway_spool_damaged",
    .help = "Callbacks of the spool that can't be read, moved aside."};
static struct ald_metric gateway_held = {.kind = ALD_GAUGE,
                                         .name = "aldaba_gateway_intake_bytes",
                                         .help = "Bytes of request bodies held in memory."};
static struct ald_metric gateway_items = {.kind = ALD_GAUGE,
                                          .name = "aldaba_gateway_under_way",
                                          .help = "Callbacks that the tracker has not answered."};
static struct ald_metric gateway_waiters = {.kind = ALD_GAUGE,
                                            .name = "aldaba_gateway_api_waiters",
                                            .help = "Long polls and event streams."};

static void gateway_gauge(gateway_t *self)
{
    int64_t now_ms = ald_clock_now().wall_ms;
    struct ald_spool_stats stats;
    drain_stats(self->drain, &stats);
    int64_t oldest_ms = drain_oldest_ms(self->drain, now_ms);
    ald_metric_set(&gateway_spool_items, (int64_t)stats.items);
    ald_metric_set(&gateway_spool_bytes, (int64_t)stats.bytes);
    ald_metric_set(&gateway_spool_oldest, oldest_ms);
    ald_metric_set(&gateway_spool_damaged, (int64_t)stats.damaged);
    ald_metric_set(&gateway_spool_oversized, (int64_t)drain_oversized(self->drain));
    ald_metric_set(&gateway_held, (int64_t)post_held(self->post));
    ald_metric_set(&gateway_items, (int64_t)post_items(self->post));
    ald_metric_set(&gateway_waiters, atomic_load(&self->api.waiters));
    atomic_store(&self->api.welcomed, post_welcomed(self->post));
    atomic_store(&self->api.writable, drain_writable(self->drain));
    atomic_store(&self->api.spool_items, (int64_t)stats.items);
    atomic_store(&self->api.spool_oldest_ms, oldest_ms);
    atomic_store(&self->api.spool_damaged, (int64_t)stats.damaged);
    atomic_store(&self->api.spool_oversized, (int64_t)drain_oversized(self->drain));
}

void gateway_measure(void *arg)
{
    gateway_t *self = *(gateway_t **)arg;
    gateway_gauge(self);
    ald_disk_measure(ald_service_settings(self->service)->gateway.spool);
}

/* ---- time ---- */

static void gateway_ring(void *arg)
{
    gateway_t *self = arg;
    bool public = http_tick(self->public);
    bool private = http_tick(self->private);
    ald_service_measure(self->service);
    gateway_gauge(self);
    ald_alarm_within(self->alarm, public || private ? GATEWAY_TICK_MS : GATEWAY_IDLE_MS);
}

/* What is measured has changed. */
static void gateway_stir(void *arg)
{
    const gateway_t *self = arg;
    ald_alarm_within(self->alarm, GATEWAY_TICK_MS);
}

/* On a listener's thread: somebody is waited for. */
static void gateway_kick(void *arg)
{
    const gateway_t *self = arg;
    const uint64_t one = 1;
    (void)!write(self->event, &one, sizeof one);
}

static int gateway_event(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop;
    uint64_t count;
    (void)!read(item->fd, &count, sizeof count);
    gateway_stir(arg);
    return 0;
}

static void gateway_clock(gateway_t *self)
{
    zloop_t *loop = ald_service_loop(self->service);
    self->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ALD_ASSERT(self->event >= 0);
    zmq_pollitem_t item = {.fd = self->event, .events = ZMQ_POLLIN};
    (void)zloop_poller(loop, &item, gateway_event, self);
    zloop_poller_set_tolerant(loop, &item);
    self->alarm = ald_alarm_new(loop, gateway_ring, self);
}

static void gateway_clock_end(gateway_t *self)
{
    if (self->event < 0)
        return;
    zmq_pollitem_t item = {.fd = self->event, .events = ZMQ_POLLIN};
    zloop_poller_end(ald_service_loop(self->service), &item);
    ald_alarm_destroy(&self->alarm);
    close(self->event);
}

static void gateway_register(void)
{
    ledger_register();
    facade_register();
    struct ald_metric *const gauges[] = {&gateway_spool_items,   &gateway_spool_bytes,
                                         &gateway_spool_oldest,  &gateway_held,
                                         &gateway_items,         &gateway_waiters,
                                         &gateway_spool_damaged, &gateway_spool_oversized};
    for (size_t i = 0; i < ALD_COUNT(gauges); i++)
        ald_metric_register(gauges[i]);
}

/* ---- start ---- */

/* The keys are kept only once the spool is there. Without it nothing would say that what it held is
 * lost. */
static void gateway_miss_spool(const char *folder, const char *keys)
{
    char path[ALD_PATH_MAX + 32];
    struct stat facts;
    (void)snprintf(path, sizeof path, "%s/spool.db", folder);
    if (access(keys, F_OK) != 0 || (stat(path, &facts) == 0 && facts.st_size > 0))
        return;
    ald_log(ALD_ERROR, "spool.gone",
            "path=%s text=\"there was a spool here and now it is missing or empty: if it held "
            "callbacks that were answered 200, they are lost, and their tasks are polled\"",
            ALD_Q(path));
}

static enum ald_rc gateway_open(gateway_t *self, struct ald_err *err)
{
    const struct ald_settings *settings = ald_service_settings(self->service);
    zloop_t *loop = ald_service_loop(self->service);
    char keys[ALD_PATH_MAX + 32];
    (void)snprintf(keys, sizeof keys, "%s/callback.keys", settings->gateway.spool);
    gateway_miss_spool(settings->gateway.spool, keys);
    enum ald_rc rc = peer_rules_load(&settings->gateway.trusted_proxies, &self->peers, err);
    api_init(&self->api, settings);
    if (rc == ALD_OK)
        rc = drain_new(settings, ald_service_profiles(self->service), &self->drain, err);
    if (rc != ALD_OK)
        return rc;
    self->keyring = keyring_new(keys);
    (void)snprintf(keys, sizeof keys, "%s/provider.jwks", settings->gateway.spool);
    self->keychain = keychain_new(keys);
    self->api.actions = actions_new(settings->gateway.spool);
    const struct post_options options = {.settings = settings,
                                         .instance = ald_service_instance(self->service),
                                         .drain = self->drain,
                                         .keyring = self->keyring,
                                         .keychain = self->keychain,
                                         .on_stir = gateway_stir,
                                         .self = self};
    rc = post_new(loop, &options, &self->post, err);
    return rc == ALD_OK ? caller_new(loop, settings, &self->caller, err) : rc;
}

/* A proof that nothing can be checked with fails: better said at the start than looked for later.
 */
static void gateway_tell_keys(const gateway_t *self, const ald_profiles_t *profiles)
{
    for (size_t i = 0; i < ald_profiles_count(profiles); i++) {
        const struct ald_profile *profile = ald_profiles_at(profiles, i);
        const char *url = ald_auth_jwks(profile->auth, NULL);
        struct keychain_found found = {0};
        if (url[0] != '\0')
            keychain_look(self->keychain, profile->name, url, 0, &found);
        if (!ald_auth_ready(profile->auth) && found.keys.count == 0)
            ald_log(ALD_WARN, "auth.no_key", "provider=%s%s", profile->name,
                    url[0] != '\0' ? " text=\"its keys are fetched\"" : "");
    }
}

static void gateway_furnish(gateway_t *self)
{
    ald_profiles_t *profiles = ald_service_profiles(self->service);
    gateway_tell_keys(self, profiles);
    self->current = current_new(profiles);
    const struct ald_settings *settings = ald_service_settings(self->service);
    self->api.caller = self->caller;
    self->api.keyring = self->keyring;
    self->api.current = self->current;
    self->api.service = self->service;
    self->door.keyring = self->keyring;
    self->door.keychain = self->keychain;
    self->door.current = self->current;
    self->door.post = self->post;
    memcpy(self->door.retry, self->api.retry, sizeof self->door.retry);
    self->door.rules = (struct intake_rules){.default_provider = settings->gateway.default_provider,
                                             .peers = &self->peers,
                                             .max_body = settings->gateway.max_body_bytes,
                                             .max_item = settings->bus.max_item_bytes};
}

/* How many connections a listener may hold besides those that are served: with no descriptor left
 * the HTTP library asks the kernel for the next connection again and again. 0: not enough. */
static int64_t gateway_queue(const struct ald_settings *settings, struct ald_err *err)
{
    int64_t threads = settings->gateway.threads + settings->gateway.api_threads;
    int64_t least = GATEWAY_FILES + threads + 2 * (GATEWAY_QUEUE_MIN + 1);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT32_MAX)
        return GATEWAY_QUEUE_MAX;
    int64_t files = (int64_t)limit.rlim_cur;
    if (files < least) {
        (void)ald_err_set(
            err, ALD_INVALID,
            "%lld files may be open (RLIMIT_NOFILE), %lld are needed: raise the limit "
            "or lower gateway.threads and gateway.api_threads",
            (long long)files, (long long)least);
        return 0;
    }
    int64_t queue = GATEWAY_QUEUE_MIN + (files - least) / 2;
    return queue < GATEWAY_QUEUE_MAX ? queue : GATEWAY_QUEUE_MAX;
}

/* Where providers reach us: as told, else the public listener's own address. */
static void gateway_base(gateway_t *self)
{
    const struct ald_settings *settings = ald_service_settings(self->service);
    const char *url = settings->gateway.public_url;
    const char *listen = settings->gateway.public;
    char *base = self->api.base;
    if (url[0] != '\0')
        (void)snprintf(base, sizeof self->api.base, "%s", url);
    else
        (void)snprintf(base, sizeof self->api.base, "http://%.*s:%u",
                       (int)(strrchr(listen, ':') - listen), listen, http_port(self->public));
    size_t len = strlen(base);
    if (len > 0 && base[len - 1] == '/')
        base[len - 1] = '\0';
}

static enum ald_rc gateway_listen(gateway_t *self, struct ald_err *err)
{
    const struct ald_settings *settings = ald_service_settings(self->service);
    int64_t queue = gateway_queue(settings, err);
    if (queue == 0)
        return ALD_INVALID;
    const struct http_options door = {.listen = settings->gateway.public,
                                      .setting = "gateway.public",
                                      .threads = settings->gateway.threads,
                                      .queue = queue,
                                      .request_timeout_ms = settings->gateway.request_timeout_ms,
                                      .keep_alive_ms = GATEWAY_KEEP_ALIVE_MS,
                                      .self = &self->door,
                                      .worker_new = door_worker_new,
                                      .worker_free = door_worker_free,
                                      .handle = door_handle,
                                      .on_stir = gateway_kick,
                                      .stirred = self};
    const struct http_options api = {.listen = settings->gateway.private,
                                     .setting = "gateway.private",
                                     .threads = settings->gateway.api_threads,
                                     .queue = queue,
                                     .request_timeout_ms = GATEWAY_API_TIMEOUT_MS,
                                     .keep_alive_ms = GATEWAY_API_KEEP_ALIVE_MS,
                                     .self = &self->api,
                                     .worker_new = api_worker_new,
                                     .worker_free = api_worker_free,
                                     .handle = api_handle,
                                     .on_stir = gateway_kick,
                                     .stirred = self};
    enum ald_rc rc = http_start(&door, &self->public, err);
    if (rc != ALD_OK)
        return rc;
    gateway_base(self); /* of the port that it got, before anybody can ask for a URL */
    return http_start(&api, &self->private, err);
}

/* Left alone, the C library raises this bound to the largest body that was ever freed, and its
 * pools for threads then keep the holes that bodies of all sizes leave. */
static void gateway_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, GATEWAY_MAPPED);
}

enum ald_rc gateway_start(void *arg, ald_service_t *service, struct ald_err *err)
{
    gateway_memory();
    gateway_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    *(gateway_t **)arg = self;
    self->service = service;
    self->event = -1;
    gateway_register();
    gateway_clock(self);
    enum ald_rc rc = gateway_open(self, err);
    if (rc != ALD_OK)
        return rc;
    gateway_furnish(self);
    gateway_gauge(self); /* the first question may come before the loop turns */
    rc = gateway_listen(self, err);
    if (rc != ALD_OK)
        return rc;
    gateway_stir(self);
    return ALD_OK;
}

void gateway_ready(void *arg, char *out, size_t cap)
{
    const gateway_t *self = *(gateway_t **)arg;
    (void)snprintf(out, cap, "public=%u private=%u", http_port(self->public),
                   http_port(self->private));
}

bool gateway_healthy(void *arg, char *out, size_t cap)
{
    gateway_t *self = *(gateway_t **)arg;
    const char *why = NULL;
    if (!keyring_known(self->keyring))
        why = "the tracker has not told the callback keys yet";
    else if (!post_welcomed(self->post) && !drain_writable(self->drain))
        why = "the tracker is away and the spool can't be written";
    if (why)
        ald_text_cut(out, cap, ald_span_str(why));
    return why == NULL;
}

void gateway_reload(void *arg, ald_profiles_t *fresh)
{
    gateway_t *self = *(gateway_t **)arg;
    gateway_tell_keys(self, fresh);
    drain_renew(self->drain, fresh);
    current_set(self->current, fresh);
    gateway_stir(self);
}

/* ---- stop ---- */

/* Streams and waits end; callbacks that are under way still get their answer. With a delay those
 * that come get theirs, too, while a proxy learns from /readyz that it must send them elsewhere:
 * a listener that closes resets what the kernel has accepted and nobody has read. */
void gateway_drain(void *arg)
{
    gateway_t *self = *(gateway_t **)arg;
    int64_t delay_ms = ald_service_settings(self->service)->gateway.stop_delay_ms;
    atomic_store(&self->api.stopping, true);
    http_leave(self->public);
    http_leave(self->private);
    if (delay_ms > 0)
        self->leave_ms = ald_clock_now().mono_ms + delay_ms;
    ald_service_drain_more(self->service, delay_ms);
    gateway_stir(self);
}

/* Once nobody is sent here any more, whoever is here is served to the end. */
static bool gateway_left_alone(const gateway_t *self)
{
    return self->leave_ms == 0 ||
           (ald_clock_now().mono_ms >= self->leave_ms && http_idle(self->public));
}

bool gateway_drained(void *arg)
{
    const gateway_t *self = *(gateway_t **)arg;
    struct ald_spool_stats stats;
    if (!gateway_left_alone(self))
        return false;
    drain_stats(self->drain, &stats);
    return post_idle(self->post) && (stats.items == 0 || post_away(self->post));
}

static int gateway_left(const gateway_t *self)
{
    struct ald_spool_stats stats;
    if (!self->drain)
        return 0;
    drain_stats(self->drain, &stats);
    if (stats.items == 0)
        return 0;
    ald_log(ALD_WARN, "gateway.backlog",
            "items=%llu dir=%s text=\"acknowledged callbacks lie here; they go to the tracker at "
            "the next start, or by 'aldaba spool drain'\"",
            (unsigned long long)stats.items,
            ALD_Q(ald_service_settings(self->service)->gateway.spool));
    return ALD_EXIT_AGAIN;
}

int gateway_stop(void *arg)
{
    gateway_t *self = *(gateway_t **)arg;
    if (!self)
        return 0;
    if (self->post)
        post_close(self->post);
    if (self->caller)
        caller_close(self->caller);
    http_t **listeners[] = {&self->public, &self->private};
    http_stop(listeners, ALD_COUNT(listeners));
    gateway_clock_end(self);
    int left = gateway_left(self);
    post_destroy(&self->post);
    caller_destroy(&self->caller);
    drain_destroy(&self->drain);
    keyring_destroy(&self->keyring);
    keychain_destroy(&self->keychain);
    actions_destroy(&self->api.actions);
    current_destroy(&self->current);
    free(self);
    *(gateway_t **)arg = NULL;
    return left;
}
