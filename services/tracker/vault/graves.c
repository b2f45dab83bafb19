#include "services/tracker/vault/graves.h"

#include <stdlib.h>

#include "common/base/guard.h"

struct graves {
    bool closed;
    size_t count;
    size_t next; /* to be handed out, once closed */
    uint64_t last;
    struct grave at[GRAVES_MAX];
};

graves_t *graves_new(void)
{
    graves_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    return self;
}

void graves_destroy(graves_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

void graves_add(graves_t *self, const struct grave *grave)
{
    ALD_ASSERT(!self->closed && self->count < GRAVES_MAX && grave->seq > self->last);
    self->at[self->count++] = *grave;
    self->last = grave->seq;
}

bool graves_full(const graves_t *self)
{
    return self->count == GRAVES_MAX;
}

uint64_t graves_last(const graves_t *self)
{
    return self->last;
}

static int graves_order(const void *a, const void *b)
{
    const struct grave *left = a;
    const struct grave *right = b;
    if (left->task != right->task)
        return left->task < right->task ? -1 : 1;
    return left->seq < right->seq ? -1 : left->seq > right->seq;
}

void graves_close(graves_t *self)
{
    ALD_ASSERT(!self->closed);
    self->closed = true;
    qsort(self->at, self->count, sizeof self->at[0], graves_order);
}

size_t graves_next(graves_t *self, struct grave *out, size_t most)
{
    size_t count = 0;
    ALD_ASSERT(self->closed);
    while (count < most && self->next < self->count)
        out[count++] = self->at[self->next++];
    return count;
}

bool graves_closed(const graves_t *self)
{
    return self->closed;
}

bool graves_empty(const graves_t *self)
{
    return self->next == self->count;
}

void graves_reset(graves_t *self)
{
    self->closed = false;
    self->count = self->next = 0;
    self->last = 0;
}
