/* A JSON pointer, a line, and then any bytes as the message: what is found lies in the message and
 * is JSON itself; a walk sees each member that a look-up finds. */
#include <string.h>

#include "common/config/extract.h"
#include "common/config/form.h"
#include "tests/fuzz/input.h"

enum { POINTER_MAX = 256, TEXT_MAX = 1 << 16 };

static void pointer_check(struct ald_json whole, struct ald_json found)
{
    struct ald_json again;
    struct ald_span tail;
    struct ald_buf text;
    if (found.kind == ALD_JSON_NONE)
        return;
    ALD_ASSERT(found.raw.data >= whole.raw.data);
    ALD_ASSERT(found.raw.data + found.raw.len <= whole.raw.data + whole.raw.len);
    ALD_ASSERT(ald_json_scan(found.raw, &again, &tail) == ALD_OK);
    ALD_ASSERT(tail.len == 0 && again.kind == found.kind && ald_span_eq(again.raw, found.raw));
    ald_buf_init(&text, TEXT_MAX);
    if (ald_json_text(found, &text) == ALD_OK)
        ALD_ASSERT(found.kind != ALD_JSON_STRING || ald_json_is(found, ald_buf_str(&text)));
    ald_buf_free(&text);
}

/* The members of the outermost container, by walking. */
static void pointer_walk(struct ald_json whole)
{
    struct ald_json_walk walk = ald_json_walk_begin(whole);
    struct ald_span key;
    struct ald_json member;
    while (ald_json_walk_next(&walk, &key, &member)) {
        ALD_ASSERT((whole.kind == ALD_JSON_OBJECT) == (key.len > 0));
        pointer_check(whole, member);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.left = ald_span_of(data, size)};
    char pointer[POINTER_MAX];
    struct ald_json whole;
    struct ald_span tail;
    struct ald_span raw;
    struct ald_buf text;
    input_text(&in, '\n', pointer, sizeof pointer);
    ald_buf_init(&text, TEXT_MAX);
    if (ald_json_scan(ald_message_trim(in.left), &whole, &tail) == ALD_OK) {
        ALD_ASSERT(ald_json_find(whole, "").kind == whole.kind);
        pointer_check(whole, ald_json_find(whole, pointer));
        pointer_walk(whole);
    } else {
        ALD_ASSERT(whole.kind == ALD_JSON_NONE);
    }
    if (ald_form_find(in.left, pointer, &raw) == ALD_OK) {
        static const enum ald_plus ways[] = {ALD_PLUS_SPACE, ALD_PLUS_LITERAL, ALD_PLUS_AUTO};
        for (size_t i = 0; i < ALD_COUNT(ways); i++) {
            ald_buf_reset(&text);
            if (ald_form_decode(raw, ways[i], &text) == ALD_OK)
                ALD_ASSERT(text.len <= raw.len &&
                           (text.len == 0 || !memchr(text.data, 0, text.len)));
        }
    }
    ald_buf_free(&text);
    return 0;
}
