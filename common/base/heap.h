/* heap.h - what is due first, of very many: a min-heap of nodes that live in their owners.
 *
 * A node knows its place, so that it can be moved or removed in O(log n); its key is the heap's.
 * Allocates only to grow. One owner.
 */
#ifndef ALD_BASE_HEAP_H
#define ALD_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct ald_heap ald_heap_t;

struct ald_heap_node {
    size_t pos; /* SIZE_MAX while in no heap: set it so at birth */
};

ald_heap_t *ald_heap_new(void);
/* Nodes stay their owners'; those still inside are not to be used in a heap again. */
void ald_heap_destroy(ald_heap_t **self_p);

/* Not in a heap yet. The least key comes first. */
void ald_heap_insert(ald_heap_t *self, struct ald_heap_node *node, int64_t key);
void ald_heap_remove(ald_heap_t *self, struct ald_heap_node *node); /* pos becomes SIZE_MAX */
/* Give a node of this heap another key. */
void ald_heap_update(ald_heap_t *self, struct ald_heap_node *node, int64_t key);
/* The key of a node of this heap. All four assert where the node is. */
int64_t ald_heap_key(const ald_heap_t *self, const struct ald_heap_node *node);

struct ald_heap_node *ald_heap_first(const ald_heap_t *self); /* NULL when empty */
struct ald_heap_node *ald_heap_pop(ald_heap_t *self);         /* NULL when empty */
size_t ald_heap_size(const ald_heap_t *self);

#endif
