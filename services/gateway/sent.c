#include "services/gateway/sent.h"

static void sent_expire(struct sent *self, int64_t now_ms)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->count; i++)
        if (self->numbers[i].until_ms > now_ms)
            self->numbers[kept++] = self->numbers[i];
    self->count = kept;
}

void sent_add(struct sent *self, uint64_t num, int64_t now_ms, int64_t until_ms)
{
    if (self->count == SENT_MAX)
        sent_expire(self, now_ms);
    if (self->count < SENT_MAX)
        self->numbers[self->count++] = (struct sent_number){.num = num, .until_ms = until_ms};
    else if (until_ms > self->all_until_ms)
        self->all_until_ms = until_ms;
}

bool sent_holds(const struct sent *self, uint64_t num, int64_t now_ms)
{
    if (now_ms < self->all_until_ms)
        return true;
    for (size_t i = 0; i < self->count; i++)
        if (self->numbers[i].num == num)
            return now_ms < self->numbers[i].until_ms;
    return false;
}

void sent_clear(struct sent *self)
{
    self->count = 0;
    self->all_until_ms = 0;
}
