/* Submissions: from what a caller gives and what a profile says to bytes; and answers that say that
 * nothing was taken. */
#include "common/config/profile_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/config/profile_of.h"

#define URL "https://cb.example/cb/p/T"

static const char SHOP[] =
    "p: {secrets: {key: {env: ALD_TEST_KEY}}, id: {pattern: \"^[0-9]+$\"}, codes: {_default: "
    "{class: unknown}, HTTP_429: {class: transient, wait: 7s}}, submit: {request: {method: POST, "
    "url: \"https://h.example/in\"%s}%s, rules: [{when: [{text_prefix: \"OK|\"}], then: accepted, "
    "id: {text_after: \"OK|\"}}, {when: [{text_prefix: \"E\"}], then: code, code: {text: all}}]}, "
    "poll: {request: {method: GET, url: \"https://h.example/r\"}, rules: []}}\n";

static ald_profiles_t *shop(const char *request, const char *more)
{
    char yaml[2048];
    struct ald_errors errors;
    (void)setenv("ALD_TEST_KEY", "k+y", 1);
    (void)snprintf(yaml, sizeof yaml, SHOP, request, more);
    ald_profiles_t *profiles = profiles_of(yaml, ALD_SECRETS_POLL, &errors);
    if (!profiles)
        fail_msg("%s\n%s", yaml, ald_errors_text(&errors));
    ald_errors_free(&errors);
    return profiles;
}

/* Fill it in; what comes of it stays in request. */
static enum ald_rc fill(const ald_profiles_t *profiles, const char *text,
                        struct ald_request *request)
{
    struct ald_given given;
    const char *why = NULL;
    assert_int_equal(ald_given_read(ald_span_str(text), &given, &why), ALD_OK);
    const struct ald_request_in in = {
        .stage = ALD_STAGE_SUBMIT, .callback_url = URL, .given = &given};
    return ald_profile_request(ald_profiles_at(profiles, 0), &in, request);
}

static void test_example(void **state)
{
    (void)state;
    struct ald_request request;
    ald_profiles_t *profiles =
        shop(", encode: form",
             ", params: {key: \"${secret.key}\"}, callback_param: {in: body, name: cb}");
    ald_request_init(&request, 65536);
    assert_int_equal(fill(profiles, "{\"params\":{\"a\":\"b c\",\"key\":\"mine\"}}", &request),
                     ALD_OK);
    assert_string_equal(ald_buf_str(&request.url), "https://h.example/in");
    assert_string_equal(ald_buf_str(&request.body),
                        "a=b%20c&cb=https%3A%2F%2Fcb.example%2Fcb%2Fp%2FT&key=k%2By");
    assert_string_equal(request.content_type, "application/x-www-form-urlencoded");
    ald_request_free(&request);
    ald_profiles_destroy(&profiles);
}

#define IN(place) ", callback_param: {in: " place ", name: cb}"
#define FILES(more) "\"files\":{\"f\":{\"content\":\"aGk=\"" more "}}"

