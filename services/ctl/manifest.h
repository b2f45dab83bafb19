/* manifest.h - the MANIFEST of a backup: what `sha256sum -c` reads, with the names that a backup
 * has. Others, and paths, are refused.
 *
 * Pure, but for manifest_verify, which reads the files.
 */
#ifndef ALD_CTL_MANIFEST_H
#define ALD_CTL_MANIFEST_H

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum { MANIFEST_FILES = 3 };

/* tracker.db, letters.db, callback.key: the files of a backup, in this order. */
extern const char *const MANIFEST_NAMES[MANIFEST_FILES];

struct manifest {
    struct {
        bool there;
        uint8_t sum[32];
        uint64_t bytes; /* as found by manifest_verify */
    } file[MANIFEST_FILES];
    char made[160]; /* "made TIME by aldaba VERSION", or "" */
};

/* ALD_OK; ALD_INVALID: a line is none, or a file is missing; err says which. */
ALD_NODISCARD enum ald_rc manifest_parse(struct manifest *self, struct ald_span text,
                                         struct ald_err *err);

/* Read <dir>/NAME and hold it against its sum. ALD_OK; ALD_CORRUPT: it is another; ALD_NOTFOUND,
 * ALD_IO: it can't be read. err says so. */
ALD_NODISCARD enum ald_rc manifest_verify(struct manifest *self, const char *dir, size_t file,
                                          struct ald_err *err);

#endif
