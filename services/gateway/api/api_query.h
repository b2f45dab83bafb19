/* api_query.h - the query of a request to the API, read into fields by a table.
 *
 * Strict, as json_in is with members: unknown names, repeated ones, and values that are not allowed
 * are errors with a sentence that says what is. A filter that was mistyped must not look like one
 * that finds nothing. Pure; any thread.
 */
#ifndef ALD_GATEWAY_API_QUERY_H
#define ALD_GATEWAY_API_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum api_query_kind {
    API_QUERY_TEXT,   /* char[cap] */
    API_QUERY_WORD,   /* char[cap], one of words, or "" */
    API_QUERY_NUMBER, /* uint64_t, at most max */
    API_QUERY_WAIT,   /* int64_t ms, from seconds or a text such as "30s"; at most max */
    API_QUERY_TASK,   /* uint64_t, the id of a task */
    API_QUERY_FLAG    /* bool: 1 or true or nothing, 0 or false */
};

struct api_query_field {
    const char *name;
    enum api_query_kind kind;
    void *out; /* unchanged when the name is absent */
    size_t cap;
    uint64_t max;
    const char *words; /* separated by ", ", as they are shown */
};

/* ALD_OK, or ALD_INVALID: err has the sentence. */
ALD_NODISCARD enum ald_rc api_query_read(struct ald_span query,
                                         const struct api_query_field *fields, size_t count,
                                         struct ald_err *err);

#endif
