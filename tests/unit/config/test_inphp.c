/* The in.php family's rules, message by message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "common/config/family.h"
#include "tests/unit/config/profile_of.h"

static struct ald_profile profile;

static int setup(void **state)
{
    (void)state;
    profile = profile_of("");
    return 0;
}

/* Judge with a scratch of so many bytes; the result is copied out of it. */
static struct ald_verdict judge(enum ald_stage stage, const struct ald_facts *facts, size_t room,
                                char result[600])
{
    struct ald_buf scratch;
    struct ald_verdict verdict;
    ald_buf_init(&scratch, room);
    bool names = ald_profile_names_task(&profile, facts, &scratch);
    ald_profile_judge(&profile, stage, facts, &scratch, &verdict);
    if (stage == ALD_STAGE_CALLBACK)
        assert_int_equal(names, verdict.id[0] != '\0');
    ald_text_cut(result, 600, verdict.result);
    ald_buf_free(&scratch);
    return verdict;
}

static void test_example(void **state)
{
    (void)state;
    char result[600];
    struct ald_facts facts = {.query = ald_span_str("id=51555263943&code=03AGdBq2")};
    struct ald_verdict verdict = judge(ALD_STAGE_CALLBACK, &facts, 4096, result);
    assert_int_equal(verdict.then, ALD_THEN_DONE);
    assert_string_equal(verdict.id, "51555263943");
    assert_string_equal(result, "03AGdBq2");
}

#define BIG20 "20180814033130818988"

struct message {
    const char *name;
    unsigned http;
    const char *query;
    const char *body;
    const char *then; /* the class where a code was recognised */
    const char *id;
    const char *result;
    const char *code;
    const char *rule;
};

static const struct message polls[] = {
    {"case 1", 500, "", "500 Internal Server Error", "unknown", "", "", "", "no-rule"},
    {"case 2", 200, "", "500 Internal Server Error", "unknown", "", "", "", "no-rule"},
    {"case 4", 521, "", "<html>521</html>", "unknown", "", "", "", "no-rule"},
    {"case 5", 200, "", "", "unknown", "", "", "", "empty"},
    {"case 7", 200, "", "<html><head><title>502 Bad Gateway</title></head>", "unknown", "", "", "",
     "no-rule"},
    {"case 8", 503, "", "<!DOCTYPE html>...", "unknown", "", "", "", "no-rule"},
    {"case 10", 200, "", "<!DOCTYPE html><title>Unicorn!</title>", "unknown", "", "", "",
     "no-rule"},
    {"case 11", 200, "", "\xef\xbb\xbf {\"status\":1,\"request\":\"T\"} <!-- cached by X -->",
     "done", "", "T", "", "json-done"},
    {"case 13", 200, "",
     "{\"status\":0,\"request\":\"https://2captcha.com/blog/google-search-recaptcha\"}", "unknown",
     "", "", "https://2captcha.com/blog/google-search-recaptcha", "json-code"},
    {"case 14", 200, "", "{\"status\":0,\"request\":\"ERROR_SOMETHING_NEW\"}", "unknown", "", "",
     "ERROR_SOMETHING_NEW", "json-code"},
    {"case 14 as text", 200, "", "ERROR_SOMETHING_NEW", "unknown", "", "", "ERROR_SOMETHING_NEW",
     "text-code"},
    {"case 50", 200, "", "CAPTCHA_NOT_READY", "pending", "", "", "CAPTCHA_NOT_READY", "text-code"},
    {"case 50, JSON", 200, "", "{\"status\":0,\"request\":\"CAPTCHA_NOT_READY\"}", "pending", "",
     "", "CAPTCHA_NOT_READY", "json-code"},
    {"case 51", 200, "", "OK|40|200|-120", "done", "", "40|200|-120", "", "text-done"},
    {"answer with pipes in JSON", 200, "", "{\"status\":1,\"request\":\"A|B\"}", "done", "", "A|B",
     "", "json-done"},
    {"answer that is JSON in text", 200, "", "OK|[{\"xMin\":559}]", "done", "", "[{\"xMin\":559}]",
     "", "text-done"},
    {"answer array", 200, "", "{\"status\":1,\"request\":[1.0]}", "done", "", "[1.0]", "",
     "json-done"},
    {"answer number", 200, "", "{\"status\":1,\"request\":" BIG20 "}", "done", "", BIG20, "",
     "json-done"},
    {"answer with an escape no text holds", 200, "", "{\"status\":1,\"request\":\"\\u0000\"}",
     "done", "", "\"\\u0000\"", "", "json-done"},
    {"empty answer", 200, "", "{\"status\":1,\"request\":\"\"}", "unknown", "", "", "",
     "empty-result"},
    {"empty answer as text", 200, "", "OK|", "unknown", "", "", "", "empty-result"},
    {"null answer", 200, "", "{\"status\":1,\"request\":null}", "unknown", "", "", "", "no-rule"},
    {"true is not 1", 200, "", "{\"status\":true,\"request\":\"x\"}", "unknown", "", "", "",
     "no-rule"},
    {"\"1\" is 1", 200, "", "{\"status\":\"1\",\"request\":\"x\"}", "done", "", "x", "",
     "json-done"},
    {"done with a server error", 500, "", "{\"status\":1,\"request\":\"x\"}", "unknown", "", "", "",
     "no-rule"},
    {"text done with a server error", 502, "", "OK|x", "unknown", "", "", "", "no-rule"},
    {"bytes before JSON", 200, "", "array(8) {}{\"status\":1,\"request\":\"x\"}", "unknown", "", "",
     "", "no-rule"},
    {"cut JSON", 200, "", "{\"status\":1,\"request\":\"x", "unknown", "", "", "", "no-rule"},
    {"ready", 200, "",
     "{\"errorId\":0,\"status\":\"ready\",\"solution\":{\"t\":\"x\"},\"cost\":1e-5}", "done", "",
     "{\"t\":\"x\"}", "", "json-ready"},
    {"processing", 200, "", "{\"errorId\":0,\"status\":\"processing\"}", "pending", "", "", "",
     "json-processing"},
    {"v2 error", 200, "", "{\"errorId\":12,\"errorCode\":\"ERROR_CAPTCHA_UNSOLVABLE\"}", "failed",
     "", "", "ERROR_CAPTCHA_UNSOLVABLE", "json-error-code"},
    {"capy", 200, "", "{\"challengekey\":\"c\",\"answer\":\"a\"}", "done", "",
     "{\"challengekey\":\"c\",\"answer\":\"a\"}", "", "json-bare"},
    {"429", 429, "", "<html>slow down</html>", "transient", "", "", "HTTP_429", "http-status"},
    {"code with a status", 429, "", "ERROR: 1005", "transient", "", "", "ERROR: 1005", "text-code"},
    {"request is no code", 200, "", "{\"status\":0,\"request\":{}}", "unknown", "", "", "",
     "no-text"},
};

