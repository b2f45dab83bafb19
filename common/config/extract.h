/* extract.h - read JSON of strangers without changing it: a value is the span of its own bytes.
 *
 * A number is its lexeme and never a double, so that an id of 20 digits or a price of 0.00085 comes
 * out as it went in. A message is checked whole (RFC 8259, UTF-8, depth 64) before anything is
 * looked up. It writes no JSON but the canonical form, and keeps no tree: each look-up walks the
 * bytes. Pure; any thread.
 */
#ifndef ALD_CONFIG_EXTRACT_H
#define ALD_CONFIG_EXTRACT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum { ALD_JSON_DEPTH_MAX = 64, ALD_JSON_SORT_MAX = 100000 };

enum ald_json_kind {
    ALD_JSON_NONE, /* there is nothing */
    ALD_JSON_NULL,
    ALD_JSON_FALSE,
    ALD_JSON_TRUE,
    ALD_JSON_NUMBER,
    ALD_JSON_STRING,
    ALD_JSON_ARRAY,
    ALD_JSON_OBJECT
};

/* A checked value; raw is borrowed from the message, strings with their quotes. */
struct ald_json {
    enum ald_json_kind kind;
    struct ald_span raw;
};

/* A message without its byte order mark and outer white space. */
struct ald_span ald_message_trim(struct ald_span message);

/* Find the first complete value of a message. tail, which may be NULL, becomes what follows it,
 * trimmed: some servers append comments. ALD_MALFORMED: the message does not begin with a value;
 * *out is NONE. */
ALD_NODISCARD enum ald_rc ald_json_scan(struct ald_span message, struct ald_json *out,
                                        struct ald_span *tail);

/* Look up a JSON pointer (RFC 6901; "" is the value itself). Of a repeated key the last counts.
 * NONE when there is nothing, or the pointer has no right form. */
struct ald_json ald_json_find(struct ald_json value, const char *pointer);

/* Append a scalar as text: a string decoded, a number by its lexeme, true and false by name.
 * ALD_INVALID: not such a scalar. ALD_MALFORMED: the string holds \u0000 or half a surrogate pair,
 * which no text can. On both nothing useful was appended. */
ALD_NODISCARD enum ald_rc ald_json_text(struct ald_json value, struct ald_buf *out);

/* True when the value is a string or number whose text is this. */
bool ald_json_is(struct ald_json value, const char *text);

/* Append the canonical form: no white space, keys sorted, numbers by lexeme, strings with the
 * fewest escapes. ALD_TOOBIG: an object has more than ALD_JSON_SORT_MAX keys, or out is full. */
ALD_NODISCARD enum ald_rc ald_json_canonical(struct ald_json value, struct ald_buf *out);

/* The same without these values, which were found in it, and their keys. Those of kind NONE do not
 * matter. */
ALD_NODISCARD enum ald_rc ald_json_canonical_less(struct ald_json value,
                                                  const struct ald_json *left, size_t count,
                                                  struct ald_buf *out);

/* A walk over the members of a checked array or object. */
struct ald_json_walk {
    const uint8_t *at;
    const uint8_t *end;
    bool object;
};

/* Begin. A value without members has none to walk over. */
struct ald_json_walk ald_json_walk_begin(struct ald_json container);

/* Step. key becomes the member's key with its quotes, or empty in an array. False: no more. */
bool ald_json_walk_next(struct ald_json_walk *self, struct ald_span *key, struct ald_json *value);

/* Read one character of a string's inside at *at and step over it. Never past end.
 * 0 to 0x10ffff, or a surrogate when it has no partner. The string must have been checked. */
uint32_t ald_json_char(const uint8_t **at, const uint8_t *end);

#endif