static const struct {
    const char *name, *request, *more, *given;
    enum ald_rc rc;
    const char *url, *headers, *body, *type;
} CASES[] = {
    {"nothing given", ", encode: form", "", "{}", ALD_OK, "", "", "", "x-www-form-urlencoded"},
    {"values of a form", ", encode: form", "",
     "{\"params\":{\"n\":0.00085,\"big\":12345678901234567890123,\"t\":true,\"z\":null,\"l\":[1, "
     "2],\"o\":{\"a\":1}}}",
     ALD_OK, "", "",
     "n=0.00085&big=12345678901234567890123&t=true&l=%5B1%2C%202%5D&o=%7B%22a%22%3A1%7D",
     "x-www-form-urlencoded"},
    {"values of JSON", ", encode: json", IN("body") ", params: {k: \"${secret.key}\", m: {x: 1}}",
     "{\"params\":{\"n\":0.00085,\"o\":{\"a\":[1]},\"k\":2,\"cb\":3,\"z\":null}}", ALD_OK, "", "",
     "{\"n\":0.00085,\"o\":{\"a\":[1]},\"cb\":\"" URL "\",\"k\":\"k+y\",\"m\":{\"x\":1}}",
     "application/json"},
    {"an empty JSON", ", encode: json", "", "{}", ALD_OK, "", "", "{}", "application/json"},
    {"all in the query", ", encode: query", IN("query"), "{\"params\":{\"a\":\"&\"}}", ALD_OK,
     "?cb=https%3A%2F%2Fcb.example%2Fcb%2Fp%2FT&a=%26", "", "", ""},
    {"the callback in a header", ", encode: form", IN("header"), "{\"params\":{\"a\":1}}", ALD_OK,
     "", "cb: " URL "\n", "a=1", "x-www-form-urlencoded"},
    {"a parameter of the address is not sent twice", ", encode: json, headers: {X: \"${param.h}\"}",
     "", "{\"params\":{\"h\":\"v\",\"a\":1}}", ALD_OK, "", "X: v\n", "{\"a\":1}",
     "application/json"},
    {"a parameter that is needed", ", encode: json, headers: {X: \"${param.h}\"}", "",
     "{\"params\":{}}", ALD_MISSING, NULL, NULL, NULL, NULL},
    {"a header can't be broken", ", encode: json, headers: {X: \"${param.h}\"}", "",
     "{\"params\":{\"h\":\"a\\r\\nb\"}}", ALD_INVALID, NULL, NULL, NULL, NULL},
    {"a raw body", ", encode: raw", IN("query"),
     "{\"params\":{\"a\":1}," FILES(",\"type\":\"audio/wav\"") "}", ALD_OK,
     "?cb=https%3A%2F%2Fcb.example%2Fcb%2Fp%2FT&a=1", "", "hi", "audio/wav"},
    {"raw without a file", ", encode: raw", "", "{}", ALD_MISSING, NULL, NULL, NULL, NULL},
    {"a file in a form", ", encode: form", "", "{" FILES("") "}", ALD_INVALID, NULL, NULL, NULL,
     NULL},
    {"a type that breaks the header", ", encode: raw", "",
     "{" FILES(",\"type\":\"a\\r\\nb: c\"") "}", ALD_INVALID, NULL, NULL, NULL, NULL},
    {"no base64", ", encode: raw", "", "{\"files\":{\"f\":{\"content\":\"a b\"}}}", ALD_INVALID,
     NULL, NULL, NULL, NULL},
};

static void test_encodings(void **state)
{
    (void)state;
    static const char base[] = "https://h.example/in";
    for (size_t i = 0; i < ALD_COUNT(CASES); i++) {
        struct ald_request request;
        ald_profiles_t *profiles = shop(CASES[i].request, CASES[i].more);
        ald_request_init(&request, 65536);
        print_message("%s\n", CASES[i].name);
        assert_int_equal(fill(profiles, CASES[i].given, &request), CASES[i].rc);
        if (CASES[i].rc == ALD_OK) {
            assert_string_equal(ald_buf_str(&request.url) + strlen(base), CASES[i].url);
            assert_string_equal(ald_buf_str(&request.headers), CASES[i].headers);
            assert_string_equal(ald_buf_str(&request.body), CASES[i].body);
            assert_non_null(strstr(request.content_type, CASES[i].type));
        }
        ald_request_free(&request);
        ald_profiles_destroy(&profiles);
    }
}

/* What can be told when a task is registered, without secrets, names what is wrong. */
static const struct {
    const char *name, *request, *more, *given, *callback, *want; /* NULL: it can be submitted */
} REHEARSALS[] = {
    {"a secret is not needed", ", encode: form", ", params: {key: \"${secret.key}\"}", "{}", URL,
     NULL},
    {"a parameter that is missing", ", encode: json, headers: {X: \"${param.h}\"}", "",
     "{\"params\":{\"a\":1}}", URL,
     "The parameter h is missing or empty, and the provider's profile needs it."},
    {"a parameter that is empty", ", encode: json", ", params: {m: {n: [\"a ${param.h}\"]}}",
     "{\"params\":{\"h\":\"\"}}", URL,
     "The parameter h is missing or empty, and the provider's profile needs it."},
    {"a header can't be broken", ", encode: json, headers: {X: \"${param.h}\"}", "",
     "{\"params\":{\"h\":\"a\\r\\nb\"}}", URL,
     "What is given for the header X has a control character."},
    {"no callback URL", ", encode: json", ", params: {cb: \"${callback_url}\"}", "{}", NULL,
     "The provider's profile needs a callback URL, and there is none."},
    {"files for a form", ", encode: form", "", "{" FILES("") "}", URL,
     "This provider takes no files: its profile sends neither multipart nor raw."},
    {"raw without a file", ", encode: raw", "", "{}", URL,
     "This provider takes one file, which is the body: give exactly one."},
    {"no base64", ", encode: raw", "", "{\"files\":{\"f\":{\"content\":\"a b\"}}}", URL,
     "The content of the file f is no base64."},
    {"no base64 in a part", ", encode: multipart", "", "{\"files\":{\"f\":{\"content\":\"a b\"}}}",
     URL, "The content of the file f is no base64."},
    {"a type that breaks the head", ", encode: multipart", "",
     "{" FILES(",\"type\":\"a\\r\\nb\"") "}", URL,
     "The name or type of the file f is empty, too long, or has characters that no header takes."},
    {"a name that breaks the head", ", encode: multipart", "", "{\"params\":{\"a\\\"b\":1}}", URL,
     "The name a\"b can't be that of a parameter."},
    {"no text", ", encode: form", "", "{\"params\":{\"a\":\"\\u0000\"}}", URL,
     "The parameter a is no text that can be sent."},
    {"no object", ", encode: form", "", "[]", URL, "The submission is no JSON object."},
};

