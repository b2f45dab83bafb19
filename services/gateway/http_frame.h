/* http_frame.h - what the head of a request says of its body, if it says so clearly; its target.
 *
 * Two programs that disagree on where a request ends can be made to see different requests, so
 * whatever leaves a choice is refused: both framing headers, two lengths, a length that is no
 * number, chunks in HTTP/1.0, a blank before a colon, a line that goes on in the next one, a line
 * that does not end by CR LF, and more lines than can be seen.
 *
 * Knows how the library leaves a head in memory: it stays in its buffer, the bytes that end a name,
 * a value or a line are made NUL, and reading stops in silence at a line that begins with no name.
 * Reads nothing else. Pure.
 */
#ifndef ALD_GATEWAY_HTTP_FRAME_H
#define ALD_GATEWAY_HTTP_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "services/gateway/http.h"

/* Bytes of a request line and headers, at most: a query of 256 KiB passes. */
enum { HTTP_FRAME_HEAD_MAX = 320 * 1024 };

struct http_frame {
    size_t declared; /* bytes of the body */
    bool chunked;
    bool expects; /* the client waits for 100 Continue */
    bool keep_alive_asked;
};

/* Read the header lines, once. version is the library's, "1.0" or "1.1", in the head. false: not
 * clear, *out is unfinished; the connection must end. */
bool http_frame_read(const struct http_request *request, const char *version,
                     struct http_frame *out);

struct http_target {
    const char *path;
    const char *query; /* without the '?'; NULL when there is none */
};

/* Take apart a target that names a host: http:// or https://, in any case. Any host is ours: that
 * of a request that reaches us otherwise is not looked at either. text is cut at the '?', *out
 * points into it. false: another form, nothing was changed. */
bool http_frame_target(char *text, struct http_target *out);

#endif