static const struct message submits[] = {
    {"plain", 200, "", "OK|2122988149\n", "accepted", "2122988149", "", "", "text-accepted"},
    {"plain with an error status", 500, "", "OK|1", "accepted", "1", "", "", "text-accepted"},
    {"case 47", 200, "", "{\"status\":1,\"request\":" BIG20 "}", "accepted", BIG20, "", "",
     "json-accepted"},
    {"hex", 200, "", "OK|b351e6b6", "accepted", "b351e6b6", "", "", "text-accepted"},
    {"no id", 200, "", "OK|", "unknown", "", "", "", "no-id"},
    {"empty id", 200, "", "{\"status\":1,\"request\":\"\"}", "unknown", "", "", "", "no-id"},
    {"id with a line break", 200, "", "OK|1\n2", "unknown", "", "", "", "bad-id"},
    {"images", 200, "", "TOO_MANY_BAD_IMAGES", "config", "", "", "TOO_MANY_BAD_IMAGES",
     "text-code"},
    {"JSON with an error status", 500, "", "{\"status\":1,\"request\":\"5\"}", "unknown", "", "",
     "", "no-rule"},
};

#define LONG128                                                                                    \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbb" \
    "bbbb"                                                                                         \
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static const struct message callbacks[] = {
    {"nothing", 0, "", "", "hint", "", "", "", "callback-no-code"},
    {"case 68", 0, "myId=1", "", "hint", "", "", "", "callback-no-code"},
    {"status 0 without code", 0, "captcha_id=7&status=0", "", "hint", "7", "", "",
     "callback-no-code"},
    {"uCaptcha", 0, "captcha_id=7&status=1&code=x", "", "done", "7", "x", "", "callback-code"},
    {"JSON", 0, "", "{\"id\":1,\"code\":\"A+B\"}", "done", "1", "A+B", "", "callback-code"},
    {"case 48", 0, "", "{\"id\":9123456789654321,\"code\":\"x\"}", "done", "9123456789654321", "x",
     "", "callback-code"},
    {"case 47", 0, "", "{\"id\":" BIG20 ",\"code\":\"x\"}", "done", BIG20, "x", "",
     "callback-code"},
    {"JSON error", 0, "", "{\"id\":\"1\",\"code\":\"ERROR_CAPTCHA_UNSOLVABLE\"}", "failed", "1", "",
     "ERROR_CAPTCHA_UNSOLVABLE", "callback-code"},
    {"JSON answer object", 0, "", "{\"id\":1,\"code\":{\"a\": 1}}", "done", "1", "{\"a\": 1}", "",
     "callback-json"},
    {"JSON null", 0, "", "{\"id\":1,\"code\":null}", "hint", "1", "", "", "callback-no-code"},
    {"JSON false", 0, "", "{\"id\":1,\"code\":false}", "hint", "1", "", "", "callback-no-code"},
    {"JSON without fields", 0, "", "{\"taskId\":1}", "unknown", "", "", "", "no-field"},
    {"cut JSON", 0, "", "{\"id\":1,\"code\":\"x", "unknown", "", "", "", "malformed"},
    {"words", 0, "", "hello", "unknown", "", "", "", "no-field"},
    {"body before query", 0, "id=2&code=q", "id=1&code=b", "done", "1", "b", "", "callback-code"},
    {"id in the query, code in the body", 0, "id=2", "code=b", "done", "2", "b", "",
     "callback-code"},
    {"case 38", 0, "id=1&code=ab%2Bcd/ef==", "", "done", "1", "ab+cd/ef==", "", "callback-code"},
    {"case 42", 0, "id=1&code=a%252Bb", "", "done", "1", "a%2Bb", "", "callback-code"},
    {"code in bad escapes", 0, "id=1&code=%zz", "", "unknown", "1", "", "", "malformed"},
    {"code with NUL", 0, "id=1&code=a%00b", "", "unknown", "1", "", "", "malformed"},
    {"id with NUL", 0, "id=1%002&code=a", "", "unknown", "", "", "", "bad-id"},
    {"id with NUL in JSON", 0, "", "{\"id\":\"1\\u0000\",\"code\":\"x\"}", "unknown", "", "", "",
     "bad-id"},
    {"id with a line break", 0, "id=1%0a2&code=a", "", "unknown", "", "", "", "bad-id"},
    {"id with DEL", 0, "id=1%7f&code=a", "", "unknown", "", "", "", "bad-id"},
    {"id that is no UTF-8", 0, "id=%ff&code=a", "", "unknown", "", "", "", "bad-id"},
    {"id of 128", 0, "id=" LONG128 "&code=a", "", "done", LONG128, "a", "", "callback-code"},
    {"id of 129", 0, "id=" LONG128 "c&code=a", "", "unknown", "", "", "", "bad-id"},
    {"id object", 0, "", "{\"id\":{},\"code\":\"x\"}", "unknown", "", "", "", "bad-id"},
    {"path as id", 0, "id=../../x&code=a", "", "done", "../../x", "a", "", "callback-code"},
    {"not ready", 0, "id=1&code=CAPCHA_NOT_READY", "", "pending", "1", "", "CAPCHA_NOT_READY",
     "callback-code"},
    {"banned", 0, "id=1&code=IP_BANNED", "", "hint", "1", "", "IP_BANNED", "callback-account-code"},
    {"wrong key", 0, "id=1&code=ERROR_WRONG_USER_KEY", "", "hint", "1", "", "ERROR_WRONG_USER_KEY",
     "callback-account-code"},
    {"1005", 0, "id=1&code=ERROR:+1005", "", "hint", "1", "", "ERROR: 1005",
     "callback-account-code"},
    {"bad proxy", 0, "id=1&code=ERROR_BAD_PROXY", "", "hint", "1", "", "ERROR_BAD_PROXY",
     "callback-account-code"},
    {"new code", 0, "id=1&code=ERROR_NEW", "", "unknown", "1", "", "ERROR_NEW", "callback-code"},
    {"unknown to the provider", 0, "id=1&code=ERROR_WRONG_CAPTCHA_ID", "", "lost", "1", "",
     "ERROR_WRONG_CAPTCHA_ID", "callback-code"},
};

