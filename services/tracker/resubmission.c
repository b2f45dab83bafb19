#include "services/tracker/resubmission.h"

bool resubmission_may(const struct resubmission_facts *facts)
{
    bool cause = facts->why == RESUBMISSION_CODE || facts->on_stale;
    return cause && facts->kept && !facts->under_way && !facts->retired &&
           facts->had < facts->most && facts->now_ms < facts->end_ms;
}

bool resubmission_wanted(const struct resubmission_facts *facts)
{
    bool cause = facts->why == RESUBMISSION_CODE || facts->on_stale;
    return cause && !facts->retired && facts->had <= facts->most && facts->now_ms < facts->end_ms;
}

bool resubmission_followed(uint64_t attempt, uint64_t taken, bool under_way)
{
    return attempt < taken || (under_way && attempt == taken);
}
