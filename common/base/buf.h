/* buf.h - bytes that grow up to a maximum given at birth.
 *
 * Past the maximum nothing more is taken and `failed` stays set: write all, then ask once.
 * Running out of memory aborts. One owner.
 */
#ifndef ALD_BASE_BUF_H
#define ALD_BASE_BUF_H

#include "common/base/guard.h"
#include "common/base/span.h"

struct ald_buf {
    uint8_t *data;
    size_t len;
    size_t cap;
    size_t max;
    bool failed;
};

/* Empty, for at most max bytes (a NUL not counted); allocates nothing yet. */
void ald_buf_init(struct ald_buf *self, size_t max);
/* Give the memory back; then as after ald_buf_init with the same maximum. */
void ald_buf_free(struct ald_buf *self);
/* Empty again, not failed; keeps its memory. */
void ald_buf_reset(struct ald_buf *self);

/* Append all of it, or nothing and fail; a failed buffer takes nothing more, so that it never has a
 * hole. data must not lie in the buffer itself. */
void ald_buf_put(struct ald_buf *self, const void *data, size_t len);
void ald_buf_put_span(struct ald_buf *self, struct ald_span span);
void ald_buf_put_str(struct ald_buf *self, const char *text);
void ald_buf_put_byte(struct ald_buf *self, uint8_t byte);
void ald_buf_printf(struct ald_buf *self, const char *format, ...) ALD_PRINTF(2, 3);

/* Whether everything that was put is there. */
bool ald_buf_ok(const struct ald_buf *self);
/* Borrowed until the next change. */
struct ald_span ald_buf_span(const struct ald_buf *self);
/* The same, with a NUL behind it; never NULL. It seems shorter when a NUL was put. */
const char *ald_buf_str(struct ald_buf *self);

#endif
