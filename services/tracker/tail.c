#include "services/tracker/tail.h"

#include <stdlib.h>

#include "common/base/guard.h"

enum { TAIL_FIRST = 1024 }; /* a power of two, as all sizes are */

/* A table with open addresses: slots that are not taken have task 0. */
struct tail_table {
    struct tail_task *slot;
    size_t size;
    size_t count;
};

struct tail {
    struct tail_table young;
    struct tail_table old;
};

tail_t *tail_new(void)
{
    tail_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    return self;
}

static void tail_table_free(struct tail_table *table)
{
    free(table->slot);
    *table = (struct tail_table){0};
}

void tail_destroy(tail_t **self_p)
{
    tail_t *self = *self_p;
    if (!self)
        return;
    tail_table_free(&self->young);
    tail_table_free(&self->old);
    free(self);
    *self_p = NULL;
}

/* Where the task is, or the slot where it would be. */
static struct tail_task *tail_slot(const struct tail_table *table, uint64_t task)
{
    uint64_t hash = (task ^ (task >> 29)) * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 20) & (table->size - 1);
    while (table->slot[at].task != 0 && table->slot[at].task != task)
        at = (at + 1) & (table->size - 1);
    return &table->slot[at];
}

static void tail_grow(struct tail_table *table)
{
    struct tail_table more = {.size = table->size ? table->size * 2 : TAIL_FIRST,
                              .count = table->count};
    more.slot = calloc(more.size, sizeof *more.slot);
    ALD_ASSERT(more.slot);
    for (size_t i = 0; i < table->size; i++)
        if (table->slot[i].task != 0)
            *tail_slot(&more, table->slot[i].task) = table->slot[i];
    free(table->slot);
    *table = more;
}

void tail_put(tail_t *self, const struct tail_task *task)
{
    struct tail_table *young = &self->young;
    ALD_ASSERT(task->task != 0);
    if (young->count * 4 >= young->size * 3)
        tail_grow(young);
    struct tail_task *slot = tail_slot(young, task->task);
    young->count += slot->task == 0;
    *slot = *task;
}

static bool tail_look(const struct tail_table *table, uint64_t task, struct tail_task *out)
{
    const struct tail_task *slot = table->size > 0 ? tail_slot(table, task) : NULL;
    if (!slot || slot->task == 0)
        return false;
    *out = *slot;
    return true;
}

bool tail_get(const tail_t *self, uint64_t task, struct tail_task *out)
{
    return task != 0 && (tail_look(&self->young, task, out) || tail_look(&self->old, task, out));
}

void tail_turn(tail_t *self)
{
    ALD_ASSERT(self->old.count == 0);
    self->old = self->young;
    self->young = (struct tail_table){0};
}

void tail_drop(tail_t *self)
{
    tail_table_free(&self->old);
}

size_t tail_count(const tail_t *self)
{
    return self->young.count + self->old.count;
}
