/* http_head.h - the head of an answer, put together without a format: it is on the path of every
 * callback. What does not fit is a bug: the lines are our own. Pure.
 */
#ifndef ALD_GATEWAY_HTTP_HEAD_H
#define ALD_GATEWAY_HTTP_HEAD_H

#include <stddef.h>

enum { HTTP_HEAD_MAX = 8 * 1024 };

struct http_head {
    size_t len;
    char text[HTTP_HEAD_MAX];
};

/* Begin anew with the status line. */
void http_head_begin(struct http_head *self, unsigned status);
void http_head_put(struct http_head *self, const char *lines);
/* The line Content-Length. */
void http_head_length(struct http_head *self, size_t length);

#endif
