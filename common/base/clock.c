#include "common/base/clock.h"

#include <stdio.h>
#include <time.h>

#include "common/base/guard.h"

static int64_t clock_ms(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct ald_now ald_clock_now(void)
{
    return (struct ald_now){.wall_ms = clock_ms(CLOCK_REALTIME),
                            .mono_ms = clock_ms(CLOCK_MONOTONIC)};
}

int64_t ald_clock_mono_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

/* The bounds of what four digits of a year can say. */
static const int64_t CLOCK_YEAR_0_MS = INT64_C(-62167219200000);
static const int64_t CLOCK_YEAR_9999_MS = INT64_C(253402300799999);

void ald_clock_rfc3339(int64_t wall_ms, char out[ALD_CLOCK_TEXT_MAX])
{
    if (wall_ms < CLOCK_YEAR_0_MS)
        wall_ms = CLOCK_YEAR_0_MS;
    if (wall_ms > CLOCK_YEAR_9999_MS)
        wall_ms = CLOCK_YEAR_9999_MS;
    time_t seconds = (time_t)(wall_ms / 1000);
    int ms = (int)(wall_ms % 1000);
    if (ms < 0) {
        ms += 1000;
        seconds--;
    }
    struct tm t = {0};
    ALD_ASSERT(gmtime_r(&seconds, &t));
    /* strftime would not pad years before 1000. */
    int len =
        snprintf(out, ALD_CLOCK_TEXT_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900,
                 t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, ms);
    ALD_ASSERT(len > 0 && len < ALD_CLOCK_TEXT_MAX);
}
