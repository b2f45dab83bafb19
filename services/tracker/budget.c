#include "services/tracker/budget.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/guard.h"
#include "common/base/text.h"
#include "common/config/profile_request.h"

enum {
    BUDGET_AHEAD_MAX = 64,
    BUDGET_AHEAD_PART = 8,
    BUDGET_IDLE_MS = 1000 /* without a lease for so long, the mark comes back to what was used */
};

void budget_init(struct budget *self, const struct ald_profile *profile)
{
    *self = (struct budget){.profile = profile,
                            .fetches = ald_profile_asks(profile, ALD_STAGE_FETCH),
                            .resumed_ms = INT64_MIN / 2};
    for (unsigned i = 0; i < profile->budgets.count; i++) {
        const struct ald_budget *rule = &profile->budgets.list[i];
        if (!rule->per_task)
            self->list[self->count++] =
                (struct budget_count){.rule = rule, .last_ms = INT64_MIN / 2};
    }
}

void budget_free(struct budget *self)
{
    for (unsigned i = 0; i < self->count; i++)
        for (unsigned use = 0; use < BUDGET_PARTS; use++)
            free(self->list[i].part[use].at_ms);
    self->count = 0;
}

static bool budget_covers(const struct budget_count *one, enum budget_use use)
{
    static const unsigned bits[] = {
        [BUDGET_ORDINARY] = ALD_COUNTS_POLL,   [BUDGET_HINTED] = ALD_COUNTS_POLL,
        [BUDGET_SUBMIT] = ALD_COUNTS_SUBMIT,   [BUDGET_FETCH] = ALD_COUNTS_FETCH,
        [BUDGET_BALANCE] = ALD_COUNTS_BALANCE, [BUDGET_REPORT] = ALD_COUNTS_REPORT};
    return (one->rule->counts & bits[use]) != 0;
}

/* Does a lease for this use include a fetch? */
static bool budget_fetches(const struct budget *self, enum budget_use use)
{
    return self->fetches && use < BUDGET_PARTS;
}

static bool budget_counts(const struct budget_count *one)
{
    return one->rule->formula || one->rule->requests > 0;
}

int64_t budget_limit(const struct budget *self, unsigned index, enum budget_use use)
{
    const struct ald_budget *rule = self->list[index].rule;
    int64_t whole = rule->formula ? rule->each * self->given + rule->base : rule->requests;
    unsigned share = budget_covers(&self->list[index], BUDGET_HINTED) ? rule->hint_share : 0;
    int64_t hinted = whole * share / 100;
    if (hinted == 0 && share > 0 && whole > 1)
        hinted = 1;
    if (hinted == whole)
        hinted = whole / 2;
    return use == BUDGET_HINTED ? hinted : whole - hinted;
}

bool budget_shares(const struct budget *self)
{
    for (unsigned i = 0; i < self->count; i++)
        if (budget_counts(&self->list[i]) && budget_limit(self, i, BUDGET_HINTED) > 0)
            return true;
    return false;
}

/* The part that a request is counted in: a budget without a share for hints has one part. */
static enum budget_use budget_part_of(const struct budget *self, unsigned index,
                                      enum budget_use use)
{
    return use == BUDGET_HINTED && budget_limit(self, index, use) > 0 ? use : BUDGET_ORDINARY;
}

/* Settled requests of a window that still count: they settled in order. */
static int64_t budget_settled(const struct budget_count *one, const struct budget_part *part,
                              int64_t now_ms)
{
    const size_t cap = (size_t)one->rule->requests;
    size_t gone = 0;
    size_t end = part->count;
    while (gone < end) {
        size_t middle = gone + (end - gone) / 2;
        if (part->at_ms[(part->first + middle) % cap] + one->rule->per_ms <= now_ms)
            gone = middle + 1;
        else
            end = middle;
    }
    return (int64_t)(part->count - gone);
}

int64_t budget_used(const struct budget *self, unsigned index, enum budget_use use, int64_t now_ms)
{
    const struct budget_count *one = &self->list[index];
    const struct budget_part *part = &one->part[use];
    if (one->rule->formula)
        return part->taken;
    return (int64_t)part->under_way + budget_settled(one, part, now_ms);
}