static void message_check(enum ald_stage stage, const struct message *m)
{
    char result[600];
    struct ald_facts facts = {
        .http = m->http, .query = ald_span_str(m->query), .body = ald_span_str(m->body)};
    struct ald_verdict verdict = judge(stage, &facts, 4096, result);
    const char *then =
        verdict.then == ALD_THEN_CODE ? ald_class_name(verdict.cls) : ald_then_name(verdict.then);
    if (strcmp(then, m->then) != 0 || strcmp(verdict.id, m->id) != 0 ||
        strcmp(result, m->result) != 0 || strcmp(verdict.code, m->code) != 0 ||
        strcmp(verdict.rule, m->rule) != 0)
        fail_msg("%s: then %s id %s result %s code %s rule %s", m->name, then, verdict.id, result,
                 verdict.code, verdict.rule);
}

static void test_polls(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(polls); i++)
        message_check(ALD_STAGE_POLL, &polls[i]);
}

static void test_submits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(submits); i++)
        message_check(ALD_STAGE_SUBMIT, &submits[i]);
}

static void test_callbacks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(callbacks); i++)
        message_check(ALD_STAGE_CALLBACK, &callbacks[i]);
}

/* A stranger's callback must not stop an account. */
static void test_callback_never_blocks(void **state)
{
    (void)state;
    char result[600];
    static const char *const codes[] = {"MAX_USER_TURN", "ERROR:%201001", "ERROR:%201004",
                                        "IP_BANNED",     "ERROR:%20x",    "ERROR_ZERO_BALANCE"};
    for (size_t i = 0; i < ALD_COUNT(codes); i++) {
        char query[100] = "id=1&code=";
        strncat(query, codes[i], 60);
        struct ald_facts facts = {.query = ald_span_str(query)};
        struct ald_verdict verdict = judge(ALD_STAGE_CALLBACK, &facts, 4096, result);
        assert_int_equal(verdict.then, ALD_THEN_HINT);
        assert_int_equal(verdict.cls, ALD_CLASS_NONE);
        assert_int_equal(verdict.scope, ALD_SCOPE_TASK);
        assert_false(verdict.block);
        assert_int_equal(verdict.wait_ms, 0);
    }
}

