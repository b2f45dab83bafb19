/* JSON as the API writes and reads it; jansson is the judge of what was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/config/event_json.h"
#include "services/gateway/api/json_in.h"
#include "services/gateway/api/json_view.h"

static struct ald_buf text;

static int begin(void **state)
{
    (void)state;
    ald_buf_init(&text, 1 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    ald_buf_free(&text);
    return 0;
}

static void test_example(void **state)
{
    (void)state;
    struct ald_json_out out = ald_json_out_begin(&text);
    ald_json_out_object(&out, NULL);
    ald_json_out_text(&out, "a", "x\"\\\n");
    ald_json_out_array(&out, "list");
    ald_json_out_int(&out, NULL, -1);
    ald_json_out_bool(&out, NULL, true);
    ald_json_out_null(&out, NULL);
    ald_json_out_close_array(&out);
    ald_json_out_id(&out, "id", 9007199254740991);
    ald_json_out_raw(&out, "raw", ald_span_str("{\"n\":20180814033130818988}"));
    ald_json_out_close_object(&out);
    assert_string_equal(ald_buf_str(&text),
                        "{\"a\":\"x\\\"\\\\\\n\",\"list\":[-1,true,null],"
                        "\"id\":\"9007199254740991\",\"raw\":{\"n\":20180814033130818988}}");
}

static json_t *parse(void)
{
    json_error_t error;
    json_t *root = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("%s in %s", error.text, ald_buf_str(&text));
    return root;
}

static json_t *show_task(const struct msg_task_view *task)
{
    struct ald_json_out out = ald_json_out_begin(&text);
    ald_json_out_object(&out, NULL);
    view_task(&out, task, "http://h", true);
    ald_json_out_close_object(&out);
    return parse();
}

static const char *member(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Every byte comes back as it was, and is as long as was foretold. */
static void test_all_bytes_of_a_text(void **state)
{
    (void)state;
    char all[0x80];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)i;
    const struct ald_span value = ald_span_of(all, sizeof all);
    struct ald_json_out out = ald_json_out_begin(&text);
    ald_json_out_array(&out, NULL);
    ald_json_out_span(&out, NULL, value);
    ald_json_out_close_array(&out);
    assert_int_equal(text.len, ald_json_text_len(value) + strlen("[\"\"]"));
    json_error_t error;
    json_t *root = json_loadb((const char *)text.data, text.len, JSON_ALLOW_NUL, &error);
    const json_t *back = json_array_get(root, 0);
    assert_int_equal(json_string_length(back), sizeof all);
    assert_memory_equal(json_string_value(back), all, sizeof all);
    json_decref(root);
}

/* Large values of control characters come as base64, as their text would be six times as long. */
static void test_what_swells_is_base64(void **state)
{
    (void)state;
    static char value[100000];
    static const struct {
        char fill;
        size_t len;
        bool is_text;
    } cases[] = {{'a', 100000, true},
                 {'\n', 100000, true},
                 {'"', 100000, true},
                 {1, ALD_EVENT_SMALL, true},
                 {1, ALD_EVENT_SMALL + 1, false},
                 {0x1f, 100000, false}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        memset(value, cases[i].fill, sizeof value);
        struct ald_json_out out = ald_json_out_begin(&text);
        ald_buf_reset(&text);
        ald_json_out_object(&out, NULL);
        ald_event_value(&out, "v", "v_base64", ald_span_of(value, cases[i].len), false);
        ald_json_out_close_object(&out);
        json_t *root = parse();
        assert_int_equal(json_is_string(json_object_get(root, "v")), cases[i].is_text);
        assert_int_equal(json_is_string(json_object_get(root, "v_base64")), !cases[i].is_text);
        if (cases[i].is_text)
            assert_int_equal(json_string_length(json_object_get(root, "v")), cases[i].len);
        json_decref(root);
    }
}

static void test_task_under_way(void **state)
{
    (void)state;
    const struct msg_task_view task = {
        .task = 17, .provider = "two", .state = "pending", .token = "abc", .created_at_ms = 5};
    json_t *root = show_task(&task);
    assert_string_equal(member(root, "id"), "17");
    assert_string_equal(member(root, "callback_url"), "http://h/cb/two/abc");
    assert_true(json_is_null(json_object_get(root, "result")));
    assert_true(json_is_null(json_object_get(root, "ended_ms")));
    json_decref(root);
}

