#include "services/tracker/resubmission.h"

/* What was set aside may be the answer: a person looks at it before it is bought again. */
static bool resubmission_cause(const struct resubmission_facts *facts)
{
    return facts->why == RESUBMISSION_CODE || (facts->on_stale && !facts->set_aside);
}

bool resubmission_may(const struct resubmission_facts *facts)
{
    return resubmission_cause(facts) && facts->kept && !facts->under_way && !facts->retired &&
           !facts->replaced && facts->had < facts->most && facts->now_ms < facts->end_ms;
}

bool resubmission_wanted(const struct resubmission_facts *facts)
{
    return resubmission_cause(facts) && !facts->retired && !facts->replaced &&
           facts->had <= facts->most && facts->now_ms < facts->end_ms;
}

bool resubmission_followed(uint64_t attempt, uint64_t taken, bool under_way)
{
    return attempt < taken || (under_way && attempt == taken);
}
