#include "common/client/ask.h"

#include <stddef.h>

#include "common/base/backoff.h"

enum { ASK_ANSWER_MS = 2000, ASK_ANSWER_MAX_MS = 16000 };

static const struct ald_backoff ask_busy_wait = {.first_ms = 200, .percent = 200, .max_ms = 3000};
static const struct ald_backoff ask_answer_wait = {
    .first_ms = ASK_ANSWER_MS, .percent = 200, .max_ms = ASK_ANSWER_MAX_MS};

bool ask_due(const struct ask *self, int64_t now_ms)
{
    return self->req == 0 && now_ms >= self->again_ms;
}

void ask_sent(struct ask *self, uint64_t req, int64_t now_ms, int64_t wait_ms)
{
    self->req = req;
    self->until_ms = now_ms + wait_ms + ald_backoff_wait(&ask_answer_wait, self->tries, 0);
}

void ask_done(struct ask *self)
{
    *self = (struct ask){0};
}

void ask_busy(struct ask *self, int64_t now_ms)
{
    self->req = 0;
    self->again_ms = now_ms + ald_backoff_wait(&ask_busy_wait, self->tries++, 0);
}

bool ask_overdue(struct ask *self, int64_t now_ms)
{
    if (self->req == 0 || now_ms < self->until_ms)
        return false;
    self->req = 0;
    self->tries++;
    return true;
}

void ask_reset(struct ask *self)
{
    *self = (struct ask){0};
}

int64_t ask_wakes_ms(const struct ask *self)
{
    return self->req != 0 ? self->until_ms : self->again_ms != 0 ? self->again_ms : INT64_MAX;
}
