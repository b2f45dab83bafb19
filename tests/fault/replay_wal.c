#include "replay.h"

#include <stdlib.h>
#include <string.h>

/* How far a log goes: up to its last commit whose frames are all there, as the engine's recovery
 * has it. Two disks with the same file and the same such beginning of the log hold the same store,
 * so that only one of them need be opened. What is told here is held against the engine on a
 * sample. */

enum { HEAD = 32, FRAME_HEAD = 24, LOGS = 4 };

struct sum {
    uint32_t a, b;
};

struct log {
    int object;
    size_t frame; /* bytes; 0: the head is not whole */
    bool swapped; /* its sums are of words with the low byte last */
    struct sum head;
    size_t count, room;
    struct sum *sums;    /* after each frame that can't change any more */
    struct sum *commits; /* the sum at the last commit up to it */
};

static struct log logs[LOGS] = {
    {.object = NOTHING}, {.object = NOTHING}, {.object = NOTHING}, {.object = NOTHING}};
static int log_turn;

static uint32_t word(const uint8_t *at, bool swapped)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return swapped ? __builtin_bswap32(value) : value;
}

static struct sum sum_of(const uint8_t *data, size_t len, struct sum sum, bool swapped)
{
    for (size_t at = 0; at + 8 <= len; at += 8) {
        sum.a += word(data + at, swapped) + sum.b;
        sum.b += word(data + at + 4, swapped) + sum.a;
    }
    return sum;
}

/* Sums are written with the low byte last. */
static bool sum_is(struct sum sum, const uint8_t *at)
{
    return word(at, true) == sum.a && word(at + 4, true) == sum.b;
}

static struct log *log_of(int object)
{
    for (int i = 0; i < LOGS; i++) {
        if (logs[i].object == object)
            return &logs[i];
    }
    struct log *it = &logs[log_turn++ % LOGS];
    it->object = object;
    it->count = 0;
    it->frame = 0;
    return it;
}

static void log_read_head(struct log *it)
{
    const uint8_t *data = disk_data(it->object);
    it->frame = 0;
    it->count = 0;
    if (disk_len(it->object) < HEAD || (word(data, true) & ~1u) != 0x377f0682)
        return;
    it->swapped = (word(data, true) & 1) != 0;
    it->head = sum_of(data, HEAD - 8, (struct sum){0, 0}, it->swapped);
    if (sum_is(it->head, data + HEAD - 8))
        it->frame = word(data + 8, true) + FRAME_HEAD;
}

static void log_keep(struct log *it, struct sum sum, struct sum commit)
{
    if (it->count == it->room) {
        it->room = it->room * 2 + 256;
        it->sums = realloc(it->sums, it->room * sizeof *it->sums);
        it->commits = realloc(it->commits, it->room * sizeof *it->commits);
        if (it->sums == NULL || it->commits == NULL)
            abort();
    }
    it->sums[it->count] = sum;
    it->commits[it->count++] = commit;
}

/* The sum at the last commit. was: below it nothing has changed since the last walk; stays: below
 * it nothing that is open can change anything. */
static struct sum log_walk(struct log *it, size_t was, size_t stays)
{
    const uint8_t *data = disk_data(it->object);
    size_t len = disk_len(it->object);
    if (was < HEAD || it->frame == 0)
        log_read_head(it);
    if (it->frame == 0)
        return (struct sum){0, 0};
    size_t frames = was > HEAD ? (was - HEAD) / it->frame : 0;
    it->count = it->count < frames ? it->count : frames;
    struct sum sum = it->count > 0 ? it->sums[it->count - 1] : it->head;
    struct sum commit = it->count > 0 ? it->commits[it->count - 1] : (struct sum){0, 0};
    for (size_t i = it->count, at = HEAD + i * it->frame; at + it->frame <= len;
         i++, at += it->frame) {
        const uint8_t *frame = data + at;
        if (memcmp(frame + 8, data + 16, 8) != 0 || word(frame, true) == 0)
            break;
        sum = sum_of(frame, 8, sum, it->swapped);
        sum = sum_of(frame + FRAME_HEAD, it->frame - FRAME_HEAD, sum, it->swapped);
        if (!sum_is(sum, frame + 16))
            break;
        if (word(frame + 4, true) != 0)
            commit = sum;
        if (at + it->frame <= stays && i == it->count)
            log_keep(it, sum, commit);
    }
    return commit;
}

uint64_t wal_print(const char *name)
{
    int object = disk_find(name);
    if (object == NOTHING || disk_len(object) == 0)
        return 0;
    size_t stays;
    size_t was = disk_steady(object, &stays);
    struct log *it = log_of(object);
    struct sum commit = log_walk(it, was, stays);
    return ((uint64_t)commit.a << 32 | commit.b) * 2 + 1;
}