static int64_t budget_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When there is room in a part of one budget for so many requests at once. */
static int64_t budget_when_part(const struct budget *self, unsigned index, enum budget_use in,
                                int64_t more, int64_t now_ms)
{
    const struct budget_count *one = &self->list[index];
    const struct budget_part *part = &one->part[in];
    int64_t at_ms = one->last_ms + one->rule->min_gap_ms;
    if (!budget_counts(one))
        return at_ms;
    if (part->taken + more > one->saved.used[in])
        return BUDGET_UNTOLD; /* until the mark has been moved, on disk */
    int64_t limit = budget_limit(self, index, in);
    if (budget_used(self, index, in, now_ms) + more <= limit)
        return at_ms;
    if (one->rule->formula || part->count == 0 || (int64_t)part->under_way + more > limit)
        return BUDGET_UNTOLD;
    /* The oldest whose end makes room. */
    size_t over = part->under_way + part->count + (size_t)more - 1 - (size_t)limit;
    size_t cap = (size_t)one->rule->requests;
    return budget_later(at_ms, part->at_ms[(part->first + over) % cap] + one->rule->per_ms);
}

static int64_t budget_when_one(const struct budget *self, unsigned index, enum budget_use use,
                               int64_t now_ms)
{
    const struct budget_count *one = &self->list[index];
    enum budget_use in = budget_part_of(self, index, use);
    bool covers = budget_covers(one, use);
    bool fetches = budget_fetches(self, use) && budget_covers(one, BUDGET_FETCH);
    int64_t at_ms = INT64_MIN;
    if (fetches) /* and the poll, if it is counted there */
        at_ms = budget_when_part(self, index, BUDGET_ORDINARY,
                                 1 + (covers && in == BUDGET_ORDINARY), now_ms);
    if (covers && !(fetches && in == BUDGET_ORDINARY))
        at_ms = budget_later(at_ms, budget_when_part(self, index, in, 1, now_ms));
    return at_ms;
}

int64_t budget_when(const struct budget *self, enum budget_use use, int64_t now_ms)
{
    if (self->paused || self->breaker == BREAKER_HALF)
        return BUDGET_UNTOLD;
    int64_t at_ms = self->blocked_until_ms;
    if (self->breaker == BREAKER_OPEN)
        at_ms = budget_later(at_ms, self->open_until_ms);
    for (unsigned i = 0; i < self->count; i++)
        at_ms = budget_later(at_ms, budget_when_one(self, i, use, now_ms));
    return at_ms;
}

/* One more request that counts from at_ms. */
static void budget_enter(struct budget_count *one, struct budget_part *part, int64_t at_ms)
{
    size_t cap = (size_t)one->rule->requests;
    if (!part->at_ms) {
        part->at_ms = calloc(cap, sizeof *part->at_ms);
        ALD_ASSERT(part->at_ms);
    }
    if (part->count == cap) { /* no longer counts: nothing was handed out above the limit */
        part->first = (part->first + 1) % cap;
        part->count--;
    }
    part->at_ms[(part->first + part->count) % cap] = at_ms;
    part->count++;
}

static void budget_forget_old(struct budget_count *one, struct budget_part *part, int64_t now_ms)
{
    size_t gone = part->count - (size_t)budget_settled(one, part, now_ms);
    if (gone == 0)
        return;
    part->first = (part->first + gone) % (size_t)one->rule->requests;
    part->count -= gone;
}

/* Take over what another one counted. Its ring is as large as its rule's limit. */
static void budget_take_over(struct budget_count *one, const struct budget_count *old)
{
    one->saved = old->saved;
    one->last_ms = old->last_ms;
    for (unsigned use = 0; use < BUDGET_PARTS; use++) {
        const struct budget_part *from = &old->part[use];
        struct budget_part *part = &one->part[use];
        part->taken = from->taken;
        for (size_t i = 0; i < from->count && one->rule->requests > 0; i++)
            budget_enter(one, part, from->at_ms[(from->first + i) % (size_t)old->rule->requests]);
    }
}

unsigned budget_renew(struct budget *self, const struct ald_profile *profile)
{
    struct budget old = *self;
    struct budget fresh;
    unsigned same = 0;
    budget_init(&fresh, profile);
    self->profile = profile;
    self->fetches = fresh.fetches;
    self->renewals++;
    self->count = fresh.count;
    memcpy(self->list, fresh.list, sizeof self->list);
    for (unsigned i = 0; i < self->count; i++) {
        for (unsigned k = 0; k < old.count; k++) {
            if (strcmp(self->list[i].rule->name, old.list[k].rule->name) != 0)
                continue;
            budget_take_over(&self->list[i], &old.list[k]);
            same |= 1U << i;
        }
    }
    budget_free(&old);
    return same;
}

