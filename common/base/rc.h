/* rc.h - how functions say that they failed.
 *
 * One short list for all fallible functions; a code is added only when some caller acts differently
 * on it. Outcomes of work (a poll, a re-injection) are other types and never mixed with these.
 */
#ifndef ALD_BASE_RC_H
#define ALD_BASE_RC_H

#include "common/base/guard.h"

enum ald_rc {
    ALD_OK = 0,
    ALD_AGAIN,     /* not now: try later, nothing changed */
    ALD_NOTFOUND,  /* no such thing */
    ALD_EXISTS,    /* there is one already */
    ALD_INVALID,   /* a value that is not allowed */
    ALD_MALFORMED, /* bytes that are not what they should be */
    ALD_MISSING,   /* a needed value is absent */
    ALD_TOOBIG,    /* over a limit */
    ALD_VERSION,   /* newer than this program understands */
    ALD_FULL,      /* no room */
    ALD_TIMEOUT,
    ALD_IO,      /* the system refused; durability is in doubt */
    ALD_CORRUPT, /* stored bytes are damaged */
    ALD_CLOSED   /* the other side is gone */
};

/* "ok", "notfound", ...; static. */
const char *ald_rc_name(enum ald_rc rc);

/* An error for a person: what, where, what to do next. */
struct ald_err {
    enum ald_rc rc;
    unsigned line, column; /* in a file, 0 = none */
    char text[256];
};

/* Fill err, which may be NULL, and return rc. */
enum ald_rc ald_err_set(struct ald_err *err, enum ald_rc rc, const char *format, ...)
    ALD_PRINTF(3, 4);

#endif
