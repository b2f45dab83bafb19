#include "services/ctl/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/codec.h"
#include "common/base/digest.h"
#include "common/base/regular.h"
#include "common/base/text.h"

enum { MANIFEST_HEX = 64 };

const char *const MANIFEST_NAMES[MANIFEST_FILES] = {"tracker.db", "letters.db", "callback.key"};

static bool manifest_sum(struct ald_span hex, uint8_t out[32])
{
    struct ald_buf bytes;
    ald_buf_init(&bytes, 64);
    bool good = hex.len == MANIFEST_HEX && ald_hex_decode(&bytes, hex) == ALD_OK && bytes.len == 32;
    if (good)
        memcpy(out, bytes.data, 32);
    ald_buf_free(&bytes);
    return good;
}

/* "<64 digits>  <name>" */
static bool manifest_line(struct manifest *self, struct ald_span line)
{
    if (line.len < MANIFEST_HEX + 3 || line.data[MANIFEST_HEX] != ' ')
        return false;
    struct ald_span name = ald_span_skip(line, MANIFEST_HEX + 2);
    for (size_t i = 0; i < MANIFEST_FILES; i++) {
        if (!ald_span_eq_str(name, MANIFEST_NAMES[i]) || self->file[i].there)
            continue;
        self->file[i].there = true;
        return manifest_sum(ald_span_of(line.data, MANIFEST_HEX), self->file[i].sum);
    }
    return false;
}

static void manifest_comment(struct manifest *self, struct ald_span line)
{
    struct ald_span text = ald_span_trim(ald_span_skip(line, 1));
    if (text.len > 5 && memcmp(text.data, "made ", 5) == 0)
        ald_text_cut(self->made, sizeof self->made, text);
}

enum ald_rc manifest_parse(struct manifest *self, struct ald_span text, struct ald_err *err)
{
    *self = (struct manifest){0};
    for (unsigned number = 1; text.len > 0; number++) {
        size_t len = ald_span_find(text, '\n');
        struct ald_span line = ald_span_of(text.data, len);
        text = ald_span_skip(text, len < text.len ? len + 1 : len);
        if (line.len == 0)
            continue;
        if (line.data[0] == '#')
            manifest_comment(self, line);
        else if (!manifest_line(self, line))
            return ald_err_set(err, ALD_INVALID,
                               "line %u of MANIFEST is no sum of a file of a backup", number);
    }
    for (size_t i = 0; i < MANIFEST_FILES; i++)
        if (!self->file[i].there)
            return ald_err_set(err, ALD_INVALID, "MANIFEST has no line for %s", MANIFEST_NAMES[i]);
    return ALD_OK;
}

enum ald_rc manifest_verify(struct manifest *self, const char *dir, size_t file,
                            struct ald_err *err)
{
    char path[PATH_MAX];
    uint8_t sum[32];
    const char *name = MANIFEST_NAMES[file];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = ald_regular_open(path, O_RDONLY);
    if (fd < 0)
        return ald_err_set(err, errno == ENOENT ? ALD_NOTFOUND : ALD_IO, "%s can't be opened: %s",
                           name, ald_regular_why(path, errno));
    bool read = ald_sha256_file(fd, &self->file[file].bytes, sum);
    close(fd);
    if (!read)
        return ald_err_set(err, ALD_IO, "%s can't be read to its end", name);
    if (memcmp(sum, self->file[file].sum, sizeof sum) != 0)
        return ald_err_set(err, ALD_CORRUPT,
                           "%s is not the file that was backed up: its sum is another", name);
    return ALD_OK;
}
