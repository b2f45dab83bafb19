/* What clients of the facade are told, to the byte. */
#include "services/gateway/facade/facade_say.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"

static struct msg_task_view view_of(const char *state, const char *result, bool json,
                                    const char *code)
{
    struct msg_task_view view = {.task = 7,
                                 .result = ald_span_str(result),
                                 .result_json = json,
                                 .created_at_ms = 1790000000123,
                                 .ended_at_ms = 1790000009999};
    ald_text_cut(view.state, sizeof view.state, ald_span_str(state));
    ald_text_cut(view.code, sizeof view.code, ald_span_str(code));
    return view;
}

enum { PLAIN = 0, JSON = 1, PRICE = 2, TASKS = 4 };

static struct facade_ask ask_of(unsigned manner)
{
    return (struct facade_ask){.protocol = manner & TASKS ? FACADE_TASKS : FACADE_PLAIN,
                               .what = FACADE_GET,
                               .json = (manner & (JSON | TASKS)) != 0,
                               .price = (manner & PRICE) != 0,
                               .id_count = 1};
}

static void check(const char *name, struct ald_buf *got, const char *want)
{
    if (strcmp(ald_buf_str(got), want) != 0)
        fail_msg("%s: got  %s\n want %s", name, ald_buf_str(got), want);
    ald_buf_reset(got);
}

static void test_example(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 1 << 16);
    const struct facade_ask ask = ask_of(PLAIN);
    const struct msg_task_view view = view_of("done", "03AGdBq24", false, "");
    const struct facade_state known = facade_state_of(FACADE_PLAIN, &view);
    facade_say_states(&ask, &known, 1, &out);
    check("example", &out, "OK|03AGdBq24");
    ald_buf_free(&out);
}

#define READY "{\"errorId\":0,\"status\":\"ready\",\"solution\":"
#define TIMES ",\"cost\":\"0\",\"createTime\":1790000000,\"endTime\":1790000009,\"solveCount\":1}"
#define UNSOLVABLE "ERROR_CAPTCHA_UNSOLVABLE"
#define ERROR(id, code)                                                                            \
    "{\"errorId\":" #id ",\"errorCode\":\"" code "\",\"errorDescription\":\"" code "\"}"

static const struct {
    const char *state;
    const char *result;
    bool json;
    const char *code;
    unsigned manner;
    const char *want;
} STATES[] = {
    {"accepted", "", false, "", PLAIN, "CAPCHA_NOT_READY"},
    {"submitting", "", false, "", JSON, "{\"status\":0,\"request\":\"CAPCHA_NOT_READY\"}"},
    {"pending", "", false, "", TASKS, "{\"errorId\":0,\"status\":\"processing\"}"},
    {"polling", "", false, "", PLAIN | PRICE, "CAPCHA_NOT_READY"},
    {"done", "40|200|-120", false, "", PLAIN, "OK|40|200|-120"},
    {"done", "a\"b", false, "", JSON, "{\"status\":1,\"request\":\"a\\\"b\"}"},
    {"done", "[{\"x\":1}]", true, "", PLAIN, "OK|[{\"x\":1}]"},
    {"done", "{\"a\":1.50}", true, "", JSON, "{\"status\":1,\"request\":{\"a\":1.50}}"},
    {"done", "AB", false, "", PLAIN | PRICE, "OK|AB|0"},
    {"done", "AB", false, "", JSON | PRICE, "{\"status\":1,\"request\":\"AB\",\"price\":\"0\"}"},
    {"done", "{\"token\":\"t\"}", true, "", TASKS, READY "{\"token\":\"t\"}" TIMES},
    {"done", "AB", false, "", TASKS, READY "{\"text\":\"AB\"}" TIMES},
    {"failed", "", false, "ERROR_PAGEURL", PLAIN, "ERROR_PAGEURL"},
    {"failed", "", false, UNSOLVABLE, JSON, "{\"status\":0,\"request\":\"" UNSOLVABLE "\"}"},
    {"failed", "", false, UNSOLVABLE, TASKS, ERROR(12, UNSOLVABLE)},
    {"failed", "", false, "ERROR_NEW", TASKS, ERROR(1, "ERROR_NEW")},
    {"failed", "", false, "not_submitted", PLAIN, UNSOLVABLE},
    {"failed", "", false, "invalid_submission", PLAIN, "ERROR_BAD_PARAMETERS"},
    {"failed", "", false, "Some sentence.", PLAIN, UNSOLVABLE},
    {"failed", "", false, "CAPTCHA_NOT_READY", PLAIN, UNSOLVABLE},
    {"failed", "", false, "", PLAIN, UNSOLVABLE},
    {"lost", "", false, "ERROR_WRONG_CAPTCHA_ID", PLAIN, "ERROR_WRONG_CAPTCHA_ID"},
    {"lost", "", false, "", TASKS, ERROR(16, "ERROR_NO_SUCH_CAPCHA_ID")},
    {"expired", "", false, "", PLAIN, UNSOLVABLE},
    {"cancelled", "", false, "", PLAIN, UNSOLVABLE},
    {"a word of later", "", false, "", PLAIN, "CAPCHA_NOT_READY"},
};

