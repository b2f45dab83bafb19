#include "common/net/window.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW_FIRST = 64 };

void ald_window_init(struct ald_window *self, uint64_t floor)
{
    *self = (struct ald_window){.floor = floor};
}

void ald_window_free(struct ald_window *self)
{
    free(self->marks);
    *self = (struct ald_window){0};
}

static size_t window_index(const struct ald_window *self, size_t offset)
{
    return (self->head + offset) & (self->cap - 1); /* cap is a power of two */
}

static void window_grow(struct ald_window *self, size_t need)
{
    size_t cap = self->cap ? self->cap : WINDOW_FIRST;
    while (cap < need)
        cap *= 2;
    uint8_t *marks = calloc(cap, 1);
    ALD_ASSERT(marks);
    for (size_t i = 0; i < self->count; i++)
        marks[i] = self->marks[window_index(self, i)];
    free(self->marks);
    self->marks = marks;
    self->cap = cap;
    self->head = 0;
}

uint8_t ald_window_get(const struct ald_window *self, uint64_t num)
{
    if (num < self->floor || num - self->floor >= self->count)
        return 0;
    return self->marks[window_index(self, (size_t)(num - self->floor))];
}

enum ald_rc ald_window_set(struct ald_window *self, uint64_t num, uint8_t mark)
{
    ALD_ASSERT(mark != 0);
    if (num < self->floor)
        return ALD_EXISTS;
    if (num - self->floor >= ALD_WINDOW_MAX)
        return ALD_FULL;
    size_t offset = (size_t)(num - self->floor);
    if (offset >= self->cap)
        window_grow(self, offset + 1);
    while (self->count <= offset)
        self->marks[window_index(self, self->count++)] = 0;
    self->marks[window_index(self, offset)] = mark;
    return ALD_OK;
}

void ald_window_raise(struct ald_window *self, uint64_t floor)
{
    if (floor <= self->floor)
        return;
    uint64_t up = floor - self->floor;
    self->floor = floor;
    if (up >= self->count) {
        self->count = 0;
        self->head = 0;
        return;
    }
    self->head = window_index(self, (size_t)up);
    self->count -= (size_t)up;
}

uint64_t ald_window_settle(struct ald_window *self)
{
    size_t up = 0;
    while (up < self->count && self->marks[window_index(self, up)] != 0)
        up++;
    ald_window_raise(self, self->floor + up);
    return self->floor;
}

size_t ald_window_save(const struct ald_window *self, uint8_t *out, size_t cap)
{
    for (size_t i = 0; i < self->count && i < cap; i++)
        out[i] = self->marks[window_index(self, i)];
    return self->count;
}

enum ald_rc ald_window_load(struct ald_window *self, uint64_t floor, struct ald_span marks)
{
    if (marks.len > ALD_WINDOW_MAX)
        return ALD_TOOBIG;
    ald_window_free(self);
    self->floor = floor;
    if (marks.len == 0)
        return ALD_OK;
    window_grow(self, marks.len);
    memcpy(self->marks, marks.data, marks.len);
    self->count = marks.len;
    return ALD_OK;
}
