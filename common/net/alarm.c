#include "common/net/alarm.h"

#include "common/base/clock.h"
#include "common/base/guard.h"

struct ald_alarm {
    zloop_t *loop;
    ald_alarm_fn *ring;
    void *arg;
    int timer;     /* -1: none */
    int64_t at_ms; /* monotonic; INT64_MAX: not set */
};

static int alarm_rings(zloop_t *loop, int timer, void *arg)
{
    (void)loop;
    ald_alarm_t *self = arg;
    if (timer != self->timer) /* taken back in the turn in which it was due */
        return 0;
    self->timer = -1;
    self->at_ms = INT64_MAX;
    self->ring(self->arg);
    return 0;
}

ald_alarm_t *ald_alarm_new(zloop_t *loop, ald_alarm_fn *ring, void *arg)
{
    ald_alarm_t *self = zmalloc(sizeof *self);
    *self = (ald_alarm_t){.loop = loop, .ring = ring, .arg = arg, .timer = -1, .at_ms = INT64_MAX};
    return self;
}

static void alarm_take_back(ald_alarm_t *self)
{
    if (self->timer >= 0)
        (void)zloop_timer_end(self->loop, self->timer);
    self->timer = -1;
}

void ald_alarm_destroy(ald_alarm_t **self_p)
{
    if (!*self_p)
        return;
    alarm_take_back(*self_p);
    free(*self_p);
    *self_p = NULL;
}

void ald_alarm_by(ald_alarm_t *self, int64_t mono_ms)
{
    if (mono_ms >= self->at_ms)
        return;
    int64_t left_ms = mono_ms - ald_clock_now().mono_ms;
    alarm_take_back(self);
    self->at_ms = mono_ms;
    self->timer = zloop_timer(self->loop, left_ms > 0 ? (size_t)left_ms : 0, 1, alarm_rings, self);
    ALD_ASSERT(self->timer >= 0);
}

void ald_alarm_within(ald_alarm_t *self, int64_t ms)
{
    ald_alarm_by(self, ald_clock_now().mono_ms + ms);
}

int64_t ald_alarm_at(const ald_alarm_t *self)
{
    return self->at_ms;
}