/* Nobody's hand makes a task expire; elsewhere the source is as it came. */
static void test_sources(void **state)
{
    (void)state;
    static const struct {
        const char *state, *source, *want;
    } cases[] = {{"expired", "manual", "expired"},
                 {"cancelled", "manual", "manual"},
                 {"done", "manual", "manual"},
                 {"done", "poll", "poll"},
                 {"pending", "", ""}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct msg_task_view task = {.task = 1, .provider = "two"};
        struct msg_event event = {.lane = 3, .seq = 8, .task = 1, .result_type = "text"};
        (void)snprintf(task.state, sizeof task.state, "%s", cases[i].state);
        (void)snprintf(task.source, sizeof task.source, "%s", cases[i].source);
        (void)snprintf(event.state, sizeof event.state, "%s", cases[i].state);
        (void)snprintf(event.source, sizeof event.source, "%s", cases[i].source);
        ald_buf_reset(&text);
        json_t *root = show_task(&task);
        assert_string_equal(member(root, "source"), cases[i].want);
        json_decref(root);
        ald_buf_reset(&text);
        struct ald_json_out out = ald_json_out_begin(&text);
        ald_json_out_object(&out, NULL);
        ald_event_json(&out, &event);
        ald_json_out_close_object(&out);
        root = parse();
        assert_string_equal(member(root, "source"), cases[i].want);
        assert_string_equal(member(root, "position"), "3:8");
        json_decref(root);
    }
}

struct result_case {
    const char *result;
    bool is_json;
    const char *want; /* of result, as JSON; NULL: result_base64 is told */
};

static const struct result_case result_cases[] = {
    {"plain", false, "\"plain\""},
    {"", false, "\"\""},
    {"{\"a\": [1, 2]}", true, "{\"a\": [1, 2]}"},
    {"{\"a\": ", true, "\"{\\\"a\\\": \""}, /* said to be JSON, but is not: a text */
    {"{} {}", true, "\"{} {}\""},
    {"Kj\xe6r", false, NULL},
};

static void test_results(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(result_cases); i++) {
        const struct result_case *c = &result_cases[i];
        struct msg_task_view task = {.task = 1,
                                     .state = "done",
                                     .result = ald_span_str(c->result),
                                     .result_json = c->is_json};
        ald_buf_reset(&text);
        json_t *root = show_task(&task);
        json_t *result = json_object_get(root, "result");
        if (c->want) {
            char *said = json_dumps(result, JSON_ENCODE_ANY);
            assert_string_equal(said, c->want);
            free(said);
        } else {
            assert_true(json_is_null(result));
            assert_string_equal(member(root, "result_base64"), "S2rmcg==");
        }
        json_decref(root);
    }
}

static void test_letter_shows_its_original(void **state)
{
    (void)state;
    struct ald_buf original;
    ald_buf_init(&original, 1 << 16);
    const struct msg_callback callback = {.num = 1,
                                          .provider = "two",
                                          .proof = "token",
                                          .method = "POST",
                                          .path = "/cb/two/{token}",
                                          .query = ald_span_str("id=1"),
                                          .body = ald_span_str("\xc4\xe3"),
                                          .received_at_ms = 9};
    assert_int_equal(ald_wire_encode(&MSG_CALLBACK, &callback, &original), ALD_OK);
    const struct msg_letter_view letter = {
        .letter = "01J", .reason = "conflict", .task = 3, .original = ald_buf_span(&original)};
    struct ald_json_out out = ald_json_out_begin(&text);
    ald_json_out_object(&out, NULL);
    view_letter(&out, &letter);
    ald_json_out_close_object(&out);
    json_t *root = parse();
    json_t *shown = json_object_get(root, "original");
    assert_string_equal(member(root, "task"), "3");
    assert_string_equal(member(shown, "query"), "id=1");
    assert_string_equal(member(shown, "body_base64"), "xOM=");
    json_decref(root);
    ald_buf_free(&original);
}

static void test_figures_by_group(void **state)
{
    (void)state;
    const struct msg_figure figures[] = {
        {.group = "a", .name = "x", .value = 1},
        {.group = "a", .name = "y", .text = "word"},
        {.group = "b", .name = "x", .value = -2},
    };
    struct ald_json_out out = ald_json_out_begin(&text);
    struct view_figures view = {.out = &out};
    ald_json_out_object(&out, NULL);
    for (size_t i = 0; i < ALD_COUNT(figures); i++)
        view_figure(&view, &figures[i]);
    view_figures_end(&view);
    ald_json_out_close_object(&out);
    assert_string_equal(ald_buf_str(&text), "{\"a\":{\"x\":1,\"y\":\"word\"},\"b\":{\"x\":-2}}");
}

struct in_case {
    const char *body;
    enum ald_rc want;
    const char *sentence; /* part of it */
};

