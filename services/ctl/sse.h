/* sse.h - Server-Sent Events from pieces of a stream, cut anywhere.
 *
 * Lines end in LF, CR or CR LF; an empty line ends an event; comments are skipped. The id of the
 * last event stays known for the next connection. Pure; one owner.
 */
#ifndef ALD_CTL_SSE_H
#define ALD_CTL_SSE_H

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"

enum { SSE_ID_MAX = 129, SSE_NAME_MAX = 33 };

/* name is "message" when the stream names none. data is borrowed for the call. False: enough. */
typedef bool sse_fn(void *context, const char *name, const char *id, struct ald_span data);

struct sse {
    struct ald_buf line;
    struct ald_buf data;
    char id[SSE_ID_MAX];     /* of the last event that ended */
    char coming[SSE_ID_MAX]; /* of the one that is being read */
    char name[SSE_NAME_MAX];
    int64_t retry_ms; /* what the server wishes for, 0 = nothing */
    bool begun;       /* the first line is past: no more byte order mark */
    bool after_cr;
    bool has_data;
    sse_fn *fn;
    void *context;
};

/* max bounds a line and the data of an event, in bytes. */
void sse_init(struct sse *self, size_t max, sse_fn *fn, void *context);
void sse_free(struct sse *self);
/* Forget what was half read; the id stays. */
void sse_restart(struct sse *self);

/* ALD_OK: more may come. ALD_CLOSED: fn has enough. ALD_TOOBIG: over max. */
ALD_NODISCARD enum ald_rc sse_feed(struct sse *self, struct ald_span bytes);

#endif
