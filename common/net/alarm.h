/* alarm.h - one timer for whatever a part of a process has to do next, in place of a tick: while
 * nothing is due the loop sleeps.
 *
 * Who puts something up for later says when with ald_alarm_by; the earliest time wins. When it
 * rings, everything that is due is done, and the alarm is set for what is next. So it may ring when
 * nothing is due any more, and whoever answers it looks at the clock.
 *
 * Threads: one owner, the loop's.
 */
#ifndef ALD_NET_ALARM_H
#define ALD_NET_ALARM_H

#include <czmq.h>
#include <stdint.h>

typedef struct ald_alarm ald_alarm_t;

typedef void ald_alarm_fn(void *arg);

/* Not set. ring is called by the loop, and may set it and may not destroy it. Nor may another timer
 * of that loop destroy it: czmq takes timers back at the end of a turn, and calls what was due. */
ald_alarm_t *ald_alarm_new(zloop_t *loop, ald_alarm_fn *ring, void *arg);
void ald_alarm_destroy(ald_alarm_t **self_p);

/* Ring at this monotonic time, or earlier if that was said before. INT64_MAX: nothing is due. */
void ald_alarm_by(ald_alarm_t *self, int64_t mono_ms);
/* The same, so many milliseconds from now. */
void ald_alarm_within(ald_alarm_t *self, int64_t ms);

/* When it rings next; INT64_MAX: not at all. */
int64_t ald_alarm_at(const ald_alarm_t *self);

#endif
