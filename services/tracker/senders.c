#include "services/tracker/senders.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

enum { SENDERS_MAX = 1024, SENDERS_FRESH_MS = 10000 };

struct senders {
    struct sender *list[SENDERS_MAX];
    size_t count;
    int64_t grace_until_ms;
};

senders_t *senders_new(int64_t recover_grace_ms, int64_t now_ms)
{
    senders_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->grace_until_ms = now_ms + recover_grace_ms;
    return self;
}

void senders_destroy(senders_t **self_p)
{
    senders_t *self = *self_p;
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++) {
        ald_window_free(&self->list[i]->window);
        free(self->list[i]);
    }
    free(self);
    *self_p = NULL;
}

static struct sender *senders_add(senders_t *self, int64_t no, const char *id, uint64_t floor)
{
    struct sender *sender = calloc(1, sizeof *sender);
    ALD_ASSERT(sender);
    sender->no = no;
    ald_text_cut(sender->id, sizeof sender->id, ald_span_str(id));
    ald_window_init(&sender->window, floor);
    self->list[self->count++] = sender;
    return sender;
}

struct sender *senders_get(senders_t *self, const char *id)
{
    int64_t highest = 0;
    for (size_t i = 0; i < self->count; i++) {
        if (strcmp(self->list[i]->id, id) == 0)
            return self->list[i];
        if (self->list[i]->no > highest)
            highest = self->list[i]->no;
    }
    return self->count < SENDERS_MAX ? senders_add(self, highest + 1, id, 0) : NULL;
}

void senders_restore(senders_t *self, int64_t no, const char *id, uint64_t floor,
                     struct ald_span marks, int64_t heard_at_ms)
{
    if (self->count == SENDERS_MAX)
        return;
    struct sender *sender = senders_add(self, no, id, floor);
    sender->heard_at_ms = heard_at_ms;
    ALD_ASSERT(ald_window_load(&sender->window, floor, marks) == ALD_OK);
}

struct sender *senders_at(senders_t *self, size_t index)
{
    return index < self->count ? self->list[index] : NULL;
}

void senders_told(senders_t *self, struct sender *sender, int64_t spool_oldest_ms,
                  uint64_t spool_items, int64_t now_ms)
{
    (void)self;
    sender->emptied = sender->emptied || spool_items == 0;
    sender->heard_ms = now_ms;
    sender->spool_oldest_ms = spool_oldest_ms;
    sender->spool_items = spool_items;
}

bool sender_speaks(struct sender *sender, const char *instance)
{
    if (strcmp(instance, MSG_NUMBERLESS) == 0)
        return true;
    int order = strcmp(instance, sender->instance);
    if (order > 0)
        ald_text_cut(sender->instance, sizeof sender->instance, ald_span_str(instance));
    return order >= 0;
}

void senders_moved(senders_t *self, const struct sender *sender, const char *instance)
{
    if (strcmp(instance, MSG_NUMBERLESS) == 0)
        return;
    for (size_t i = 0; i < self->count; i++) {
        struct sender *other = self->list[i];
        if (other == sender || strcmp(other->ledger.instance, instance) != 0)
            continue;
        other->ledger = (struct msg_batch){0};
        other->spool_items = 0;
        other->spool_oldest_ms = 0;
        other->emptied = true;
    }
}

uint64_t sender_highest(const struct sender *sender)
{
    uint64_t end = sender->window.floor + sender->window.count;
    return end > 0 ? end - 1 : 0;
}

bool sender_seen(const struct sender *sender, uint64_t num, enum ald_disposition *out)
{
    if (num < sender->window.floor) {
        *out = ALD_DISP_DUPLICATE; /* settled at the sender, who should not have asked */
        return true;
    }
    uint8_t mark = ald_window_get(&sender->window, num);
    if (mark == 0)
        return false;
    *out = (enum ald_disposition)(mark - 1);
    return true;
}

enum ald_rc sender_note(struct sender *sender, uint64_t num, enum ald_disposition disposition)
{
    return ald_window_set(&sender->window, num, (uint8_t)(disposition + 1));
}

bool senders_hold(const senders_t *self, int64_t now_ms)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct sender *sender = self->list[i];
        if (!sender->emptied && now_ms < self->grace_until_ms)
            return true;
        if (sender->spool_items > 0 && now_ms - sender->heard_ms < SENDERS_FRESH_MS)
            return true;
    }
    return false;
}
