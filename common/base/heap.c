#include "common/base/heap.h"

#include <stdlib.h>

#include "common/base/guard.h"

struct ald_heap {
    struct ald_heap_node **nodes;
    size_t count;
    size_t cap;
};

enum { HEAP_FIRST = 64 };

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
    free(self->nodes);
    free(self);
    *self_p = NULL;
}

static void heap_put(ald_heap_t *self, size_t pos, struct ald_heap_node *node)
{
    self->nodes[pos] = node;
    node->pos = pos;
}

static void heap_rise(ald_heap_t *self, size_t pos)
{
    struct ald_heap_node *node = self->nodes[pos];
    while (pos > 0) {
        size_t parent = (pos - 1) / 2;
        if (self->nodes[parent]->key <= node->key)
            break;
        heap_put(self, pos, self->nodes[parent]);
        pos = parent;
    }
    heap_put(self, pos, node);
}

static void heap_sink(ald_heap_t *self, size_t pos)
{
    struct ald_heap_node *node = self->nodes[pos];
    for (;;) {
        size_t child = 2 * pos + 1;
        if (child >= self->count)
            break;
        if (child + 1 < self->count && self->nodes[child + 1]->key < self->nodes[child]->key)
            child++;
        if (node->key <= self->nodes[child]->key)
            break;
        heap_put(self, pos, self->nodes[child]);
        pos = child;
    }
    heap_put(self, pos, node);
}

void ald_heap_insert(ald_heap_t *self, struct ald_heap_node *node)
{
    ALD_ASSERT(node->pos == SIZE_MAX);
    if (self->count == self->cap) {
        self->cap = self->cap ? self->cap * 2 : HEAP_FIRST;
        self->nodes = realloc(self->nodes, self->cap * sizeof(struct ald_heap_node *));
        ALD_ASSERT(self->nodes);
    }
    heap_put(self, self->count++, node);
    heap_rise(self, node->pos);
}

void ald_heap_remove(ald_heap_t *self, struct ald_heap_node *node)
{
    size_t pos = node->pos;
    ALD_ASSERT(pos < self->count && self->nodes[pos] == node);
    struct ald_heap_node *last = self->nodes[--self->count];
    node->pos = SIZE_MAX;
    if (last == node)
        return;
    heap_put(self, pos, last);
    heap_rise(self, pos);
    heap_sink(self, last->pos);
}

void ald_heap_update(ald_heap_t *self, struct ald_heap_node *node, int64_t key)
{
    ALD_ASSERT(node->pos < self->count && self->nodes[node->pos] == node);
    node->key = key;
    heap_rise(self, node->pos);
    heap_sink(self, node->pos);
}

struct ald_heap_node *ald_heap_first(const ald_heap_t *self)
{
    return self->count > 0 ? self->nodes[0] : NULL;
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