static void budget_recount_use(struct budget *self, enum budget_use use)
{
    for (unsigned i = 0; i < self->count; i++)
        if (budget_covers(&self->list[i], use))
            self->list[i].part[budget_part_of(self, i, use)].under_way++;
}

void budget_recount(struct budget *self, enum budget_use use)
{
    budget_recount_use(self, use);
    if (budget_fetches(self, use))
        budget_recount_use(self, BUDGET_FETCH);
}

static void budget_take_use(struct budget *self, enum budget_use use, int64_t now_ms)
{
    for (unsigned i = 0; i < self->count; i++) {
        struct budget_count *one = &self->list[i];
        if (!budget_covers(one, use))
            continue;
        struct budget_part *part = &one->part[budget_part_of(self, i, use)];
        one->last_ms = now_ms;
        part->taken++;
        part->under_way++;
        if (part->at_ms)
            budget_forget_old(one, part, now_ms);
    }
}

void budget_take(struct budget *self, enum budget_use use, uint64_t lease, int64_t now_ms)
{
    budget_take_use(self, use, now_ms);
    if (budget_fetches(self, use))
        budget_take_use(self, BUDGET_FETCH, now_ms);
    if (self->breaker == BREAKER_OPEN) {
        self->breaker = BREAKER_HALF;
        self->probe = lease;
    }
}

static void budget_settle_use(struct budget *self, enum budget_use use, bool left, int64_t now_ms)
{
    for (unsigned i = 0; i < self->count; i++) {
        struct budget_count *one = &self->list[i];
        if (!budget_covers(one, use))
            continue;
        struct budget_part *part = &one->part[budget_part_of(self, i, use)];
        if (part->under_way > 0)
            part->under_way--;
        if (!left && part->taken > 0)
            part->taken--;
        else if (left && one->rule->requests > 0)
            budget_enter(one, part, now_ms);
        if (left && use == BUDGET_FETCH && one->last_ms < now_ms)
            one->last_ms = now_ms; /* it went out later than its lease */
    }
}

void budget_settle(struct budget *self, enum budget_use use, bool left, int64_t now_ms)
{
    budget_settle_use(self, use, left, now_ms);
    if (budget_fetches(self, use))
        budget_settle_use(self, BUDGET_FETCH, left, now_ms);
}

void budget_settle_unfetched(struct budget *self, enum budget_use use, bool left, int64_t now_ms)
{
    budget_settle_use(self, use, left, now_ms);
    if (budget_fetches(self, use))
        budget_settle_use(self, BUDGET_FETCH, false, now_ms);
}

static void budget_open(struct budget *self, int64_t now_ms)
{
    const struct ald_schedule *schedule = &self->profile->schedule;
    const struct ald_backoff backoff = {
        .first_ms = schedule->every_ms, .percent = 200, .max_ms = schedule->max_every_ms};
    self->breaker = BREAKER_OPEN;
    self->open_until_ms = now_ms + ald_backoff_wait(&backoff, self->opened, 0);
    self->opened++;
}

bool budget_told(struct budget *self, uint64_t lease, enum budget_sign sign, int64_t now_ms)
{
    bool probe = self->breaker == BREAKER_HALF && self->probe == lease;
    if (sign == BUDGET_SANE) {
        bool closed = self->breaker != BREAKER_CLOSED;
        self->breaker = BREAKER_CLOSED;
        self->troubles = self->opened = 0;
        return closed;
    }
    if (sign == BUDGET_NOTHING) {
        if (probe) { /* another one may find out */
            self->breaker = BREAKER_OPEN;
            self->open_until_ms = now_ms;
        }
        return false;
    }
    self->troubles++;
    if (probe || (self->breaker == BREAKER_CLOSED && self->troubles >= BUDGET_TROUBLES)) {
        budget_open(self, now_ms);
        return !probe;
    }
    return false;
}

void budget_block(struct budget *self, int64_t until_ms, const char *why)
{
    if (until_ms <= self->blocked_until_ms)
        return;
    self->blocked_until_ms = until_ms;
    ald_text_cut(self->blocked_why, sizeof self->blocked_why, ald_span_str(why));
}