static void test_rehearsals(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(REHEARSALS); i++) {
        char yaml[2048];
        struct ald_err err = {0};
        struct ald_errors errors;
        (void)snprintf(yaml, sizeof yaml, SHOP, REHEARSALS[i].request, REHEARSALS[i].more);
        ald_profiles_t *profiles = profiles_of(yaml, 0, &errors);
        print_message("%s\n", REHEARSALS[i].name);
        enum ald_rc rc =
            ald_profile_rehearse(ald_profiles_at(profiles, 0), ald_span_str(REHEARSALS[i].given),
                                 REHEARSALS[i].callback, &err);
        assert_int_equal(rc == ALD_OK, REHEARSALS[i].want == NULL);
        if (REHEARSALS[i].want)
            assert_string_equal(err.text, REHEARSALS[i].want);
        ald_errors_free(&errors);
        ald_profiles_destroy(&profiles);
    }
}

static void rehearse_address(const char *url, const char *given, const char *want)
{
    char yaml[1024];
    struct ald_err err = {0};
    struct ald_errors errors;
    (void)snprintf(
        yaml, sizeof yaml,
        "p: {secrets: {}, id: {}, codes: {}, poll: none, recover: {on_stale: alert}, submit: "
        "{request: {method: POST, url: \"%s\", encode: json}, rules: []}}\n",
        url);
    ald_profiles_t *profiles = profiles_of(yaml, 0, &errors);
    assert_string_equal(ald_errors_text(&errors), "");
    (void)!ald_profile_rehearse(ald_profiles_at(profiles, 0), ald_span_str(given), URL, &err);
    assert_string_equal(err.text, want);
    ald_errors_free(&errors);
    ald_profiles_destroy(&profiles);
}

static void test_rehearsed_addresses(void **state)
{
    (void)state;
    static const char host[] = "${param.endpoint}/jobs";
    static const char path[] = "https://h.example/${param.model}/run";
    struct ald_buf given;
    rehearse_address(host, "{\"params\":{\"endpoint\":\"https://h.example\"}}", "");
    rehearse_address(host, "{\"params\":{\"endpoint\":\"h.example\"}}",
                     "The parameter endpoint must be an address of http or https.");
    rehearse_address(path, "{\"params\":{\"model\":\"a/../b\"}}",
                     "The parameter model can't stand in an address: a part of it is . or ..");
    rehearse_address(
        path, "{\"params\":{}}",
        "The parameter model is missing or empty, and the provider's profile needs it.");
    ald_buf_init(&given, 2 << 20);
    ald_buf_put_str(&given, "{\"params\":{\"model\":\"");
    for (int i = 0; i < 800000; i++)
        ald_buf_put_byte(&given, ' ');
    ald_buf_put_str(&given, "\"}}");
    rehearse_address(path, ald_buf_str(&given), "The request would be longer than 2 MiB.");
    ald_buf_free(&given);
}

static const char PARTS[] =
    "--%s\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n%s\r\n"
    "--%s\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.png\"\r\n"
    "Content-Type: image/png\r\n\r\nhi\r\n"
    "--%s\r\nContent-Disposition: form-data; name=\"cb\"\r\n\r\n" URL "\r\n"
    "--%s\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nk+y\r\n--%s--\r\n";

