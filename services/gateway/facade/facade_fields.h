/* facade_fields.h - what a client of the facade sends, in whatever way, as one list of fields.
 *
 * Clients of these protocols put their parameters in the query, the body, or both, and often
 * declare another type than they send. So a body is read as what it looks like: a JSON object,
 * parts between boundaries, else pairs. Of a name that comes twice the last counts, and the body
 * goes over the query. A bad escape stands for itself. It knows no field by name but one: `body`
 * holds base64, whose pluses are pluses.
 *
 * Pure; any thread.
 */
#ifndef ALD_GATEWAY_FACADE_FIELDS_H
#define ALD_GATEWAY_FACADE_FIELDS_H

#include "common/base/buf.h"
#include "common/config/extract.h"

enum { FACADE_FIELDS_MAX = 96, FACADE_NAME_MAX = 64 };

struct facade_field {
    struct ald_span name;  /* UTF-8, 1 to FACADE_NAME_MAX bytes */
    struct ald_span text;  /* the value decoded; of a JSON list or object its text */
    struct ald_json json;  /* as it was written, when it came in JSON; else NONE */
    bool file;             /* its bytes are no text, or came with the name of a file */
    struct ald_span title; /* of a file: its name; may be empty */
    struct ald_span type;  /* of a file: what it is declared to be; may be empty */
};

struct facade_fields {
    size_t count;
    struct facade_field list[FACADE_FIELDS_MAX];
    bool full;     /* more came than fit */
    uint8_t *keep; /* what was decoded */
    size_t kept;
    size_t cap;
    struct ald_buf scratch;
};

/* Empty. free wipes what it held, for there are keys in it. */
void facade_fields_init(struct facade_fields *self);
void facade_fields_free(struct facade_fields *self);

/* Read a request. Everything is borrowed from it and from self. Call it once after init. False:
 * there are more fields than fit, or one has a name that is none; what was read before is there. */
ALD_NODISCARD bool facade_fields_read(struct facade_fields *self, struct ald_span query,
                                      const char *content_type, struct ald_span body);

/* The field of this name, in whatever case; NULL: there is none. */
const struct facade_field *facade_fields_find(const struct facade_fields *self, const char *name);

/* Its text without white space around it; empty when there is no such field. */
struct ald_span facade_fields_text(const struct facade_fields *self, const char *name);

#endif
