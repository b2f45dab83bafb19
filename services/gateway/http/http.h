/* http.h - an HTTP listener: requests come in whole or not at all, answers go out in one piece.
 *
 * The only home of civetweb. What it guarantees to a handler: the path is raw and has neither host
 * nor query, whatever the form of the target; where the request ends is clear (http_frame.h; 400
 * otherwise); a body is read whole within the listener's time, or the connection is closed without
 * an answer; a request whose body was left unread ends its connection. It knows no route.
 *
 * The library does not take extensions of chunks and can't be made to: such a body does not come.
 *
 * Does not do TLS: the packaged library cannot, a proxy in front does.
 * Threads: the listener has its own; a handler runs on one of them, one request at a time. The
 * other functions belong to the thread that started the listener.
 */
#ifndef ALD_GATEWAY_HTTP_H
#define ALD_GATEWAY_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <strings.h>

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum { HTTP_HEADERS_MAX = 64 };

struct http_header {
    const char *name;
    const char *value;
};

/* A request, borrowed until the handler returns. */
struct http_request {
    const char *method;
    const char *path;      /* raw: not decoded, not cleaned, without the query */
    struct ald_span query; /* raw, without the '?' */
    const char *peer;      /* address of the other end of the socket, as text */
    const struct http_header *headers;
    size_t header_count;
};

/* Is it of this name? The first letters, which mostly differ, are looked at before all others. */
static inline bool http_header_is(const struct http_header *header, const char *name)
{
    return ((header->name[0] ^ name[0]) & ~0x20) == 0 && strcasecmp(header->name, name) == 0;
}

/* The first header of this name; NULL when there is none. Names are compared without case. */
const char *http_header(const struct http_request *request, const char *name);

typedef struct http http_t;
typedef struct http_exchange http_exchange_t;

struct http_options {
    const char *listen;  /* address:port; port 0 takes a free one */
    const char *setting; /* the key that it is of, for who must change it */
    int64_t threads;
    int64_t queue;              /* connections that wait for a thread; others wait in the kernel */
    int64_t request_timeout_ms; /* for headers, and again for a body */
    int64_t keep_alive_ms;      /* an idle connection is closed after this */
    void *self;                 /* passed to the functions below */
    /* What a thread of the listener keeps for itself, made and freed on that thread. */
    void *(*worker_new)(void *self);
    void (*worker_free)(void *self, void *worker);
    /* Answer one request with http_answer or http_begin. Without an answer the connection is
     * closed. */
    void (*handle)(void *self, void *worker, http_exchange_t *exchange);
    /* After a tick that returned false a thread waits for its client: tick again. On any thread.
     * NULL: ticks come all the time. */
    void (*on_stir)(void *stirred);
    void *stirred; /* passed to on_stir */
};

/* Check `listen` and start. ALD_OK: *out is the caller's. ALD_INVALID: listen is not an address and
 * port. ALD_IO: it can't be bound. err says why. */
ALD_NODISCARD enum ald_rc http_start(const struct http_options *options, http_t **out,
                                     struct ald_err *err);
/* The port that is listened on. */
unsigned http_port(const http_t *self);
/* Cut off clients whose time is up. Call it many times a second, but for the time between a tick
 * that returned false, as nobody waits for a client, and on_stir. */
bool http_tick(http_t *self);
/* From now on each connection ends with its next answer. */
void http_leave(http_t *self);
/* Has no thread a connection? */
bool http_idle(http_t *self);
/* Stop the listeners side by side: the library takes two seconds for each. Handlers must be able to
 * end: wake them first. Each *list[i] may be NULL and is NULL after. */
void http_stop(http_t **list[], size_t count);

const struct http_request *http_request(const http_exchange_t *self);

/* Where a body goes, and what bounds it. */
struct http_sink {
    struct ald_buf *body; /* appended to */
    size_t max;
    void *self;
    /* May this many bytes more be held? Called before they are read. NULL: yes. */
    bool (*hold)(void *self, size_t bytes);
};

/* Read the body. ALD_OK: all of it. ALD_TOOBIG: longer than max. ALD_FULL: hold refused. After
 * these two answer; the connection ends by itself. ALD_CLOSED: truncated, late or broken: do not
 * answer. */
ALD_NODISCARD enum ald_rc http_read(http_exchange_t *self, const struct http_sink *sink);

/* Send the answer. extra: header lines, each ended by CR LF, or "". Content-Length and Connection
 * are added. ALD_CLOSED: the client is gone; often there is nothing left to do about it. */
enum ald_rc http_answer(http_exchange_t *self, unsigned status, const char *extra,
                        struct ald_span body);

/* Begin an answer without a length; the connection ends with it. http_write adds to it. */
ALD_NODISCARD enum ald_rc http_begin(http_exchange_t *self, unsigned status, const char *extra);
ALD_NODISCARD enum ald_rc http_write(http_exchange_t *self, struct ald_span bytes);
/* Has the client closed the connection, as far as this machine has heard? A write to one that is
 * gone often succeeds. For an answer that was begun. */
bool http_gone(http_exchange_t *self);

#endif