struct code_case {
    const char *code;
    enum ald_class cls;
    enum ald_scope scope;
    bool block;
    int64_t wait_ms;
    int64_t grace_ms;
};

static const struct code_case code_cases[] = {
    {"CAPCHA_NOT_READY", ALD_CLASS_PENDING, ALD_SCOPE_TASK, false, 5000, 0},
    {"ERROR: 1001", ALD_CLASS_TRANSIENT, ALD_SCOPE_ACCOUNT, true, 600000, 0},
    {"ERROR: 1002", ALD_CLASS_CONFIG, ALD_SCOPE_ACCOUNT, true, 300000, 0},
    {"ERROR: 1003", ALD_CLASS_TRANSIENT, ALD_SCOPE_ACCOUNT, true, 30000, 0},
    {"ERROR: 1004", ALD_CLASS_CONFIG, ALD_SCOPE_IP, true, 600000, 0},
    {"ERROR: 1005", ALD_CLASS_TRANSIENT, ALD_SCOPE_ACCOUNT, true, 300000, 0},
    {"ERROR: 1999", ALD_CLASS_TRANSIENT, ALD_SCOPE_ACCOUNT, true, 300000, 0},
    {"ERROR:1005", ALD_CLASS_TRANSIENT, ALD_SCOPE_ACCOUNT, true, 300000, 0},
    {"ERROR:1003", ALD_CLASS_TRANSIENT, ALD_SCOPE_ACCOUNT, true, 30000, 0},
    {"ERROR: ", ALD_CLASS_UNKNOWN, ALD_SCOPE_TASK, false, 5000, 0},
    {"ERROR_IP_BLOCKED", ALD_CLASS_CONFIG, ALD_SCOPE_IP, true, 300000, 0},
    {"ERROR_BAD_PROXY", ALD_CLASS_PERMANENT, ALD_SCOPE_PROXY, false, 600000, 0},
    {"ERROR_NO_SUCH_CAPCHA_ID", ALD_CLASS_LOST, ALD_SCOPE_TASK, false, 0, 30000},
    {"ERROR_WRONG_ID_FORMAT", ALD_CLASS_LOST, ALD_SCOPE_TASK, false, 0, 0},
    {"ERROR_ZERO_BALANCE", ALD_CLASS_CONFIG, ALD_SCOPE_ACCOUNT, false, 60000, 0},
    {"error_zero_balance", ALD_CLASS_UNKNOWN, ALD_SCOPE_TASK, false, 5000, 0},
    {"", ALD_CLASS_UNKNOWN, ALD_SCOPE_TASK, false, 5000, 0},
};