static void test_states(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 1 << 16);
    for (size_t i = 0; i < ALD_COUNT(STATES); i++) {
        const struct facade_ask ask = ask_of(STATES[i].manner);
        const struct msg_task_view view =
            view_of(STATES[i].state, STATES[i].result, STATES[i].json, STATES[i].code);
        const struct facade_state known = facade_state_of(ask.protocol, &view);
        facade_say_states(&ask, &known, 1, &out);
        check(STATES[i].state, &out, STATES[i].want);
    }
    ald_buf_free(&out);
}

static void test_nobody_knows(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 1 << 16);
    struct facade_ask ask = ask_of(PLAIN);
    struct facade_state known = facade_state_of(FACADE_PLAIN, NULL);
    facade_say_states(&ask, &known, 1, &out);
    check("no such task", &out, "ERROR_WRONG_CAPTCHA_ID");
    known = facade_state_unknown();
    facade_say_states(&ask, &known, 1, &out);
    check("nobody to ask", &out, "CAPCHA_NOT_READY");
    ask = ask_of(TASKS);
    facade_say_states(&ask, &known, 1, &out);
    check("nobody to ask", &out, "{\"errorId\":0,\"status\":\"processing\"}");
    ald_buf_free(&out);
}

static void test_several(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 1 << 16);
    const struct msg_task_view done = view_of("done", "A", false, "");
    const struct facade_state states[] = {facade_state_of(FACADE_PLAIN, &done),
                                          facade_state_unknown(),
                                          facade_state_of(FACADE_PLAIN, NULL)};
    struct facade_ask ask = ask_of(PLAIN);
    ask.several = true;
    facade_say_states(&ask, states, 3, &out);
    check("plain", &out, "A|CAPCHA_NOT_READY|ERROR_WRONG_CAPTCHA_ID");
    ask.json = true;
    facade_say_states(&ask, states, 2, &out);
    check("json", &out, "{\"status\":1,\"request\":\"A|CAPCHA_NOT_READY\"}");
    ald_buf_free(&out);
}

static void test_taken_and_wrong(void **state)
{
    (void)state;
    static const struct {
        unsigned manner;
        const char *taken;
        const char *wrong;
    } cases[] = {
        {PLAIN, "OK|9007199254740991", "ERROR_ZERO_BALANCE"},
        {JSON, "{\"status\":1,\"request\":\"9007199254740991\"}",
         "{\"status\":0,\"request\":\"ERROR_ZERO_BALANCE\"}"},
        {TASKS, "{\"errorId\":0,\"taskId\":9007199254740991}", ERROR(10, "ERROR_ZERO_BALANCE")},
    };
    struct ald_buf out;
    ald_buf_init(&out, 1 << 16);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct facade_ask ask = ask_of(cases[i].manner);
        facade_say_taken(&ask, UINT64_C(9007199254740991), &out);
        check("taken", &out, cases[i].taken);
        facade_say_wrong(&ask, "ERROR_ZERO_BALANCE", &out);
        check("wrong", &out, cases[i].wrong);
    }
    ald_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_states),
        cmocka_unit_test(test_nobody_knows), cmocka_unit_test(test_several),
        cmocka_unit_test(test_taken_and_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
