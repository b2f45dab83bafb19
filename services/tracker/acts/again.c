#include "services/tracker/acts/again.h"

#include <stddef.h>

bool again_reason(enum ald_reason reason)
{
    return reason == ALD_REASON_SUBMIT_FAILED || reason == ALD_REASON_SUBMIT_UNCERTAIN ||
           reason == ALD_REASON_EXPIRED;
}

const char *again_unfit(const struct again_facts *facts)
{
    if (!facts->person)
        return "unasked";
    /* This history has not seen what became of what was asked before it: it may be bought. */
    if (facts->since_ms != 0 && facts->asked_at_ms <= facts->since_ms)
        return "older";
    if (!facts->submitted)
        return "unsubmitted";
    if (facts->answered)
        return "answered";
    return facts->kept ? NULL : "forgotten";
}
