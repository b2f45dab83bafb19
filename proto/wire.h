/* wire.h - bounded MessagePack: a struct and a table of its fields, to bytes and back.
 *
 * A message is one flat map: `k` (kind, text) and `v` (version, 1...) first, then string keys with
 * scalar values. Reading never trusts: sizes are compared with what is left before they are used;
 * containers, floats, truncation, trailing bytes, repeated keys, NUL in text, text that is not
 * UTF-8, values longer than the field and missing required fields are refused. Unknown keys are
 * skipped with whatever they hold: at most 32 of them, and eight containers deep. Reading allocates
 * nothing. Facts about MessagePack: its specification, msgpack.org.
 *
 * What ald_wire_encode writes, ald_wire_decode takes: a message that is put on disk can be read.
 *
 * All functions are pure and may be called from any thread.
 */
#ifndef ALD_PROTO_WIRE_H
#define ALD_PROTO_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum { ALD_WIRE_FIELDS = 64 }; /* most fields of a schema */

/* How a field lies in the struct and on the wire. */
enum ald_field_kind {
    ALD_FIELD_TEXT, /* char[size]     <-> str, UTF-8 without NUL, at most size - 1 bytes */
    ALD_FIELD_U64,  /* uint64_t       <-> unsigned integer below 2^53 */
    ALD_FIELD_I64,  /* int64_t        <-> integer within +-2^53 */
    ALD_FIELD_BOOL, /* bool           <-> true, false */
    ALD_FIELD_ID,   /* uint64_t       <-> str of decimal digits, no leading zero; 0 is "" */
    ALD_FIELD_SPAN  /* struct ald_span <-> bin, at most size bytes; borrowed from the input */
};

struct ald_field {
    const char *key;
    enum ald_field_kind kind;
    size_t offset;
    size_t size; /* TEXT: of the array. SPAN: the most bytes. Else 0 */
    bool required;
    size_t key_len; /* of key */
};

struct ald_schema {
    const char *kind;
    unsigned version; /* written; a reader takes this and lower ones */
    size_t size;      /* of the struct */
    const struct ald_field *fields;
    size_t count;
};

/* Append msg to out. Optional fields that are zero, "" or empty are left out.
 * ALD_OK. ALD_TOOBIG: a value breaks its field's limit or out's maximum. ALD_INVALID: a text is not
 * UTF-8 (who takes text from strangers cleans it first). On failure out is as before. */
ALD_NODISCARD enum ald_rc ald_wire_encode(const struct ald_schema *schema, const void *msg,
                                          struct ald_buf *out);

/* Read bytes into msg, which is cleared first.
 * ALD_OK. ALD_MALFORMED: not such a map. ALD_MISSING: a required field is absent.
 * ALD_TOOBIG: a value is longer than its field. ALD_VERSION: a version newer than the schema's.
 * ALD_INVALID: another kind. On failure msg's content means nothing. */
ALD_NODISCARD enum ald_rc ald_wire_decode(const struct ald_schema *schema, void *msg,
                                          struct ald_span bytes);

/* The kind of a message, without reading the rest: fills kind (cap bytes) from the leading `k`.
 * ALD_OK, or ALD_MALFORMED. */
ALD_NODISCARD enum ald_rc ald_wire_kind(struct ald_span bytes, char *kind, size_t cap);

/* True if bytes are of this schema's kind: cheaper than ald_wire_kind. */
bool ald_wire_is(const struct ald_schema *schema, struct ald_span bytes);

#endif
