/* facade_parts.h - the parts of a multipart body, as loosely as servers of forms read them.
 *
 * The boundary is the declared one if the body has it, else the body's first line: clients declare
 * none, or another. Lines may end without CR, the last boundary may be missing. Pure; any thread.
 */
#ifndef ALD_GATEWAY_FACADE_PARTS_H
#define ALD_GATEWAY_FACADE_PARTS_H

#include <stdbool.h>

#include "common/base/guard.h"
#include "common/base/span.h"

struct facade_parts {
    struct ald_span rest;
    struct ald_span boundary; /* with its dashes */
};

struct facade_part {
    struct ald_span name;
    struct ald_span title; /* name of the file; may be empty */
    struct ald_span type;
    struct ald_span content;
    bool file; /* it has a name of a file, if an empty one */
};

/* Does the body look like parts? True: walk it. content_type may be NULL. */
ALD_NODISCARD bool facade_parts_begin(struct facade_parts *self, const char *content_type,
                                      struct ald_span body);

/* Step. False: no more. A part without a name has an empty one. */
ALD_NODISCARD bool facade_parts_next(struct facade_parts *self, struct facade_part *part);

#endif
