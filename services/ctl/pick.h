/* pick.h - values out of the API's JSON, as people read them. Pure. */
#ifndef ALD_CTL_PICK_H
#define ALD_CTL_PICK_H

#include "common/config/extract.h"

enum { PICK_TIME_MAX = 32, PICK_SOURCE_MAX = 33 };

/* A member by its JSON pointer, as text appended to out: strings decoded, anything else (and a
 * string that no text can hold) as it is written. null and nothing: nothing. Not escaped. */
void pick_text(struct ald_json object, const char *pointer, struct ald_buf *out);

/* The same into a small array, cut to fit; returns out. */
const char *pick_word(struct ald_json object, const char *pointer, char *out, size_t cap);

/* Is this text an element of the array there? */
bool pick_has(struct ald_json object, const char *pointer, const char *text);

/* A whole number; 0 when there is none. */
int64_t pick_int(struct ald_json object, const char *pointer);

/* A member that is a time in ms as RFC 3339; "" when it is not set. */
const char *pick_time(struct ald_json object, const char *pointer, char out[PICK_TIME_MAX]);

/* What ended a task or an event, for a person: "" where the state says it all. The source `manual`
 * stands for the tracker's own verdict too, and nobody's hand made a task expire. */
const char *pick_source(struct ald_json object, char out[PICK_SOURCE_MAX]);

/* Append a value on one line, as it came: for JSON lines. */
void pick_line(struct ald_json value, struct ald_buf *out);

#endif
