#include "tests/unit/gateway/head_laid.h"

/* Bytes up to and with the empty line; 0: there is none, or a control character before it. */
static size_t laid_length(struct ald_span bytes)
{
    for (size_t i = 0; i < bytes.len && i < HEAD_LAID_MAX; i++) {
        struct ald_span rest = ald_span_skip(bytes, i);
        uint8_t byte = bytes.data[i];
        if (byte != '\r' && byte != '\n' && (byte < 0x20 || byte == 0x7f))
            return 0;
        if (ald_span_starts(rest, "\n\n"))
            return i + 2;
        if (ald_span_starts(rest, "\r\n\r\n"))
            return i + 4;
    }
    return 0;
}

static bool laid_is_name(char c)
{
    return c != ':' && c > ' ' && c < 0x7f;
}

/* A word that ends at a blank; *at is behind it then. False: the line ends first. */
static bool laid_word(char **at, const char **word)
{
    char *end = *at + strcspn(*at, " \r\n");
    *word = *at;
    if (*end != ' ' || end == *at)
        return false;
    *end++ = '\0';
    *at = end + strspn(end, " ");
    return true;
}

/* One header at *at; false: it is none, and refused. *last: the head ends behind it. */
static bool laid_header(struct head_laid *self, char **at, bool *last)
{
    char *name = *at;
    char *colon = name;
    while (laid_is_name(*colon))
        colon++;
    while (*colon == ' ')
        *colon++ = '\0';
    if (*colon != ':')
        return false;
    *colon++ = '\0';
    char *value = colon + strspn(colon, " \t");
    char *end = value + strcspn(value, "\r\n");
    if (*end == '\r') {
        *end++ = '\0';
        if (*end != '\n')
            return false;
    }
    *last = *end == '\0' || end[1] == '\r' || end[1] == '\n';
    if (*end != '\0')
        *end++ = '\0';
    self->headers[self->request.header_count++] =
        (struct http_header){.name = name, .value = value};
    *at = end;
    return true;
}

bool head_laid(struct head_laid *self, struct ald_span bytes)
{
    self->request = (struct http_request){.headers = self->headers};
    self->len = laid_length(bytes);
    if (self->len == 0)
        return false;
    size_t came = bytes.len < HEAD_LAID_MAX ? bytes.len : (size_t)HEAD_LAID_MAX;
    memcpy(self->bytes, bytes.data, came);
    memset(self->bytes + came, 0, sizeof self->bytes - came);
    self->body = ald_span_of(self->bytes + self->len, came - self->len);
    self->bytes[self->len - 1] = '\0';
    char *at = self->bytes;
    if (!laid_word(&at, &self->request.method) || !laid_word(&at, &self->request.path) ||
        strncmp(at, "HTTP/", 5) != 0)
        return false;
    self->version = at + 5;
    at += 5 + strcspn(at + 5, "\r\n");
    if (*at == '\r')
        *at++ = '\0';
    if (*at == '\n')
        *at++ = '\0';
    if (strcmp(self->version, "1.0") != 0 && strcmp(self->version, "1.1") != 0)
        return false;
    for (bool last = false; !last && self->request.header_count < HTTP_HEADERS_MAX;) {
        if (!laid_is_name(*at))
            break;
        if (!laid_header(self, &at, &last))
            return false;
    }
    return true;
}
