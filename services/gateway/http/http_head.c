#include "services/gateway/http/http_head.h"

#include <string.h>

#include "common/base/guard.h"

enum { HEAD_DIGITS = 20 };

static const char *head_reason(unsigned status)
{
    static const struct {
        unsigned status;
        const char *text;
    } reasons[] = {
        {200, "OK"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {500, "Internal Server Error"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < ALD_COUNT(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Status";
}

static void head_number(struct http_head *self, size_t number)
{
    char digits[HEAD_DIGITS + 1];
    size_t at = HEAD_DIGITS;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    http_head_put(self, digits + at);
}

void http_head_begin(struct http_head *self, unsigned status)
{
    self->len = 0;
    http_head_put(self, "HTTP/1.1 ");
    head_number(self, status);
    http_head_put(self, " ");
    http_head_put(self, head_reason(status));
    http_head_put(self, "\r\n");
}

void http_head_put(struct http_head *self, const char *lines)
{
    size_t len = strlen(lines);
    ALD_ASSERT(len <= sizeof self->text - self->len);
    memcpy(self->text + self->len, lines, len);
    self->len += len;
}

void http_head_length(struct http_head *self, size_t length)
{
    http_head_put(self, "Content-Length: ");
    head_number(self, length);
    http_head_put(self, "\r\n");
}
