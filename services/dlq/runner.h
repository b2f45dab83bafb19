/* runner.h - works off bulk replays, one at a time, in small steps between the loop's other work.
 *
 * A step asks for the attempts of a few letters and commits that with how far the replay has come;
 * reinject.h sends them, and the answers count themselves (shelf_update). A dry run asks the
 * tracker about a few letters instead and commits what it said. Where a replay stands is on disk
 * alone, so the next process goes on with it. Decides nothing (replay.h does). Threads: the loop's.
 */
#ifndef ALD_DLQ_RUNNER_H
#define ALD_DLQ_RUNNER_H

#include <czmq.h>

#include "services/dlq/copy.h"
#include "services/dlq/judger.h"
#include "services/dlq/replays.h"

typedef struct runner runner_t;

struct runner_options {
    shelf_t *shelf;
    const copy_t *copy; /* nothing is asked for while it holds */
    judger_t *judger;
    void *context;
    void (*on_work)(void *context); /* attempts are due */
};

runner_t *runner_new(zloop_t *loop, const struct runner_options *options);
/* After the judger, whose last answers it takes. */
void runner_destroy(runner_t **self_p);

/* There may be work: at the start, when one was begun or resumed, and now and then. */
void runner_wake(runner_t *self);
/* Take no more steps. */
void runner_drain(runner_t *self);

/* What the running replay waits for, "" = nothing. Borrowed. */
const char *runner_note(const runner_t *self);

#endif
