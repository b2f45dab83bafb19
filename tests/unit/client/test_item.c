/* Events out of frames, and the list in which they wait. */
#include "common/client/item.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A frame with this event, or with `bytes` as they are. */
static struct item *item_from(const struct msg_event *event, const char *bytes)
{
    zmq_msg_t frame;
    struct ald_buf buf;
    ald_buf_init(&buf, 4096);
    if (event)
        assert_int_equal(ald_wire_encode(&MSG_EVENT, event, &buf), ALD_OK);
    else
        ald_buf_put_str(&buf, bytes);
    assert_int_equal(zmq_msg_init_size(&frame, buf.len), 0);
    if (buf.len > 0)
        memcpy(zmq_msg_data(&frame), buf.data, buf.len);
    ald_buf_free(&buf);
    struct item *item = item_of(&frame);
    (void)zmq_msg_close(&frame);
    return item;
}

static struct item *numbered(uint64_t seq, const char *result)
{
    const struct msg_event event = {.lane = 1,
                                    .seq = seq,
                                    .task = 42,
                                    .provider = "two",
                                    .state = "done",
                                    .source = "callback",
                                    .published_ms = 5,
                                    .deliveries = 2,
                                    .redelivered = true,
                                    .result = ald_span_str(result)};
    struct item *item = item_from(&event, NULL);
    assert_non_null(item);
    return item;
}

static void test_example(void **state)
{
    (void)state;
    struct item *item = numbered(7, "answer");
    assert_int_equal(item->event.seq, 7);
    assert_int_equal(item->event.task, 42);
    assert_string_equal(item->event.provider, "two");
    assert_string_equal(item->event.key, "");
    assert_memory_equal(item->event.result, "answer", 6);
    assert_true(item->event.redelivered);
    item_place(item, "1:7");
    struct item *copy = item_copy(&item->event);
    item_free(item);
    assert_string_equal(copy->event.position, "1:7");
    assert_string_equal(copy->event.state, "done");
    assert_int_equal(copy->event.result_bytes, 6);
    assert_memory_equal(copy->event.result, "answer", 6);
    item_free(copy);
}

static void test_what_is_no_event(void **state)
{
    (void)state;
    static const char *const bytes[] = {"", "x",
                                        "\x81\xa1k\xa5"
                                        "event",
                                        "\xc1\xc1\xc1"};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
        assert_null(item_from(NULL, bytes[i]));
    item_free(NULL);
}

static void test_a_list_keeps_its_sums(void **state)
{
    (void)state;
    struct item_list list = {0};
    assert_null(item_pop(&list));
    item_push(&list, numbered(1, "abc"));
    item_push(&list, item_gap("1:1", "retention"));
    item_push(&list, numbered(2, "de"));
    item_push(&list, numbered(3, "f"));
    assert_int_equal(list.count, 4);
    assert_int_equal(list.bytes, 6);
    item_drop_behind(&list, 1, 1);
    assert_int_equal(list.count, 2); /* the event, and the news */
    assert_int_equal(list.bytes, 3);
    struct item *first = item_pop(&list);
    assert_int_equal(first->event.seq, 1);
    item_free(first);
    struct item *news = item_pop(&list);
    assert_string_equal(news->gap_before, "1:1");
    item_free(news);
    assert_int_equal(list.bytes, 0);
    item_push(&list, numbered(4, "g"));
    item_list_free(&list);
    assert_null(list.first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_what_is_no_event),
        cmocka_unit_test(test_a_list_keeps_its_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
