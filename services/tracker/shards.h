/* shards.h - a hash table of millions that never stands still to grow: many small ones, each of
 * which grows when it is its own time. One table of a million items takes a quarter of a second for
 * that; a shard of it less than a millisecond.
 *
 * It is written here, and not czmq's, for its size: that one has 64 bytes for an item, and this one
 * ten to twenty. An item is found by a byte of its hash (Abseil's tables do so), so that those of
 * other keys are hardly ever looked at.
 *
 * Keys live in the items, which stay their owners'. One owner.
 */
#ifndef ALD_TRACKER_SHARDS_H
#define ALD_TRACKER_SHARDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct shards shards_t;

/* Keys are strings, or point to an uint64_t. */
enum shards_keys { SHARDS_TEXTS, SHARDS_NUMBERS };

/* The key of an item, which does not change while it is inside. */
typedef const void *shards_key_fn(const void *item);

shards_t *shards_new(enum shards_keys keys, shards_key_fn *key);
void shards_destroy(shards_t **self_p);

/* False: there is one of this key, and nothing is changed. */
bool shards_insert(shards_t *self, void *item);
void *shards_lookup(const shards_t *self, const void *key); /* NULL: there is none */
void shards_remove(shards_t *self, const void *key);

/* Call fn with every item; it must not insert or remove. */
typedef void shards_fn(void *context, void *item);
void shards_each(shards_t *self, shards_fn *fn, void *context);
size_t shards_count(const shards_t *self);

#endif
