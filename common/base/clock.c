#include "common/base/clock.h"

#include <stdio.h>
#include <time.h>

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

void ald_clock_rfc3339(int64_t wall_ms, char out[ALD_CLOCK_TEXT_MAX])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    int ms = (int)(wall_ms % 1000);
    if (ms < 0) {
        ms += 1000;
        seconds--;
    }
    struct tm t;
    char head[24] = "";
    if (gmtime_r(&seconds, &t))
        (void)strftime(head, sizeof head, "%Y-%m-%dT%H:%M:%S", &t);
    (void)snprintf(out, ALD_CLOCK_TEXT_MAX, "%s.%03dZ", head, ms);
}
