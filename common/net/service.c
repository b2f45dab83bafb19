#include "common/net/service.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/ident.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/config/fit.h"
#include "common/net/control.h"
#include "common/net/reload.h"
#include "common/net/service_args.h"
#include "common/net/service_meters.h"
#include "proto/channels.h"

enum {
    SERVICE_DRAIN_MS = 8000, /* unless the daemon asks for more */
    SERVICE_DRAIN_TICK_MS = 20
};

struct ald_service {
    const struct ald_service_ops *ops;
    void *context;
    zloop_t *loop;
    struct ald_settings settings;
    ald_profiles_t *profiles;
    ald_reload_t *reload;
    ald_control_t *control;
    char instance[ALD_ULID_SIZE];
    char channel[128]; /* of its control */
    int signals;
    bool draining;
    int64_t drain_ms; /* then we stop with work left */
    int64_t drain_until_ms;
    int64_t patience_ms;
    int exit_code;
};

/* The folder of a mode becomes a setting, where the mode finds it as the daemon does. */
static bool service_mode(ald_service_t *self, struct service_arguments *arguments)
{
    const struct ald_service_mode *mode = arguments->mode;
    char *path = realpath(arguments->folder, NULL);
    if (!path) {
        (void)fprintf(stderr, "aldaba-%s: %s: %s\n", self->ops->name, arguments->folder,
                      strerror(errno));
        return false;
    }
    int len =
        snprintf(arguments->mode_flag, sizeof arguments->mode_flag, "%s=%s", mode->setting, path);
    free(path);
    if (len >= (int)sizeof arguments->mode_flag) {
        (void)fprintf(stderr, "aldaba-%s: %s: the path is too long\n", self->ops->name,
                      arguments->folder);
        return false;
    }
    arguments->flags[arguments->flag_count++] = arguments->mode_flag;
    self->patience_ms = arguments->patience_ms >= 0 ? arguments->patience_ms : mode->patience_ms;
    self->ops = mode->ops;
    self->context = mode->self;
    return true;
}

/* Settings and profiles; says all that is wrong on stderr. */
static bool service_configure(ald_service_t *self, const struct service_arguments *arguments)
{
    struct ald_errors errors;
    ald_errors_init(&errors);
    bool ok = ald_settings_load(arguments->config, arguments->flags, arguments->flag_count, &errors,
                                &self->settings) == ALD_OK;
    if (ok && (self->ops->profiles || arguments->check)) {
        unsigned secrets = arguments->check ? 0 : self->ops->secrets;
        ok = ald_profiles_load(self->settings.providers, secrets, &errors, &self->profiles) ==
                 ALD_OK &&
             ald_settings_fit(&self->settings, self->profiles, &errors) &&
             ((secrets & ALD_SECRETS_SINKS) == 0 ||
              ald_settings_sinks(&self->settings, &errors) == ALD_OK);
        if (!ok) {
            ald_profiles_destroy(&self->profiles);
            ald_settings_free(&self->settings);
        }
    }
    if (!ok)
        (void)fputs(ald_errors_text(&errors), stderr);
    ald_errors_free(&errors);
    return ok;
}

static void service_reload_new(ald_service_t *self, const struct service_arguments *arguments)
{
    const struct ald_reload_source source = {.config = arguments->config,
                                             .flags = arguments->flags,
                                             .flag_count = arguments->flag_count,
                                             .profiles = self->ops->profiles,
                                             .secrets = self->ops->secrets};
    self->reload = ald_reload_new(&source);
}

static void service_print(const struct ald_settings *settings)
{
    struct ald_buf text;
    ald_buf_init(&text, 1 << 20);
    ald_settings_print(settings, &text);
    (void)fputs(ald_buf_str(&text), stdout);
    ald_buf_free(&text);
}

/* Bounds and manners of the process. */
static void service_process(void)
{
    (void)umask(0077);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of write, not our death */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    limit = (struct rlimit){0, 0};
    (void)setrlimit(RLIMIT_CORE, &limit); /* a core would hold secrets and results */
    zsys_handler_set(NULL);
    zsys_init();
    zsys_set_linger(0);
}

static void service_drain(void *arg);

static int service_drain_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop;
    (void)timer;
    ald_service_t *self = arg;
    if (self->ops->drained(self->context))
        return -1;
    if (ald_clock_now().mono_ms < self->drain_until_ms)
        return 0;
    ald_log(ALD_WARN, "service.undrained", "after_ms=%lld", (long long)self->drain_ms);
    return -1;
}

