#include "services/poller/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { WATCH_EVENTS = 128 /* taken in a turn of the loop */ };

struct watch {
    zloop_t *loop;
    struct watch_options options;
    int epoll_fd;
    int timer_fd;
    int64_t armed_ms; /* monotonic, when the timer fires; INT64_MAX = it does not */
};

static int watch_epoll_fd(uint64_t data)
{
    return (int)(data & UINT32_MAX);
}

static int watch_on_ready(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void)loop, (void)item;
    watch_t *self = arg;
    const struct watch_options *options = &self->options;
    struct epoll_event events[WATCH_EVENTS];
    int count = epoll_wait(self->epoll_fd, events, WATCH_EVENTS, 0);
    for (int i = 0; i < count; i++) {
        int fd = watch_epoll_fd(events[i].data.u64);
        if (fd == self->timer_fd) {
            uint64_t fired = 0;
            (void)!read(self->timer_fd, &fired, sizeof fired);
            self->armed_ms = INT64_MAX;
            options->on_timer(options->self);
            continue;
        }
        const struct watch_ready ready = {
            .in = events[i].events & EPOLLIN,
            .out = events[i].events & EPOLLOUT,
            .broken = events[i].events & (EPOLLERR | EPOLLHUP),
        };
        options->on_fd(options->self, fd, (unsigned)(events[i].data.u64 >> 32), ready);
    }
    options->on_turn(options->self);
    return 0;
}

static enum ald_rc watch_open(watch_t *self, struct ald_err *err)
{
    self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    self->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (self->epoll_fd < 0 || self->timer_fd < 0 || !watch_fd(self, self->timer_fd, 0, true, false))
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
    *self = (watch_t){
        .loop = loop, .options = *options, .epoll_fd = -1, .timer_fd = -1, .armed_ms = INT64_MAX};
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
    if (self->epoll_fd >= 0)
        close(self->epoll_fd);
    free(self);
}

bool watch_fd(watch_t *self, int fd, unsigned tag, bool in, bool out)
{
    struct epoll_event event = {.events = (in ? EPOLLIN : 0u) | (out ? EPOLLOUT : 0u),
                                .data.u64 = (uint64_t)tag << 32 | (uint32_t)fd};
    if (epoll_ctl(self->epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0)
        return true;
    return errno == ENOENT && epoll_ctl(self->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

void watch_forget(watch_t *self, int fd)
{
    epoll_ctl(self->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

void watch_timer(watch_t *self, int64_t after_ms)
{
    int64_t at_ms = ald_clock_now().mono_ms + after_ms;
    if (self->armed_ms <= at_ms)
        return;
    const struct itimerspec when = {
        .it_value = {.tv_sec = after_ms / 1000,
                     .tv_nsec = after_ms > 0 ? after_ms % 1000 * 1000000 : 1},
    };
    timerfd_settime(self->timer_fd, 0, &when, NULL);
    self->armed_ms = at_ms;
}
