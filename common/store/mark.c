#include "common/store/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/base/regular.h"
#include "common/store/disk.h"

/* A slot: magic, round, lane, seq, last_n, wall_ms, received, created as big-endian 64-bit words,
 * then the SHA-256 of those. The slots lie in different pages, so that one torn write can't reach
 * both. The first format ends with wall_ms. */
enum {
    MARK_SLOTS = 2,
    MARK_SLOT_AT = 4096,
    MARK_WORDS = 8,
    MARK_WORDS_1 = 6,
    MARK_HEAD = MARK_WORDS * 8,
    MARK_SLOT_BYTES = MARK_HEAD + 32
};
static const uint64_t MARK_MAGIC_1 = UINT64_C(0x616c644d41524b31); /* "aldMARK1" */
static const uint64_t MARK_MAGIC = UINT64_C(0x616c644d41524b32);   /* "aldMARK2" */

enum mark_slot_state { SLOT_EMPTY, SLOT_VALID, SLOT_DAMAGED };

struct ald_mark {
    int fd;
    bool failed;
    bool dirty;
    bool torn;
    bool known; /* values is what counts */
    bool lost;  /* something was written, nothing of it is valid */
    uint64_t round;
    unsigned slot; /* the one to write: not the newest that is on disk */
    struct ald_mark_values values;
};

static void mark_put_u64(uint8_t *at, uint64_t value)
{
    for (int i = 7; i >= 0; i--) {
        at[i] = (uint8_t)(value & 0xff);
        value >>= 8;
    }
}

static uint64_t mark_get_u64(const uint8_t *at)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | at[i];
    return value;
}

static void mark_encode(uint64_t round, const struct ald_mark_values *values, uint8_t *slot)
{
    const uint64_t words[MARK_WORDS] = {MARK_MAGIC,       round,          values->lane,
                                        values->seq,      values->last_n, (uint64_t)values->wall_ms,
                                        values->received, values->created};
    for (size_t i = 0; i < MARK_WORDS; i++)
        mark_put_u64(slot + 8 * i, words[i]);
    ald_sha256(ald_span_of(slot, MARK_HEAD), slot + MARK_HEAD);
}

static bool mark_decode(const uint8_t *slot, uint64_t *round, struct ald_mark_values *out)
{
    uint8_t sum[32];
    bool first = mark_get_u64(slot) == MARK_MAGIC_1;
    size_t head = first ? (size_t)MARK_WORDS_1 * 8 : (size_t)MARK_HEAD;
    ald_sha256(ald_span_of(slot, head), sum);
    if (!(first || mark_get_u64(slot) == MARK_MAGIC) || memcmp(sum, slot + head, sizeof sum) != 0)
        return false;
    *round = mark_get_u64(slot + 8);
    *out = (struct ald_mark_values){.lane = mark_get_u64(slot + 16),
                                    .seq = mark_get_u64(slot + 24),
                                    .last_n = mark_get_u64(slot + 32),
                                    .wall_ms = (int64_t)mark_get_u64(slot + 40),
                                    .received = first ? 0 : mark_get_u64(slot + 48),
                                    .created = first ? 0 : mark_get_u64(slot + 56)};
    return true;
}

static bool mark_is_blank(const uint8_t *slot, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (slot[i] != 0)
            return false;
    }
    return true;
}

/* A slot that was never written reads as zeros: empty, not damaged. */
static enum ald_rc mark_load_slot(ald_mark_t *self, unsigned index, enum mark_slot_state *state)
{
    uint8_t slot[MARK_SLOT_BYTES];
    uint64_t round = 0;
    struct ald_mark_values values;
    ssize_t got = pread(self->fd, slot, sizeof slot, (off_t)index * MARK_SLOT_AT);
    if (got < 0)
        return ALD_IO;
    *state = SLOT_EMPTY;
    if (mark_is_blank(slot, (size_t)got))
        return ALD_OK;
    *state = SLOT_DAMAGED;
    if (got < MARK_SLOT_BYTES || !mark_decode(slot, &round, &values))
        return ALD_OK;
    *state = SLOT_VALID;
    if (self->known && round <= self->round)
        return ALD_OK;
    self->known = true;
    self->round = round;
    self->values = values;
    self->slot = (index + 1) % MARK_SLOTS;
    return ALD_OK;
}

static enum ald_rc mark_load(ald_mark_t *self)
{
    for (unsigned i = 0; i < MARK_SLOTS; i++) {
        enum mark_slot_state state = SLOT_EMPTY;
        enum ald_rc rc = mark_load_slot(self, i, &state);
        if (rc != ALD_OK)
            return rc;
        self->torn = self->torn || state == SLOT_DAMAGED;
    }
    self->lost = self->torn && !self->known;
    return ALD_OK;
}

