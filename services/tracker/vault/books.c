#include "services/tracker/vault/books.h"

#include <stddef.h>

#include "common/base/guard.h"

void books_add(struct books *self, unsigned book, int64_t n)
{
    ALD_ASSERT(book < BOOK_COUNT);
    self->value[book] += n;
    self->dirty[book] = true;
}

static const char *const BOOK_NAMES[BOOK_COUNT] = {
    [BOOK_RECEIVED] = "arrivals.received",
    [BOOK_DISPOSITION + ALD_DISP_APPLIED] = "arrivals.applied",
    [BOOK_DISPOSITION + ALD_DISP_PROGRESS] = "arrivals.progress",
    [BOOK_DISPOSITION + ALD_DISP_DUPLICATE] = "arrivals.duplicate",
    [BOOK_DISPOSITION + ALD_DISP_PARKED] = "arrivals.parked",
    [BOOK_DISPOSITION + ALD_DISP_DEAD] = "arrivals.dead",
    [BOOK_DISPOSITION + ALD_DISP_DROPPED] = "arrivals.dropped",
    [BOOK_PURGED + ALD_DISP_APPLIED] = "purged.applied",
    [BOOK_PURGED + ALD_DISP_PROGRESS] = "purged.progress",
    [BOOK_PURGED + ALD_DISP_DUPLICATE] = "purged.duplicate",
    [BOOK_PURGED + ALD_DISP_PARKED] = "purged.parked",
    [BOOK_PURGED + ALD_DISP_DEAD] = "purged.dead",
    [BOOK_PURGED + ALD_DISP_DROPPED] = "purged.dropped",
    [BOOK_CREATED] = "tasks.created",
    [BOOK_STATE + ALD_STATE_ACCEPTED] = "unused.accepted",
    [BOOK_STATE + ALD_STATE_SUBMITTING] = "unused.submitting",
    [BOOK_STATE + ALD_STATE_PENDING] = "unused.pending",
    [BOOK_STATE + ALD_STATE_POLLING] = "unused.polling",
    [BOOK_STATE + ALD_STATE_DONE] = "tasks.done",
    [BOOK_STATE + ALD_STATE_FAILED] = "tasks.failed",
    [BOOK_STATE + ALD_STATE_LOST] = "tasks.lost",
    [BOOK_STATE + ALD_STATE_EXPIRED] = "tasks.expired",
    [BOOK_STATE + ALD_STATE_CANCELLED] = "tasks.cancelled",
    [BOOK_SOURCE + ALD_SOURCE_CALLBACK] = "results.callback",
    [BOOK_SOURCE + ALD_SOURCE_LATE] = "results.late",
    [BOOK_SOURCE + ALD_SOURCE_POLL] = "results.poll",
    [BOOK_SOURCE + ALD_SOURCE_REPLAY] = "results.replay",
    [BOOK_SOURCE + ALD_SOURCE_MANUAL] = "results.manual",
    [BOOK_SOURCE + ALD_SOURCE_SUBMIT] = "results.submit",
    [BOOK_TASKS_PURGED] = "tasks.purged",
    [BOOK_LETTERS_MADE] = "letters.made",
    [BOOK_LETTERS_RESOLVED] = "letters.resolved",
    [BOOK_LETTERS_DROPPED] = "letters.dropped",
    [BOOK_POLLS] = "polls.answered",
    [BOOK_STATE_PURGED + ALD_STATE_ACCEPTED] = "unused.purged.accepted",
    [BOOK_STATE_PURGED + ALD_STATE_SUBMITTING] = "unused.purged.submitting",
    [BOOK_STATE_PURGED + ALD_STATE_PENDING] = "unused.purged.pending",
    [BOOK_STATE_PURGED + ALD_STATE_POLLING] = "unused.purged.polling",
    [BOOK_STATE_PURGED + ALD_STATE_DONE] = "purged.done",
    [BOOK_STATE_PURGED + ALD_STATE_FAILED] = "purged.failed",
    [BOOK_STATE_PURGED + ALD_STATE_LOST] = "purged.lost",
    [BOOK_STATE_PURGED + ALD_STATE_EXPIRED] = "purged.expired",
    [BOOK_STATE_PURGED + ALD_STATE_CANCELLED] = "purged.cancelled",
    [BOOK_SOURCE_PURGED + ALD_SOURCE_CALLBACK] = "purged.callback",
    [BOOK_SOURCE_PURGED + ALD_SOURCE_LATE] = "purged.late",
    [BOOK_SOURCE_PURGED + ALD_SOURCE_POLL] = "purged.poll",
    [BOOK_SOURCE_PURGED + ALD_SOURCE_REPLAY] = "purged.replay",
    [BOOK_SOURCE_PURGED + ALD_SOURCE_MANUAL] = "purged.manual",
    [BOOK_SOURCE_PURGED + ALD_SOURCE_SUBMIT] = "purged.submit",
    [BOOK_MOVED] = "moved.arrivals",
    [BOOK_CORRECTIONS] = "corrections.published",
    [BOOK_CORRECTIONS_APPLIED] = "corrections.applied",
    [BOOK_CORRECTIONS_PURGED] = "purged.corrections",
};

const char *books_name(unsigned book)
{
    ALD_ASSERT(book < BOOK_COUNT);
    return BOOK_NAMES[book];
}

static int64_t books_sum(const struct books *self, unsigned first, unsigned count)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += self->value[first + i];
    return sum;
}

bool books_balance(const struct books *self, int64_t open, int64_t letters_open, const char **which)
{
    const int64_t *v = self->value;
    int64_t ended = books_sum(self, BOOK_STATE, ALD_STATE_COUNT);
    /* Of the manual ones those are told that a person vouched for; the rest is our own verdict. */
    int64_t told = v[BOOK_SOURCE + ALD_SOURCE_CALLBACK] + v[BOOK_SOURCE + ALD_SOURCE_LATE] +
                   v[BOOK_SOURCE + ALD_SOURCE_REPLAY] + v[BOOK_SOURCE + ALD_SOURCE_MANUAL] -
                   v[BOOK_STATE + ALD_STATE_EXPIRED] - v[BOOK_STATE + ALD_STATE_CANCELLED] +
                   v[BOOK_CORRECTIONS_APPLIED];
    const struct {
        bool holds;
        const char *sentence;
    } identities[] = {
        {v[BOOK_RECEIVED] == books_sum(self, BOOK_DISPOSITION, ALD_DISP_COUNT),
         "received is not the sum of the dispositions"},
        {v[BOOK_CREATED] == open + ended, "created tasks are not open tasks and ended ones"},
        {ended == books_sum(self, BOOK_SOURCE, ALD_SOURCE_COUNT),
         "ended tasks are not the results written"},
        {v[BOOK_DISPOSITION + ALD_DISP_APPLIED] == told,
         "applied arrivals are not the results that callbacks brought"},
        {v[BOOK_CORRECTIONS_APPLIED] <= v[BOOK_CORRECTIONS],
         "more corrections were brought by callbacks than were published"},
        {v[BOOK_LETTERS_MADE] == letters_open + v[BOOK_LETTERS_RESOLVED] + v[BOOK_LETTERS_DROPPED],
         "letters made are not open, resolved and dropped ones"},
    };
    *which = "";
    for (size_t i = 0; i < ALD_COUNT(identities); i++) {
        if (identities[i].holds)
            continue;
        *which = identities[i].sentence;
        return false;
    }
    return true;
}
