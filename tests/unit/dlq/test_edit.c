/* What a person may put in a message's place, and what stays whoever edits it. */
#include "services/dlq/edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"

enum { ROOM = 1 << 20 };

static const struct msg_callback came = {
    .num = 7,
    .provider = "two",
    .task = 1234567890123456,
    .attempt = 2,
    .proof = "token",
    .fault = "malformed",
    .detail = "It has no end.",
    .method = "POST",
    .path = "/cb/two/{token}",
    .content_type = "application/json",
    .peer = "10.0.0.7",
    .received_at_ms = INT64_C(1800000000000),
    .spooled = true,
    .trace = "00-1-2-3",
};

/* The message with a query, a body and headers. */
static void encoded(struct ald_buf *out, const char *fault)
{
    struct msg_callback message = came;
    message.query = ald_span_str("id=77");
    message.body = ald_span_str("{\"code\":");
    message.headers = ald_span_str("X-Kind: late\nuser-agent: robot\n");
    ald_text_cut(message.fault, sizeof message.fault, ald_span_str(fault));
    ald_buf_init(out, ROOM);
    assert_int_equal(ald_wire_encode(&MSG_CALLBACK, &message, out), ALD_OK);
}

static void test_example(void **state)
{
    (void)state;
    struct ald_buf original;
    struct ald_buf out;
    struct ald_err err = {0};
    struct msg_callback now;
    encoded(&original, "malformed");
    ald_buf_init(&out, ROOM);
    const struct msg_letter_edit edit = {.set_body = true, .body = ald_span_str("{\"code\":1}")};
    assert_int_equal(edit_apply(ald_buf_span(&original), &edit, &out, &err), ALD_OK);
    assert_int_equal(ald_wire_decode(&MSG_CALLBACK, &now, ald_buf_span(&out)), ALD_OK);
    assert_true(ald_span_eq_str(now.body, "{\"code\":1}"));
    assert_true(ald_span_eq_str(now.query, "id=77"));
    assert_true(ald_span_eq_str(now.headers, "X-Kind: late\nuser-agent: robot\n"));
    assert_string_equal(now.content_type, came.content_type);
    assert_string_equal(now.fault, ""); /* it can be read, perhaps */
    /* Not a person's to change. */
    assert_string_equal(now.provider, came.provider);
    assert_string_equal(now.proof, came.proof);
    assert_int_equal(now.task, came.task);
    assert_int_equal(now.attempt, came.attempt);
    assert_int_equal(now.received_at_ms, came.received_at_ms);
    assert_string_equal(now.peer, came.peer);
    assert_string_equal(now.path, came.path);
    assert_int_equal(now.spooled, came.spooled);
    ald_buf_free(&out);
    ald_buf_free(&original);
}

/* Nobody's edit makes an unauthenticated message one that proved itself. */
static void test_a_fault_that_stays(void **state)
{
    (void)state;
    struct ald_buf original;
    struct ald_buf out;
    struct ald_err err = {0};
    struct msg_callback now;
    encoded(&original, "unauthenticated");
    ald_buf_init(&out, ROOM);
    const struct msg_letter_edit edit = {.set_query = true, .query = ald_span_str("")};
    assert_int_equal(edit_apply(ald_buf_span(&original), &edit, &out, &err), ALD_OK);
    assert_int_equal(ald_wire_decode(&MSG_CALLBACK, &now, ald_buf_span(&out)), ALD_OK);
    assert_string_equal(now.fault, "unauthenticated");
    assert_int_equal(now.query.len, 0);
    ald_buf_free(&out);
    ald_buf_free(&original);
}

static void test_what_is_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool nothing;
        const char *content_type; /* NULL: not set */
        const char *headers;
        enum ald_rc want;
    } cases[] = {
        {"nothing", .nothing = true, .want = ALD_INVALID},
        {"a type", .content_type = "text/plain; charset=utf-8", .want = ALD_OK},
        {"no type", .content_type = "", .want = ALD_OK},
        {"a type of two lines", .content_type = "text/plain\nX: y", .want = ALD_INVALID},
        {"no headers", .headers = "", .want = ALD_OK},
        {"one that came", .headers = "x-kind: early\n", .want = ALD_OK},
        {"one that is always kept", .headers = "X-Request-Id: 5\n", .want = ALD_OK},
        {"without an end", .headers = "X-Kind: early", .want = ALD_OK},
        {"one that did not come", .headers = "X-Other: 5\n", .want = ALD_INVALID},
        {"a proof", .headers = "authorization: Basic eA==\n", .want = ALD_INVALID},
        {"no name", .headers = ": 5\n", .want = ALD_INVALID},
        {"no colon", .headers = "X-Kind\n", .want = ALD_INVALID},
        {"an empty line", .headers = "X-Kind: 1\n\nX-Kind: 2\n", .want = ALD_INVALID},
        {"no printable one", .headers = "X-Kind: \x01\n", .want = ALD_INVALID},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_buf original;
        struct ald_buf out;
        struct ald_err err = {0};
        struct msg_letter_edit edit = {.set_content_type = cases[i].content_type != NULL,
                                       .set_headers = cases[i].headers != NULL};
        print_message("%s\n", cases[i].name);
        if (edit.set_content_type)
            ald_text_cut(edit.content_type, sizeof edit.content_type,
                         ald_span_str(cases[i].content_type));
        if (edit.set_headers)
            edit.headers = ald_span_str(cases[i].headers);
        encoded(&original, "");
        ald_buf_init(&out, ROOM);
        assert_int_equal(edit_apply(ald_buf_span(&original), &edit, &out, &err), cases[i].want);
        assert_int_equal(err.text[0] != '\0', cases[i].want != ALD_OK);
        ald_buf_free(&out);
        ald_buf_free(&original);
    }
}

/* What a consumer did not take is nobody's to change. */
static void test_an_event(void **state)
{
    (void)state;
    struct ald_buf original;
    struct ald_buf out;
    struct ald_err err = {0};
    const struct msg_event event = {.lane = 0,
                                    .seq = 5,
                                    .task = 1,
                                    .provider = "two",
                                    .state = "done",
                                    .source = "poll",
                                    .result_type = "text",
                                    .published_ms = 5};
    const struct msg_letter_edit edit = {.set_body = true};
    ald_buf_init(&original, ROOM);
    ald_buf_init(&out, ROOM);
    assert_int_equal(ald_wire_encode(&MSG_EVENT, &event, &original), ALD_OK);
    assert_int_equal(edit_apply(ald_buf_span(&original), &edit, &out, &err), ALD_INVALID);
    assert_non_null(strstr(err.text, "callback"));
    ald_buf_free(&out);
    ald_buf_free(&original);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_a_fault_that_stays),
        cmocka_unit_test(test_what_is_allowed),
        cmocka_unit_test(test_an_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
