/* facade_word.h - what the end of a task is called in the protocols that clients of the facade
 * speak: in.php with its pingback, createTask with its callbackUrl. Pure; any thread.
 */
#ifndef ALD_CONFIG_FACADE_WORD_H
#define ALD_CONFIG_FACADE_WORD_H

#include "common/base/buf.h"
#include "proto/words.h"

enum ald_facade_protocol { ALD_FACADE_PLAIN, ALD_FACADE_TASKS };

/* The word for a task that has ended without a result: the provider's code, where a client takes it
 * for an end; borrowed from code, or static. */
const char *ald_facade_word(enum ald_facade_protocol protocol, enum ald_state state,
                            const char *code);

/* The number of an error of createTask; 1 for what has none. */
int ald_facade_error(const char *code);

/* How a task ended. */
struct ald_facade_end {
    uint64_t task;
    enum ald_state state;
    struct ald_span result;
    bool result_json;
    const char *code;
};

/* Write the body of a pingback: a form with id and code; or JSON, as the answer to getTaskResult
 * with the task's id. */
void ald_facade_pingback(enum ald_facade_protocol protocol, const struct ald_facade_end *end,
                         struct ald_buf *out);

#endif