static void service_drain(void *arg)
{
    ald_service_t *self = arg;
    if (self->draining)
        return;
    self->draining = true;
    self->drain_ms = SERVICE_DRAIN_MS;
    (void)sd_notify(0, "STOPPING=1");
    ald_log(ALD_INFO, "service.drain", "instance=%s", self->instance);
    self->ops->drain(self->context);
    self->drain_until_ms = ald_clock_now().mono_ms + self->drain_ms;
    (void)zloop_timer(self->loop, SERVICE_DRAIN_TICK_MS, 0, service_drain_tick, self);
}

/* Everything that was read before is used until the daemon has let go of it. */
static void service_reload(ald_service_t *self)
{
    ald_profiles_t *fresh = NULL;
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
                     (long long)ald_clock_now().mono_ms * 1000);
    if (ald_reload_read(self->reload, &self->settings, self->profiles, &fresh) == ALD_OK) {
        ald_profiles_t *old = self->profiles;
        self->profiles = fresh;
        if (self->ops->reload)
            self->ops->reload(self->context, fresh);
        ald_profiles_destroy(&old);
    }
    (void)sd_notify(0, "READY=1");
}

static int service_signal(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop;
    (void)item;
    ald_service_t *self = arg;
    struct signalfd_siginfo info;
    while (read(self->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGHUP)
            service_drain(self);
        else if (!self->draining)
            service_reload(self);
    }
    return 0;
}

static bool service_signals(ald_service_t *self)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, NULL); /* before any thread is made */
    self->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return self->signals >= 0;
}

static bool service_healthy(void *arg, char *out, size_t cap)
{
    ald_service_t *self = arg;
    if (!self->draining) {
        bool healthy = self->ops->healthy(self->context, out, cap);
        if (healthy)
            ald_reload_note(self->reload, out, cap);
        return healthy;
    }
    ald_text_cut(out, cap, ald_span_str("draining"));
    return false;
}

void ald_service_measure(ald_service_t *self)
{
    char why[ALD_TEXT_MAX];
    service_meters_ready(service_healthy(self, why, sizeof why));
}

static void service_metrics(void *arg, struct ald_buf *out)
{
    ald_service_t *self = arg;
    ald_service_measure(self);
    if (self->ops->measure)
        self->ops->measure(self->context);
    ald_metrics_write(out);
}

/* Several pollers and gateways share one host: their control sockets carry a name. */
static const char *service_name(const ald_service_t *self)
{
    if (strcmp(self->ops->name, "gateway") == 0)
        return self->settings.gateway.name;
    if (strcmp(self->ops->name, "poller") != 0)
        return "";
    const char *name = self->settings.poller.name;
    return name[0] != '\0' ? name : self->instance + strlen(self->instance) - 6;
}

static enum ald_rc service_control(ald_service_t *self, struct ald_err *err)
{
    const char *name = service_name(self);
    char endpoint[ALD_PATH_MAX + 160];
    (void)snprintf(self->channel, sizeof self->channel, ALD_CHANNEL_CONTROL "-%s%s%s",
                   self->ops->name, name[0] != '\0' ? "-" : "", name);
    enum ald_rc rc =
        ald_sock_endpoint(&self->settings, self->channel, endpoint, sizeof endpoint, err);
    if (rc != ALD_OK)
        return rc;
    struct ald_control_ops ops = {.self = self,
                                  .healthy = service_healthy,
                                  .metrics = service_metrics,
                                  .drain = service_drain};
    return ald_control_new(self->loop, endpoint, &ops, &self->control, err);
}

static enum ald_rc service_folder(const char *path, struct ald_err *err)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return ALD_OK;
    return ald_err_set(err, ALD_IO,
                       "bus.run: cannot make the folder %s: %s; make it for the user of this "
                       "process, or name another",
                       path, strerror(errno));
}

static int service_beat(zloop_t *loop, int timer, void *arg)
{
    (void)loop;
    (void)timer;
    (void)arg;
    (void)sd_notify(0, "WATCHDOG=1");
    return 0;
}

static void service_announce(ald_service_t *self)
{
    char facts[256] = "";
    if (self->ops->ready)
        self->ops->ready(self->context, facts, sizeof facts);
    (void)fprintf(stderr, "ready service=%s version=%s pid=%ld%s%s\n", self->ops->name,
                  ALDABA_VERSION, (long)getpid(), facts[0] ? " " : "", facts);
    (void)sd_notify(0, "READY=1");
    uint64_t usec = 0;
    if (sd_watchdog_enabled(0, &usec) > 0)
        (void)zloop_timer(self->loop, (size_t)(usec / 2000), 0, service_beat, self);
}

