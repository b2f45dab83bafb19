#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/regular.h"
#include "common/store/sqlite.h"

/* The engine reads its log up to the first page that is not as it was written, and says nothing of
 * what follows. Each page's head has the sum of all before it, so that pages behind a bad one can
 * be known as good ones of the same log: what a flipped bit leaves, or a cut of power that kept
 * later pages of a commit and not the earlier ones, which was never acknowledged. */

enum { TAIL_HEAD = 32, TAIL_FRAME = 24, TAIL_PAGE_MAX = 65536 };

struct tail {
    int fd;
    bool swapped; /* sums are of words with the low byte first */
    int page_bytes;
    uint32_t sum[2];
    uint8_t head[TAIL_HEAD];
    uint8_t *frame;
};

static uint32_t tail_word(const uint8_t *at, bool high_first)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = value << 8 | at[high_first ? i : 3 - i];
    return value;
}

static void tail_add(struct tail *self, const uint8_t *data, int len)
{
    for (int at = 0; at < len; at += 8) {
        self->sum[0] += tail_word(data + at, !self->swapped) + self->sum[1];
        self->sum[1] += tail_word(data + at + 4, !self->swapped) + self->sum[0];
    }
}

static bool tail_sum_is(const struct tail *self, const uint8_t *at)
{
    return tail_word(at, true) == self->sum[0] && tail_word(at + 4, true) == self->sum[1];
}

static bool tail_begin(struct tail *self)
{
    if (pread(self->fd, self->head, TAIL_HEAD, 0) != TAIL_HEAD)
        return false;
    uint32_t magic = tail_word(self->head, true);
    uint32_t bytes = tail_word(self->head + 8, true);
    if ((magic & ~UINT32_C(1)) != UINT32_C(0x377f0682) || bytes < 512 || bytes > TAIL_PAGE_MAX)
        return false;
    self->swapped = (magic & 1) == 0;
    self->page_bytes = (int)bytes;
    tail_add(self, self->head, TAIL_HEAD - 8);
    return tail_sum_is(self, self->head + TAIL_HEAD - 8);
}

/* Is the next frame one of this log, and good behind the one before it? The sum goes on from what
 * it says itself, if it is of this log. */
static bool tail_next(struct tail *self, bool *ours)
{
    const uint8_t *frame = self->frame;
    *ours = memcmp(frame + 8, self->head + 16, 8) == 0;
    if (!*ours)
        return false;
    tail_add(self, frame, 8);
    tail_add(self, frame + TAIL_FRAME, self->page_bytes);
    bool good = tail_sum_is(self, frame + 16);
    self->sum[0] = tail_word(frame + 16, true);
    self->sum[1] = tail_word(frame + 20, true);
    return good;
}

int64_t store_log_lost(const char *path)
{
    struct tail self = {.fd = ald_regular_open(path, O_RDONLY)};
    int64_t lost = 0;
    int64_t commits = 0;
    bool broken = false;
    bool ours = true;
    if (self.fd < 0)
        return 0;
    self.frame = malloc(TAIL_FRAME + TAIL_PAGE_MAX);
    ALD_ASSERT(self.frame != NULL);
    bool begun = tail_begin(&self);
    off_t step = TAIL_FRAME + self.page_bytes;
    for (off_t at = TAIL_HEAD; begun && ours; at += step) {
        if (pread(self.fd, self.frame, (size_t)step, at) != step)
            break;
        bool good = tail_next(&self, &ours);
        lost += broken && good;
        commits += broken && good && tail_word(self.frame + 4, true) != 0;
        broken = broken || !good;
    }
    free(self.frame);
    close(self.fd);
    return commits > 0 ? lost : 0; /* else of a transaction that was undone */
}
