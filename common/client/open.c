#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/client/handle.h"

enum {
    OPEN_BUFFER = 1000,
    OPEN_BUFFER_MAX = 10000,
    OPEN_BYTES = 4 * 1024 * 1024,
    OPEN_ACK_WAIT_MS = 30000,
    OPEN_LEAVE_MS = 1000 /* for the tracker to hear that this instance goes */
};

/* Why it can't be opened; the first one found. */
struct open_fault {
    char text[ALD_TEXT_MAX];
};

static void open_text(struct open_fault *fault, const char *name, const char *value, char *out,
                      size_t cap)
{
    if (!value || fault->text[0] != '\0')
        return;
    struct ald_span text = ald_span_str(value);
    if (!ald_text_utf8_ok(text) || ald_text_copy(out, cap, text) != ALD_OK)
        (void)snprintf(fault->text, sizeof fault->text, "%s: not UTF-8, or longer than %zu bytes",
                       name, cap - 1);
}

static void open_endpoint(struct open_fault *fault, const char *channel, const char *given,
                          const char *run, char *out)
{
    if (fault->text[0] != '\0')
        return;
    if (run && strncmp(run, "ipc://", 6) == 0)
        run += 6;
    int n = given ? snprintf(out, BUS_ENDPOINT_MAX, "%s", given)
                  : snprintf(out, BUS_ENDPOINT_MAX, "ipc://%s/%s", run ? run : "", channel);
    if (!given && !run)
        (void)snprintf(fault->text, sizeof fault->text,
                       "neither run, the folder of the sockets, nor %s is given", channel);
    else if (n < 0 || n >= BUS_ENDPOINT_MAX || !bus_allowed(out))
        (void)snprintf(fault->text, sizeof fault->text,
                       "%s: %.150s is no endpoint: ipc:///absolute/path or tcp://127.0.0.1:PORT",
                       channel, given ? given : run);
}

/* What the consumer's own options say about a live handle, which has none of them. */
static bool open_is_live(const struct aldaba_options *options)
{
    return !options->instance && !options->mode && options->max_deliver == 0 &&
           options->ack_wait_ms == 0 && options->max_ack_pending == 0;
}

static void open_numbers(aldaba_t *self, const struct aldaba_options *options,
                         struct open_fault *fault)
{
    self->buffer = options->buffer ? options->buffer : OPEN_BUFFER;
    self->buffer_bytes = options->buffer_bytes ? options->buffer_bytes : OPEN_BYTES;
    self->max_deliver = options->max_deliver;
    self->max_ack_pending = options->max_ack_pending;
    self->asked_wait_ms = options->ack_wait_ms;
    self->ack_wait_ms = options->ack_wait_ms > 0 ? options->ack_wait_ms : OPEN_ACK_WAIT_MS;
    if (fault->text[0] != '\0')
        return;
    if (self->buffer > OPEN_BUFFER_MAX || options->ack_wait_ms < 0)
        (void)snprintf(fault->text, sizeof fault->text,
                       "buffer is at most %d, and ack_wait_ms not negative", OPEN_BUFFER_MAX);
    else if (!options->consumer && !open_is_live(options))
        (void)snprintf(fault->text, sizeof fault->text,
                       "instance, mode, max_deliver, ack_wait_ms and max_ack_pending are of a "
                       "consumer, and consumer is not given");
    else if (options->consumer && self->consumer[0] == '\0')
        (void)snprintf(fault->text, sizeof fault->text, "consumer: the name is empty");
}

/* A topic ends in a dot at each level; without a provider all is heard. */
static void open_topic(aldaba_t *self)
{
    char *topic = self->bus.feed.topic;
    if (self->provider[0] == '\0')
        (void)snprintf(topic, BUS_TOPIC_MAX, "result.");
    else if (self->state[0] == '\0')
        (void)snprintf(topic, BUS_TOPIC_MAX, "result.%s.", self->provider);
    else
        (void)snprintf(topic, BUS_TOPIC_MAX, "result.%s.%s.", self->provider, self->state);
}

static void open_read(aldaba_t *self, const struct aldaba_options *options,
                      struct open_fault *fault)
{
    open_text(fault, "consumer", options->consumer, self->consumer, sizeof self->consumer);
    open_text(fault, "instance", options->instance, self->instance, sizeof self->instance);
    open_text(fault, "provider", options->provider, self->provider, sizeof self->provider);
    open_text(fault, "state", options->state, self->state, sizeof self->state);
    open_text(fault, "mode", options->mode, self->mode, sizeof self->mode);
    open_text(fault, "from", options->from, self->from, sizeof self->from);
    open_numbers(self, options, fault);
    open_endpoint(fault, "consume", options->consume, options->run, self->bus.consume.endpoint);
    if (!options->consumer) {
        open_endpoint(fault, "feed", options->feed, options->run, self->bus.feed.endpoint);
        open_topic(self);
        chain_init(&self->live.chain, self->from[0] ? self->from : "new");
        memcpy(self->live.given, self->live.chain.position, sizeof self->live.given);
        self->live.behind = true;
    }
    self->log = options->log;
    self->log_arg = options->log_arg;
}

