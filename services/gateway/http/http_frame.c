#include "services/gateway/http/http_frame.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "common/base/guard.h"
#include "common/base/text.h"

enum {
    FRAME_VERSION = 3, /* bytes of "1.1" */
    FRAME_MARK = 0xff,
    FRAME_MARK_BYTES = 2
};

bool http_frame_begin_ok(const char **buffer, const char *method)
{
    const char *begin = method - (uintptr_t)method % alignof(max_align_t);
    if (!*buffer || begin < *buffer)
        *buffer = begin;
    ptrdiff_t skipped = method - *buffer;
    return skipped < 2 || (skipped == 2 && method[-2] == '\r');
}

/* Does the name begin right behind the CR LF of the line before, and the colon right behind it? */
static bool frame_line_ok(const struct http_request *request, size_t i, const char *version)
{
    const struct http_header *h = &request->headers[i];
    if (i == 0) {
        if (h->name != version + FRAME_VERSION + 2)
            return false;
    } else if (h->name - 2 < h[-1].value || h->name[-2] != '\0') {
        return false;
    }
    const char *colon = h->value - 1;
    while (*colon == ' ' || *colon == '\t')
        colon--;
    return colon[-1] != '\0';
}

/* Is the end of the last line the end of the head? The library looks no further than its table, and
 * no further than a line that begins with no name: a length may be behind that. */
static bool frame_end(const struct http_request *request, const char *version)
{
    size_t count = request->header_count;
    if (count == 0)
        return version[2] == '0'; /* its connection ends anyway; 1.1 has the line Host */
    if (count >= HTTP_HEADERS_MAX)
        return false;
    const char *value = request->headers[count - 1].value;
    const char *end = value + strlen(value);
    if (end - request->method > HTTP_FRAME_HEAD_MAX - 4)
        return false;
    if (end[1] != '\0' || end[2] != '\r' || end[3] != '\0')
        return false;
    memset((char *)(uintptr_t)end + 2, FRAME_MARK, FRAME_MARK_BYTES); /* the library's buffer */
    return true;
}

bool http_frame_torn(struct ald_span body)
{
    size_t len = body.len < FRAME_MARK_BYTES ? body.len : FRAME_MARK_BYTES;
    for (size_t i = 0; i < len; i++)
        if (body.data[i] != FRAME_MARK)
            return false;
    return len > 0;
}

static bool frame_length(const char *text, size_t *out)
{
    uint64_t value = 0;
    if (ald_text_u64(ald_span_str(text), &value) != ALD_OK || value > INT64_MAX)
        return false;
    *out = (size_t)value;
    return true;
}

bool http_frame_read(const struct http_request *request, const char *version,
                     struct http_frame *out)
{
    unsigned lengths = 0;
    bool ended = frame_end(request, version);
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *h = &request->headers[i];
        if (!frame_line_ok(request, i, version))
            return false;
        if (http_header_is(h, "Transfer-Encoding")) {
            if (out->chunked || version[2] == '0' || strcasecmp(h->value, "chunked") != 0)
                return false;
            out->chunked = true;
        } else if (http_header_is(h, "Content-Length")) {
            if (++lengths > 1 || !frame_length(h->value, &out->declared))
                return false;
        } else if (http_header_is(h, "Expect")) {
            out->expects = strcasecmp(h->value, "100-continue") == 0;
        } else if (http_header_is(h, "Connection")) {
            out->keep_alive_asked = strcasecmp(h->value, "keep-alive") == 0;
        }
    }
    return !(out->chunked && lengths > 0) && ended;
}

/* What follows the scheme; NULL when it is another one or there is none. */
static char *frame_authority(char *text)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < ALD_COUNT(schemes); i++)
        if (strncasecmp(text, schemes[i], strlen(schemes[i])) == 0)
            return text + strlen(schemes[i]);
    return NULL;
}

bool http_frame_target(char *text, struct http_target *out)
{
    char *authority = frame_authority(text);
    if (!authority)
        return false;
    char *path = authority + strcspn(authority, "/?");
    char *query = strchr(path, '?');
    out->path = *path == '/' ? path : "/";
    out->query = query ? query + 1 : NULL;
    if (query)
        *query = '\0';
    return true;
}
