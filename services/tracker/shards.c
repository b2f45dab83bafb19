#include "services/tracker/shards.h"

#include <czmq.h>

#include "common/base/guard.h"

enum { SHARDS = 512 };

struct shards {
    zhashx_t *shard[SHARDS];
    zhashx_hash_fn *hash;
    size_t count;
};

static size_t shards_hash_number(const void *key)
{
    uint64_t number = *(const uint64_t *)key;
    return (size_t)((number ^ (number >> 29)) * UINT64_C(0x9E3779B97F4A7C15) >> 8);
}

static int shards_compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* FNV-1a, whose high bits are as good as its low ones. */
static size_t shards_hash_text(const void *key)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (const unsigned char *at = key; *at; at++)
        hash = (hash ^ *at) * UINT64_C(0x100000001B3);
    return (size_t)hash;
}

shards_t *shards_new(enum shards_keys keys)
{
    shards_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->hash = keys == SHARDS_NUMBERS ? shards_hash_number : shards_hash_text;
    for (size_t i = 0; i < SHARDS; i++) {
        zhashx_t *shard = zhashx_new();
        zhashx_set_key_hasher(shard, self->hash);
        if (keys == SHARDS_NUMBERS)
            zhashx_set_key_comparator(shard, shards_compare_numbers);
        zhashx_set_key_duplicator(shard, NULL);
        zhashx_set_key_destructor(shard, NULL);
        self->shard[i] = shard;
    }
    return self;
}

void shards_destroy(shards_t **self_p)
{
    shards_t *self = *self_p;
    if (!self)
        return;
    for (size_t i = 0; i < SHARDS; i++)
        zhashx_destroy(&self->shard[i]);
    free(self);
    *self_p = NULL;
}

/* By other bits than the shard itself divides by its size. */
static zhashx_t *shards_of(const shards_t *self, const void *key)
{
    return self->shard[(self->hash(key) >> 32) % SHARDS];
}

bool shards_insert(shards_t *self, const void *key, void *item)
{
    if (zhashx_insert(shards_of(self, key), key, item) != 0)
        return false;
    self->count++;
    return true;
}

void *shards_lookup(const shards_t *self, const void *key)
{
    return zhashx_lookup(shards_of(self, key), key);
}

void shards_remove(shards_t *self, const void *key)
{
    zhashx_t *shard = shards_of(self, key);
    size_t before = zhashx_size(shard);
    zhashx_delete(shard, key);
    self->count -= before - zhashx_size(shard);
}

void shards_each(shards_t *self, shards_fn *fn, void *context)
{
    for (size_t i = 0; i < SHARDS; i++)
        for (void *item = zhashx_first(self->shard[i]); item; item = zhashx_next(self->shard[i]))
            fn(context, item);
}

size_t shards_count(const shards_t *self)
{
    return self->count;
}
