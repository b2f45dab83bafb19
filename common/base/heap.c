#include "common/base/heap.h"

#include <stdlib.h>

#include "common/base/guard.h"

/* Four children a node and the keys beside the pointers: a million nodes are ten levels deep, and a
 * comparison touches the array alone, not the owners that are spread over memory. */
enum { HEAP_FIRST = 64, HEAP_CHILDREN = 4 };

struct heap_slot {
    int64_t key;
    struct ald_heap_node *node;
};

struct ald_heap {
    struct heap_slot *slots;
    size_t count;
    size_t cap;
};

ald_heap_t *ald_heap_new(void)
{
    ald_heap_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    return self;
}

void ald_heap_destroy(ald_heap_t **self_p)
{
    ald_heap_t *self = *self_p;
    if (!self)
        return;
    free(self->slots);
    free(self);
    *self_p = NULL;
}

static void heap_put(ald_heap_t *self, size_t pos, struct heap_slot slot)
{
    self->slots[pos] = slot;
    slot.node->pos = pos;
}

/* Move slot, for which pos is free, up to where it belongs. */
static void heap_rise(ald_heap_t *self, size_t pos, struct heap_slot slot)
{
    while (pos > 0) {
        size_t parent = (pos - 1) / HEAP_CHILDREN;
        if (self->slots[parent].key <= slot.key)
            break;
        heap_put(self, pos, self->slots[parent]);
        pos = parent;
    }
    heap_put(self, pos, slot);
}

static size_t heap_least_child(const ald_heap_t *self, size_t first)
{
    size_t end = first + HEAP_CHILDREN < self->count ? first + HEAP_CHILDREN : self->count;
    size_t least = first;
    for (size_t child = first + 1; child < end; child++) {
        if (self->slots[child].key < self->slots[least].key)
            least = child;
    }
    return least;
}

/* Move slot, for which pos is free, down to where it belongs. */
static void heap_sink(ald_heap_t *self, size_t pos, struct heap_slot slot)
{
    for (;;) {
        size_t child = HEAP_CHILDREN * pos + 1;
        if (child >= self->count)
            break;
        child = heap_least_child(self, child);
        if (slot.key <= self->slots[child].key)
            break;
        heap_put(self, pos, self->slots[child]);
        pos = child;
    }
    heap_put(self, pos, slot);
}

static void heap_settle(ald_heap_t *self, size_t pos, struct heap_slot slot)
{
    if (pos > 0 && slot.key < self->slots[(pos - 1) / HEAP_CHILDREN].key)
        heap_rise(self, pos, slot);
    else
        heap_sink(self, pos, slot);
}

static void heap_check(const ald_heap_t *self, const struct ald_heap_node *node)
{
    ALD_ASSERT(node->pos < self->count && self->slots[node->pos].node == node);
}

void ald_heap_insert(ald_heap_t *self, struct ald_heap_node *node, int64_t key)
{
    ALD_ASSERT(node->pos == SIZE_MAX);
    if (self->count == self->cap) {
        self->cap = self->cap ? self->cap * 2 : HEAP_FIRST;
        self->slots = realloc(self->slots, self->cap * sizeof *self->slots);
        ALD_ASSERT(self->slots);
    }
    heap_rise(self, self->count++, (struct heap_slot){.key = key, .node = node});
}

void ald_heap_remove(ald_heap_t *self, struct ald_heap_node *node)
{
    heap_check(self, node);
    size_t pos = node->pos;
    struct heap_slot last = self->slots[--self->count];
    node->pos = SIZE_MAX;
    if (last.node != node)
        heap_settle(self, pos, last);
}

void ald_heap_update(ald_heap_t *self, struct ald_heap_node *node, int64_t key)
{
    heap_check(self, node);
    heap_settle(self, node->pos, (struct heap_slot){.key = key, .node = node});
}

int64_t ald_heap_key(const ald_heap_t *self, const struct ald_heap_node *node)
{
    heap_check(self, node);
    return self->slots[node->pos].key;
}

struct ald_heap_node *ald_heap_first(const ald_heap_t *self)
{
    return self->count > 0 ? self->slots[0].node : NULL;
}

struct ald_heap_node *ald_heap_pop(ald_heap_t *self)
{
    struct ald_heap_node *first = ald_heap_first(self);
    if (first)
        ald_heap_remove(self, first);
    return first;
}

size_t ald_heap_size(const ald_heap_t *self)
{
    return self->count;
}
