/* What clients of the facade are told about an end, and the bodies of their pingbacks. */
#include "common/config/facade_word.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define UNSOLVABLE "ERROR_CAPTCHA_UNSOLVABLE"

static const struct {
    enum ald_facade_protocol protocol;
    enum ald_state state;
    const char *result;
    bool json;
    const char *code;
    const char *want;
} BODIES[] = {
    {ALD_FACADE_PLAIN, ALD_STATE_DONE, "a+b c|d&e=\xc3\xa9", false, "",
     "id=77&code=a%2Bb%20c%7Cd%26e%3D%C3%A9"},
    {ALD_FACADE_PLAIN, ALD_STATE_DONE, "{\"a\":1}", true, "", "id=77&code=%7B%22a%22%3A1%7D"},
    {ALD_FACADE_PLAIN, ALD_STATE_FAILED, "", false, "ERROR_PAGEURL", "id=77&code=ERROR_PAGEURL"},
    {ALD_FACADE_PLAIN, ALD_STATE_FAILED, "", false, "not_submitted", "id=77&code=" UNSOLVABLE},
    {ALD_FACADE_PLAIN, ALD_STATE_LOST, "", false, "X", "id=77&code=ERROR_WRONG_CAPTCHA_ID"},
    {ALD_FACADE_PLAIN, ALD_STATE_EXPIRED, "", false, "", "id=77&code=" UNSOLVABLE},
    {ALD_FACADE_TASKS, ALD_STATE_DONE, "{\"token\":1.50}", true, "",
     "{\"errorId\":0,\"status\":\"ready\",\"solution\":{\"token\":1.50},\"taskId\":77}"},
    {ALD_FACADE_TASKS, ALD_STATE_DONE, "a\"b", false, "",
     "{\"errorId\":0,\"status\":\"ready\",\"solution\":{\"text\":\"a\\\"b\"},\"taskId\":77}"},
    {ALD_FACADE_TASKS, ALD_STATE_LOST, "", false, "",
     "{\"errorId\":16,\"errorCode\":\"ERROR_NO_SUCH_CAPCHA_ID\",\"taskId\":77}"},
    {ALD_FACADE_TASKS, ALD_STATE_FAILED, "", false, "ERROR_SOMETHING_NEW",
     "{\"errorId\":1,\"errorCode\":\"ERROR_SOMETHING_NEW\",\"taskId\":77}"},
};

static void check(size_t i)
{
    const struct ald_facade_end end = {.task = 77,
                                       .state = BODIES[i].state,
                                       .result = ald_span_str(BODIES[i].result),
                                       .result_json = BODIES[i].json,
                                       .code = BODIES[i].code};
    struct ald_buf out;
    ald_buf_init(&out, 1 << 12);
    ald_facade_pingback(BODIES[i].protocol, &end, &out);
    assert_string_equal(ald_buf_str(&out), BODIES[i].want);
    ald_buf_free(&out);
}

static void test_example(void **state)
{
    (void)state;
    check(0);
}

static void test_bodies(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(BODIES); i++)
        check(i);
}

/* A body that does not fit is none. */
static void test_too_large(void **state)
{
    (void)state;
    const struct ald_facade_end end = {
        .task = 77, .state = ALD_STATE_DONE, .result = ald_span_str("0123456789"), .code = ""};
    struct ald_buf out;
    ald_buf_init(&out, 16);
    ald_facade_pingback(ALD_FACADE_PLAIN, &end, &out);
    assert_false(ald_buf_ok(&out));
    ald_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example),
                                       cmocka_unit_test(test_bodies),
                                       cmocka_unit_test(test_too_large)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