/* A value that holds the boundary gets another one. */
static void test_multipart(void **state)
{
    (void)state;
    static const struct {
        const char *value, *boundary;
    } cases[] = {{"1", "aldaba-part-0-of-a-form"},
                 {"--aldaba-part-0-of-a-form", "aldaba-part-1-of-a-form"}};
    ald_profiles_t *profiles =
        shop(", encode: multipart", ", params: {key: \"${secret.key}\"}" IN("body"));
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char given[512];
        char want[1024];
        const char *b = cases[i].boundary;
        struct ald_request request;
        (void)snprintf(given, sizeof given,
                       "{\"params\":{\"a\":\"%s\"},\"files\":{\"f\":{\"content\":\"aGk=\",\"name\":"
                       "\"x.png\",\"type\":\"image/png\"}}}",
                       cases[i].value);
        (void)snprintf(want, sizeof want, PARTS, b, cases[i].value, b, b, b, b);
        ald_request_init(&request, 65536);
        assert_int_equal(fill(profiles, given, &request), ALD_OK);
        assert_string_equal(ald_buf_str(&request.body), want);
        assert_non_null(strstr(request.content_type, b));
        ald_request_free(&request);
    }
    struct ald_request small;
    ald_request_init(&small, 100);
    assert_int_equal(fill(profiles, "{\"params\":{\"a\":\"1\"}}", &small), ALD_TOOBIG);
    ald_request_free(&small);
    ald_profiles_destroy(&profiles);
}

static void test_what_a_caller_may_not_give(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "[]",
                                        "{\"params\":[]}",
                                        "{\"params\":{}}x",
                                        "{\"files\":[]}",
                                        "{\"files\":{\"f\":1}}",
                                        "{\"files\":{\"f\":{\"content\":1}}}"};
    for (size_t i = 0; i < ALD_COUNT(texts); i++) {
        struct ald_given given;
        const char *why = NULL;
        assert_int_equal(ald_given_read(ald_span_str(texts[i]), &given, &why), ALD_MALFORMED);
        assert_non_null(why);
    }
}

static void test_not_taken(void **state)
{
    (void)state;
    static const struct {
        unsigned http;
        const char *body, *then;
        enum ald_class cls;
        const char *id;
    } cases[] = {
        {200, "OK|77", "accepted", ALD_CLASS_NONE, "77"},
        {200, "E1", "code", ALD_CLASS_UNKNOWN, ""},
        {521, "<html>", "code", ALD_CLASS_TRANSIENT, ""},
        {429, "", "code", ALD_CLASS_TRANSIENT, ""},
        {502, "<html>", "unknown", ALD_CLASS_NONE, ""},
        {200, "full", "code", ALD_CLASS_TRANSIENT, ""},
        {521, "OK|77", "accepted", ALD_CLASS_NONE, "77"}, /* a rule knows better */
    };
    ald_profiles_t *profiles = shop(
        ", encode: form", ", not_taken: [{http: [521, 522]}, {text_prefix: full}], within: 2h");
    const struct ald_profile *profile = ald_profiles_at(profiles, 0);
    assert_int_equal(ald_profile_submit_within(profile), 7200000);
    struct ald_buf scratch;
    ald_buf_init(&scratch, 4096);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_verdict verdict;
        const struct ald_facts facts = {.http = cases[i].http, .body = ald_span_str(cases[i].body)};
        ald_profile_judge(profile, ALD_STAGE_SUBMIT, &facts, &scratch, &verdict);
        assert_string_equal(ald_then_name(verdict.then), cases[i].then);
        assert_int_equal(verdict.cls, cases[i].cls);
        assert_string_equal(verdict.id, cases[i].id);
        /* At a poll the same words say nothing of the kind. */
        ald_profile_judge(profile, ALD_STAGE_POLL, &facts, &scratch, &verdict);
        assert_int_equal(verdict.then == ALD_THEN_CODE, cases[i].http == 429);
    }
    ald_buf_free(&scratch);
    ald_profiles_destroy(&profiles);
    profiles = shop(", encode: form", "");
    assert_int_equal(ald_profile_submit_within(ald_profiles_at(profiles, 0)), 86400000);
    ald_profiles_destroy(&profiles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_rehearsals),
        cmocka_unit_test(test_rehearsed_addresses),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_multipart),
        cmocka_unit_test(test_what_a_caller_may_not_give),
        cmocka_unit_test(test_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
