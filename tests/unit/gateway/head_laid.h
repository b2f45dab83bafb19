/* head_laid.h - a request's head as the HTTP library leaves it in memory, which http_frame.h looks
 * at. Written after what the library was seen to do; a live one is asked the same in
 * tests/component/test_http.py. One owner. */
#ifndef ALD_TESTS_GATEWAY_HEAD_LAID_H
#define ALD_TESTS_GATEWAY_HEAD_LAID_H

#include "common/base/span.h"
#include "services/gateway/http/http.h"

enum { HEAD_LAID_MAX = 64 * 1024 };

struct head_laid {
    char bytes[HEAD_LAID_MAX + 8];
    struct http_header headers[HTTP_HEADERS_MAX];
    struct http_request request;
    const char *version;
    size_t len;           /* of the head, its empty line included */
    struct ald_span body; /* what came behind it, in bytes */
};

/* False: the library itself refuses it. */
bool head_laid(struct head_laid *self, struct ald_span bytes);

#endif