static void test_codes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(code_cases); i++) {
        const struct code_case *c = &code_cases[i];
        struct ald_verdict verdict = {0};
        ald_inphp_code("2captcha", ald_span_str(c->code), &verdict);
        if (verdict.cls != c->cls || verdict.scope != c->scope || verdict.block != c->block ||
            verdict.wait_ms != c->wait_ms || verdict.grace_ms != c->grace_ms)
            fail_msg("%s: %s %s %d %d %d", c->code, ald_class_name(verdict.cls),
                     ald_scope_name(verdict.scope), verdict.block, (int)verdict.wait_ms,
                     (int)verdict.grace_ms);
    }
}

static void test_little_room_is_unknown(void **state)
{
    (void)state;
    char result[600];
    struct ald_facts poll = {.body = ald_span_str("{\"status\":1,\"request\":\"0123456789\"}")};
    struct ald_verdict verdict = judge(ALD_STAGE_POLL, &poll, 5, result);
    assert_int_equal(verdict.then, ALD_THEN_UNKNOWN);
    struct ald_facts callback = {.query = ald_span_str("id=1&code=0123456789")};
    verdict = judge(ALD_STAGE_CALLBACK, &callback, 5, result);
    assert_int_equal(verdict.then, ALD_THEN_UNKNOWN);
    assert_string_equal(verdict.id, "1");
}

/* A long code is cut for the verdict, never misread. */
static void test_long_code(void **state)
{
    (void)state;
    char body[400] = "ERROR_";
    memset(body + 6, 'x', 350);
    char result[600];
    struct ald_facts facts = {.body = ald_span_str(body)};
    struct ald_verdict verdict = judge(ALD_STAGE_POLL, &facts, 4096, result);
    assert_int_equal(verdict.cls, ALD_CLASS_UNKNOWN);
    assert_int_equal(strlen(verdict.code), sizeof verdict.code - 1);
}

static void test_plus(void **state)
{
    (void)state;
    char result[600];
    struct ald_facts facts = {.query = ald_span_str("id=1&code=ab+cd/ef==")};
    (void)judge(ALD_STAGE_CALLBACK, &facts, 4096, result);
    assert_string_equal(result, "ab cd/ef==");
    profile = profile_of("callback: {plus: auto}");
    (void)judge(ALD_STAGE_CALLBACK, &facts, 4096, result);
    assert_string_equal(result, "ab+cd/ef==");
    profile = profile_of("callback: {plus: literal}");
    (void)judge(ALD_STAGE_CALLBACK, &facts, 4096, result);
    assert_string_equal(result, "ab+cd/ef==");
}

static void test_captchaai(void **state)
{
    (void)state;
    char result[600];
    struct ald_facts geetest = {.body = ald_span_str("{\"validate\":\"v\",\"seccode\":\"s\"}")};
    struct ald_facts field = {.body = ald_span_str("{\"status\":1,\"result\":\"03AG\"}")};
    assert_int_equal(judge(ALD_STAGE_POLL, &geetest, 4096, result).then, ALD_THEN_UNKNOWN);
    assert_int_equal(judge(ALD_STAGE_POLL, &field, 4096, result).then, ALD_THEN_UNKNOWN);
    profile = profile_of("dialect: captchaai");
    assert_int_equal(judge(ALD_STAGE_POLL, &geetest, 4096, result).then, ALD_THEN_DONE);
    assert_string_equal(result, "{\"validate\":\"v\",\"seccode\":\"s\"}");
    assert_int_equal(judge(ALD_STAGE_POLL, &field, 4096, result).then, ALD_THEN_DONE);
    struct ald_facts balance = {.body = ald_span_str("ERROR_ZERO_BALANCE")};
    assert_int_equal(judge(ALD_STAGE_POLL, &balance, 4096, result).cls, ALD_CLASS_TRANSIENT);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_example),   TEST(test_polls),
        TEST(test_submits),   TEST(test_callbacks),
        TEST(test_codes),     TEST(test_callback_never_blocks),
        TEST(test_plus),      TEST(test_little_room_is_unknown),
        TEST(test_captchaai), TEST(test_long_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
