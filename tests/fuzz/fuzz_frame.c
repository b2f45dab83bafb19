/* Any bytes as the head of a request: what is taken for clear is clear to a reader that knows
 * nothing of how the library left it, and says the same of the body. */
#include <stdlib.h>
#include <strings.h>

#include "services/gateway/http/http_frame.h"
#include "services/gateway/http/http_head.h"
#include "tests/fuzz/input.h"
#include "tests/unit/gateway/head_laid.h"

enum { FRAME_TARGET_MAX = 1024 };

/* What the head says, line by line, as it came. */
struct plain {
    unsigned lengths, codings;
    size_t declared;
    bool sound;
};

static bool frame_named(struct ald_span line, const char *name)
{
    size_t len = strlen(name);
    return line.len > len && strncasecmp((const char *)line.data, name, len) == 0 &&
           line.data[len] == ':';
}

static void frame_line(struct plain *self, struct ald_span line)
{
    size_t colon = ald_span_find(line, ':');
    for (size_t i = 0; i < line.len; i++)
        self->sound = self->sound && line.data[i] != '\n' && line.data[i] != '\r';
    for (size_t i = 0; i < colon; i++)
        self->sound = self->sound && line.data[i] > ' ';
    self->sound = self->sound && colon > 0 && colon < line.len;
    if (frame_named(line, "Content-Length")) {
        struct ald_span value = ald_span_trim(ald_span_skip(line, colon + 1));
        self->lengths++;
        for (size_t i = 0; i < value.len; i++)
            self->declared = self->declared * 10 + (size_t)(value.data[i] - '0');
    }
    self->codings += frame_named(line, "Transfer-Encoding");
}

static struct plain frame_plain(struct ald_span head)
{
    struct plain plain = {.sound = true};
    const uint8_t *at = memmem(head.data, head.len, "\r\n", 2);
    ALD_ASSERT(at);
    struct ald_span rest = ald_span_skip(head, (size_t)(at - head.data) + 2);
    while (rest.len > 2) {
        at = memmem(rest.data, rest.len, "\r\n", 2);
        if (!at) {
            plain.sound = false;
            return plain;
        }
        size_t len = (size_t)(at - rest.data);
        frame_line(&plain, ald_span_of(rest.data, len));
        rest = ald_span_skip(rest, len + 2);
    }
    return plain;
}

static void frame_answer(unsigned status, size_t length)
{
    struct http_head head;
    http_head_begin(&head, status);
    http_head_length(&head, length);
    http_head_put(&head, "\r\n");
    ALD_ASSERT(head.len < sizeof head.text && memcmp(head.text, "HTTP/1.1 ", 9) == 0);
    char text[FRAME_TARGET_MAX];
    memcpy(text, head.text, head.len);
    text[head.len] = '\0';
    const char *number = strstr(text, "Content-Length: ");
    ALD_ASSERT(number && strtoull(number + 16, NULL, 10) == length);
}

static void frame_target(struct ald_span bytes)
{
    struct input in = {.left = bytes};
    struct http_target target;
    char text[FRAME_TARGET_MAX];
    input_text(&in, '\r', text, sizeof text);
    if (!http_frame_target(text, &target))
        return;
    ALD_ASSERT(target.path[0] == '/' && !strchr(target.path, '?'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct head_laid laid;
    struct http_frame frame = {0};
    struct ald_span bytes = ald_span_of(data, size);
    frame_target(bytes);
    frame_answer(size > 1 ? 200U + data[0] : 200U, size << (size % 40));
    if (!head_laid(&laid, bytes) || !http_frame_read(&laid.request, laid.version, &frame))
        return 0;
    if (http_frame_torn(laid.body))
        return 0; /* nor is it answered: the body is read first */
    if (laid.request.header_count == 0)
        return 0; /* of 1.0: its connection ends */
    struct plain plain = frame_plain(ald_span_of(data, laid.len));
    ALD_ASSERT(plain.sound);
    ALD_ASSERT(plain.lengths + plain.codings <= 1);
    ALD_ASSERT(frame.chunked == (plain.codings == 1));
    ALD_ASSERT(plain.lengths == 0 || frame.declared == plain.declared);
    return 0;
}
