/* The query of a request to the API: what is taken, and how what is not taken is refused. */
#include "services/gateway/api/api_query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct filters {
    char state[16];
    char name[8];
    uint64_t limit;
    int64_t wait_ms;
    uint64_t task;
    bool deep;
};

static enum ald_rc read_query(const char *query, struct filters *out, struct ald_err *err)
{
    const struct api_query_field fields[] = {
        {.name = "state",
         .kind = API_QUERY_WORD,
         .out = out->state,
         .cap = sizeof out->state,
         .words = "open, done"},
        {.name = "name", .kind = API_QUERY_TEXT, .out = out->name, .cap = sizeof out->name},
        {.name = "limit", .kind = API_QUERY_NUMBER, .out = &out->limit, .max = 100},
        {.name = "wait", .kind = API_QUERY_WAIT, .out = &out->wait_ms, .max = 60000},
        {.name = "task", .kind = API_QUERY_TASK, .out = &out->task},
        {.name = "deep", .kind = API_QUERY_FLAG, .out = &out->deep},
    };
    *err = (struct ald_err){0};
    *out = (struct filters){.limit = 7};
    return api_query_read(ald_span_str(query), fields, ALD_COUNT(fields), err);
}

static void test_example(void **state)
{
    (void)state;
    struct filters got;
    struct ald_err err;
    assert_int_equal(read_query("state=done&name=a%26b&wait=30&deep=1", &got, &err), ALD_OK);
    assert_string_equal(got.state, "done");
    assert_string_equal(got.name, "a&b");
    assert_int_equal(got.wait_ms, 30000);
    assert_true(got.deep);
    assert_int_equal(got.limit, 7); /* absent: as it was */
}

/* What is taken, as "state name limit wait task deep". */
static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        const char *want;
    } cases[] = {
        {"", "||7|0|0|0"},
        {"&&", "||7|0|0|0"},
        {"state=", "||7|0|0|0"},
        {"%73tate=open", "open||7|0|0|0"},
        {"name=a+b", "|a b|7|0|0|0"},
        {"limit=0", "||0|0|0|0"},
        {"limit=100", "||100|0|0|0"},
        {"wait=500ms", "||7|500|0|0"},
        {"wait=61", "||7|60000|0|0"},
        {"wait=18446744073709551615", "||7|60000|0|0"},
        {"wait=2h", "||7|60000|0|0"},
        {"task=123", "||7|0|123|0"},
        {"deep", "||7|0|0|1"},
        {"deep=true", "||7|0|0|1"},
        {"deep=0", "||7|0|0|0"},
        {"deep=false", "||7|0|0|0"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct filters got;
        struct ald_err err;
        char said[128];
        assert_int_equal(read_query(cases[i].query, &got, &err), ALD_OK);
        (void)snprintf(said, sizeof said, "%s|%s|%llu|%lld|%llu|%d", got.state, got.name,
                       (unsigned long long)got.limit, (long long)got.wait_ms,
                       (unsigned long long)got.task, got.deep);
        assert_string_equal(said, cases[i].want);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        const char *want;
    } cases[] = {
        {"state=nosuch", "There is no state 'nosuch' here; it is one of: open, done."},
        {"state=don", "There is no state 'don' here; it is one of: open, done."},
        {"state=open,", "There is no state 'open,' here; it is one of: open, done."},
        {"sate=done", "This route takes no 'sate' in its query; it takes: state, name, limit, "
                      "wait, task, deep."},
        {"=x", "This route takes no '' in its query; it takes: state, name, limit, wait, task, "
               "deep."},
        {"deep=1&deep=0", "deep is given twice."},
        {"name=12345678", "name is longer than 7 bytes."},
        {"name=%zz", "The query is too long, or its %-escapes are wrong."},
        {"name=%00", "The query is too long, or its %-escapes are wrong."},
        {"limit=many", "limit must be a whole number."},
        {"limit=-1", "limit must be a whole number."},
        {"limit=", "limit must be a whole number."},
        {"limit=101", "limit must be at most 100."},
        {"wait=long", "wait is a number of seconds, or a time such as 500ms or 30s."},
        {"task=x", "task must be the id of a task, a decimal number."},
        {"deep=maybe", "deep is 1 or 0."},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct filters got;
        struct ald_err err;
        assert_int_equal(read_query(cases[i].query, &got, &err), ALD_INVALID);
        assert_string_equal(err.text, cases[i].want);
    }
}

static void test_routes_without_a_query(void **state)
{
    (void)state;
    struct ald_err err = {0};
    assert_int_equal(api_query_read(ald_span_str(""), NULL, 0, &err), ALD_OK);
    assert_int_equal(api_query_read(ald_span_str("x=1"), NULL, 0, &err), ALD_INVALID);
    assert_string_equal(err.text, "This route takes no query; it was given 'x'.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_values),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_routes_without_a_query)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
