#include "services/gateway/facade/facade_parts.h"

#include <string.h>
#include <strings.h>

enum { PARTS_BOUNDARY_MAX = 200 };

/* Where needle first is in hay, or hay.len. */
static size_t parts_find(struct ald_span hay, struct ald_span needle)
{
    const uint8_t *at = hay.len > 0 ? memmem(hay.data, hay.len, needle.data, needle.len) : NULL;
    return at ? (size_t)(at - hay.data) : hay.len;
}

/* The value of `name` among `; name=value; name="value"` after the first word of a header. */
static bool parts_param(struct ald_span header, const char *name, struct ald_span *out)
{
    size_t at = ald_span_find(header, ';');
    while (at < header.len) {
        struct ald_span rest = ald_span_trim(ald_span_skip(header, at + 1));
        size_t equals = ald_span_find(rest, '=');
        if (equals == rest.len)
            return false;
        struct ald_span key = ald_span_trim(ald_span_of(rest.data, equals));
        struct ald_span value = ald_span_skip(rest, equals + 1);
        bool quoted = value.len > 0 && value.data[0] == '"';
        if (quoted)
            value = ald_span_skip(value, 1);
        size_t end = ald_span_find(value, quoted ? '"' : ';');
        struct ald_span found = ald_span_of(value.data, end);
        if (key.len == strlen(name) && strncasecmp((const char *)key.data, name, key.len) == 0) {
            *out = quoted ? found : ald_span_trim(found);
            return true;
        }
        header = ald_span_skip(value, end);
        at = ald_span_find(header, ';');
    }
    return false;
}

/* The boundary that the body begins with: its first line. */
static struct ald_span parts_first_line(struct ald_span body)
{
    size_t end = ald_span_find(body, '\n');
    struct ald_span line = ald_span_trim(ald_span_of(body.data, end));
    bool good = end < body.len && ald_span_starts(line, "--") && line.len > 2 &&
                line.len <= PARTS_BOUNDARY_MAX;
    return good ? line : ald_span_of(NULL, 0);
}

/* Step over the next boundary that stands at the beginning of a line; *before is what came. */
static bool parts_cut(struct facade_parts *self, struct ald_span *before)
{
    struct ald_span rest = self->rest;
    size_t from = 0;
    for (;;) {
        size_t at = from + parts_find(ald_span_skip(rest, from), self->boundary);
        if (at >= rest.len) {
            *before = rest;
            self->rest = ald_span_of(rest.data + rest.len, 0);
            return false;
        }
        if (at == 0 || rest.data[at - 1] == '\n') {
            *before = ald_span_of(rest.data, at);
            self->rest = ald_span_skip(rest, at + self->boundary.len);
            return true;
        }
        from = at + 1;
    }
}

bool facade_parts_begin(struct facade_parts *self, const char *content_type, struct ald_span body)
{
    struct ald_span declared;
    struct ald_span before;
    while (body.len > 0 && memchr(" \t\r\n", body.data[0], 4) != NULL)
        body = ald_span_skip(body, 1);
    *self = (struct facade_parts){.rest = body, .boundary = parts_first_line(body)};
    if (self->boundary.len == 0)
        return false;
    if (content_type && parts_param(ald_span_str(content_type), "boundary", &declared) &&
        declared.len > 0 && declared.len + 2 < self->boundary.len &&
        memcmp(self->boundary.data + 2, declared.data, declared.len) == 0)
        self->boundary.len = declared.len + 2; /* something else stands behind it on that line */
    return parts_cut(self, &before);
}

/* The lines of a part before its content; content becomes what follows them. */
static void parts_head(struct facade_part *part)
{
    for (;;) {
        size_t end = ald_span_find(part->content, '\n');
        struct ald_span line = ald_span_trim(ald_span_of(part->content.data, end));
        part->content = ald_span_skip(part->content, end < part->content.len ? end + 1 : end);
        if (line.len == 0)
            return;
        size_t colon = ald_span_find(line, ':');
        struct ald_span name = ald_span_of(line.data, colon);
        struct ald_span value =
            colon < line.len ? ald_span_trim(ald_span_skip(line, colon + 1)) : name;
        const char *text = (const char *)name.data;
        if (name.len == 19 && strncasecmp(text, "Content-Disposition", 19) == 0) {
            (void)parts_param(value, "name", &part->name);
            part->file = parts_param(value, "filename", &part->title);
        } else if (name.len == 12 && strncasecmp(text, "Content-Type", 12) == 0) {
            part->type = value;
        }
    }
}

bool facade_parts_next(struct facade_parts *self, struct facade_part *part)
{
    *part = (struct facade_part){0};
    struct ald_span piece;
    if (self->rest.len == 0 || ald_span_starts(self->rest, "--"))
        return false;
    bool cut = parts_cut(self, &piece);
    if (cut && piece.len > 0) /* the end of the line before the boundary is the boundary's */
        piece.len--;
    if (cut && piece.len > 0 && piece.data[piece.len - 1] == '\r')
        piece.len--;
    size_t line = ald_span_find(piece, '\n'); /* the rest of the boundary's own line */
    part->content = ald_span_skip(piece, line < piece.len ? line + 1 : line);
    parts_head(part);
    return true;
}
