/* The ways in which clients of in.php, res.php and createTask really send, and what each asks. */
#include "services/gateway/facade/facade_ask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct request {
    const char *path;
    const char *query;
    const char *type; /* NULL: not declared */
    const char *body;
};

/* "what [json] [price] [open] key=... ids=... verb=... pingback=... wrong=..." */
static void summary(const struct facade_ask *ask, struct ald_buf *out)
{
    static const char *const words[] = {"submit", "get", "report", "pass", "wrong"};
    ald_buf_put_str(out, words[ask->what]);
    ald_buf_put_str(out, ask->json ? " json" : "");
    ald_buf_put_str(out, ask->price ? " price" : "");
    ald_buf_put_str(out, ask->several ? " several" : "");
    ald_buf_put_str(out, ask->open_to_pages ? " open" : "");
    if (ask->key.len > 0)
        ald_buf_printf(out, " key=%.*s", (int)ask->key.len, (const char *)ask->key.data);
    for (size_t i = 0; i < ask->id_count; i++)
        ald_buf_printf(out, "%s%llu", i > 0 ? "," : " ids=", (unsigned long long)ask->ids[i]);
    if (ask->verb[0] != '\0')
        ald_buf_printf(out, " verb=%s", ask->verb);
    if (ask->pingback[0] != '\0')
        ald_buf_printf(out, " pingback=%s", ask->pingback);
    if (ask->what == FACADE_WRONG)
        ald_buf_printf(out, " %s", ask->wrong);
}

/* The question, and for a submission what is submitted; both in out. */
static void ask(const struct request *request, struct ald_buf *out)
{
    struct facade_fields fields;
    struct facade_ask ask;
    facade_fields_init(&fields);
    bool read = facade_fields_read(&fields, ald_span_str(request->query), request->type,
                                   ald_span_str(request->body));
    facade_ask_read(request->path, &fields, read, &ask);
    summary(&ask, out);
    if (ask.what == FACADE_SUBMIT) {
        ald_buf_put_byte(out, ' ');
        facade_submission(&ask, &fields, out);
    }
    facade_fields_free(&fields);
}

static void check(const struct request *request, const char *name, const char *want)
{
    struct ald_buf got;
    ald_buf_init(&got, 1 << 16);
    ask(request, &got);
    if (strcmp(ald_buf_str(&got), want) != 0)
        fail_msg("%s: got  %s\n want %s", name, ald_buf_str(&got), want);
    ald_buf_free(&got);
}

static void test_example(void **state)
{
    (void)state;
    const struct request request = {"/in.php", "key=K&method=turnstile&sitekey=a%2Bb&json=1", NULL,
                                    ""};
    check(&request, "example",
          "submit json key=K {\"params\":{\"method\":\"turnstile\",\"sitekey\":\"a+b\"}}");
}

#define SITE "\"method\":\"userrecaptcha\",\"googlekey\":\"6L\",\"pageurl\":\"http://a/?b=c\""
#define SITE_SENT "{\"params\":{" SITE "}}"
#define CRLF "\r\n"

