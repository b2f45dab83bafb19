/* What is posted to a sink, and what its answer means. */
#include "services/poller/sink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static struct sink_room room;
static struct ald_buf frame;

static int begin(void **state)
{
    (void)state;
    sink_room_init(&room);
    ald_buf_init(&frame, ALD_ITEM_MAX);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sink_room_free(&room);
    ald_buf_free(&frame);
    return 0;
}

static struct ald_sink sink_of(const char *url)
{
    struct ald_sink sink = {.name = "orders", .timeout_ms = 15000};
    (void)snprintf(sink.url, sizeof sink.url, "%s", url);
    assert_int_equal(ald_webhook_secret(&sink.secrets, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
                     ALD_OK);
    return sink;
}

/* A lease that holds this event and lasts until 20 s. */
static struct work_item item_of(const struct msg_event *event)
{
    ald_buf_reset(&frame);
    assert_int_equal(ald_wire_encode(&MSG_EVENT, event, &frame), ALD_OK);
    return (struct work_item){.until_ms = 20000, .body = frame.data, .body_len = frame.len};
}

static const char *member(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void test_example(void **state)
{
    (void)state;
    const struct ald_sink sink = sink_of("https://h/x");
    const struct msg_event event = {.lane = 2,
                                    .seq = 9,
                                    .task = 17,
                                    .provider = "shop",
                                    .state = "done",
                                    .result = ald_span_str("caf\xc3\xa9"),
                                    .result_type = "text",
                                    .published_ms = 1700000000123,
                                    .deliveries = 2,
                                    .redelivered = true};
    struct work_item item = item_of(&event);
    struct fetch_request request;
    enum ald_class cls;
    assert_null(sink_request(&sink, &item, 1700000005, 10000, &room, &request, &cls));
    assert_string_equal(request.url, "https://h/x");
    assert_string_equal(request.method, "POST");
    assert_string_equal(request.type, "application/json");
    assert_non_null(
        strstr(request.headers, "webhook-id: 2:9\nwebhook-timestamp: 1700000005\nwebhook-sig"));
    assert_null(strstr(request.headers, "traceparent"));
    assert_int_equal(request.timeout_ms, 10000); /* the lease ends before the sink's own time */
    json_t *root = json_loadb((const char *)request.post.data, request.post.len, 0, NULL);
    const json_t *data = json_object_get(root, "data");
    assert_string_equal(member(root, "type"), "task.done");
    assert_string_equal(member(root, "timestamp"), "2023-11-14T22:13:20.123Z");
    assert_string_equal(member(data, "position"), "2:9");
    assert_string_equal(member(data, "task"), "17");
    assert_string_equal(member(data, "result"), "caf\xc3\xa9");
    assert_int_equal(json_integer_value(json_object_get(data, "deliveries")), 2);
    json_decref(root);
}

/* Of the caller, or of a callback, which may hold anything. */
static void test_trace(void **state)
{
    (void)state;
    static const char trace[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const struct ald_sink sink = sink_of("https://h/x");
    const char *const given[] = {trace, "two\nwords: x"};
    for (size_t i = 0; i < ALD_COUNT(given); i++) {
        struct msg_event event = {.lane = 1,
                                  .seq = 1,
                                  .task = 1,
                                  .provider = "p",
                                  .state = "done",
                                  .result_type = "text"};
        (void)snprintf(event.trace, sizeof event.trace, "%s", given[i]);
        struct work_item item = item_of(&event);
        struct fetch_request request;
        enum ald_class cls;
        assert_null(sink_request(&sink, &item, 5, 10000, &room, &request, &cls));
        const char *header = strstr(request.headers, "\ntraceparent: ");
        assert_int_equal(header != NULL, i == 0);
        if (header)
            assert_memory_equal(header + 14, trace, sizeof trace - 1);
        assert_null(strstr(request.headers, "words"));
    }
}

static void test_cannot(void **state)
{
    (void)state;
    const struct ald_sink sink = sink_of("https://h/x");
    const struct msg_event event = {
        .lane = 1, .seq = 1, .task = 1, .provider = "p", .state = "done", .result_type = "text"};
    struct work_item item = item_of(&event);
    struct fetch_request request;
    enum ald_class cls;
    /* The settings here are older or newer than the tracker's: somebody else may have it. */
    assert_non_null(sink_request(NULL, &item, 5, 10000, &room, &request, &cls));
    assert_int_equal(cls, ALD_CLASS_NONE);
    item.body_len--;
    assert_non_null(sink_request(&sink, &item, 5, 10000, &room, &request, &cls));
    assert_int_equal(cls, ALD_CLASS_PERMANENT);
}

/* A result whose JSON is larger than a post may be: each byte of it is written as six. */
static void test_too_large(void **state)
{
    (void)state;
    const struct ald_sink sink = sink_of("https://h/x");
    const size_t len = SINK_BODY_MAX / 2 - 100; /* each of them is two in JSON */
    uint8_t *bytes = malloc(len);
    assert_non_null(bytes);
    memset(bytes, '"', len);
    const struct msg_event event = {.lane = 1,
                                    .seq = 1,
                                    .task = 1,
                                    .provider = "p",
                                    .state = "done",
                                    .result = ald_span_of(bytes, len),
                                    .result_type = "text"};
    struct work_item item = item_of(&event);
    struct fetch_request request;
    struct msg_outcome outcome;
    enum ald_class cls;
    const char *error = sink_request(&sink, &item, 5, 10000, &room, &request, &cls);
    assert_string_equal(error, "the event is too large to be pushed");
    sink_unsent(error, cls, &outcome);
    assert_string_equal(outcome.class_, "permanent");
    assert_false(outcome.left);
    free(bytes);
}

static const struct {
    const char *name, *head;
    unsigned status;
    bool answered;
    int64_t wait_ms;
} ANSWERS[] = {
    {"taken", "", 204, true, 0},
    {"elsewhere", "Location: http://other/\r\n", 302, true, 0},
    {"later", "retry-after: 7\r\n", 503, true, 7000},
    {"nothing", "", 0, false, 0},
};

static void test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(ANSWERS); i++) {
        const struct fetch_answer answer = {.left = true,
                                            .answered = ANSWERS[i].answered,
                                            .status = ANSWERS[i].status,
                                            .head = ald_span_str(ANSWERS[i].head),
                                            .error = "e"};
        struct msg_outcome out;
        sink_answered(&answer, &out);
        if (out.http != ANSWERS[i].status || out.answered != ANSWERS[i].answered ||
            out.wait_ms != ANSWERS[i].wait_ms || !out.left)
            fail_msg("%s", ANSWERS[i].name);
        assert_string_equal(out.error, "e");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_trace), cmocka_unit_test(test_cannot),
        cmocka_unit_test(test_too_large), cmocka_unit_test(test_answers)};
    return cmocka_run_group_tests(tests, begin, end);
}
