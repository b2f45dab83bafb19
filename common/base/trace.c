#include "common/base/trace.h"

#include <stddef.h>

/* So many lower-case hexadecimal digits. *zero: all of them are 0. */
static bool trace_hex(const uint8_t *at, size_t count, bool *zero)
{
    *zero = true;
    for (size_t i = 0; i < count; i++) {
        bool digit = at[i] >= '0' && at[i] <= '9';
        if (!digit && !(at[i] >= 'a' && at[i] <= 'f'))
            return false;
        *zero = *zero && at[i] == '0';
    }
    return true;
}

/* Version, trace, parent, flags. A trace or a parent of zeros is none. */
bool ald_trace_ok(struct ald_span text)
{
    const uint8_t *at = text.data;
    bool version = false, trace = false, parent = false, flags = false;
    return text.len == ALD_TRACE_LEN && trace_hex(at, 2, &version) && version && at[2] == '-' &&
           trace_hex(at + 3, 32, &trace) && !trace && at[35] == '-' &&
           trace_hex(at + 36, 16, &parent) && !parent && at[52] == '-' &&
           trace_hex(at + 53, 2, &flags);
}