static const struct {
    const char *name;
    struct request request;
    const char *want;
} SUBMISSIONS[] = {
    {"everything in the query of a GET",
     {"/in.php",
      "key=K&method=userrecaptcha&googlekey=6L&pageurl=http%3A%2F%2Fa%2F%3Fb%3Dc&header_acao=1",
      NULL, ""},
     "submit open key=K " SITE_SENT},
    {"a form",
     {"/in.php", "", "application/x-www-form-urlencoded",
      "key=K&json=1&method=userrecaptcha&googlekey=6L&pageurl=http://a/?b=c"},
     "submit json key=K " SITE_SENT},
    {"a form that is not declared",
     {"/in.php", "", NULL,
      "key=K&json=1&method=userrecaptcha&googlekey=6L&pageurl=http://a/?b=c\r\n"},
     "submit json key=K " SITE_SENT},
    {"JSON",
     {"/in.php", "", "application/json", "{\"key\":\"K\",\"json\":1," SITE "}"},
     "submit json key=K " SITE_SENT},
    {"JSON declared as text",
     {"/in.php", "", "text/plain;charset=UTF-8", "{\"key\":\"K\",\"json\":true," SITE "}"},
     "submit json key=K " SITE_SENT},
    {"JSON declared as parts without a boundary, with junk behind it",
     {"/in.php", "", "multipart/form-data", "\xef\xbb\xbf {\"key\":\"K\"," SITE "}\r\n--"},
     "submit key=K " SITE_SENT},
    {"key and method in the query, the picture in a body of JSON",
     {"/in.php", "key=K&json=1&method=base64&header_acao=1&soft_id=3316",
      "text/plain;charset=UTF-8", "{\"body\":\"aGk=\"}"},
     "submit json open key=K "
     "{\"params\":{\"method\":\"base64\",\"soft_id\":\"3316\",\"body\":\"aGk=\"}}"},
    {"the body goes over the query",
     {"/in.php", "key=Q&method=a&x=1", "application/x-www-form-urlencoded", "key=B&x=2"},
     "submit key=B {\"params\":{\"method\":\"a\",\"x\":\"2\"}}"},
    {"base64 whose pluses are not encoded",
     {"/in.php", "", "application/x-www-form-urlencoded", "key=K&method=base64&body=a+b/c=="},
     "submit key=K {\"params\":{\"method\":\"base64\",\"body\":\"a+b/c==\"}}"},
    {"parts with a file",
     {"/in.php", "", "multipart/form-data; boundary=XX",
      "--XX" CRLF "Content-Disposition: form-data; name=\"key\"" CRLF CRLF "K" CRLF "--XX" CRLF
      "Content-Disposition: form-data; name=\"method\"" CRLF CRLF "post" CRLF "--XX" CRLF
      "Content-Disposition: form-data; name=\"file\"; filename=\"a.png\"" CRLF
      "Content-Type: image/png" CRLF CRLF "PNG\r\n\x01" CRLF "--XX--" CRLF},
     "submit key=K {\"params\":{\"method\":\"post\"},\"files\":{\"file\":{\"content\":"
     "\"UE5HDQoB\",\"name\":\"a.png\",\"type\":\"image/png\"}}}"},
    {"parts without a declared boundary, lines without CR, no end",
     {"/in.php", "method=post", NULL,
      "--Y\nContent-Disposition: form-data; name=key\n\nK\n"
      "--Y\ncontent-disposition: form-data; filename=; name=file\n\nGIF"},
     "submit key=K "
     "{\"params\":{\"method\":\"post\"},\"files\":{\"file\":{\"content\":\"R0lG\"}}}"},
    {"bytes that are no text are a file",
     {"/in.php", "key=K&method=post&file=%ff%00%01", NULL, ""},
     "submit key=K "
     "{\"params\":{\"method\":\"post\"},\"files\":{\"file\":{\"content\":\"/wAB\"}}}"},
    {"names and words in any case, a path with a slash",
     {"/IN.PHP/", "KEY=K&Json=1&Method=x", NULL, ""},
     "submit json key=K {\"params\":{\"Method\":\"x\"}}"},
    {"escapes that are none stand for themselves",
     {"/in.php", "key=K&method=x&a=100%&b=%zz%41+&&=&c", NULL, ""},
     "submit key=K "
     "{\"params\":{\"method\":\"x\",\"a\":\"100%\",\"b\":\"%zzA \",\"c\":\"\"}}"},
    {"numbers, flags and lists of JSON stay what they are",
     {"/in.php", "", "application/json",
      "{\"key\":\"K\",\"method\":\"x\",\"min_score\":0.30,\"big\":12345678901234567890,"
      "\"invisible\":true,\"none\":null,\"list\":[1,{\"a\":\"b\"}]}"},
     "submit key=K {\"params\":{\"method\":\"x\",\"min_score\":0.30,"
     "\"big\":12345678901234567890,\"invisible\":true,\"list\":[1,{\"a\":\"b\"}]}}"},
    {"what would spoil the answer is not passed on; the pingback is ours to call",
     {"/in.php", "key=K&method=x&debug_dump=1&pingback=http%3A%2F%2Fme%2Fcb%3Fa%3D1%26b%3D2", NULL,
      ""},
     "submit key=K pingback=http://me/cb?a=1&b=2 {\"params\":{\"method\":\"x\"}}"},
    {"a picture without bytes",
     {"/in.php", "key=K&method=post", NULL, ""},
     "wrong key=K ERROR_ZERO_CAPTCHA_FILESIZE"},
    {"no key", {"/in.php", "method=x&json=1", NULL, ""}, "wrong json ERROR_WRONG_USER_KEY"},
    {"createTask",
     {"/createTask", "", "application/json",
      "{\"clientKey\":\"K\",\"task\":{\"type\":\"TurnstileTaskProxyless\",\"n\":1.50},"
      "\"softId\":7,\"callbackUrl\":\"http://me/cb\"}"},
     "submit json key=K verb=createTask pingback=http://me/cb {\"params\":{\"task\":"
     "{\"type\":\"TurnstileTaskProxyless\",\"n\":1.50},\"softId\":7}}"},
    {"createTask without a task",
     {"/createtask", "", "text/plain", "{\"clientKey\":\"K\",\"task\":\"x\"}"},
     "wrong json key=K verb=createTask ERROR_TASK_ABSENT"},
    {"createTask with nothing",
     {"/createTask", "", NULL, ""},
     "wrong json verb=createTask ERROR_KEY_DOES_NOT_EXIST"},
};

