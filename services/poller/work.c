#include "services/poller/work.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct work_slot {
    struct work_item item;  /* first: an item is its slot */
    struct work_slot *next; /* in the queue, or among the free ones */
    struct work_slot *peer; /* in the same bucket */
    uint64_t run;
    bool queued;
};

struct work {
    size_t max;
    size_t bucket_count; /* a power of two */
    struct work_slot **buckets;
    struct work_slot *slots; /* 2 x max */
    size_t used;             /* of them were ever taken: the others have no memory yet */
    struct work_slot *free;
    struct work_slot *first; /* of the queue */
    struct work_slot *last;
    size_t queued;
    size_t under_way;
    size_t submission_bytes; /* of all that are held */
    uint64_t run;
};

static size_t work_bucket_count(size_t slots)
{
    size_t count = 16;
    while (count < slots)
        count *= 2;
    return count;
}

work_t *work_new(size_t max)
{
    ALD_ASSERT(max > 0 && max <= SIZE_MAX / 4 / sizeof(struct work_slot));
    work_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->max = max;
    self->bucket_count = work_bucket_count(2 * max);
    self->buckets = calloc(self->bucket_count, sizeof(struct work_slot *));
    self->slots = calloc(2 * max, sizeof *self->slots);
    ALD_ASSERT(self->buckets && self->slots);
    return self;
}

static void work_item_free(work_t *self, struct work_item *item)
{
    free(item->poll_url);
    free(item->result_url);
    free(item->params);
    ald_profiles_destroy(&item->profiles);
    item->poll_url = item->result_url = item->params = NULL;
    if (item->body)
        explicit_bzero(item->body, item->body_len);
    self->submission_bytes -= item->body_len;
    free(item->body);
    item->body = NULL;
    item->body_len = 0;
    if (!item->submit)
        return;
    self->submission_bytes -= item->submit->len;
    explicit_bzero(item->submit->submission, item->submit->len);
    free(item->submit);
    item->submit = NULL;
}

void work_destroy(work_t **self_p)
{
    if (!*self_p)
        return;
    for (size_t i = 0; i < (*self_p)->used; i++)
        work_item_free(*self_p, &(*self_p)->slots[i].item);
    free((*self_p)->buckets);
    free((*self_p)->slots);
    free(*self_p);
    *self_p = NULL;
}

void work_new_run(work_t *self)
{
    self->run++;
}

static struct work_slot **work_bucket(work_t *self, uint64_t lease)
{
    /* Multiplying spreads numbers that come in order, or in steps. */
    uint64_t mixed = lease * UINT64_C(0x9E3779B97F4A7C15);
    return &self->buckets[(mixed >> 32) & (self->bucket_count - 1)];
}

static bool work_holds(work_t *self, uint64_t lease)
{
    for (const struct work_slot *slot = *work_bucket(self, lease); slot; slot = slot->peer) {
        if (slot->item.lease.lease == lease && slot->run == self->run)
            return true;
    }
    return false;
}

/* NULL for nothing. */
static char *work_copy(struct ald_span *span)
{
    char *copy = span->len > 0 ? strndup((const char *)span->data, span->len) : NULL;
    ALD_ASSERT(copy || span->len == 0);
    *span = ald_span_of(NULL, 0);
    return copy;
}

static void work_copy_body(work_t *self, struct work_item *item)
{
    struct ald_span *body = &item->lease.body;
    if (body->len > 0) {
        item->body = malloc(body->len);
        ALD_ASSERT(item->body);
        memcpy(item->body, body->data, body->len);
        item->body_len = body->len;
        self->submission_bytes += body->len;
    }
    *body = ald_span_of(NULL, 0);
}

/* One that was used before, if there is one. NULL: all are taken. */
static struct work_slot *work_slot_take(work_t *self)
{
    struct work_slot *slot = self->free;
    if (slot)
        self->free = slot->next;
    else if (self->used < 2 * self->max)
        slot = &self->slots[self->used++];
    return slot;
}

