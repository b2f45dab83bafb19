/* Streams of events, cut in every place. */
#include "services/ctl/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { HEARD_MAX = 1024 };

/* What was heard, as "name id data;". */
struct heard {
    struct ald_buf text;
    int count;
    int enough;
};

static bool heard_event(void *context, const char *name, const char *id, struct ald_span data)
{
    struct heard *self = context;
    ald_buf_printf(&self->text, "%s %s ", name, id);
    ald_buf_put_span(&self->text, data);
    ald_buf_put_byte(&self->text, ';');
    self->count++;
    return self->count != self->enough;
}

static void test_example(void **state)
{
    struct heard heard = {0};
    struct sse sse;
    (void)state;
    ald_buf_init(&heard.text, HEARD_MAX);
    sse_init(&sse, 100, heard_event, &heard);
    assert_int_equal(sse_feed(&sse, ald_span_str("id: 0:7\nevent: result\ndata: {}\n\n")), ALD_OK);
    assert_string_equal(ald_buf_str(&heard.text), "result 0:7 {};");
    assert_string_equal(sse.id, "0:7");
    sse_free(&sse);
    ald_buf_free(&heard.text);
}

static const struct {
    const char *in;
    const char *want;
    const char *id;
} cases[] = {
    {"data: a\n\n", "message  a;", ""},
    {"data:a\n\n", "message  a;", ""},
    {"data:  a\n\n", "message   a;", ""},
    {"data\n\n", "message  ;", ""},
    {"data: a\ndata: b\n\n", "message  a\nb;", ""},
    {"\xEF\xBB\xBF"
     "data: a\n\n",
     "message  a;", ""},
    {"data: a\r\n\r\ndata: b\r\r", "message  a;message  b;", ""},
    {": comment\n\n: more\n\ndata: a\n\n", "message  a;", ""},
    {"id: 1\ndata: a\n\ndata: b\n\n", "message 1 a;message 1 b;", "1"},
    {"id: 9\n\n", "", "9"},
    {"id: 9\n", "", ""},
    {"event: x\n\ndata: a\n\n", "message  a;", ""},
    {"event: x\ndata: a\n\ndata: b\n\n", "x  a;message  b;", ""},
    {"retry: 2000\nretry: x\nnonsense: y\nfoo\ndata: a\n\n", "message  a;", ""},
    {"data: half", "", ""},
};

static void test_cases_cut_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        size_t len = strlen(cases[i].in);
        for (size_t cut = 0; cut <= len; cut++) {
            struct heard heard = {0};
            struct sse sse;
            ald_buf_init(&heard.text, HEARD_MAX);
            sse_init(&sse, 100, heard_event, &heard);
            assert_int_equal(sse_feed(&sse, ald_span_of(cases[i].in, cut)), ALD_OK);
            assert_int_equal(sse_feed(&sse, ald_span_of(cases[i].in + cut, len - cut)), ALD_OK);
            assert_string_equal(ald_buf_str(&heard.text), cases[i].want);
            assert_string_equal(sse.id, cases[i].id);
            sse_free(&sse);
            ald_buf_free(&heard.text);
        }
    }
}

static void test_retry_is_known(void **state)
{
    struct sse sse;
    struct heard heard = {0};
    (void)state;
    sse_init(&sse, 100, heard_event, &heard);
    assert_int_equal(sse_feed(&sse, ald_span_str("retry: 2000\nretry: 99999999999\n")), ALD_OK);
    assert_int_equal(sse.retry_ms, 2000);
    sse_free(&sse);
}

static void test_enough(void **state)
{
    struct heard heard = {.enough = 1};
    struct sse sse;
    (void)state;
    ald_buf_init(&heard.text, HEARD_MAX);
    sse_init(&sse, 100, heard_event, &heard);
    assert_int_equal(sse_feed(&sse, ald_span_str("data: a\n\ndata: b\n\n")), ALD_CLOSED);
    assert_int_equal(heard.count, 1);
    sse_free(&sse);
    ald_buf_free(&heard.text);
}

static void test_a_stranger_fills_no_memory(void **state)
{
    static const char line[] = "0123456789012345678901234567890123456789";
    struct heard heard = {0};
    struct sse sse;
    enum ald_rc rc = ALD_OK;
    (void)state;
    sse_init(&sse, 100, heard_event, &heard);
    for (int i = 0; i < 4 && rc == ALD_OK; i++)
        rc = sse_feed(&sse, ald_span_str(line));
    assert_int_equal(rc, ALD_TOOBIG);
    sse_free(&sse);
    sse_init(&sse, 100, heard_event, &heard);
    rc = ALD_OK;
    for (int i = 0; i < 4 && rc == ALD_OK; i++)
        rc = sse_feed(&sse, ald_span_str("data: 0123456789012345678901234567890123456789\n"));
    assert_int_equal(rc, ALD_TOOBIG);
    assert_int_equal(heard.count, 0);
    sse_free(&sse);
}

static void test_restart_keeps_the_id_only(void **state)
{
    struct heard heard = {0};
    struct sse sse;
    (void)state;
    ald_buf_init(&heard.text, HEARD_MAX);
    sse_init(&sse, 100, heard_event, &heard);
    assert_int_equal(sse_feed(&sse, ald_span_str("id: 5\ndata: a\n\nid: 6\ndata: half")), ALD_OK);
    sse_restart(&sse);
    assert_string_equal(sse.id, "5");
    assert_int_equal(sse_feed(&sse, ald_span_str("data: b\n\n")), ALD_OK);
    assert_string_equal(ald_buf_str(&heard.text), "message 5 a;message 5 b;");
    sse_free(&sse);
    ald_buf_free(&heard.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_cases_cut_anywhere),
        cmocka_unit_test(test_retry_is_known),
        cmocka_unit_test(test_enough),
        cmocka_unit_test(test_a_stranger_fills_no_memory),
        cmocka_unit_test(test_restart_keeps_the_id_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
