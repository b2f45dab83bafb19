/* file.h - read a small file whole. Regular files only: a named pipe or a device would block or
 * never end. Any thread. */
#ifndef ALD_CONFIG_FILE_H
#define ALD_CONFIG_FILE_H

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"

/* Append the file's bytes to out, whose maximum bounds them.
 * ALD_NOTFOUND: there is none. ALD_TOOBIG: more than out takes. ALD_IO: can't be read, or is no
 * regular file; errno says why. */
ALD_NODISCARD enum ald_rc ald_file_read(const char *path, struct ald_buf *out);

#endif
