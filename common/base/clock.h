/* clock.h - the time, read at the edge only and passed inward. Any thread. */
#ifndef ALD_BASE_CLOCK_H
#define ALD_BASE_CLOCK_H

#include <stdint.h>

enum { ALD_CLOCK_TEXT_MAX = 32 };

struct ald_now {
    int64_t wall_ms; /* since 1970, UTC: stored and shown; may jump */
    int64_t mono_ms; /* since some moment of this boot: drives; never jumps back */
};

struct ald_now ald_clock_now(void);
/* mono_ms alone, in half the time: for who asks several times for each request. */
int64_t ald_clock_mono_ms(void);

/* 2026-11-29T17:09:48.123Z; before year 0 and after 9999 the nearest moment that has four digits.
 */
void ald_clock_rfc3339(int64_t wall_ms, char out[ALD_CLOCK_TEXT_MAX]);

#endif
