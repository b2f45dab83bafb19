#include "services/gateway/post.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/alarm.h"
#include "proto/channels.h"
#include "services/gateway/hints.h"
#include "services/gateway/ledger.h"
#include "services/gateway/numbers.h"

enum {
    POST_TICK_MS = 10, /* while something is under way */
    POST_WAVES = 16,
    POST_HINT_MAX = 4096
};

struct post {
    struct post_options options;
    zloop_t *loop;
    ald_courier_t *courier;
    drain_t *drain;
    numbers_t *numbers;
    hints_t *hints;
    int event;    /* eventfd: wakes the loop */
    bool watched; /* by it */
    ald_alarm_t *alarm;

    pthread_mutex_t lock; /* of the next six */
    struct item *first;
    struct item **last;
    size_t queued;
    size_t wake_at; /* items queued at which the loop must be woken; SIZE_MAX: it will look */
    unsigned wave;  /* what is queued now waits on this word */
    bool closed;

    /* The loop's. */
    struct item **late;
    size_t late_count;
    size_t late_cap;
    uint32_t woken; /* waves whose workers go on at the end of this turn */
    bool gathered;  /* the queue was looked at since the last turn */
    size_t waiting; /* items in the courier or late */

    _Atomic uint32_t turn[POST_WAVES]; /* what workers sleep on */
    _Atomic bool shut;
    _Atomic size_t held;
};

/* ---- workers ---- */

bool post_hold(post_t *self, size_t bytes)
{
    size_t max = (size_t)self->options.settings->gateway.intake_memory_bytes;
    size_t before = atomic_fetch_add(&self->held, bytes);
    if (before + bytes <= max)
        return true;
    (void)atomic_fetch_sub(&self->held, bytes);
    return false;
}

void post_drop(post_t *self, size_t bytes)
{
    (void)atomic_fetch_sub(&self->held, bytes);
}

uint64_t post_number(post_t *self)
{
    return numbers_next(self->numbers);
}

static void post_kick(post_t *self)
{
    const uint64_t one = 1;
    ssize_t n = write(self->event, &one, sizeof one);
    (void)n; /* a full counter wakes as well */
}

void post_hint(post_t *self, const char *provider, uint64_t task, unsigned attempt)
{
    hints_add(self->hints, provider, task, attempt);
    post_kick(self);
}

