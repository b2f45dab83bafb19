#include "common/net/parcels.h"

#include <stdlib.h>
#include <string.h>

static void parcel_unlink(struct ald_parcel_list *list, struct ald_parcel *parcel)
{
    if (parcel->prev)
        parcel->prev->next = parcel->next;
    else
        list->first = parcel->next;
    if (parcel->next)
        parcel->next->prev = parcel->prev;
    else
        list->last = parcel->prev;
    parcel->prev = parcel->next = NULL;
    list->items--;
    list->bytes -= parcel->len;
}

static void parcel_append(struct ald_parcel_list *list, struct ald_parcel *parcel)
{
    parcel->prev = list->last;
    parcel->next = NULL;
    if (list->last)
        list->last->next = parcel;
    else
        list->first = parcel;
    list->last = parcel;
    list->items++;
    list->bytes += parcel->len;
}

static void parcel_prepend(struct ald_parcel_list *list, struct ald_parcel *parcel)
{
    parcel->next = list->first;
    parcel->prev = NULL;
    if (list->first)
        list->first->prev = parcel;
    else
        list->last = parcel;
    list->first = parcel;
    list->items++;
    list->bytes += parcel->len;
}

static void parcels_clear(struct ald_parcel_list *list)
{
    while (list->first) {
        struct ald_parcel *parcel = list->first;
        parcel_unlink(list, parcel);
        free(parcel);
    }
}

void ald_parcels_free(struct ald_parcels *self)
{
    parcels_clear(&self->riding);
    parcels_clear(&self->waiting);
}

void ald_parcels_add(struct ald_parcels *self, uint64_t num, struct ald_span bytes, void *tag,
                     int64_t now_ms)
{
    struct ald_parcel *parcel = malloc(sizeof *parcel + bytes.len);
    ALD_ASSERT(parcel);
    *parcel = (struct ald_parcel){.num = num, .tag = tag, .added_ms = now_ms, .len = bytes.len};
    if (bytes.len > 0)
        memcpy(parcel->bytes, bytes.data, bytes.len);
    parcel_append(&self->waiting, parcel);
}

size_t ald_parcels_load(struct ald_parcels *self, uint64_t batch,
                        const struct ald_load_limit *limit, int64_t now_ms, size_t *bytes)
{
    ALD_ASSERT(batch != 0);
    size_t items = 0;
    *bytes = 0;
    struct ald_parcel *parcel = self->waiting.first;
    while (parcel && items < limit->items) {
        struct ald_parcel *next = parcel->next;
        bool due = parcel->not_before_ms <= now_ms;
        bool alone = limit->any_one && items == 0;
        if (due && !alone && *bytes + parcel->len > limit->bytes)
            break;
        if (due) {
            parcel_unlink(&self->waiting, parcel);
            parcel_append(&self->riding, parcel);
            parcel->batch = batch;
            items++;
            *bytes += parcel->len;
        }
        parcel = next;
    }
    return items;
}

void ald_parcels_unload(struct ald_parcels *self, uint64_t batch)
{
    struct ald_parcel *parcel = self->riding.last;
    while (parcel) {
        struct ald_parcel *before = parcel->prev;
        if (batch == 0 || parcel->batch == batch) {
            parcel_unlink(&self->riding, parcel);
            parcel_prepend(&self->waiting, parcel);
        }
        parcel = before;
    }
}

static struct ald_parcel *parcels_find(const struct ald_parcel_list *list, uint64_t num)
{
    struct ald_parcel *parcel = list->first;
    while (parcel && parcel->num != num)
        parcel = parcel->next;
    return parcel;
}

struct ald_parcel *ald_parcels_take(struct ald_parcels *self, uint64_t num)
{
    struct ald_parcel *parcel = parcels_find(&self->riding, num);
    if (parcel) {
        parcel_unlink(&self->riding, parcel);
        return parcel;
    }
    parcel = parcels_find(&self->waiting, num);
    if (parcel)
        parcel_unlink(&self->waiting, parcel);
    return parcel;
}

bool ald_parcels_again(struct ald_parcels *self, uint64_t num, int64_t not_before_ms)
{
    struct ald_parcel *parcel = parcels_find(&self->riding, num);
    if (!parcel)
        return false;
    parcel_unlink(&self->riding, parcel);
    parcel->not_before_ms = not_before_ms;
    parcel_append(&self->waiting, parcel);
    return true;
}

static struct ald_parcel *parcels_older(struct ald_parcel_list *list, int64_t added_ms)
{
    for (struct ald_parcel *parcel = list->first; parcel; parcel = parcel->next) {
        if (parcel->added_ms > added_ms)
            continue;
        parcel_unlink(list, parcel);
        return parcel;
    }
    return NULL;
}

struct ald_parcel *ald_parcels_late(struct ald_parcels *self, int64_t added_ms)
{
    struct ald_parcel *parcel = parcels_older(&self->riding, added_ms);
    return parcel ? parcel : parcels_older(&self->waiting, added_ms);
}

static struct ald_parcel *parcels_larger(struct ald_parcel_list *list, uint64_t len)
{
    struct ald_parcel *parcel = list->first;
    while (parcel && parcel->len <= len)
        parcel = parcel->next;
    if (parcel)
        parcel_unlink(list, parcel);
    return parcel;
}

struct ald_parcel *ald_parcels_above(struct ald_parcels *self, uint64_t len)
{
    struct ald_parcel *parcel = parcels_larger(&self->riding, len);
    return parcel ? parcel : parcels_larger(&self->waiting, len);
}

bool ald_parcels_hold(const struct ald_parcels *self, uint64_t num)
{
    return parcels_find(&self->riding, num) || parcels_find(&self->waiting, num);
}
