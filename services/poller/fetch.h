/* fetch.h - HTTP requests, thousands at once in one thread: the poller's only home of libcurl.
 *
 * curl's sockets and its timer live in an epoll set of their own (watch.h), one descriptor of the
 * zloop. Every request has a connect, a low-speed and a total time limit and a maximum of bytes,
 * counted as they come. Only http and https; no redirects, proxies, netrc, cookies, compression.
 *
 * It does not judge what an answer says, and it never puts a URL in an error text: URLs hold keys.
 * Threads: the loop's; libcurl's resolver starts its own, a few a host.
 */
#ifndef ALD_POLLER_FETCH_H
#define ALD_POLLER_FETCH_H

#include <czmq.h>
#include <sys/socket.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

typedef struct fetch fetch_t;

/* What became of a request. Pointers are borrowed until the callback returns. */
struct fetch_answer {
    bool left;            /* the request may have reached the server; false: certainly not */
    bool answered;        /* a whole answer came: status and body are all of it */
    unsigned status;      /* 0 = no status line came */
    struct ald_span body; /* also of an answer that is not whole: the part that came */
    struct ald_span head; /* header lines as they came, each with its end */
    struct ald_span content_type;
    const char *error; /* why it is not answered, for people; "" when it is */
    int64_t took_ms;
};

struct fetch_request {
    const char *url;      /* copied */
    const char *method;   /* NULL: GET, or POST with a body */
    const char *headers;  /* copied; "Name: value\n" each. NULL: none */
    const char *type;     /* copied; Content-Type of the body. NULL or "": a form */
    struct ald_span post; /* copied; the body */
    int64_t timeout_ms;   /* of everything, waiting for its turn at the host included */
    size_t max_bytes;     /* of the answer's body */
    bool once;            /* over a connection of its own: on one that was idle and turns out to be
                             dead libcurl sends a request a second time by itself */
    /* May this address be connected to? NULL: any. Kept until done. */
    bool (*may)(const void *arg, const struct sockaddr *address);
    const void *may_arg;
    /* Called once, never from inside fetch_start; may start other requests. */
    void (*done)(void *arg, const struct fetch_answer *answer);
    void *arg;
};

struct fetch_options {
    size_t max_under_way; /* also the most connections, idle ones included */
    size_t per_host;
    size_t max_held_bytes; /* of all bodies together */
};

/* ALD_OK: *out is the caller's and on the loop. ALD_IO: err says why. */
ALD_NODISCARD enum ald_rc fetch_new(zloop_t *loop, const struct fetch_options *options,
                                    fetch_t **out, struct ald_err *err);

/* Drops what is under way without calling anybody. */
void fetch_destroy(fetch_t **self_p);

/* ALD_OK: done will be called. ALD_FULL: max_under_way are. ALD_INVALID: the URL names no host, or
 * libcurl refuses the request. */
ALD_NODISCARD enum ald_rc fetch_start(fetch_t *self, const struct fetch_request *request);

size_t fetch_under_way(const fetch_t *self);

/* End everything under way now: each is called back, not answered, with this text. Its callback
 * must not start others. */
void fetch_abort_all(fetch_t *self, const char *error);

#endif
