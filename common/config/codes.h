/* codes.h - what a provider's words for trouble mean: the code table of a profile.
 *
 * A row is found by its name or an alias, to the letter; then by the longest name that ends in `*`;
 * then it is `_default`. Rows named HTTP_429 also count when no rule reads a message and its status
 * is that. Pure; a compiled table may be read by any thread.
 */
#ifndef ALD_CONFIG_CODES_H
#define ALD_CONFIG_CODES_H

#include "common/config/load.h"
#include "common/config/profile.h"

enum { ALD_CODES_MAX = 256, ALD_CODE_NAME_MAX = 128 };

struct ald_code {
    const char *name; /* as it is written in the profile; without the star of a wildcard in match */
    enum ald_class cls;
    enum ald_scope scope;
    int64_t wait_ms;
    int64_t grace_ms;
    bool retry_after; /* the provider says how long, else wait_ms */
    bool block;
    bool
        resubmit; /* class failed: a new submission may succeed; if the profile's recover lets it */
    bool alert;   /* somebody should look at it */
};

/* A name by which a row is found. */
struct ald_code_name {
    const char *text;
    size_t len; /* of what must agree */
    bool prefix;
    unsigned row;
};

struct ald_codes {
    unsigned count;
    unsigned name_count;
    struct ald_code *rows;
    struct ald_code_name *names;
    int fallback; /* the row _default; -1 = none */
};

/* Compile the map `codes`. What is wrong was said. */
void ald_codes_load(struct ald_load *load, const struct ald_node *map, struct ald_codes *out);

/* The row of a code, NULL when not even _default is there. */
const struct ald_code *ald_codes_find(const struct ald_codes *self, struct ald_span code);

/* The row that names the code itself, not _default. */
const struct ald_code *ald_codes_named(const struct ald_codes *self, struct ald_span code);

/* How long to wait by the header Retry-After: seconds, or a date, which is counted from the
 * message's own header Date; at most a day. fallback_ms when it says nothing. */
int64_t ald_retry_after_ms(const struct ald_facts *facts, int64_t fallback_ms);

#endif