void budget_pause(struct budget *self, bool paused, int64_t now_ms)
{
    if (self->paused && !paused)
        self->resumed_ms = now_ms;
    self->paused = paused;
}

void budget_given(struct budget *self)
{
    self->given++;
}

/* What one lease takes. */
static int64_t budget_least(const struct budget *self)
{
    return self->fetches ? 2 : 1;
}

static bool budget_idle(const struct budget_count *one, int64_t now_ms)
{
    return now_ms - one->last_ms >= BUDGET_IDLE_MS;
}

/* How many leases the mark is ahead of those handed out: what a kill would cost. So it is no more
 * than one while few are, and twice as many each time that they are used up. */
static int64_t budget_ahead(const struct budget *self, unsigned index, enum budget_use use)
{
    const int64_t least = budget_least(self);
    int64_t ahead = self->list[index].part[use].ahead;
    int64_t part = budget_limit(self, index, use) / BUDGET_AHEAD_PART;
    int64_t most = part < least ? least : part > BUDGET_AHEAD_MAX ? BUDGET_AHEAD_MAX : part;
    return ahead < least ? least : ahead > most ? most : ahead;
}

/* The highest mark that can be of use. */
static int64_t budget_most(const struct budget *self, unsigned index, enum budget_use use)
{
    return self->list[index].rule->formula ? budget_limit(self, index, use) : INT64_MAX;
}

static bool budget_over(const struct budget_count *one, int64_t now_ms)
{
    return !one->rule->formula && now_ms - one->saved.start_ms >= one->rule->per_ms;
}

bool budget_save_due(const struct budget *self, unsigned index, int64_t now_ms)
{
    const struct budget_count *one = &self->list[index];
    if (!budget_counts(one))
        return false;
    for (unsigned use = 0; use < BUDGET_PARTS; use++) {
        const struct budget_part *part = &one->part[use];
        int64_t left = one->saved.used[use] - part->taken;
        bool near = left <= budget_ahead(self, index, use) / 2 &&
                    one->saved.used[use] < budget_most(self, index, use);
        if (left > budget_least(self) && budget_idle(one, now_ms))
            return true;
        bool old = part->taken > 0 || one->saved.before[use] > 0;
        if (near || (old && budget_over(one, now_ms)))
            return true;
    }
    return false;
}

void budget_save(struct budget *self, unsigned index, bool ahead, int64_t now_ms,
                 struct budget_saved *out)
{
    struct budget_count *one = &self->list[index];
    bool over = budget_over(one, now_ms);
    if (over)
        one->saved.start_ms = now_ms;
    for (unsigned use = 0; use < BUDGET_PARTS; use++) {
        struct budget_part *part = &one->part[use];
        if (over) {
            one->saved.before[use] = part->taken;
            part->taken = 0;
        }
        if (budget_idle(one, now_ms))
            part->ahead = 0;
        else if (one->saved.used[use] - part->taken <= budget_ahead(self, index, use) / 2)
            part->ahead = 2 * budget_ahead(self, index, use);
        int64_t most = budget_most(self, index, use);
        int64_t mark = part->taken + (ahead ? budget_ahead(self, index, use) : 0);
        one->saved.used[use] = mark > most ? (most > part->taken ? most : part->taken) : mark;
    }
    *out = one->saved;
}

void budget_restore(struct budget *self, unsigned index, const struct budget_saved *saved,
                    int64_t now_ms)
{
    struct budget_count *one = &self->list[index];
    one->saved = *saved;
    one->last_ms = now_ms;
    for (unsigned use = 0; use < BUDGET_PARTS; use++) {
        struct budget_part *part = &one->part[use];
        int64_t limit = one->rule->requests;
        part->taken = saved->used[use];
        if (one->rule->formula || limit == 0)
            continue;
        for (int64_t i = 0; i < saved->before[use] && i < limit; i++)
            budget_enter(one, part, saved->start_ms);
        for (int64_t i = 0; i < saved->used[use] && i < limit; i++)
            budget_enter(one, part, now_ms);
    }
}

const char *budget_breaker_name(enum budget_breaker breaker)
{
    static const char *const names[] = {"closed", "half-open", "open"};
    return names[breaker];
}
