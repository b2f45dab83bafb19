#include "services/tracker/acts/park.h"

#include <czmq.h>
#include <string.h>

#include "common/base/guard.h"
#include "common/base/heap.h"
#include "common/base/span.h"
#include "common/base/text.h"

struct parked {
    struct ald_heap_node due; /* first: found from the heap's node */
    struct park_item item;
    struct parked *prev, *next; /* of the same ref, older and younger */
    struct parked *last;        /* the youngest of them, in the oldest alone */
    char ref[];
};

/* What a provider has here. */
struct park_provider {
    uint64_t count;
    uint64_t bytes;
};

struct park {
    zhashx_t *by_ref;    /* ref -> oldest parked */
    zhashx_t *providers; /* name -> park_provider */
    ald_heap_t *due;
};

park_t *park_new(void)
{
    park_t *self = zmalloc(sizeof *self);
    self->by_ref = zhashx_new();
    self->providers = zhashx_new();
    zhashx_set_destructor(self->providers, ald_item_free);
    self->due = ald_heap_new();
    return self;
}

void park_destroy(park_t **self_p)
{
    park_t *self = *self_p;
    if (!self)
        return;
    struct ald_heap_node *node = ald_heap_pop(self->due);
    for (; node; node = ald_heap_pop(self->due))
        free(node);
    ald_heap_destroy(&self->due);
    zhashx_destroy(&self->providers);
    zhashx_destroy(&self->by_ref);
    free(self);
    *self_p = NULL;
}

static void park_name(const char *ref, char *out, size_t cap)
{
    struct ald_span span = ald_span_str(ref);
    ald_text_cut(out, cap, ald_span_of(ref, ald_span_find(span, '/')));
}

static struct park_provider *park_provider(park_t *self, const char *ref)
{
    char name[64];
    park_name(ref, name, sizeof name);
    struct park_provider *provider = zhashx_lookup(self->providers, name);
    if (provider)
        return provider;
    provider = zmalloc(sizeof *provider);
    zhashx_update(self->providers, name, provider);
    return provider;
}

void park_add(park_t *self, const char *ref, const struct park_item *item)
{
    struct parked *parked = zmalloc(sizeof *parked + strlen(ref) + 1);
    memcpy(parked->ref, ref, strlen(ref) + 1);
    parked->item = *item;
    parked->due.pos = SIZE_MAX;
    ald_heap_insert(self->due, &parked->due, item->until_ms);
    struct park_provider *provider = park_provider(self, ref);
    provider->count++;
    provider->bytes += item->bytes;

    /* Whoever sends chooses how many there are of one ref: nothing walks along them. */
    struct parked *first = zhashx_lookup(self->by_ref, ref);
    if (first) {
        parked->prev = first->last;
        first->last->next = parked;
    } else {
        first = parked;
        zhashx_update(self->by_ref, ref, parked);
    }
    first->last = parked;
}

static void park_unlink(park_t *self, struct parked *parked)
{
    struct parked *first = zhashx_lookup(self->by_ref, parked->ref);
    if (first == parked && !parked->next) {
        zhashx_delete(self->by_ref, parked->ref);
        return;
    }
    if (first == parked) {
        first = parked->next;
        first->last = parked->last;
        zhashx_update(self->by_ref, parked->ref, first);
    } else if (first->last == parked) {
        first->last = parked->prev;
    }
    if (parked->prev)
        parked->prev->next = parked->next;
    if (parked->next)
        parked->next->prev = parked->prev;
}

/* Out of the chain of its ref, and gone. */
static void park_remove(park_t *self, struct parked *parked)
{
    park_unlink(self, parked);
    struct park_provider *provider = park_provider(self, parked->ref);
    provider->count--;
    provider->bytes -= parked->item.bytes;
    if (parked->due.pos != SIZE_MAX)
        ald_heap_remove(self->due, &parked->due);
    free(parked);
}

int64_t park_take(park_t *self, const char *ref, struct park_item *out)
{
    struct parked *parked = zhashx_lookup(self->by_ref, ref);
    if (!parked)
        return 0;
    *out = parked->item;
    park_remove(self, parked);
    return out->no;
}

int64_t park_take_due(park_t *self, int64_t now_ms, char *ref, size_t cap)
{
    struct ald_heap_node *node = ald_heap_first(self->due);
    if (!node || ald_heap_key(self->due, node) > now_ms)
        return 0;
    struct parked *parked = (struct parked *)(void *)node;
    int64_t no = parked->item.no;
    ald_text_cut(ref, cap, ald_span_str(parked->ref));
    park_remove(self, parked);
    return no;
}

int64_t park_next_ms(const park_t *self)
{
    const struct ald_heap_node *first = ald_heap_first(self->due);
    return first ? ald_heap_key(self->due, first) : INT64_MAX;
}

size_t park_count(const park_t *self)
{
    return ald_heap_size(self->due);
}

void park_share(const park_t *self, const char *provider, uint64_t *count, uint64_t *bytes)
{
    const struct park_provider *share = zhashx_lookup(self->providers, provider);
    *count = share ? share->count : 0;
    *bytes = share ? share->bytes : 0;
}