static enum ald_rc service_start(ald_service_t *self, struct ald_err *err)
{
    bool alone = self->ops->alone;
    enum ald_rc rc = alone ? ALD_OK : service_folder(self->settings.bus.run, err);
    if (rc == ALD_OK && !alone)
        rc = service_control(self, err);
    if (rc == ALD_OK)
        rc = self->ops->start(self->context, self, err);
    return rc;
}

static int service_run(ald_service_t *self)
{
    self->loop = zloop_new();
    zloop_set_nonstop(self->loop, true);
    zmq_pollitem_t item = {.fd = self->signals, .events = ZMQ_POLLIN};
    (void)zloop_poller(self->loop, &item, service_signal, self);
    service_meters_open();
    struct ald_err err = {0};
    enum ald_rc rc = service_start(self, &err);
    if (rc == ALD_OK) {
        service_announce(self);
        (void)zloop_start(self->loop);
    } else {
        (void)fprintf(stderr, "aldaba-%s: %s\n", self->ops->name, err.text);
        self->exit_code = ALD_EXIT_UNAVAILABLE;
    }
    int left = self->ops->stop(self->context);
    ald_control_destroy(&self->control);
    zloop_destroy(&self->loop);
    return self->exit_code != 0 ? self->exit_code : left;
}

/* Stdout is the report's. */
static int service_verify(const struct ald_service_ops *ops, const char *dir)
{
    struct ald_report report = {.to = stdout};
    struct ald_err err = {0};
    enum ald_rc rc = ops->verify(dir, &report, &err);
    bool told = fflush(stdout) == 0 && !ferror(stdout);
    if (rc != ALD_OK || !told)
        (void)fprintf(stderr, "aldaba-%s: %s\n", ops->name,
                      rc != ALD_OK ? err.text : "the report can't be written");
    if (rc == ALD_CORRUPT)
        return ALD_EXIT_FAILED;
    if (rc != ALD_OK || !told)
        return ALD_EXIT_UNAVAILABLE;
    return report.problems > 0 ? ALD_EXIT_FAILED : 0;
}

int ald_service_main(int argc, char **argv, const struct ald_service_ops *ops, void *context)
{
    struct service_arguments arguments = {0};
    sigset_t reload;
    (void)sigemptyset(&reload);
    (void)sigaddset(&reload, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &reload, NULL); /* one that comes while we start is heeded then */
    service_arguments(argc, argv, ops, &arguments);
    if (arguments.verify)
        return service_verify(ops, arguments.verify);
    ald_service_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->ops = ops;
    self->context = context;
    int code = ALD_EXIT_UNAVAILABLE;
    if (arguments.folder && !service_mode(self, &arguments))
        goto out;
    code = ALD_EXIT_CONFIG;
    if (!service_configure(self, &arguments))
        goto out;
    code = 0;
    if (arguments.print)
        service_print(&self->settings);
    if (!arguments.print && !arguments.check) {
        ald_log_init(self->ops->name);
        ald_log_level_word(self->settings.log.level);
        ald_ulid_new(self->instance);
        service_reload_new(self, &arguments);
        if (self->settings.file[0] == '\0')
            ald_log(ALD_WARN, "settings.none",
                    "text=\"there is no settings file: defaults alone, and no provider; is "
                    "--config missing?\"");
        code = ALD_EXIT_UNAVAILABLE;
        if (service_signals(self)) {
            service_process();
            code = service_run(self);
            zsys_shutdown();
        }
        close(self->signals);
    }
    ald_reload_destroy(&self->reload);
    ald_profiles_destroy(&self->profiles);
    ald_settings_free(&self->settings);
out:
    free(self);
    return code;
}

zloop_t *ald_service_loop(ald_service_t *self)
{
    return self->loop;
}

const struct ald_settings *ald_service_settings(const ald_service_t *self)
{
    return &self->settings;
}

ald_profiles_t *ald_service_profiles(const ald_service_t *self)
{
    return self->profiles;
}

void ald_service_note(const ald_service_t *self, char *out, size_t cap)
{
    ald_reload_note(self->reload, out, cap);
}

const char *ald_service_instance(const ald_service_t *self)
{
    return self->instance;
}

const char *ald_service_channel(const ald_service_t *self)
{
    return self->channel;
}

bool ald_service_draining(const ald_service_t *self)
{
    return self->draining;
}

void ald_service_drain_more(ald_service_t *self, int64_t ms)
{
    self->drain_ms += ms;
}

int64_t ald_service_patience_ms(const ald_service_t *self)
{
    return self->patience_ms;
}

void ald_service_quit(ald_service_t *self, int exit_code)
{
    self->exit_code = exit_code;
    service_drain(self);
}