static void test_submissions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(SUBMISSIONS); i++)
        check(&SUBMISSIONS[i].request, SUBMISSIONS[i].name, SUBMISSIONS[i].want);
}

static const struct {
    const char *name;
    struct request request;
    const char *want;
} QUESTIONS[] = {
    {"get", {"/res.php", "key=K&action=get&id=123", NULL, ""}, "get key=K ids=123"},
    {"get in a form, with junk around the id",
     {"/res.php", "", NULL, "key=K&action=GET&id=%20123%0A&json=1\n"},
     "get json key=K ids=123"},
    {"get in JSON, the id a number",
     {"/res.php", "", "application/json",
      "{\"key\":\"K\",\"action\":\"get\",\"id\":123,\"json\":\"1\"}"},
     "get json key=K ids=123"},
    {"get2", {"/res.php", "key=K&action=get2&id=123", NULL, ""}, "get price key=K ids=123"},
    {"several",
     {"/res.php", "key=K&action=get&ids=1,%202,999999999999999999999,", NULL, ""},
     "get several key=K ids=1,2,0"},
    {"no id", {"/res.php", "key=K&action=get", NULL, ""}, "wrong key=K ERROR_WRONG_ID_FORMAT"},
    {"no digits",
     {"/res.php", "key=K&action=get&id=b351e6b6", NULL, ""},
     "wrong key=K ERROR_WRONG_ID_FORMAT"},
    {"digits that are no id", {"/res.php", "key=K&action=get&id=007", NULL, ""}, "get key=K ids=0"},
    {"no action", {"/res.php", "key=K&id=1", NULL, ""}, "wrong key=K ERROR_EMPTY_ACTION"},
    {"report",
     {"/res.php", "key=K&action=reportBad&id=123", NULL, ""},
     "report key=K ids=123 verb=reportbad"},
    {"balance",
     {"/res.php", "key=K&action=getbalance&json=1", NULL, ""},
     "pass json key=K verb=getbalance"},
    {"anything else",
     {"/res.php", "key=K&action=add_pingback&addr=http://me", NULL, ""},
     "pass key=K verb=add_pingback"},
    {"getTaskResult, the id a number",
     {"/getTaskResult", "", "application/json", "{\"clientKey\":\"K\",\"taskId\":123}"},
     "get json key=K ids=123 verb=getTaskResult"},
    {"getTaskResult, the id a text",
     {"/gettaskresult/", "", NULL, "{\"clientKey\":\"K\",\"taskId\":\"123\"}"},
     "get json key=K ids=123 verb=getTaskResult"},
    {"getTaskResult without an id",
     {"/getTaskResult", "", NULL, "{\"clientKey\":\"K\"}"},
     "wrong json key=K verb=getTaskResult ERROR_NO_SUCH_CAPCHA_ID"},
    {"getBalance",
     {"/getBalance", "", NULL, "{\"clientKey\":\"K\"}"},
     "pass json key=K verb=getBalance"},
    {"reportCorrect",
     {"/reportCorrect", "", NULL, "{\"clientKey\":\"K\",\"taskId\":5}"},
     "report json key=K ids=5 verb=reportCorrect"},
};

