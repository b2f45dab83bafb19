#include "services/tracker/shards.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/guard.h"

enum {
    SHARDS = 1024,
    SHARD_FIRST = 8, /* slots; a power of two, as all sizes are */
    SHARD_FREE = 0,  /* marks: nothing was ever here */
    SHARD_LEFT = 1,  /* something was: who looks for more goes on */
    SHARD_TAKEN = 2  /* from here on: of an item's hash */
};

/* Open addressing, linear: an item is in the first slot that was not taken, from its own on. */
struct shard {
    void **items;
    uint8_t *marks; /* of each slot; behind the items, in the same allocation */
    uint32_t slots; /* 0: nothing is allocated */
    uint32_t count;
    uint32_t used; /* with those that items have left */
};

struct shards {
    struct shard shard[SHARDS];
    shards_key_fn *key;
    enum shards_keys keys;
    size_t count;
};

/* Each bit of the key changes half of the bits: the finisher of SplitMix64. */
static uint64_t shards_mix(uint64_t hash)
{
    hash = (hash ^ (hash >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    hash = (hash ^ (hash >> 27)) * UINT64_C(0x94D049BB133111EB);
    return hash ^ (hash >> 31);
}

/* Of texts FNV-1a. */
static uint64_t shards_hash(const shards_t *self, const void *key)
{
    if (self->keys == SHARDS_NUMBERS)
        return shards_mix(*(const uint64_t *)key);
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (const unsigned char *at = key; *at; at++)
        hash = (hash ^ *at) * UINT64_C(0x100000001B3);
    return shards_mix(hash);
}

static bool shards_is(const shards_t *self, const void *item, const void *key)
{
    const void *own = self->key(item);
    if (self->keys == SHARDS_NUMBERS)
        return *(const uint64_t *)own == *(const uint64_t *)key;
    return strcmp(own, key) == 0;
}

/* The shard, the slot and the mark are of different bits. */
static size_t shards_index(uint64_t hash)
{
    return hash % SHARDS;
}

static uint32_t shard_slot(const struct shard *shard, uint64_t hash)
{
    return (uint32_t)(hash >> 10) & (shard->slots - 1);
}

static uint8_t shard_mark(uint64_t hash)
{
    uint8_t mark = (uint8_t)(hash >> 56);
    return mark < SHARD_TAKEN ? mark + SHARD_TAKEN : mark;
}

shards_t *shards_new(enum shards_keys keys, shards_key_fn *key)
{
    shards_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->keys = keys;
    self->key = key;
    return self;
}

void shards_destroy(shards_t **self_p)
{
    shards_t *self = *self_p;
    if (!self)
        return;
    for (size_t i = 0; i < SHARDS; i++)
        free(self->shard[i].items);
    free(self);
    *self_p = NULL;
}

/* Where the item of this key is; UINT32_MAX: there is none. */
static uint32_t shard_find(const shards_t *self, const struct shard *shard, const void *key,
                           uint64_t hash)
{
    if (shard->count == 0)
        return UINT32_MAX;
    uint8_t mark = shard_mark(hash);
    for (uint32_t at = shard_slot(shard, hash); shard->marks[at] != SHARD_FREE;
         at = (at + 1) & (shard->slots - 1))
        if (shard->marks[at] == mark && shards_is(self, shard->items[at], key))
            return at;
    return UINT32_MAX;
}

static void shard_put(struct shard *shard, void *item, uint64_t hash)
{
    uint32_t at = shard_slot(shard, hash);
    while (shard->marks[at] >= SHARD_TAKEN)
        at = (at + 1) & (shard->slots - 1);
    shard->used += shard->marks[at] == SHARD_FREE;
    shard->count++;
    shard->marks[at] = shard_mark(hash);
    shard->items[at] = item;
}

/* One in eight slots is free at least: every search comes to an end, and soon. */
static bool shard_full(const struct shard *shard)
{
    return shard->used >= shard->slots - shard->slots / 8;
}

/* Room for twice of what is inside, so that it stays for a while: more than before, or less. */
static void shard_renew(const shards_t *self, struct shard *shard)
{
    struct shard old = *shard;
    uint32_t slots = SHARD_FIRST;
    while (slots - slots / 8 <= old.count + old.count / 2)
        slots *= 2;
    *shard = (struct shard){.slots = slots};
    shard->items = malloc(slots * (sizeof *shard->items + sizeof *shard->marks));
    ALD_ASSERT(shard->items);
    shard->marks = (uint8_t *)(shard->items + slots);
    memset(shard->marks, SHARD_FREE, slots);
    for (uint32_t at = 0; at < old.slots; at++)
        if (old.marks[at] >= SHARD_TAKEN)
            shard_put(shard, old.items[at], shards_hash(self, self->key(old.items[at])));
    free(old.items);
}

bool shards_insert(shards_t *self, void *item)
{
    const void *key = self->key(item);
    uint64_t hash = shards_hash(self, key);
    struct shard *shard = &self->shard[shards_index(hash)];
    if (shard_find(self, shard, key, hash) != UINT32_MAX)
        return false;
    if (shard_full(shard))
        shard_renew(self, shard);
    shard_put(shard, item, hash);
    self->count++;
    return true;
}

void *shards_lookup(const shards_t *self, const void *key)
{
    uint64_t hash = shards_hash(self, key);
    const struct shard *shard = &self->shard[shards_index(hash)];
    uint32_t at = shard_find(self, shard, key, hash);
    return at == UINT32_MAX ? NULL : shard->items[at];
}

void shards_remove(shards_t *self, const void *key)
{
    uint64_t hash = shards_hash(self, key);
    struct shard *shard = &self->shard[shards_index(hash)];
    uint32_t at = shard_find(self, shard, key, hash);
    if (at == UINT32_MAX)
        return;
    shard->marks[at] = SHARD_LEFT;
    shard->count--;
    self->count--;
    /* Where a search ends anyway, nobody has to be sent on. */
    while (shard->marks[at] == SHARD_LEFT &&
           shard->marks[(at + 1) & (shard->slots - 1)] == SHARD_FREE) {
        shard->marks[at] = SHARD_FREE;
        shard->used--;
        at = (at - 1) & (shard->slots - 1);
    }
}

void shards_each(shards_t *self, shards_fn *fn, void *context)
{
    for (size_t i = 0; i < SHARDS; i++) {
        const struct shard *shard = &self->shard[i];
        for (uint32_t at = 0; at < shard->slots; at++)
            if (shard->marks[at] >= SHARD_TAKEN)
                fn(context, shard->items[at]);
    }
}

size_t shards_count(const shards_t *self)
{
    return self->count;
}
