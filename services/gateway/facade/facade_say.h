/* facade_say.h - what a client of the facade is told: the state of tasks in, the protocol's own
 * words out.
 *
 * A client hears of an end when there is one; until then its task is not ready, whatever the
 * provider or aldaba suffer from. There is no new line at the end, and every answer has status 200,
 * as these protocols have it. Pure; any thread.
 */
#ifndef ALD_GATEWAY_FACADE_SAY_H
#define ALD_GATEWAY_FACADE_SAY_H

#include "proto/msg_query.h"
#include "services/gateway/facade/facade_ask.h"

/* What is known of one task that a client asks about. */
struct facade_state {
    bool done;              /* there is a result */
    struct ald_span result; /* borrowed */
    bool result_json;
    const char *code; /* without a result: the word for it, such as CAPCHA_NOT_READY; borrowed */
    int64_t created_ms;
    int64_t ended_ms;
};

/* Of a task as the tracker knows it; view NULL: it has none of this id, or another provider's. */
struct facade_state facade_state_of(enum facade_protocol protocol,
                                    const struct msg_task_view *view);
/* Nobody can be asked now: it is not ready. */
struct facade_state facade_state_unknown(void);

/* The answers, appended to out. */
void facade_say_taken(const struct facade_ask *ask, uint64_t id, struct ald_buf *out);
void facade_say_states(const struct facade_ask *ask, const struct facade_state *states,
                       size_t count, struct ald_buf *out);
void facade_say_wrong(const struct facade_ask *ask, const char *word, struct ald_buf *out);

/* Header lines of an answer. */
const char *facade_say_headers(const struct facade_ask *ask);

#endif
