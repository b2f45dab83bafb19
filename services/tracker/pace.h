/* pace.h - how many rows of a piece of work that never ends to do at a time, so that each time
 * takes as long as it may, whatever a row costs today. Pure; one owner.
 */
#ifndef ALD_TRACKER_PACE_H
#define ALD_TRACKER_PACE_H

#include <stddef.h>
#include <stdint.h>

struct pace {
    size_t least;
    size_t most;
    size_t rows; /* the next time; begin anywhere from least to most */
};

/* It took so long for all of `rows`, and was to take at most aim_ms: fewer the next time, or
 * more. By little: one that took longer may have waited for something else. */
void pace_took(struct pace *self, int64_t took_ms, int64_t aim_ms);

#endif
