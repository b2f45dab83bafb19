/* A letter's message, an encoded callback with its length in front, and then what a person would
 * change in it: what comes out is a callback that says the same of its sender. */
#include <string.h>

#include "services/dlq/edit.h"
#include "tests/fuzz/input.h"

enum { EDIT_OUT_MAX = 8 << 20 };

/* A sound message, when the input holds none: else nothing is ever edited. */
static void edit_made(struct input *in, struct ald_buf *out)
{
    struct msg_callback message = {.num = 1, .received_at_ms = 2, .proof = "token", .task = 77};
    memcpy(message.provider, "x", 2);
    memcpy(message.method, "POST", 5);
    input_text(in, '\n', message.fault, sizeof message.fault);
    message.headers = input_part(in, 0);
    message.body = input_part(in, 0);
    (void)!ald_wire_encode(&MSG_CALLBACK, &message, out);
}

static void edit_check(struct ald_span original, const struct msg_letter_edit *edit)
{
    static struct msg_callback before;
    static struct msg_callback after;
    struct ald_err err = {0};
    struct ald_buf out;
    ald_buf_init(&out, EDIT_OUT_MAX);
    enum ald_rc rc = edit_apply(original, edit, &out, &err);
    if (rc != ALD_OK) {
        ALD_ASSERT(err.text[0] != '\0' && out.len == 0);
        ald_buf_free(&out);
        return;
    }
    ALD_ASSERT(ald_wire_decode(&MSG_CALLBACK, &before, original) == ALD_OK);
    ALD_ASSERT(ald_wire_decode(&MSG_CALLBACK, &after, ald_buf_span(&out)) == ALD_OK);
    ALD_ASSERT(before.task == after.task && before.num == after.num);
    ALD_ASSERT(before.received_at_ms == after.received_at_ms);
    ALD_ASSERT(strcmp(before.proof, after.proof) == 0 && strcmp(before.peer, after.peer) == 0);
    ALD_ASSERT(strcmp(before.provider, after.provider) == 0);
    ALD_ASSERT(ald_span_eq(after.body, edit->set_body ? edit->body : before.body));
    ALD_ASSERT(ald_span_eq(after.query, edit->set_query ? edit->query : before.query));
    ald_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.left = ald_span_of(data, size)};
    struct msg_letter_edit edit = {.revision = 1};
    struct ald_buf made;
    uint8_t how = input_byte(&in);
    ald_buf_init(&made, EDIT_OUT_MAX);
    struct ald_span original;
    if ((how & 0x80) != 0) {
        original = input_take(&in, input_u64(&in));
    } else {
        edit_made(&in, &made);
        original = ald_buf_span(&made);
    }
    edit.set_query = (how & 1) != 0;
    edit.set_body = (how & 2) != 0;
    edit.set_content_type = (how & 4) != 0;
    edit.set_headers = (how & 8) != 0;
    input_text(&in, '\n', edit.content_type, sizeof edit.content_type);
    edit.query = input_part(&in, 0);
    edit.headers = input_part(&in, 0);
    edit.body = in.left;
    edit_check(original, &edit);
    ald_buf_free(&made);
    return 0;
}
