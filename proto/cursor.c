#include "proto/cursor.h"

#include <stddef.h>

/* How the lead bytes 0xc0 to 0xdf go on. */
enum lead_shape {
    LEAD_NEVER, /* 0xc1 is not used by the format */
    LEAD_NIL,
    LEAD_FALSE,
    LEAD_TRUE,
    LEAD_FLOAT,     /* width bytes */
    LEAD_UNSIGNED,  /* width bytes, big-endian */
    LEAD_SIGNED,    /* width bytes, big-endian, two's complement */
    LEAD_TEXT,      /* a length of width bytes, then that many */
    LEAD_BYTES,     /* likewise */
    LEAD_EXTENSION, /* likewise, and a type byte between */
    LEAD_FIXED,     /* an extension: a type byte and width bytes */
    LEAD_ARRAY,     /* a count of width bytes */
    LEAD_MAP        /* likewise, of pairs */
};

struct lead {
    enum lead_shape shape;
    uint8_t width;
};

enum { LEAD_FIRST = 0xc0, LEAD_LAST = 0xdf };

static const struct lead leads[LEAD_LAST - LEAD_FIRST + 1] = {
    {LEAD_NIL, 0},       {LEAD_NEVER, 0},     {LEAD_FALSE, 0},    {LEAD_TRUE, 0},
    {LEAD_BYTES, 1},     {LEAD_BYTES, 2},     {LEAD_BYTES, 4},    {LEAD_EXTENSION, 1},
    {LEAD_EXTENSION, 2}, {LEAD_EXTENSION, 4}, {LEAD_FLOAT, 4},    {LEAD_FLOAT, 8},
    {LEAD_UNSIGNED, 1},  {LEAD_UNSIGNED, 2},  {LEAD_UNSIGNED, 4}, {LEAD_UNSIGNED, 8},
    {LEAD_SIGNED, 1},    {LEAD_SIGNED, 2},    {LEAD_SIGNED, 4},   {LEAD_SIGNED, 8},
    {LEAD_FIXED, 1},     {LEAD_FIXED, 2},     {LEAD_FIXED, 4},    {LEAD_FIXED, 8},
    {LEAD_FIXED, 16},    {LEAD_TEXT, 1},      {LEAD_TEXT, 2},     {LEAD_TEXT, 4},
    {LEAD_ARRAY, 2},     {LEAD_ARRAY, 4},     {LEAD_MAP, 2},      {LEAD_MAP, 4},
};

struct ald_cursor ald_cursor_of(struct ald_span bytes)
{
    struct ald_cursor self = {.at = bytes.data, .end = bytes.data, .rc = ALD_OK};
    if (bytes.len > 0)
        self.end = bytes.data + bytes.len;
    return self;
}

void ald_cursor_fail(struct ald_cursor *self, enum ald_rc rc)
{
    if (self->rc == ALD_OK)
        self->rc = rc;
    self->at = self->end;
}

static size_t cursor_left(const struct ald_cursor *self)
{
    return (size_t)(self->end - self->at);
}

static struct ald_item cursor_none(struct ald_cursor *self)
{
    ald_cursor_fail(self, ALD_MALFORMED);
    return (struct ald_item){.type = ALD_ITEM_NONE};
}

/* An item with len bytes of its own. */
static struct ald_item cursor_bytes(struct ald_cursor *self, enum ald_item_type type, uint64_t len)
{
    if (len > cursor_left(self))
        return cursor_none(self);
    struct ald_item item = {.type = type, .bytes = {.data = self->at, .len = (size_t)len}};
    self->at += len;
    return item;
}

/* A container: each of its items takes a byte at least, so that a false count is seen here. */
static struct ald_item cursor_container(struct ald_cursor *self, enum ald_item_type type,
                                        uint64_t count)
{
    uint64_t items = type == ALD_ITEM_MAP ? 2 * count : count;
    if (items > cursor_left(self))
        return cursor_none(self);
    return (struct ald_item){.type = type, .number = count};
}

