/* dlq.h - the daemon aldaba-dlq: its parts, put together on one loop.
 *
 * Start: settings, shelf (with the store's start-up protocol), letters channel, courier to the
 * tracker. One timer drives the schedule, the upkeep, and the opening again of a shelf that failed.
 * Threads: the loop's.
 */
#ifndef ALD_DLQ_DLQ_H
#define ALD_DLQ_DLQ_H

#include "common/net/service.h"
#include "services/dlq/copy.h"
#include "services/dlq/desk.h"
#include "services/dlq/judger.h"
#include "services/dlq/reinject.h"
#include "services/dlq/runner.h"
#include "services/dlq/upkeep.h"

struct dlq {
    ald_service_t *service;
    struct letter_plan plan;
    struct upkeep upkeep;
    shelf_t *shelf;
    copy_t *copy;
    judger_t *judger;
    runner_t *runner;
    desk_t *desk;
    reinject_t *reinject;
    int timer;         /* 0 = none yet */
    int64_t wall_ms;   /* at the last tick: shows a clock that was set back */
    int64_t opened_ms; /* mono, of the last try to open the shelf */
    int64_t beat_ms;   /* mono */
    int64_t purged_ms; /* mono */
    bool purging;      /* more is to go */
};

/* As the functions of struct ald_service_ops; self is a struct dlq. */
enum ald_rc dlq_start(void *self, ald_service_t *service, struct ald_err *err);
void dlq_reload(void *self, ald_profiles_t *fresh);
void dlq_drain(void *self);
bool dlq_drained(void *self);
int dlq_stop(void *self);
bool dlq_healthy(void *self, char *out, size_t cap);
void dlq_measure(void *self);

#endif