static void post_sleep(_Atomic uint32_t *word, uint32_t seen)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void post_wake(_Atomic uint32_t *word)
{
    (void)atomic_fetch_add_explicit(word, 1, memory_order_release);
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

enum item_end post_deliver(post_t *self, struct item *item)
{
    atomic_store_explicit(&item->end, ITEM_WAITS, memory_order_relaxed);
    item->next = NULL;
    (void)pthread_mutex_lock(&self->lock);
    bool closed = self->closed;
    bool kick = false;
    if (!closed) {
        item->wave = self->wave;
        *self->last = item;
        self->last = &item->next;
        kick = ++self->queued >= self->wake_at;
        if (kick)
            self->wake_at = SIZE_MAX;
    }
    (void)pthread_mutex_unlock(&self->lock);
    if (closed)
        return ITEM_REFUSED;
    if (kick)
        post_kick(self);
    _Atomic uint32_t *word = &self->turn[item->wave];
    for (;;) {
        uint32_t seen = atomic_load_explicit(word, memory_order_acquire);
        int end = atomic_load_explicit(&item->end, memory_order_acquire);
        if (end != ITEM_WAITS)
            return (enum item_end)end;
        if (atomic_load(&self->shut))
            return ITEM_REFUSED;
        post_sleep(word, seen);
    }
}

/* ---- the loop: time ---- */

/* Something is under way now, or lies here: the clock is looked at soon. */
static void post_stir(post_t *self)
{
    ald_alarm_within(self->alarm, POST_TICK_MS);
    if (self->options.on_stir)
        self->options.on_stir(self->options.self);
}

/* ---- the loop: numbers ---- */

/* Numbers for workers, where we give any. */
static void post_supply(post_t *self)
{
    if (!self->options.adopts && !numbers_supply(self->numbers))
        post_stir(self); /* tried again */
}

/* All numbers below are settled: those of this run by the window, older ones by the spool. */
static uint64_t post_floor(post_t *self)
{
    uint64_t floor = numbers_floor(self->numbers);
    struct ald_spool_stats stats;
    drain_stats(self->drain, &stats);
    return stats.items > 0 && stats.lowest_num < floor ? stats.lowest_num : floor;
}

/* ---- the loop: items ---- */

static void post_end(post_t *self, struct item *item, enum item_end end)
{
    numbers_mark(self->numbers, item->num);
    self->woken |= 1U << item->wave;
    atomic_store_explicit(&item->end, (int)end, memory_order_release);
}

static void post_take(post_t *self, struct item *item)
{
    if (item->bytes.len == 0) {
        post_end(self, item, ITEM_FORGOTTEN);
        return;
    }
    if (ald_courier_add(self->courier, item->num, item->bytes, item) != ALD_OK)
        post_end(self, item, ITEM_TOOBIG);
    else if (++self->waiting == 1)
        post_stir(self);
}

/* Hand what has gathered to the courier. */
static void post_gather(post_t *self)
{
    (void)pthread_mutex_lock(&self->lock);
    struct item *item = self->first;
    self->first = NULL;
    self->last = &self->first;
    self->queued = 0;
    if (item)
        self->wave = (self->wave + 1) % POST_WAVES;
    (void)pthread_mutex_unlock(&self->lock);
    while (item) {
        struct item *next = item->next; /* the worker may reuse it as soon as it has its end */
        post_take(self, item);
        item = next;
    }
}

static void post_settled(void *arg, void *tag, const struct msg_ack *ack)
{
    post_t *self = arg;
    if (!self->gathered) { /* what has gathered rides in the batch that the courier sends next */
        self->gathered = true;
        post_gather(self);
    }
    if (!tag || tag == drain_tag(self->drain)) {
        drain_acked(self->drain, ack, ald_clock_now().mono_ms);
        post_stir(self);
        return;
    }
    if (hints_owns(self->hints, tag)) {
        hints_told(self->hints, tag);
        numbers_mark(self->numbers, ack->num);
        return;
    }
    self->waiting--;
    bool refused = strcmp(ack->disposition, "refused") == 0;
    post_end(self, tag, refused ? ITEM_REFUSED : ITEM_ACKNOWLEDGED);
}

static void post_late(void *arg, uint64_t num, void *tag, bool sent)
{
    post_t *self = arg;
    post_stir(self);
    if (tag == drain_tag(self->drain)) {
        drain_late(self->drain, num, sent, ald_clock_now().mono_ms);
        return;
    }
    if (hints_owns(self->hints, tag)) {
        hints_untold(self->hints, tag, ald_clock_now().mono_ms);
        numbers_mark(self->numbers, num);
        return;
    }
    if (self->late_count == self->late_cap) {
        self->late_cap = self->late_cap == 0 ? 256 : self->late_cap * 2;
        self->late = realloc(self->late, self->late_cap * sizeof self->late[0]);
        ALD_ASSERT(self->late);
    }
    struct item *item = tag;
    item->sent = sent;
    self->late[self->late_count++] = item;
    if (self->late_count == 1)
        post_kick(self);
}

/* Tell of callbacks that were turned away, once the tracker listens. */
static void post_tell_hints(post_t *self, struct ald_now now)
{
    struct ald_buf bytes;
    struct msg_callback hint;
    void *tag = NULL;
    if (!hints_due(self->hints, now.mono_ms) || !post_welcomed(self))
        return;
    ald_buf_init(&bytes, POST_HINT_MAX);
    for (uint64_t num = 0; hints_due(self->hints, now.mono_ms) && (num = post_number(self)) != 0;) {
        bool taken = hints_take(self->hints, num, now.wall_ms, &hint, &tag);
        ald_buf_reset(&bytes);
        if (taken && (ald_wire_encode(&MSG_CALLBACK, &hint, &bytes) != ALD_OK ||
                      ald_courier_add(self->courier, num, ald_buf_span(&bytes), tag) != ALD_OK)) {
            hints_told(self->hints, tag); /* can't be; and it is a hint only */
            taken = false;
        }
        if (!taken)
            numbers_mark(self->numbers, num);
    }
    ald_buf_free(&bytes);
}

static void post_spool(post_t *self, struct ald_now now)
{
    if (self->late_count == 0)
        return;
    enum item_end *ends = calloc(self->late_count, sizeof *ends);
    ALD_ASSERT(ends);
    drain_store(self->drain, self->late, self->late_count, now, ends);
    post_stir(self);
    for (size_t i = 0; i < self->late_count; i++)
        post_end(self, self->late[i], ends[i]);
    self->waiting -= self->late_count;
    self->late_count = 0;
    free(ends);
}

static void post_head(void *arg, struct msg_batch *head)
{
    post_t *self = arg;
    head->floor = post_floor(self);
    drain_head(self->drain, head);
    ledger_head(head);
    keychain_head(self->options.keychain, head);
}

static void post_welcome(void *arg, const struct msg_welcome *welcome, bool fresh, zmsg_t *msg)
{
    post_t *self = arg;
    if (self->options.keyring)
        keyring_take(self->options.keyring, welcome->keys);
    keychain_told(self->options.keychain, welcome->jwks, msg);
    drain_welcomed(self->drain, welcome, fresh);
    post_stir(self);
}

static void post_away_now(void *arg)
{
    post_stir(arg);
}

static void post_wake_all(post_t *self)
{
    for (unsigned wave = 0; self->woken != 0; wave++) {
        if (self->woken & (1U << wave))
            post_wake(&self->turn[wave]);
        self->woken &= ~(1U << wave);
    }
}

/* One round: take, send, spool what is late, let go on. */
static void post_turn(post_t *self)
{
    post_gather(self);
    ald_courier_flush(self->courier);
    post_spool(self, ald_clock_now());
    post_wake_all(self);
    self->gathered = false;
    post_supply(self);
    /* When no batch may leave, the next answer looks at what has come in meanwhile. */
    size_t lacks = self->waiting == 0 ? 1 : ald_courier_lacks(self->courier);
    if (lacks == 0)
        lacks = 1;
    (void)pthread_mutex_lock(&self->lock);
    bool again = self->queued >= lacks;
    self->wake_at = again ? SIZE_MAX : lacks;
    (void)pthread_mutex_unlock(&self->lock);
    if (again)
        post_kick(self);
}

static void post_round(void *arg)
{
    post_turn(arg);
}

static int post_event(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop;
    post_t *self = arg;
    uint64_t count;
    (void)!read(item->fd, &count, sizeof count);
    post_turn(self);
    if (hints_count(self->hints) > 0)
        post_stir(self);
    return 0;
}

/* When the clock has something to say next. */
static int64_t post_next(post_t *self, int64_t now_ms)
{
    int64_t next_ms = drain_next_ms(self->drain);
    if (self->waiting > 0 || hints_count(self->hints) > 0)
        next_ms = 0;
    return next_ms > now_ms + POST_TICK_MS ? next_ms : now_ms + POST_TICK_MS;
}

static void post_ring(void *arg)
{
    post_t *self = arg;
    struct ald_now now = ald_clock_now();
    drain_turn(self->drain, self->waiting > 0, now.mono_ms);
    post_tell_hints(self, now);
    post_turn(self);
    ald_alarm_by(self->alarm, post_next(self, now.mono_ms));
    if (self->options.on_stir)
        self->options.on_stir(self->options.self);
}

/* ---- life ---- */

static enum ald_rc post_open(post_t *self, struct ald_err *err)
{
    const struct ald_settings *settings = self->options.settings;
    char endpoint[ALD_PATH_MAX + ALD_ENDPOINT_MAX];
    enum ald_rc rc =
        ald_sock_endpoint(settings, ALD_CHANNEL_EVENTS, endpoint, sizeof endpoint, err);
    if (rc != ALD_OK)
        return rc;
    const struct ald_courier_options options = {
        .endpoint = endpoint,
        .role = "gateway",
        .sender = ald_spool_id(drain_spool(self->drain)),
        .instance = self->options.adopts ? MSG_NUMBERLESS : self->options.instance,
        .heartbeat_ms = settings->bus.heartbeat_ms,
        .resend_after_ms = settings->gateway.resend_after_ms,
        .ack_min_ms = settings->gateway.ack_min_ms,
        .ack_max_ms = settings->gateway.ack_max_ms,
        .self = self,
        .on_settled = post_settled,
        .on_late = post_late,
        .on_head = post_head,
        .on_welcome = post_welcome,
        .on_away = post_away_now,
        .on_round = post_round};
    return ald_courier_new(self->loop, &options, &self->courier, err);
}

enum ald_rc post_new(zloop_t *loop, const struct post_options *options, post_t **out,
                     struct ald_err *err)
{
    *out = NULL;
    post_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->options = *options;
    self->loop = loop;
    self->drain = options->drain;
    self->hints = hints_new();
    self->last = &self->first;
    self->alarm = ald_alarm_new(loop, post_ring, self);
    (void)pthread_mutex_init(&self->lock, NULL);
    self->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ALD_ASSERT(self->event >= 0);
    ald_spool_t *spool = drain_spool(self->drain);
    self->numbers = numbers_new(spool, options->adopts ? ald_spool_last_number(spool) + 1
                                                       : ald_spool_next_number(spool));
    enum ald_rc rc = post_open(self, err);
    if (rc != ALD_OK) {
        post_destroy(&self);
        return rc;
    }
    drain_use(self->drain, self->courier, options->adopts ? 0 : ald_spool_next_number(spool));
    post_supply(self);
    zmq_pollitem_t item = {.fd = self->event, .events = ZMQ_POLLIN};
    (void)zloop_poller(loop, &item, post_event, self);
    zloop_poller_set_tolerant(loop, &item);
    self->watched = true;
    self->wake_at = 1;
    post_stir(self);
    *out = self;
    return ALD_OK;
}

void post_close(post_t *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->closed = true;
    (void)pthread_mutex_unlock(&self->lock);
    numbers_close(self->numbers);
    atomic_store(&self->shut, true);
    for (unsigned wave = 0; wave < POST_WAVES; wave++)
        post_wake(&self->turn[wave]);
}

void post_destroy(post_t **self_p)
{
    post_t *self = *self_p;
    if (!self)
        return;
    if (self->watched) {
        zmq_pollitem_t item = {.fd = self->event, .events = ZMQ_POLLIN};
        zloop_poller_end(self->loop, &item);
    }
    ald_alarm_destroy(&self->alarm);
    ald_courier_destroy(&self->courier);
    hints_destroy(&self->hints);
    close(self->event);
    (void)pthread_mutex_destroy(&self->lock);
    numbers_destroy(&self->numbers);
    free(self->late);
    free(self);
    *self_p = NULL;
}

bool post_idle(const post_t *self)
{
    return self->waiting == 0 && ald_courier_items(self->courier) == 0;
}

bool post_away(const post_t *self)
{
    return ald_courier_away(self->courier);
}

bool post_welcomed(const post_t *self)
{
    return ald_courier_receiver(self->courier)[0] != '\0' && !ald_courier_away(self->courier);
}

size_t post_held(const post_t *self)
{
    return atomic_load(&self->held);
}

size_t post_items(const post_t *self)
{
    return ald_courier_items(self->courier);
}
