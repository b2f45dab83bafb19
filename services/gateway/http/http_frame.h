/* http_frame.h - what the head of a request says of its body, if it says so clearly; its target.
 *
 * Two programs that disagree on where a request ends can be made to see different requests, so
 * whatever leaves a choice is refused: both framing headers, two lengths, a length that is no
 * number, chunks in HTTP/1.0, a blank before a colon, a line that goes on in the next one, a line
 * that does not end by CR LF, more lines than can be seen, and more than one empty line before.
 *
 * Knows how the library leaves a head in memory: it stays in its buffer, the bytes that end a name,
 * a value or a line are made NUL, and reading stops in silence at a line that begins with no name.
 *
 * LF LF ends a head too for the library, and looks in memory like CR LF CR LF if what follows is
 * CR NUL: of the body, or left there by a request before. So the end of each head is marked: a body
 * that begins with the mark began before that end, and no head's end is left for a later one. What
 * a body leaves is http.c's to see to; what another connection left is not told apart.
 *
 * Looks at nothing else and keeps nothing. Any thread, with the request its own.
 */
#ifndef ALD_GATEWAY_HTTP_FRAME_H
#define ALD_GATEWAY_HTTP_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/span.h"
#include "services/gateway/http/http.h"

/* Bytes of a request line and headers, at most: a query of 256 KiB passes. */
enum { HTTP_FRAME_HEAD_MAX = 320 * 1024 };

struct http_frame {
    size_t declared; /* bytes of the body */
    bool chunked;
    bool expects; /* the client waits for 100 Continue */
    bool keep_alive_asked;
};

/* Does the head begin where the library thinks so? It looks for the end first and skips blanks
 * after: of two line ends among these, the second is where its body begins. *buffer is where its
 * buffer begins, NULL before the first request that was in it: learned here, from what malloc
 * promises of an address and from the lowest seen. false: not clear, as below. */
bool http_frame_begin_ok(const char **buffer, const char *method);

/* Read the header lines, once; mark the end. version is the library's, "1.0" or "1.1", in the head.
 * false: not clear, *out is unfinished; the connection must end. */
bool http_frame_read(const struct http_request *request, const char *version,
                     struct http_frame *out);

/* Does a body of a declared length begin with the mark? No text does, in any encoding. */
bool http_frame_torn(struct ald_span body);

struct http_target {
    const char *path;
    const char *query; /* without the '?'; NULL when there is none */
};

/* Take apart a target that names a host: http:// or https://, in any case. Any host is ours: that
 * of a request that reaches us otherwise is not looked at either. text is cut at the '?', *out
 * points into it. false: another form, nothing was changed. */
bool http_frame_target(char *text, struct http_target *out);

#endif
