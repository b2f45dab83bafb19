/* json_in.h - a small JSON object of a request, read into fields.
 *
 * Strict: unknown members, repeated ones, members of another type and texts that are too long are
 * errors with a sentence. Pure; any thread.
 */
#ifndef ALD_GATEWAY_JSON_IN_H
#define ALD_GATEWAY_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

/* What a member of any length is read into; its bytes are the caller's to free. */
struct json_in_bytes {
    bool set;
    struct ald_buf bytes; /* ald_buf_init by the caller, whose max is the member's */
};

enum json_in_kind {
    JSON_IN_TEXT,     /* char[cap]; an integer is taken as its digits */
    JSON_IN_DURATION, /* int64_t ms, at most ALD_LONGEST_MS, from a text such as "45s" */
    JSON_IN_BOOL,     /* bool */
    JSON_IN_NUMBER,   /* uint64_t below 2^53, from a whole number that is not negative */
    JSON_IN_LIST,     /* struct json_in_list: an array of objects, each given to take */
    JSON_IN_BYTES,    /* struct json_in_bytes, from a text */
    JSON_IN_BASE64,   /* the same, from base64; two members may fill one, but not at once */
    JSON_IN_SEEN      /* bool: is there such a member, whatever it holds */
};

struct json_in_object; /* one that is being read */

/* What is done with each object of an array, in their order. */
struct json_in_list {
    size_t max;
    enum ald_rc (*take)(void *arg, const struct json_in_object *object, struct ald_err *err);
    void *arg;
};

struct json_in_field {
    const char *name;
    enum json_in_kind kind;
    void *out; /* unchanged when the member is absent */
    size_t cap;
};

/* ALD_OK. ALD_MALFORMED: not a JSON object. ALD_INVALID: a member that is not allowed. err has the
 * sentence. An empty body is an empty object. */
ALD_NODISCARD enum ald_rc json_in_read(struct ald_span body, const struct json_in_field *fields,
                                       size_t count, struct ald_err *err);

/* The same of an object within it. */
ALD_NODISCARD enum ald_rc json_in_inside(const struct json_in_object *object,
                                         const struct json_in_field *fields, size_t count,
                                         struct ald_err *err);

#endif
