#include "services/gateway/numbers.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/guard.h"
#include "common/base/log.h"
#include "common/net/window.h"

enum {
    NUMBERS_RANGE = 20000, /* taken from the spool at once */
    NUMBERS_SETTLED = 1    /* mark in the window */
};

struct numbers_range {
    uint64_t next;
    uint64_t end;
};

struct numbers {
    ald_spool_t *spool;
    struct ald_window window; /* numbers of this run; the spool knows those in it */

    pthread_mutex_t lock; /* of the rest */
    struct numbers_range range;
    struct numbers_range spare;
    bool closed;
};

numbers_t *numbers_new(ald_spool_t *spool, uint64_t first)
{
    numbers_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->spool = spool;
    ald_window_init(&self->window, first);
    (void)pthread_mutex_init(&self->lock, NULL);
    return self;
}

void numbers_destroy(numbers_t **self_p)
{
    if (!*self_p)
        return;
    (void)pthread_mutex_destroy(&(*self_p)->lock);
    ald_window_free(&(*self_p)->window);
    free(*self_p);
    *self_p = NULL;
}

uint64_t numbers_next(numbers_t *self)
{
    uint64_t num = 0;
    (void)pthread_mutex_lock(&self->lock);
    if (self->range.next == self->range.end) {
        self->range = self->spare;
        self->spare = (struct numbers_range){0};
    }
    if (self->range.next < self->range.end && !self->closed)
        num = self->range.next++;
    (void)pthread_mutex_unlock(&self->lock);
    return num;
}

void numbers_close(numbers_t *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->closed = true;
    (void)pthread_mutex_unlock(&self->lock);
}

/* Numbers that lie between two ranges were never given out. */
bool numbers_supply(numbers_t *self)
{
    (void)pthread_mutex_lock(&self->lock);
    bool enough = self->spare.next < self->spare.end;
    uint64_t end = self->range.end;
    (void)pthread_mutex_unlock(&self->lock);
    uint64_t first = 0;
    if (enough)
        return true;
    if (ald_spool_take_numbers(self->spool, NUMBERS_RANGE, &first) != ALD_OK)
        return false;
    if (end == 0)
        ald_window_raise(&self->window, first);
    for (uint64_t num = end; end != 0 && num < first; num++)
        numbers_mark(self, num);
    (void)pthread_mutex_lock(&self->lock);
    self->spare = (struct numbers_range){.next = first, .end = first + NUMBERS_RANGE};
    (void)pthread_mutex_unlock(&self->lock);
    return true;
}

void numbers_mark(numbers_t *self, uint64_t num)
{
    if (ald_window_set(&self->window, num, NUMBERS_SETTLED) == ALD_FULL)
        ald_log(ALD_ERROR, "post.window", "num=%llu floor=%llu", (unsigned long long)num,
                (unsigned long long)self->window.floor);
}

uint64_t numbers_floor(numbers_t *self)
{
    return ald_window_settle(&self->window);
}
