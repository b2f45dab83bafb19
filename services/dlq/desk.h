/* desk.h - the channel `letters`: letters in, and the questions and commands of people.
 *
 * While the shelf is not ready nothing that would need it is acknowledged: hellos and batches stay
 * without an answer, so that senders keep what they have, and questions are answered `io`. With a
 * full disk, and while the copy holds, batches are answered `busy`. Frames that can't be read are
 * counted and dropped. Who may ask what is checked by the gateway's API; the channel is for this
 * host's processes. Threads: the loop's.
 */
#ifndef ALD_DLQ_DESK_H
#define ALD_DLQ_DESK_H

#include <czmq.h>

#include "services/dlq/copy.h"
#include "services/dlq/judger.h"
#include "services/dlq/runner.h"
#include "services/dlq/shelf.h"

typedef struct desk desk_t;

struct desk_options {
    shelf_t *shelf;
    copy_t *copy;
    judger_t *judger; /* destroyed before the desk, which its last answers go through */
    runner_t *runner;
    const struct letter_plan *plan;
    const char *endpoint;
    uint64_t max_item_bytes;
    int64_t heartbeat_ms;
    void *context;
    void (*on_work)(void *context); /* something became due or has to be told */
};

ALD_NODISCARD enum ald_rc desk_new(zloop_t *loop, const struct desk_options *options, desk_t **out,
                                   struct ald_err *err);
void desk_destroy(desk_t **self_p);

/* Take no more letters: batches are answered `busy`. */
void desk_drain(desk_t *self);
/* True when the last batch found the disk full. */
bool desk_full(const desk_t *self);

#endif