static struct ald_item cursor_signed(uint64_t number, unsigned width)
{
    unsigned unused_bits = 64 - 8 * width;
    uint64_t top = UINT64_C(1) << (8 * width - 1);
    if ((number & top) == 0)
        return (struct ald_item){.type = ALD_ITEM_UNSIGNED, .number = number};
    uint64_t sign = unused_bits == 0 ? 0 : UINT64_MAX << (64 - unused_bits);
    return (struct ald_item){.type = ALD_ITEM_NEGATIVE, .number = number | sign};
}

/* The number of width bytes that follows a lead byte. Enough bytes are there. */
static uint64_t cursor_number(struct ald_cursor *self, unsigned width)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < width; i++)
        number = number << 8 | self->at[i];
    self->at += width;
    return number;
}

static struct ald_item cursor_long(struct ald_cursor *self, struct lead lead)
{
    if (lead.shape == LEAD_FIXED)
        return cursor_bytes(self, ALD_ITEM_EXTENSION, (uint64_t)lead.width + 1);
    if (lead.width > cursor_left(self))
        return cursor_none(self);
    uint64_t number = cursor_number(self, lead.width);
    switch (lead.shape) {
    case LEAD_NIL:
        return (struct ald_item){.type = ALD_ITEM_NIL};
    case LEAD_FALSE:
        return (struct ald_item){.type = ALD_ITEM_BOOL, .number = 0};
    case LEAD_TRUE:
        return (struct ald_item){.type = ALD_ITEM_BOOL, .number = 1};
    case LEAD_FLOAT:
        return (struct ald_item){.type = ALD_ITEM_FLOAT};
    case LEAD_UNSIGNED:
        return (struct ald_item){.type = ALD_ITEM_UNSIGNED, .number = number};
    case LEAD_SIGNED:
        return cursor_signed(number, lead.width);
    case LEAD_TEXT:
        return cursor_bytes(self, ALD_ITEM_TEXT, number);
    case LEAD_BYTES:
        return cursor_bytes(self, ALD_ITEM_BYTES, number);
    case LEAD_EXTENSION:
        return cursor_bytes(self, ALD_ITEM_EXTENSION, number + 1);
    case LEAD_ARRAY:
        return cursor_container(self, ALD_ITEM_ARRAY, number);
    case LEAD_MAP:
        return cursor_container(self, ALD_ITEM_MAP, number);
    case LEAD_NEVER:
    case LEAD_FIXED:
        break;
    }
    return cursor_none(self);
}

struct ald_item ald_cursor_next(struct ald_cursor *self)
{
    if (self->at == self->end)
        return cursor_none(self);
    uint8_t lead = *self->at++;
    if (lead >= LEAD_FIRST && lead <= LEAD_LAST)
        return cursor_long(self, leads[lead - LEAD_FIRST]);
    if (lead < 0x80)
        return (struct ald_item){.type = ALD_ITEM_UNSIGNED, .number = lead};
    if (lead >= 0xe0)
        return cursor_signed(lead, 1);
    if (lead >= 0xa0)
        return cursor_bytes(self, ALD_ITEM_TEXT, lead & 0x1f);
    if (lead >= 0x90)
        return cursor_container(self, ALD_ITEM_ARRAY, lead & 0x0f);
    return cursor_container(self, ALD_ITEM_MAP, lead & 0x0f);
}

/* How many items an item announces. */
static uint64_t cursor_inside(struct ald_item item)
{
    if (item.type == ALD_ITEM_MAP)
        return 2 * item.number;
    return item.type == ALD_ITEM_ARRAY ? item.number : 0;
}

void ald_cursor_skip(struct ald_cursor *self)
{
    uint64_t owed[ALD_CURSOR_DEPTH + 1] = {1}; /* items still to come, a level each */
    size_t level = 0;
    while (self->rc == ALD_OK) {
        if (owed[level] == 0) {
            if (level == 0)
                return;
            level--;
            continue;
        }
        owed[level]--;
        uint64_t inside = cursor_inside(ald_cursor_next(self));
        if (inside == 0)
            continue;
        if (level == ALD_CURSOR_DEPTH) {
            ald_cursor_fail(self, ALD_MALFORMED);
            return;
        }
        owed[++level] = inside;
    }
}
