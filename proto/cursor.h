/* cursor.h - one MessagePack item after the other out of bytes that nobody vouches for.
 *
 * A length from the wire is compared with what is left before it is used, so that nothing is read
 * beyond the end and nothing is allocated. The first fault sticks: after it every read gives
 * ALD_ITEM_NONE, and the caller looks at `rc` once at the end. It knows no message and checks no
 * text. Only wire_read.c and its tests use it.
 *
 * A cursor belongs to one thread.
 */
#ifndef ALD_PROTO_CURSOR_H
#define ALD_PROTO_CURSOR_H

#include <stdint.h>
#include <string.h>

#include "common/base/rc.h"
#include "common/base/span.h"

enum { ALD_CURSOR_DEPTH = 8 }; /* containers in containers that are skipped; deeper is refused */

enum ald_item_type {
    ALD_ITEM_NONE, /* a fault: see the cursor's rc */
    ALD_ITEM_NIL,
    ALD_ITEM_BOOL,     /* number is 0 or 1 */
    ALD_ITEM_UNSIGNED, /* number */
    ALD_ITEM_NEGATIVE, /* number is the two's complement of a value below zero */
    ALD_ITEM_FLOAT,
    ALD_ITEM_TEXT,  /* bytes */
    ALD_ITEM_BYTES, /* bytes */
    ALD_ITEM_EXTENSION,
    ALD_ITEM_ARRAY, /* number of items that follow */
    ALD_ITEM_MAP    /* number of pairs that follow */
};

struct ald_item {
    enum ald_item_type type;
    uint64_t number;
    struct ald_span bytes; /* borrowed from the input */
};

struct ald_cursor {
    const uint8_t *at;
    const uint8_t *end;
    enum ald_rc rc;
};

struct ald_cursor ald_cursor_of(struct ald_span bytes);

/* Remember rc as the fault, unless there is one already, and end the reading. */
void ald_cursor_fail(struct ald_cursor *self, enum ald_rc rc);

/* The next item. Of a container only the head is read: its items come next. */
struct ald_item ald_cursor_next(struct ald_cursor *self);

/* Step over text (len bytes) if it comes next in its usual form, below 32 bytes: true. Else nothing
 * changes: it may still come in another form. */
static inline bool ald_cursor_took(struct ald_cursor *self, const char *text, size_t len)
{
    if (len >= 32 || (size_t)(self->end - self->at) <= len || *self->at != (0xa0 | len) ||
        memcmp(self->at + 1, text, len) != 0)
        return false;
    self->at += len + 1;
    return true;
}

/* Step over the next value whole, whatever it is, down to ALD_CURSOR_DEPTH. */
void ald_cursor_skip(struct ald_cursor *self);

#endif