enum ald_rc work_add(work_t *self, const struct msg_lease *lease, int64_t now_ms)
{
    if (work_holds(self, lease->lease))
        return ALD_EXISTS;
    if (lease->body.len > WORK_SUBMISSIONS_MAX - self->submission_bytes)
        return ALD_FULL;
    struct work_slot *slot = work_slot_take(self);
    if (!slot)
        return ALD_FULL;
    struct work_slot **bucket = work_bucket(self, lease->lease);
    *slot = (struct work_slot){
        .item = {.lease = *lease, .until_ms = now_ms + lease->lease_ms},
        .peer = *bucket,
        .run = self->run,
        .queued = true,
    };
    slot->item.poll_url = work_copy(&slot->item.lease.poll_url);
    slot->item.result_url = work_copy(&slot->item.lease.result_url);
    slot->item.params = work_copy(&slot->item.lease.params);
    work_copy_body(self, &slot->item);
    *bucket = slot;
    if (self->last)
        self->last->next = slot;
    else
        self->first = slot;
    self->last = slot;
    self->queued++;
    return ALD_OK;
}

struct work_item *work_take_back(work_t *self)
{
    struct work_slot *slot = self->first;
    if (!slot)
        return NULL;
    self->first = slot->next;
    if (!self->first)
        self->last = NULL;
    slot->next = NULL;
    slot->queued = false;
    self->queued--;
    self->under_way++;
    return &slot->item;
}

enum ald_rc work_add_submit(work_t *self, const struct msg_submit *submit, int64_t now_ms)
{
    struct msg_lease lease = {
        .lease = submit->lease, .task = submit->task, .lease_ms = submit->lease_ms};
    memcpy(lease.provider, submit->provider, sizeof lease.provider);
    size_t len = submit->submission.len;
    if (len > WORK_SUBMISSIONS_MAX - self->submission_bytes)
        return ALD_FULL;
    enum ald_rc rc = work_add(self, &lease, now_ms);
    if (rc != ALD_OK)
        return rc;
    struct work_submit *copy = malloc(sizeof *copy + len);
    ALD_ASSERT(copy);
    *copy = (struct work_submit){.attempt = submit->attempt, .len = len};
    memcpy(copy->callback_url, submit->callback_url, sizeof copy->callback_url);
    if (len > 0)
        memcpy(copy->submission, submit->submission.data, len);
    self->submission_bytes += len;
    self->last->item.submit = copy;
    return ALD_OK;
}

enum ald_rc work_begin(work_t *self, int64_t now_ms, struct work_item **out)
{
    *out = NULL;
    if (!self->first)
        return ALD_NOTFOUND;
    if (self->under_way >= self->max)
        return ALD_AGAIN;
    *out = work_take_back(self);
    return (*out)->until_ms > now_ms ? ALD_OK : ALD_TIMEOUT;
}

size_t work_gather(work_t *self, struct work_item *first, size_t most)
{
    const uint64_t run = ((struct work_slot *)(void *)first)->run;
    struct work_item **link = &first->with;
    size_t count = 1;
    while (count < most && first->lease.batch != 0 && self->first && self->first->run == run &&
           self->first->item.lease.batch == first->lease.batch) {
        *link = work_take_back(self);
        link = &(*link)->with;
        count++;
    }
    return count;
}

void work_end(work_t *self, struct work_item **item_p)
{
    struct work_slot *slot = (struct work_slot *)(void *)*item_p;
    *item_p = NULL;
    ALD_ASSERT(slot && !slot->queued && self->under_way > 0);
    struct work_slot **link = work_bucket(self, slot->item.lease.lease);
    while (*link != slot)
        link = &(*link)->peer;
    *link = slot->peer;
    work_item_free(self, &slot->item);
    slot->next = self->free;
    self->free = slot;
    self->under_way--;
}

size_t work_credit(const work_t *self)
{
    size_t busy = self->queued + self->under_way;
    return busy < self->max ? self->max - busy : 0;
}

size_t work_queued(const work_t *self)
{
    return self->queued;
}

size_t work_under_way(const work_t *self)
{
    return self->under_way;
}
