#include "services/poller/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { WATCH_EVENTS = 128 /* taken in a turn of the loop */ };

/* A connection is let go when its request has ended, and mostly taken again for the next one soon:
 * so who leaves is told to the kernel only when it says something of it, or, where nobody would
 * tell of its closing, at the turn's end. */
enum watch_state { WATCH_AWAY, WATCH_ON, WATCH_LEAVING };

/* What is known of a descriptor's number. */
struct watch_place {
    enum watch_state state;
    bool told;       /* its opening was, and its closing will be */
    uint32_t events; /* that the kernel watches it for, unless away */
    unsigned tag;
};

struct watch {
    zloop_t *loop;
    struct watch_options options;
    int epoll_fd;
    int timer_fd;
    int ring_fd; /* for the next turn: a timer of nothing costs an interrupt */
    bool rung;
    int64_t armed_ms;           /* monotonic, when the timer fires; INT64_MAX = it does not */
    struct watch_place *places; /* by descriptor */
    size_t place_count;
    int *leaving;
    size_t leaving_count, leaving_cap;
    bool turning; /* on_turn is to come */
};

static int watch_epoll_fd(uint64_t data)
{
    return (int)(data & UINT32_MAX);
}

static struct watch_place *watch_place(watch_t *self, int fd)
{
    size_t need = (size_t)fd + 1;
    if (need > self->place_count) {
        size_t count = need > 2 * self->place_count ? need : 2 * self->place_count;
        self->places = realloc(self->places, count * sizeof *self->places);
        ALD_ASSERT(self->places);
        for (size_t i = self->place_count; i < count; i++)
            self->places[i] = (struct watch_place){.state = WATCH_AWAY};
        self->place_count = count;
    }
    return &self->places[fd];
}

