/* window.h - which of a sender's numbers are settled, and how: one byte a number from a floor up.
 *
 * A sender numbers its items 1, 2, 3 ... and tells its floor: all below is settled. Both sides keep
 * a window above it: the sender to know its floor, the receiver to answer a repeat with its first
 * disposition. Pure; one owner.
 */
#ifndef ALD_NET_WINDOW_H
#define ALD_NET_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum { ALD_WINDOW_MAX = 1 << 26 }; /* numbers above the floor, 64 MiB */

struct ald_window {
    uint64_t floor; /* every number below is settled */
    uint8_t *marks; /* marks[i] is floor + i; 0 = open or never seen */
    size_t count;   /* numbers in use above the floor */
    size_t cap;
    size_t head; /* marks are a ring: index of the floor's mark */
};

void ald_window_init(struct ald_window *self, uint64_t floor);
void ald_window_free(struct ald_window *self);

/* The mark of num: 0 when it has none, also below the floor. */
uint8_t ald_window_get(const struct ald_window *self, uint64_t num);

/* Set num's mark (not 0). ALD_OK. ALD_EXISTS: below the floor, nothing changed.
 * ALD_FULL: too far above the floor, nothing changed. */
ALD_NODISCARD enum ald_rc ald_window_set(struct ald_window *self, uint64_t num, uint8_t mark);

/* Forget the marks below floor; a floor that is not higher changes nothing. */
void ald_window_raise(struct ald_window *self, uint64_t floor);

/* Raise the floor over every marked number that lies on it. Returns the floor. */
uint64_t ald_window_settle(struct ald_window *self);

/* The marks as bytes (floor first), for a snapshot: copies at most cap bytes to out, returns how
 * many there are. ald_window_load is its opposite: ALD_TOOBIG when there are too many. */
size_t ald_window_save(const struct ald_window *self, uint8_t *out, size_t cap);
ALD_NODISCARD enum ald_rc ald_window_load(struct ald_window *self, uint64_t floor,
                                          struct ald_span marks);

#endif
