#include "common/config/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/guard.h"

enum { ARENA_BLOCK = 8192 };

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
};

struct arena_name {
    struct arena_name *next;
    const char *text;
};

struct arena_deferred {
    struct arena_deferred *next;
    void (*fn)(void *what);
    void *what;
};

struct ald_arena {
    struct arena_block *blocks;
    struct arena_name *names;
    struct arena_deferred *deferred;
};

ald_arena_t *ald_arena_new(void)
{
    ald_arena_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self != NULL);
    return self;
}

void ald_arena_destroy(ald_arena_t **self_p)
{
    ald_arena_t *self = *self_p;
    if (self == NULL)
        return;
    for (; self->deferred != NULL; self->deferred = self->deferred->next)
        self->deferred->fn(self->deferred->what);
    while (self->blocks != NULL) {
        struct arena_block *next = self->blocks->next;
        explicit_bzero(self->blocks->bytes, self->blocks->used);
        free(self->blocks);
        self->blocks = next;
    }
    free(self);
    *self_p = NULL;
}

void *ald_arena_take(ald_arena_t *self, size_t bytes)
{
    size_t size = (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    if (self->blocks == NULL || self->blocks->size - self->blocks->used < size) {
        size_t room = size > ARENA_BLOCK ? size : ARENA_BLOCK;
        struct arena_block *block = calloc(1, sizeof *block + room);
        ALD_ASSERT(block != NULL);
        block->size = room;
        block->next = self->blocks;
        self->blocks = block;
    }
    void *taken = self->blocks->bytes + self->blocks->used;
    self->blocks->used += size;
    return taken;
}

const char *ald_arena_text(ald_arena_t *self, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = ald_arena_take(self, size);
    memcpy(copy, text, size);
    return copy;
}

const char *ald_arena_intern(ald_arena_t *self, const char *text)
{
    for (const struct arena_name *name = self->names; name != NULL; name = name->next)
        if (strcmp(name->text, text) == 0)
            return name->text;
    struct arena_name *name = ald_arena_take(self, sizeof *name);
    *name = (struct arena_name){.next = self->names, .text = ald_arena_text(self, text)};
    self->names = name;
    return name->text;
}

void ald_arena_defer(ald_arena_t *self, void (*fn)(void *what), void *what)
{
    struct arena_deferred *deferred = ald_arena_take(self, sizeof *deferred);
    *deferred = (struct arena_deferred){.next = self->deferred, .fn = fn, .what = what};
    self->deferred = deferred;
}
