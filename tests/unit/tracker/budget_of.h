/* budget_of.h - a budget of one rule, and a tracker that asks it. For the unit tests of budget.h.
 */
#ifndef ALD_TEST_BUDGET_OF_H
#define ALD_TEST_BUDGET_OF_H

#include "services/tracker/budget.h"

enum { EVERY = 5000, MOST = 60000 };

static inline struct ald_profile with(struct ald_budget rule)
{
    rule.counts = ALD_COUNTS_POLL;
    return (struct ald_profile){.name = "two",
                                .schedule = {.every_ms = EVERY, .max_every_ms = MOST},
                                .budgets = {.count = 1, .list = {rule}}};
}

/* What the tracker does each tick. */
static inline void tick(struct budget *budget, int64_t now_ms)
{
    struct budget_saved saved;
    for (unsigned i = 0; i < budget->count; i++)
        if (budget_save_due(budget, i, now_ms))
            budget_save(budget, i, true, now_ms, &saved);
}

static inline bool may(struct budget *budget, enum budget_use use, int64_t now_ms)
{
    tick(budget, now_ms);
    return budget_when(budget, use, now_ms) <= now_ms;
}

static inline bool go(struct budget *budget, enum budget_use use, int64_t now_ms)
{
    static uint64_t lease;
    if (!may(budget, use, now_ms))
        return false;
    budget_take(budget, use, ++lease, now_ms);
    return true;
}

/* How many of these go now and come back at once. */
static inline int64_t burst(struct budget *budget, enum budget_use use, int64_t now_ms)
{
    int64_t count = 0;
    for (; count < 100000 && go(budget, use, now_ms); count++)
        budget_settle(budget, use, true, now_ms);
    return count;
}

#endif
