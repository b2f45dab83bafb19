/* Values out of the API's JSON. */
#include "services/ctl/pick.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "services/ctl/ctl.h"

static struct ald_json json_of(const char *text)
{
    struct ald_json value;
    assert_int_equal(ald_json_scan(ald_span_str(text), &value, NULL), ALD_OK);
    return value;
}

static void test_example(void **state)
{
    struct ald_json task = json_of("{\"id\":\"12\",\"created_ms\":1767225600123,\"code\":\"\"}");
    char word[8];
    char at[PICK_TIME_MAX];
    (void)state;
    assert_string_equal(pick_word(task, "/id", word, sizeof word), "12");
    assert_int_equal(pick_int(task, "/created_ms"), 1767225600123);
    assert_string_equal(pick_time(task, "/created_ms", at), "2026-01-01T00:00:00.123Z");
}

static const struct {
    const char *json;
    const char *want;
} words[] = {
    {"{\"a\":\"x\"}", "x"},
    {"{\"a\":null}", ""},
    {"{}", ""},
    {"{\"a\":12345678901234567890}", "12345678901234567890"},
    {"{\"a\":0.00085}", "0.00085"},
    {"{\"a\":true}", "true"},
    {"{\"a\":{\"b\":1}}", "{\"b\":1}"},
    {"{\"a\":\"q\\u0000q\"}", "\"q\\u0000q\""},
    {"{\"a\":\"0123456789012345678901234\"}", "01234567890123456789012"},
};

static void test_words(void **state)
{
    char word[24];
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(words); i++)
        assert_string_equal(pick_word(json_of(words[i].json), "/a", word, sizeof word),
                            words[i].want);
}

static void test_numbers_that_are_none(void **state)
{
    char at[PICK_TIME_MAX];
    (void)state;
    assert_int_equal(pick_int(json_of("{\"a\":\"7\"}"), "/a"), 0);
    assert_int_equal(pick_int(json_of("{\"a\":1e99}"), "/a"), 0);
    assert_int_equal(pick_int(json_of("{\"a\":-4}"), "/a"), -4);
    assert_string_equal(pick_time(json_of("{\"a\":null}"), "/a", at), "");
    assert_string_equal(pick_time(json_of("{\"a\":-4}"), "/a", at), "");
}

static void test_a_value_is_one_line_as_it_came(void **state)
{
    struct ald_buf out;
    (void)state;
    ald_buf_init(&out, 100);
    pick_line(json_of("{\r\n \"a\": 12345678901234567890.10}"), &out);
    assert_string_equal(ald_buf_str(&out), "{   \"a\": 12345678901234567890.10}\n");
    ald_buf_free(&out);
}

static void test_paths_are_encoded(void **state)
{
    struct ald_buf path;
    (void)state;
    ald_buf_init(&path, 200);
    ald_buf_put_str(&path, "/v1/tasks");
    ctl_path(&path, "../a?b");
    ctl_query(&path, "state", NULL);
    ctl_query(&path, "q", "a&b");
    ctl_query(&path, "cursor", "0:1");
    assert_string_equal(ald_buf_str(&path), "/v1/tasks/..%2Fa%3Fb?q=a%26b&cursor=0%3A1");
    ald_buf_free(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_numbers_that_are_none),
        cmocka_unit_test(test_a_value_is_one_line_as_it_came),
        cmocka_unit_test(test_paths_are_encoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
