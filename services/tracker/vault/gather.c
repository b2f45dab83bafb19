#include "services/tracker/vault/gather.h"

#include <stdlib.h>

#include "common/base/guard.h"
#include "common/base/heap.h"

/* Of rows: sorting so many takes about half a millisecond. */
enum { GATHER_CHUNK = 4096, GATHER_NO_BITS = 60 };

static const uint64_t GATHER_NO_MASK = (UINT64_C(1) << GATHER_NO_BITS) - 1;

struct gather_row {
    uint64_t task;
    uint64_t what; /* kind, then no */
};

struct gather_chunk {
    struct ald_heap_node next; /* first, so that it is the chunk; by the task of the row at `at` */
    size_t slot;               /* in the run */
    size_t at;
    size_t count;
    struct gather_row row[GATHER_CHUNK];
};

struct gather_list {
    struct gather_chunk **chunk;
    size_t count;
    size_t cap;
};

struct gather {
    struct gather_list waiting;   /* full ones are sorted; the last may be filling */
    struct gather_list under_way; /* of the run; NULL: all of it was handed out */
    ald_heap_t *run;              /* these, by their next task */
    bool running;
};

gather_t *gather_new(void)
{
    gather_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->run = ald_heap_new();
    return self;
}

void gather_destroy(gather_t **self_p)
{
    gather_t *self = *self_p;
    if (!self)
        return;
    for (struct ald_heap_node *node = NULL; (node = ald_heap_pop(self->run));)
        free(node);
    ald_heap_destroy(&self->run);
    for (size_t i = 0; i < self->waiting.count; i++)
        free(self->waiting.chunk[i]);
    free(self->waiting.chunk);
    free(self->under_way.chunk);
    free(self);
    *self_p = NULL;
}

static int gather_compare(const void *left, const void *right)
{
    const struct gather_row *a = left;
    const struct gather_row *b = right;
    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    return a->what < b->what ? -1 : a->what > b->what;
}

static void gather_sort(struct gather_chunk *chunk)
{
    qsort(chunk->row, chunk->count, sizeof chunk->row[0], gather_compare);
}

static struct gather_chunk *gather_chunk_add(struct gather_list *list)
{
    if (list->count == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 64;
        list->chunk = realloc(list->chunk, list->cap * sizeof(struct gather_chunk *));
        ALD_ASSERT(list->chunk);
    }
    struct gather_chunk *chunk = malloc(sizeof *chunk);
    ALD_ASSERT(chunk);
    chunk->next = (struct ald_heap_node){.pos = SIZE_MAX};
    chunk->at = 0;
    chunk->count = 0;
    list->chunk[list->count++] = chunk;
    return chunk;
}

void gather_add(gather_t *self, const struct gather_entry *entry)
{
    ALD_ASSERT(entry->no >= 0 && (uint64_t)entry->no <= GATHER_NO_MASK);
    struct gather_list *list = &self->waiting;
    struct gather_chunk *chunk = list->count > 0 ? list->chunk[list->count - 1] : NULL;
    if (!chunk || chunk->count == GATHER_CHUNK)
        chunk = gather_chunk_add(list);
    chunk->row[chunk->count++] = (struct gather_row){
        .task = entry->task, .what = (uint64_t)entry->kind << GATHER_NO_BITS | (uint64_t)entry->no};
    if (chunk->count == GATHER_CHUNK)
        gather_sort(chunk);
}

static struct gather_entry gather_entry_of(const struct gather_row *row)
{
    return (struct gather_entry){.task = row->task,
                                 .kind = (enum gather_kind)(row->what >> GATHER_NO_BITS),
                                 .no = (int64_t)(row->what & GATHER_NO_MASK)};
}

void gather_each(const gather_t *self, gather_fn *fn, void *context)
{
    for (size_t i = 0; i < self->waiting.count; i++) {
        const struct gather_chunk *chunk = self->waiting.chunk[i];
        for (size_t j = 0; j < chunk->count; j++) {
            struct gather_entry entry = gather_entry_of(&chunk->row[j]);
            fn(context, &entry);
        }
    }
}

/* Where the rows of this task and kind begin in a chunk that is sorted. */
static size_t gather_lower(const struct gather_chunk *chunk, const struct gather_row *least)
{
    size_t low = chunk->at;
    size_t high = chunk->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (gather_compare(&chunk->row[middle], least) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct gather_search {
    struct gather_row least; /* of what is searched */
    int64_t *no;
    size_t count;
    size_t most;
};

static void gather_search_chunk(struct gather_search *self, const struct gather_chunk *chunk,
                                bool sorted)
{
    size_t i = sorted ? gather_lower(chunk, &self->least) : 0;
    for (; i < chunk->count && self->count < self->most; i++) {
        const struct gather_row *row = &chunk->row[i];
        if (row->task == self->least.task &&
            row->what >> GATHER_NO_BITS == self->least.what >> GATHER_NO_BITS)
            self->no[self->count++] = (int64_t)(row->what & GATHER_NO_MASK);
        else if (sorted)
            return;
    }
}

size_t gather_find(const gather_t *self, uint64_t task, enum gather_kind kind, int64_t *no,
                   size_t most)
{
    struct gather_search search = {
        .least = {.task = task, .what = (uint64_t)kind << GATHER_NO_BITS}, .no = no, .most = most};
    for (size_t i = 0; i < self->under_way.count; i++)
        if (self->under_way.chunk[i])
            gather_search_chunk(&search, self->under_way.chunk[i], true);
    for (size_t i = 0; i < self->waiting.count; i++)
        gather_search_chunk(&search, self->waiting.chunk[i],
                            self->waiting.chunk[i]->count == GATHER_CHUNK);
    return search.count;
}

void gather_begin(gather_t *self)
{
    ALD_ASSERT(!self->running);
    struct gather_list list = self->waiting;
    if (list.count > 0 && list.chunk[list.count - 1]->count < GATHER_CHUNK)
        gather_sort(list.chunk[list.count - 1]);
    for (size_t i = 0; i < list.count; i++) {
        struct gather_chunk *chunk = list.chunk[i];
        chunk->slot = i;
        ald_heap_insert(self->run, &chunk->next, (int64_t)chunk->row[0].task);
    }
    self->waiting = self->under_way; /* its room */
    self->waiting.count = 0;
    self->under_way = list;
    self->running = true;
}

bool gather_next(gather_t *self, struct gather_entry *out)
{
    struct ald_heap_node *first = self->running ? ald_heap_first(self->run) : NULL;
    if (!first) {
        self->under_way.count = 0;
        self->running = false;
        return false;
    }
    struct gather_chunk *chunk = (struct gather_chunk *)first;
    *out = gather_entry_of(&chunk->row[chunk->at++]);
    if (chunk->at == chunk->count) {
        (void)ald_heap_pop(self->run);
        self->under_way.chunk[chunk->slot] = NULL;
        free(chunk);
        return true;
    }
    int64_t key = (int64_t)chunk->row[chunk->at].task;
    if (key != ald_heap_key(self->run, first))
        ald_heap_update(self->run, first, key);
    return true;
}

bool gather_running(const gather_t *self)
{
    return self->running;
}
