#include "services/ctl/age.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/guard.h"

const char *age_text(int64_t ms, char out[AGE_TEXT_MAX])
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};
    int64_t age_ms = ms > 0 ? ms : 0;
    for (size_t i = 0; i < ALD_COUNT(units); i++) {
        if (age_ms < 2 * units[i].ms)
            continue;
        (void)snprintf(out, AGE_TEXT_MAX, "%" PRId64 "%s", age_ms / units[i].ms, units[i].unit);
        return out;
    }
    if (age_ms % 1000 == 0)
        (void)snprintf(out, AGE_TEXT_MAX, "%" PRId64 "s", age_ms / 1000);
    else
        (void)snprintf(out, AGE_TEXT_MAX, "%" PRId64 "ms", age_ms);
    return out;
}