static const struct in_case in_cases[] = {
    {"{\"provider\":\"two\"}", ALD_OK, ""},
    {"", ALD_OK, ""},
    {"{}", ALD_OK, ""},
    {"{\"provider\":12}", ALD_OK, ""},
    {"{\"stale_after\":\"45s\"}", ALD_OK, ""},
    {"{\"believe\":true,\"params\":{\"a\":1}}", ALD_OK, ""},
    {"[]", ALD_MALFORMED, "object"},
    {"{", ALD_MALFORMED, "line 1"},
    {"{\"provider\":\"a\",\"provider\":\"b\"}", ALD_MALFORMED, "uplicate"},
    {"{\"provider\":\"a\\u0000b\"}", ALD_MALFORMED, ""},
    {"{\"provider\":\"123456789\"}", ALD_INVALID, "longer"},
    {"{\"provider\":null}", ALD_INVALID, "text"},
    {"{\"provder\":\"x\"}", ALD_INVALID, "provder"},
    {"{\"stale_after\":45}", ALD_INVALID, "45s"},
    {"{\"stale_after\":\"45\"}", ALD_INVALID, "45s"},
    {"{\"believe\":1}", ALD_INVALID, "true or false"},
    {"{\"count\":9007199254740991,\"list\":[]}", ALD_OK, ""},
    {"{\"count\":9007199254740992}", ALD_INVALID, "below 2^53"},
    {"{\"stale_after\":\"3650d\"}", ALD_OK, ""},
    {"{\"stale_after\":\"315360000001ms\"}", ALD_INVALID, "at most \"3650d\""},
    {"{\"count\":-1}", ALD_INVALID, "whole number"},
    {"{\"count\":1.0}", ALD_INVALID, "whole number"},
    {"{\"list\":[{\"n\":1},{\"n\":2}]}", ALD_OK, ""},
    {"{\"list\":{}}", ALD_INVALID, "at most 2 objects"},
    {"{\"list\":[{},{},{}]}", ALD_INVALID, "at most 2 objects"},
    {"{\"list\":[1]}", ALD_INVALID, "a list of objects"},
    {"{\"list\":[{\"n\":1},{\"m\":2}]}", ALD_INVALID, "no member m"},
};

/* Adds `n` of each object. */
static enum ald_rc take_number(void *arg, const struct json_in_object *object, struct ald_err *err)
{
    uint64_t n = 0;
    const struct json_in_field field = {"n", JSON_IN_NUMBER, &n, 0};
    enum ald_rc rc = json_in_inside(object, &field, 1, err);
    *(uint64_t *)arg += n;
    return rc;
}

static void test_reading(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(in_cases); i++) {
        char provider[9] = "";
        int64_t stale_ms = 0;
        bool believe = false;
        bool params = false;
        uint64_t count = 0;
        uint64_t sum = 0;
        struct json_in_list list = {.max = 2, .take = take_number, .arg = &sum};
        const struct json_in_field fields[] = {
            {"provider", JSON_IN_TEXT, provider, sizeof provider},
            {"stale_after", JSON_IN_DURATION, &stale_ms, 0},
            {"believe", JSON_IN_BOOL, &believe, 0},
            {"params", JSON_IN_SEEN, &params, 0},
            {"count", JSON_IN_NUMBER, &count, 0},
            {"list", JSON_IN_LIST, &list, 0},
        };
        struct ald_err err = {0};
        enum ald_rc rc =
            json_in_read(ald_span_str(in_cases[i].body), fields, ALD_COUNT(fields), &err);
        if (rc != in_cases[i].want || !strstr(err.text, in_cases[i].sentence))
            fail_msg("%s: %s, %s", in_cases[i].body, ald_rc_name(rc), err.text);
        if (strstr(in_cases[i].body, "740991"))
            assert_int_equal(count, UINT64_C(9007199254740991));
        if (rc == ALD_OK && strstr(in_cases[i].body, "{\"n\":2}"))
            assert_int_equal(sum, 3);
    }
}

/* The library's own bound is 2048 levels, more than the stack of a listener's thread has room for.
 */
static void test_depth(void **state)
{
    (void)state;
    static const struct {
        size_t depth;
        const char *inside;
        enum ald_rc want;
    } cases[] = {{30, "", ALD_OK},
                 {30, "\"[[[[[[[[\\\"{{{{{{{{\"", ALD_OK},
                 {40, "", ALD_MALFORMED},
                 {2000, "", ALD_MALFORMED},
                 {200000, "", ALD_MALFORMED}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        bool params = false;
        const struct json_in_field field = {"params", JSON_IN_SEEN, &params, 0};
        struct ald_err err = {0};
        ald_buf_reset(&text);
        ald_buf_put_str(&text, "{\"params\":");
        for (size_t k = 0; k < cases[i].depth; k++)
            ald_buf_put_byte(&text, '[');
        ald_buf_put_str(&text, cases[i].inside);
        for (size_t k = 0; k < cases[i].depth; k++)
            ald_buf_put_byte(&text, ']');
        ald_buf_put_byte(&text, '}');
        assert_true(ald_buf_ok(&text));
        assert_int_equal(json_in_read(ald_buf_span(&text), &field, 1, &err), cases[i].want);
        assert_int_equal(params, cases[i].want == ALD_OK);
        assert_true(cases[i].want == ALD_OK || strstr(err.text, "brackets") != NULL);
    }
}

