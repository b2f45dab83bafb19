/* budget.h - may the next request of a provider's account go, or when: windows, gaps, the formula,
 * the share of hints, blocks, the breaker, a person's pause. One for each profile, however many
 * pollers there are: the tracker hands out a lease only after budget_when said so.
 *
 * Facts and the time go in, a time comes out. Nothing here knows a socket, a clock or a file. Times
 * are service times (pending.h). Costs do not grow with tasks.
 *
 * What counts when. A request counts from its lease on, and for `per` after its outcome came back:
 * it reached the provider in between, so no window of the provider sees more than the limit,
 * whatever pollers and networks do. A gap is that between two leases. What never left is given
 * back; a lease that is lost counts from its loss.
 *
 * A poll of a profile that fetches results debits its lease for two requests, since the second one
 * follows at once; what was not fetched is given back with the outcome.
 *
 * Two parts. `hint_share` of each budget is for polls that a callback asked for, the rest for all
 * others: strangers who send callbacks burn no more than the share, and a full budget still has
 * room for a hint. A limit of 1 has no share; then hints go with the others. Nor has a budget of
 * submissions alone.
 *
 * After a restart nothing is forgotten to the provider's harm. Windows and formulas count up to a
 * mark that was written to disk before (budget_save); what lies below the mark counts as used. A
 * kill while many are handed out costs at most an eighth of a part, 64 at most, and one request
 * when none was for a second; a clean stop costs nothing. Blocks and pauses are on disk. A breaker
 * begins closed: finding out again costs a few requests.
 *
 * The formula's R and C run on for ever: the provider does not say over which time it counts.
 *
 * Threads: one owner.
 */
#ifndef ALD_TRACKER_BUDGET_H
#define ALD_TRACKER_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config/profile.h"

/* What a request is for. Only polls have parts: in a budget that counts the others they go with the
 * ordinary polls, and in a budget that does not they do not count. */
enum budget_use {
    BUDGET_ORDINARY,
    BUDGET_HINTED,
    BUDGET_PARTS,
    BUDGET_SUBMIT = BUDGET_PARTS,
    BUDGET_QUEUES,                /* those above are queued */
    BUDGET_FETCH = BUDGET_QUEUES, /* in the lease of a poll */
    BUDGET_BALANCE,               /* a client's question: its balance, and what is no report */
    BUDGET_REPORT                 /* a client's word on a task */
};

enum budget_breaker { BREAKER_CLOSED, BREAKER_HALF, BREAKER_OPEN };

/* What an outcome says of the provider. */
enum budget_sign {
    BUDGET_NOTHING, /* it never got to the provider, and not for the provider's fault */
    BUDGET_TROUBLE, /* no connection, no whole answer, 5xx, HTML, unknown */
    BUDGET_SANE     /* words of its protocol, refusals too */
};

enum { BUDGET_TROUBLES = 10 /* in a row open the breaker */, BUDGET_WHY_MAX = 65 };

#define BUDGET_UNTOLD INT64_MAX

/* What is on disk of one budget. */
struct budget_saved {
    int64_t start_ms;             /* of the window that `used` is of */
    int64_t before[BUDGET_PARTS]; /* used in the window before, at start_ms at the latest */
    int64_t used[BUDGET_PARTS];   /* the marks: not more than so many were handed out since */
};

/* One part of a budget. */
struct budget_part {
    int64_t taken; /* since saved.start_ms; of a formula: ever */
    int64_t ahead; /* how far the mark was moved last */
    uint64_t under_way;
    int64_t *at_ms; /* a ring of the settled ones of the window, as many as the limit */
    size_t first, count;
};

/* One budget of the account. */
struct budget_count {
    const struct ald_budget *rule;
    struct budget_part part[BUDGET_PARTS];
    struct budget_saved saved;
    int64_t last_ms; /* the last lease */
};

/* Readable; changed only through the functions below. */
struct budget {
    const struct ald_profile *profile;
    bool fetches;      /* a poll may ask for its result in the same lease */
    unsigned renewals; /* how often the profile was read anew */
    struct budget_count list[ALD_BUDGETS_MAX];
    unsigned count;
    int64_t given; /* C: tasks that the provider was given */

    int64_t blocked_until_ms;
    char blocked_why[BUDGET_WHY_MAX]; /* the code that said so; "" = before the last start */
    bool paused;
    int64_t resumed_ms; /* when a pause ended last */

    enum budget_breaker breaker;
    unsigned troubles; /* in a row */
    unsigned opened;   /* times in a row that the breaker opened */
    int64_t open_until_ms;
    uint64_t probe; /* lease that is under way half-open */
};

/* profile outlives it. */
void budget_init(struct budget *self, const struct ald_profile *profile);
void budget_free(struct budget *self);

/* The profile was read anew: what was counted stays with the budgets that have the same name. Says
 * which of them (1 << index) had it before; the others begin as budget_init leaves them. Leases
 * under way are to be counted again (budget_recount), since parts may have moved. */
unsigned budget_renew(struct budget *self, const struct ald_profile *profile);
/* One that is under way. */
void budget_recount(struct budget *self, enum budget_use use);

/* Has the profile a part for hints? Else all polls are ordinary. */
bool budget_shares(const struct budget *self);

/* When the next request may go: not above now_ms: now. BUDGET_UNTOLD: when something is said (an
 * outcome, a resume, a task for the formula) or written (budget_save). */
int64_t budget_when(const struct budget *self, enum budget_use use, int64_t now_ms);

/* A lease was handed out. budget_when had said now. */
void budget_take(struct budget *self, enum budget_use use, uint64_t lease, int64_t now_ms);
/* It is back. left: its requests may have reached the provider. */
void budget_settle(struct budget *self, enum budget_use use, bool left, int64_t now_ms);
/* The same of a poll that certainly fetched nothing. */
void budget_settle_unfetched(struct budget *self, enum budget_use use, bool left, int64_t now_ms);

/* What the outcome of a lease said. True: the breaker opened or closed. */
bool budget_told(struct budget *self, uint64_t lease, enum budget_sign sign, int64_t now_ms);

/* The account waits until then, at least. */
void budget_block(struct budget *self, int64_t until_ms, const char *why);
void budget_pause(struct budget *self, bool paused, int64_t now_ms);
/* One more task was given to the provider. */
void budget_given(struct budget *self);

/* Limit of a part now, and how much of it is used. */
int64_t budget_limit(const struct budget *self, unsigned index, enum budget_use use);
int64_t budget_used(const struct budget *self, unsigned index, enum budget_use use, int64_t now_ms);

/* Is the mark of a budget near, or its window over? Then save it before more is handed out. */
bool budget_save_due(const struct budget *self, unsigned index, int64_t now_ms);
/* Move the mark and say what must be written, in a transaction that is committed before the next
 * lease. ahead: for leases to come; false at a clean stop. */
void budget_save(struct budget *self, unsigned index, bool ahead, int64_t now_ms,
                 struct budget_saved *out);
/* At the start: what was written. */
void budget_restore(struct budget *self, unsigned index, const struct budget_saved *saved,
                    int64_t now_ms);

const char *budget_breaker_name(enum budget_breaker breaker);

#endif