/* A name of its own for this run; false: the system has no random bytes. */
static bool open_instance(aldaba_t *self)
{
    uint64_t random[2];
    self->comes_again = self->instance[0] != '\0';
    if (self->comes_again)
        return true;
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    (void)snprintf(self->instance, sizeof self->instance, "%016llx%016llx",
                   (unsigned long long)random[0], (unsigned long long)random[1]);
    return true;
}

static bool open_locks(aldaba_t *self)
{
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0)
        return false;
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&self->lock, NULL);
    (void)pthread_cond_init(&self->settled, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return true;
}

/* The thread inside, and those of libzmq that it is the parent of, take no signals. */
static bool open_thread(aldaba_t *self)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool runs = bus_open(&self->bus) == ALD_OK;
    if (runs && pthread_create(&self->thread, NULL, loop_run, self) != 0) {
        bus_close(&self->bus);
        runs = false;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return runs;
}

static void open_free(aldaba_t *self)
{
    if (self->ready_fd >= 0)
        (void)close(self->ready_fd);
    if (self->wake_fd >= 0)
        (void)close(self->wake_fd);
    (void)pthread_cond_destroy(&self->settled);
    (void)pthread_mutex_destroy(&self->lock);
    item_free(self->current);
    item_list_free(&self->queue);
    item_list_free(&self->live.hints);
    held_free(&self->held);
    free(self);
}

static bool open_start(aldaba_t *self)
{
    self->pid = getpid();
    self->called_ms = self->live.heard_ms = ald_clock_now().mono_ms;
    self->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    self->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return self->ready_fd >= 0 && self->wake_fd >= 0 && open_instance(self) && open_thread(self);
}

static enum aldaba_rc open_say(enum aldaba_rc rc, char *why, size_t why_bytes, const char *text)
{
    if (why && why_bytes > 0)
        ald_text_cut(why, why_bytes, ald_span_str(text));
    return rc;
}

/* A caller of an older version knows fewer options: the others have their defaults. */
static struct aldaba_options open_options(const struct aldaba_options *given)
{
    struct aldaba_options options = {0};
    memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    return options;
}

enum aldaba_rc aldaba_open(const struct aldaba_options *given, aldaba_t **out, char *why,
                           size_t why_bytes)
{
    struct open_fault fault = {{0}};
    if (!out)
        return open_say(ALDABA_INVALID, why, why_bytes, "out is NULL");
    *out = NULL;
    if (!given || given->size < offsetof(struct aldaba_options, consumer))
        return open_say(ALDABA_INVALID, why, why_bytes, "options.size is not set");
    struct aldaba_options options = open_options(given);
    aldaba_t *self = calloc(1, sizeof *self);
    if (!self || !open_locks(self)) {
        free(self);
        return open_say(ALDABA_SYSTEM, why, why_bytes, "out of memory");
    }
    self->ready_fd = self->wake_fd = -1;
    open_read(self, &options, &fault);
    if (fault.text[0] == '\0' && open_start(self)) {
        *out = self;
        return ALDABA_OK;
    }
    int code = errno;
    open_free(self);
    if (fault.text[0] != '\0')
        return open_say(ALDABA_INVALID, why, why_bytes, fault.text);
    return open_say(ALDABA_SYSTEM, why, why_bytes, strerror(code));
}

/* Wait under lock until done(self) or the time is up. */
static bool open_wait(aldaba_t *self, int wait_ms, bool done(const aldaba_t *))
{
    struct timespec end;
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += wait_ms / 1000;
    end.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    int late = 0;
    while (!done(self) && late == 0)
        late = wait_ms < 0 ? pthread_cond_wait(&self->settled, &self->lock)
                           : pthread_cond_timedwait(&self->settled, &self->lock, &end);
    return done(self);
}

static bool open_is_settled(const aldaba_t *self)
{
    return self->held.words == 0 || self->refused;
}

static bool open_is_closed(const aldaba_t *self)
{
    return self->durable.phase == PHASE_CLOSED;
}

static enum aldaba_rc open_flush(aldaba_t *self, int wait_ms)
{
    bool settled = open_wait(self, wait_ms, open_is_settled);
    if (self->held.words == 0)
        return ALDABA_OK;
    return settled ? ALDABA_REFUSED : ALDABA_LATE;
}

enum aldaba_rc aldaba_flush(aldaba_t *self, int wait_ms)
{
    if (!self)
        return ALDABA_INVALID;
    if (self->pid != getpid())
        return ALDABA_FORKED;
    (void)pthread_mutex_lock(&self->lock);
    enum aldaba_rc rc = open_flush(self, wait_ms);
    (void)pthread_mutex_unlock(&self->lock);
    return rc;
}

enum aldaba_rc aldaba_close(aldaba_t **self_p, int wait_ms)
{
    aldaba_t *self = self_p ? *self_p : NULL;
    if (!self)
        return ALDABA_OK;
    *self_p = NULL;
    if (self->pid != getpid())
        return ALDABA_FORKED;
    (void)pthread_mutex_lock(&self->lock);
    enum aldaba_rc rc = open_flush(self, wait_ms);
    if (handle_is_durable(self) && wait_ms != 0) {
        self->closing = true;
        handle_wake(self);
        (void)open_wait(self, OPEN_LEAVE_MS, open_is_closed);
    }
    self->ending = true;
    handle_wake(self);
    (void)pthread_mutex_unlock(&self->lock);
    (void)pthread_join(self->thread, NULL);
    bus_close(&self->bus);
    open_free(self);
    return rc;
}