static void watch_drop(watch_t *self, int fd)
{
    epoll_ctl(self->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    watch_place(self, fd)->state = WATCH_AWAY;
}

static int watch_on_ready(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop, (void)item;
    watch_t *self = arg;
    const struct watch_options *options = &self->options;
    struct epoll_event events[WATCH_EVENTS];
    int count = epoll_wait(self->epoll_fd, events, WATCH_EVENTS, 0);
    self->turning = true;
    for (int i = 0; i < count; i++) {
        int fd = watch_epoll_fd(events[i].data.u64);
        if (fd == self->ring_fd) {
            self->rung = false;
            options->on_timer(options->self);
            continue;
        }
        if (fd == self->timer_fd) {
            uint64_t fired = 0;
            (void)!read(self->timer_fd, &fired, sizeof fired);
            self->armed_ms = INT64_MAX;
            options->on_timer(options->self);
            continue;
        }
        if (watch_place(self, fd)->told && watch_place(self, fd)->state == WATCH_LEAVING) {
            watch_drop(self, fd);
            continue;
        }
        const struct watch_ready ready = {
            .in = events[i].events & EPOLLIN,
            .out = events[i].events & EPOLLOUT,
            .broken = events[i].events & (EPOLLERR | EPOLLHUP),
        };
        options->on_fd(options->self, fd, (unsigned)(events[i].data.u64 >> 32), ready);
    }
    self->turning = false;
    options->on_turn(options->self);
    for (size_t i = 0; i < self->leaving_count; i++)
        if (watch_place(self, self->leaving[i])->state == WATCH_LEAVING)
            watch_drop(self, self->leaving[i]);
    self->leaving_count = 0;
    return 0;
}

static enum ald_rc watch_open(watch_t *self, struct ald_err *err)
{
    self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    self->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    self->ring_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    /* By edges: its count is of no interest, and is not read. */
    struct epoll_event ring = {.events = EPOLLIN | EPOLLET, .data.u64 = (uint32_t)self->ring_fd};
    if (self->epoll_fd < 0 || self->timer_fd < 0 || self->ring_fd < 0 ||
        epoll_ctl(self->epoll_fd, EPOLL_CTL_ADD, self->ring_fd, &ring) != 0 ||
        !watch_fd(self, self->timer_fd, 0, (struct watch_ready){.in = true}))
        return ald_err_set(err, ALD_IO, "cannot make an epoll set: %s", strerror(errno));
    zmq_pollitem_t item = {.fd = self->epoll_fd, .events = ZMQ_POLLIN};
    if (zloop_poller(self->loop, &item, watch_on_ready, self) != 0)
        return ald_err_set(err, ALD_IO, "the event loop takes no more descriptors");
    return ALD_OK;
}

enum ald_rc watch_new(zloop_t *loop, const struct watch_options *options, watch_t **out,
                      struct ald_err *err)
{
    watch_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    *self = (watch_t){.loop = loop,
                      .options = *options,
                      .epoll_fd = -1,
                      .timer_fd = -1,
                      .ring_fd = -1,
                      .armed_ms = INT64_MAX};
    enum ald_rc rc = watch_open(self, err);
    if (rc == ALD_OK)
        *out = self;
    else
        watch_destroy(&self);
    return rc;
}

void watch_destroy(watch_t **self_p)
{
    watch_t *self = *self_p;
    if (!self)
        return;
    *self_p = NULL;
    zmq_pollitem_t item = {.fd = self->epoll_fd, .events = ZMQ_POLLIN};
    if (self->epoll_fd >= 0)
        zloop_poller_end(self->loop, &item);
    if (self->timer_fd >= 0)
        close(self->timer_fd);
    if (self->ring_fd >= 0)
        close(self->ring_fd);
    if (self->epoll_fd >= 0)
        close(self->epoll_fd);
    free(self->leaving);
    free(self->places);
    free(self);
}

/* The kernel forgets a descriptor that was closed, and one of its number may be new. */
bool watch_fd(watch_t *self, int fd, unsigned tag, struct watch_ready what_for)
{
    struct watch_place *place = watch_place(self, fd);
    struct epoll_event event = {.events =
                                    (what_for.in ? EPOLLIN : 0u) | (what_for.out ? EPOLLOUT : 0u),
                                .data.u64 = (uint64_t)tag << 32 | (uint32_t)fd};
    bool known = place->state != WATCH_AWAY;
    if (known && place->told && place->events == event.events && place->tag == tag) {
        place->state = WATCH_ON;
        return true;
    }
    bool ok = epoll_ctl(self->epoll_fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0;
    if (!ok && (errno == ENOENT || errno == EEXIST))
        ok = epoll_ctl(self->epoll_fd, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) == 0;
    place->state = ok ? WATCH_ON : WATCH_AWAY;
    place->events = event.events;
    place->tag = tag;
    return ok;
}

void watch_forget(watch_t *self, int fd)
{
    struct watch_place *place = watch_place(self, fd);
    if (place->told && place->state != WATCH_AWAY) {
        place->state = WATCH_LEAVING;
        return;
    }
    if (!self->turning) {
        watch_drop(self, fd);
        return;
    }
    if (self->leaving_count == self->leaving_cap) {
        self->leaving_cap = self->leaving_cap ? 2 * self->leaving_cap : WATCH_EVENTS;
        self->leaving = realloc(self->leaving, self->leaving_cap * sizeof *self->leaving);
        ALD_ASSERT(self->leaving);
    }
    self->leaving[self->leaving_count++] = fd;
    place->state = WATCH_LEAVING;
}

void watch_opened(watch_t *self, int fd)
{
    *watch_place(self, fd) = (struct watch_place){.state = WATCH_AWAY, .told = true};
}

void watch_closing(watch_t *self, int fd)
{
    *watch_place(self, fd) = (struct watch_place){.state = WATCH_AWAY};
}

static void watch_ring(watch_t *self)
{
    const uint64_t one = 1;
    self->rung = write(self->ring_fd, &one, sizeof one) == (ssize_t)sizeof one;
    ALD_ASSERT(self->rung); /* 2^64 - 1 of them were never read otherwise */
}

void watch_timer(watch_t *self, int64_t after_ms)
{
    if (self->rung)
        return;
    if (after_ms <= 0) {
        watch_ring(self);
        return;
    }
    int64_t at_ms = ald_clock_mono_ms() + after_ms;
    if (self->armed_ms <= at_ms)
        return;
    const struct itimerspec when = {
        .it_value = {.tv_sec = after_ms / 1000, .tv_nsec = after_ms % 1000 * 1000000}};
    timerfd_settime(self->timer_fd, 0, &when, NULL);
    self->armed_ms = at_ms;
}

void watch_turn(watch_t *self)
{
    if (!self->turning)
        watch_timer(self, 0);
}