/* Room for both slots at once: where files are written in place, a full disk can't stop the mark.
 */
static enum ald_rc mark_claim(const ald_mark_t *self)
{
    int code = posix_fallocate(self->fd, 0, MARK_SLOTS * MARK_SLOT_AT);
    if (code == 0 && ALD_FAILPOINT("mark.claim", fsync(self->fd), -1) != 0)
        code = errno;
    if (code == 0)
        return ALD_OK;
    return code == ENOSPC || code == EDQUOT ? ALD_FULL : ALD_IO;
}

/* What a cut left torn is whole again, so that what is found torn later did rot. */
static enum ald_rc mark_mend(ald_mark_t *self)
{
    struct ald_mark_values values = self->values;
    if (ald_mark_write(self, &values) == ALD_OK)
        (void)!ald_mark_sync(self);
    return self->failed ? ALD_IO : ALD_OK;
}

enum ald_rc ald_mark_open(const char *path, ald_mark_t **out, struct ald_err *err)
{
    *out = NULL;
    /* As the store does: read what the disk has, not what a failed write left in the cache. */
    if (ald_disk_settle(path) != ALD_OK)
        return ald_err_set(err, ALD_IO, "The mark %s can't be synced: %s.", path,
                           ald_regular_why(path, errno));
    int fd = ald_regular_open(path, O_RDWR | O_CREAT);
    if (fd < 0)
        return ald_err_set(err, ALD_IO, "The mark %s can't be opened: %s.", path,
                           ald_regular_why(path, errno));
    ald_mark_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self != NULL);
    self->fd = fd;
    enum ald_rc rc = mark_claim(self);
    if (rc == ALD_OK)
        rc = ald_disk_sync_folder_of(path);
    if (rc == ALD_OK)
        rc = mark_load(self);
    if (rc == ALD_OK && self->torn && self->known)
        rc = mark_mend(self);
    if (rc != ALD_OK) {
        ald_mark_destroy(&self);
        return ald_err_set(err, rc, "The mark %s can't be read or made: look at the disk.", path);
    }
    *out = self;
    return ALD_OK;
}

enum ald_rc ald_mark_look(const char *path, struct ald_mark_values *out, bool *torn)
{
    ald_mark_t self = {.fd = ald_regular_open(path, O_RDONLY)};
    *torn = false;
    if (self.fd < 0)
        return errno == ENOENT ? ALD_NOTFOUND : ALD_IO;
    enum ald_rc rc = mark_load(&self);
    close(self.fd);
    *torn = self.torn;
    return rc == ALD_OK ? ald_mark_read(&self, out) : rc;
}

void ald_mark_destroy(ald_mark_t **self_p)
{
    if (*self_p == NULL)
        return;
    close((*self_p)->fd);
    free(*self_p);
    *self_p = NULL;
}

enum ald_rc ald_mark_read(const ald_mark_t *self, struct ald_mark_values *out)
{
    if (!self->known)
        return self->lost ? ALD_CORRUPT : ALD_NOTFOUND;
    *out = self->values;
    return ALD_OK;
}

bool ald_mark_torn(const ald_mark_t *self)
{
    return self->torn;
}

enum ald_rc ald_mark_write(ald_mark_t *self, const struct ald_mark_values *values)
{
    uint8_t slot[MARK_SLOT_BYTES];
    if (self->failed)
        return ALD_IO;
    mark_encode(self->round + 1, values, slot);
    const off_t at = (off_t)self->slot * MARK_SLOT_AT;
    ssize_t put = ALD_FAILPOINT_WRITE("mark.write", pwrite(self->fd, slot, sizeof slot, at),
                                      pwrite(self->fd, slot, sizeof slot / 2, at));
    if (put < 0 && (errno == ENOSPC || errno == EDQUOT))
        return ALD_FULL;
    if (put != (ssize_t)sizeof slot) {
        self->failed = true;
        return ALD_IO;
    }
    self->round++;
    self->values = *values;
    self->known = true;
    self->dirty = true;
    return ALD_OK;
}

enum ald_rc ald_mark_sync(ald_mark_t *self)
{
    if (self->failed)
        return ALD_IO;
    if (!self->dirty)
        return ALD_OK;
    if (ALD_FAILPOINT("mark.sync", fdatasync(self->fd), -1) != 0) {
        self->failed = true;
        return ALD_IO;
    }
    self->dirty = false;
    self->slot = (self->slot + 1) % MARK_SLOTS;
    return ALD_OK;
}