/* Texts of any length, as text or as base64, and numbers. */
static void test_reading_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *body, *want; /* want NULL: refused */
    } cases[] = {
        {"{}", ""},
        {"{\"body\":\"\"}", "set:"},
        {"{\"body\":\"a\\u00e4\"}", "set:a\xc3\xa4"},
        {"{\"body_base64\":\"YQ==\"}", "set:a"},
        {"{\"body_base64\":\"Y!==\"}", NULL},
        {"{\"body_base64\":\"\",\"body\":\"\"}", NULL},
        {"{\"body\":5}", NULL},
        {"{\"body\":\"123456789\"}", NULL},
        {"{\"number\":\"5\"}", NULL},
        {"{\"number\":-5}", NULL},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct json_in_bytes bytes = {0};
        struct ald_err err = {0};
        uint64_t number = 7;
        char got[32] = "";
        const struct json_in_field fields[] = {{"body", JSON_IN_BYTES, &bytes, 0},
                                               {"body_base64", JSON_IN_BASE64, &bytes, 0},
                                               {"number", JSON_IN_NUMBER, &number, 0}};
        print_message("%s\n", cases[i].body);
        ald_buf_init(&bytes.bytes, 8);
        enum ald_rc rc = json_in_read(ald_span_str(cases[i].body), fields, ALD_COUNT(fields), &err);
        assert_int_equal(rc, cases[i].want ? ALD_OK : ALD_INVALID);
        if (bytes.set && rc == ALD_OK)
            (void)snprintf(got, sizeof got, "set:%s", ald_buf_str(&bytes.bytes));
        assert_string_equal(got, cases[i].want ? cases[i].want : "");
        assert_int_equal(number, 7);
        ald_buf_free(&bytes.bytes);
    }
    uint64_t number = 0;
    struct ald_err err = {0};
    const struct json_in_field field = {"number", JSON_IN_NUMBER, &number, 0};
    assert_int_equal(json_in_read(ald_span_str("{\"number\":5}"), &field, 1, &err), ALD_OK);
    assert_int_equal(number, 5);
}

/* What a consumer did not take is shown as the event it is. */
static void test_an_event_in_a_letter(void **state)
{
    (void)state;
    struct ald_buf original;
    const struct msg_event event = {.lane = 2,
                                    .seq = 9,
                                    .task = 77,
                                    .provider = "two",
                                    .state = "done",
                                    .source = "poll",
                                    .result_type = "text",
                                    .result = ald_span_str("abc"),
                                    .published_ms = 5};
    ald_buf_init(&original, 4096);
    assert_int_equal(ald_wire_encode(&MSG_EVENT, &event, &original), ALD_OK);
    struct msg_letter_view letter = {.letter = "L",
                                     .reason = "consumer_rejected",
                                     .state = "open",
                                     .provider = "two",
                                     .consumer = "mailer",
                                     .original = ald_buf_span(&original)};
    struct ald_json_out out = ald_json_out_begin(&text);
    ald_json_out_object(&out, NULL);
    view_letter(&out, &letter);
    ald_json_out_close_object(&out);
    json_t *root = parse();
    json_t *shown = json_object_get(root, "event");
    assert_string_equal(json_string_value(json_object_get(root, "consumer")), "mailer");
    assert_string_equal(json_string_value(json_object_get(shown, "result")), "abc");
    assert_string_equal(json_string_value(json_object_get(shown, "position")), "2:9");
    assert_null(json_object_get(root, "original"));
    json_decref(root);
    ald_buf_free(&original);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_example, begin, end),
        cmocka_unit_test_setup_teardown(test_all_bytes_of_a_text, begin, end),
        cmocka_unit_test_setup_teardown(test_what_swells_is_base64, begin, end),
        cmocka_unit_test_setup_teardown(test_task_under_way, begin, end),
        cmocka_unit_test_setup_teardown(test_sources, begin, end),
        cmocka_unit_test_setup_teardown(test_results, begin, end),
        cmocka_unit_test_setup_teardown(test_depth, begin, end),
        cmocka_unit_test_setup_teardown(test_letter_shows_its_original, begin, end),
        cmocka_unit_test_setup_teardown(test_figures_by_group, begin, end),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_reading_bytes),
        cmocka_unit_test_setup_teardown(test_an_event_in_a_letter, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
