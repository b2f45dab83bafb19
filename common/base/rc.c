#include "common/base/rc.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/base/span.h"
#include "common/base/text.h"

const char *ald_rc_name(enum ald_rc rc)
{
    static const char *const names[] = {
        [ALD_OK] = "ok",           [ALD_AGAIN] = "again",     [ALD_NOTFOUND] = "notfound",
        [ALD_EXISTS] = "exists",   [ALD_INVALID] = "invalid", [ALD_MALFORMED] = "malformed",
        [ALD_MISSING] = "missing", [ALD_TOOBIG] = "toobig",   [ALD_VERSION] = "version",
        [ALD_FULL] = "full",       [ALD_TIMEOUT] = "timeout", [ALD_IO] = "io",
        [ALD_CORRUPT] = "corrupt", [ALD_CLOSED] = "closed",
    };
    return (size_t)rc < ALD_COUNT(names) ? names[rc] : "unknown";
}

enum ald_rc ald_err_set(struct ald_err *err, enum ald_rc rc, const char *format, ...)
{
    if (!err)
        return rc;
    err->rc = rc;
    va_list args;
    va_start(args, format);
    char text[2 * sizeof err->text];
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ald_text_cut(err->text, sizeof err->text, ald_span_str(len < 0 ? "" : text));
    return rc;
}
