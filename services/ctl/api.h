/* api.h - requests to the gateway's private listener.
 *
 * The only home of libcurl in the operator's command. No redirects, no proxies, bounded answers. It
 * knows no route and prints nothing. Threads: one owner.
 */
#ifndef ALD_CTL_API_H
#define ALD_CTL_API_H

#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"

enum { API_ANSWER_MAX = 128 << 20 };

typedef struct api api_t;

struct api_request {
    const char *method; /* NULL: GET */
    const char *path;   /* with the query, encoded */
    const char *body;   /* or NULL */
    const char *type;   /* of the body; NULL: JSON */
    const char *key;    /* Idempotency-Key, or NULL */
    const char *after;  /* Last-Event-ID, or NULL */
    int64_t timeout_ms; /* 0: no end, for streams; then silence_ms bounds */
    int64_t silence_ms; /* give up when nothing came for so long; 0: never */
    /* Called while it is waited, about once a second; false: give up, which is ALD_CLOSED. May be
     * NULL. */
    bool (*go_on)(void *context);
    void *context; /* of go_on */
};

struct api_answer {
    long status; /* 0: there was none */
    struct ald_buf body;
};

void api_answer_init(struct api_answer *answer);
void api_answer_free(struct api_answer *answer);

/* base is http://host:port, without a path; token may be NULL. Both are copied. */
api_t *api_new(const char *base, const char *token);
void api_destroy(api_t **self_p);

/* Ask and read the whole answer, whatever its status.
 * ALD_CLOSED: nobody answers there, or it hung up. ALD_TIMEOUT. ALD_TOOBIG: over API_ANSWER_MAX.
 * ALD_INVALID: no such request can be made. err says more. */
ALD_NODISCARD enum ald_rc api_call(api_t *self, const struct api_request *request,
                                   struct api_answer *answer, struct ald_err *err);

/* Ask and hand over an answer of status 200 piece by piece; any other goes into answer.
 * ALD_OK: fn said false, or the answer has another status. Else as api_call; a stream that ended by
 * itself is ALD_CLOSED. */
typedef bool api_piece_fn(void *context, struct ald_span piece);
ALD_NODISCARD enum ald_rc api_stream(api_t *self, const struct api_request *request,
                                     api_piece_fn *fn, void *context, struct api_answer *answer,
                                     struct ald_err *err);

#endif