static void test_questions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(QUESTIONS); i++)
        check(&QUESTIONS[i].request, QUESTIONS[i].name, QUESTIONS[i].want);
}

static void test_paths(void **state)
{
    (void)state;
    enum facade_protocol protocol = FACADE_PROTOCOLS;
    assert_true(facade_path("/in.php", &protocol));
    assert_int_equal(protocol, FACADE_PLAIN);
    assert_true(facade_path("/CREATETASK//", &protocol));
    assert_int_equal(protocol, FACADE_TASKS);
    static const char *const none[] = {"/", "", "/v1/tasks", "/in.php5", "/in.ph", "/x/in.php"};
    for (size_t i = 0; i < ALD_COUNT(none); i++)
        assert_false(facade_path(none[i], &protocol));
}

static const struct {
    struct request request;
    const char *id;
    const char *want;
} CALLS[] = {
    {{"/res.php", "key=K&action=getbalance&json=1&header_acao=1", NULL, ""},
     NULL,
     "{\"action\":\"getbalance\",\"json\":\"1\"}"},
    {{"/res.php", "key=K&action=reportgood&ID=5", NULL, ""},
     "b351e6b6",
     "{\"action\":\"reportgood\",\"id\":\"b351e6b6\"}"},
    {{"/reportCorrect", "", NULL, "{\"clientKey\":\"K\",\"taskId\":5,\"softId\":7}"},
     "74372499131",
     "{\"softId\":7,\"taskId\":74372499131}"},
    {{"/reportCorrect", "", NULL, "{\"clientKey\":\"K\",\"taskId\":\"5\"}"},
     "a-7",
     "{\"taskId\":\"a-7\"}"},
};

/* What is passed on has the provider's id, and never the client's key. */
static void test_calls(void **state)
{
    (void)state;
    struct ald_buf got;
    ald_buf_init(&got, 1 << 12);
    for (size_t i = 0; i < ALD_COUNT(CALLS); i++) {
        struct facade_fields fields;
        struct facade_ask ask;
        const struct request *request = &CALLS[i].request;
        facade_fields_init(&fields);
        assert_true(facade_fields_read(&fields, ald_span_str(request->query), request->type,
                                       ald_span_str(request->body)));
        facade_ask_read(request->path, &fields, true, &ask);
        ald_buf_reset(&got);
        facade_call_params(&ask, &fields, CALLS[i].id, &got);
        assert_string_equal(ald_buf_str(&got), CALLS[i].want);
        facade_fields_free(&fields);
    }
    ald_buf_free(&got);
}

/* More fields than fit, or a name that is none, are refused; not cut. */
static void test_bounds(void **state)
{
    (void)state;
    struct ald_buf query;
    ald_buf_init(&query, 1 << 16);
    ald_buf_put_str(&query, "key=K&method=x");
    for (size_t i = 0; i < FACADE_FIELDS_MAX - 2; i++)
        ald_buf_printf(&query, "&f%zu=1", i);
    struct request request = {"/in.php", ald_buf_str(&query), NULL, ""};
    struct ald_buf got;
    ald_buf_init(&got, 1 << 16);
    ask(&request, &got);
    assert_memory_equal(ald_buf_str(&got), "submit key=K", 12);
    ald_buf_put_str(&query, "&one=more");
    request.query = ald_buf_str(&query);
    check(&request, "too many", "wrong key=K ERROR_BAD_PARAMETERS");
    request.query =
        "key=K&method=x&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1";
    check(&request, "a long name", "wrong key=K ERROR_BAD_PARAMETERS");
    request.query = "key=K&method=x&%ff=1";
    check(&request, "a name that is no text", "wrong key=K ERROR_BAD_PARAMETERS");
    ald_buf_free(&got);
    ald_buf_free(&query);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),   cmocka_unit_test(test_submissions),
        cmocka_unit_test(test_questions), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_calls),     cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
