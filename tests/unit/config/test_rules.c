/* Rules, codes, requests: from YAML to a verdict and to bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/config/profile_request.h"
#include "common/config/ruled.h"
#include "tests/unit/config/profile_of.h"

#define PLAIN "poll: none, recover: {on_stale: alert}, codes: {_default: {class: unknown}, "

/* One profile whose callback has these rules and codes. */
static ald_profiles_t *with_rules(const char *rules, const char *codes)
{
    struct ald_buf yaml;
    struct ald_errors errors;
    ald_buf_init(&yaml, 1 << 16);
    ald_buf_printf(&yaml,
                   "p: {" PLAIN "%s}, callback: {id: {first_of: [{json: /id}, {form: id}, {query: "
                   "id}]}, auth: {url_token: path}, rules: [%s]}}\n",
                   codes, rules);
    ald_profiles_t *profiles = profiles_of(ald_buf_str(&yaml), 0, &errors);
    if (profiles == NULL)
        fail_msg("%s%s", ald_buf_str(&yaml), ald_errors_text(&errors));
    ald_errors_free(&errors);
    ald_buf_free(&yaml);
    return profiles;
}

static void test_example(void **state)
{
    (void)state;
    ald_profiles_t *profiles = with_rules("{when: [{json: /n, eq: 1}], then: pending}", "");
    const struct ald_facts facts = {.body = ald_span_str("{\"id\":\"7\",\"n\":1}")};
    struct ald_buf scratch;
    struct ald_verdict verdict;
    ald_buf_init(&scratch, 4096);
    ald_profile_judge(ald_profiles_at(profiles, 0), ALD_STAGE_CALLBACK, &facts, &scratch, &verdict);
    assert_int_equal(verdict.then, ALD_THEN_PENDING);
    assert_string_equal(verdict.id, "7");
    assert_string_equal(verdict.rule, "callback.1");
    ald_buf_free(&scratch);
    ald_profiles_destroy(&profiles);
}

struct condition {
    const char *cond;
    const char *body;
    unsigned http;
    bool holds;
};

static const struct condition CONDITIONS[] = {
    {"{http: 2xx}", "", 0, true},
    {"{http: 2xx}", "", 299, true},
    {"{http: 2xx}", "", 300, false},
    {"{http: [404, 5xx]}", "", 503, true},
    {"{http: [404, 5xx]}", "", 405, false},
    {"{json: /a, eq: 1}", "{\"a\":1}", 0, true},
    {"{json: /a, eq: 1}", "{\"a\":\"1\"}", 0, true},
    {"{json: /a, eq: 1}", "{\"a\":true}", 0, false},
    {"{json: /a, eq: 1}", "{\"a\":1.0}", 0, false},
    {"{json: /a, eq: true}", "{\"a\":true}", 0, true},
    {"{json: /a, eq: Ab}", "{\"a\":\"ab\"}", 0, false},
    {"{json: /a, ieq: Ab}", "{\"a\":\"aB\"}", 0, true},
    {"{json: /a, in: [x, y]}", "{\"a\":\"y\"}", 0, true},
    {"{json: /a, in: [x, y]}", "{\"a\":\"z\"}", 0, false},
    {"{json: /a, iin: [x, y]}", "{\"a\":\"Y\"}", 0, true},
    {"{json: /a, is: present}", "{\"a\":null}", 0, false},
    {"{json: /a, is: present}", "{\"a\":\"\"}", 0, true},
    {"{json: /a, is: absent}", "{\"b\":1}", 0, true},
    {"{json: /a, is: nonempty}", "{\"a\":\"\"}", 0, false},
    {"{json: /a, is: nonempty}", "{\"a\":[]}", 0, true},
    {"{json: /a, is: scalar}", "{\"a\":1e9}", 0, true},
    {"{json: /a, is: scalar}", "{\"a\":false}", 0, false},
    {"{json: /a, is: boolean}", "{\"a\":false}", 0, true},
    {"{json: /a, is: string}", "{\"a\":\"s\"}", 0, true},
    {"{json: /a, is: string}", "{\"a\":1}", 0, false},
    {"{json: /a, is: number}", "{\"a\":1}", 0, true},
    {"{json: /a, is: object}", "{\"a\":{}}", 0, true},
    {"{json: /a, is: array}", "{\"a\":{}}", 0, false},
    {"{json: /a, regex: '^x+$'}", "{\"a\":\"xx\"}", 0, true},
    {"{json: /a, regex: '^x+$'}", "{\"a\":\"xy\"}", 0, false},
    {"{json: /a~1b/0, eq: q}", "{\"a/b\":[\"q\"]}", 0, true},
    {"{json: /a, eq: 'x\"'}", "{\"a\":\"x\\u0022\"}", 0, true},
    {"{json: /a, eq: 1}", "\xEF\xBB\xBF {\"a\":1} <!-- -->", 0, true},
    {"{json: /a, eq: 1}", "x{\"a\":1}", 0, false},
    {"{text_prefix: 'OK|'}", " OK|1\n", 0, true},
    {"{text_prefix: 'OK|'}", "NOK|1", 0, false},
    {"{text_regex: '^(A|B)$'}", "B\n", 0, true},
    {"{text_regex: '^(A|B)$'}", "C", 0, false},
    {"{form: c, eq: 'a b'}", "id=1&c=a+b", 0, true},
    {"{form: c, is: nonempty}", "c=&id=1", 0, false},
    {"{form: c, eq: v}", "{\"c\":\"v\"}", 0, true},
    {"{query: q, eq: v}", "", 0, true},
    {"{query: r, is: present}", "", 0, false},
    {"{value: q, regex: '^v'}", "q=", 0, true},
    {"{header: x-state, in: [on]}", "", 0, true},
    {"{header: X-Other, is: present}", "", 0, false},
};

static void test_conditions(void **state)
{
    (void)state;
    const struct ald_fact_header header = {.name = ald_span_str("X-State"),
                                           .value = ald_span_str(" on ")};
    for (size_t i = 0; i < ALD_COUNT(CONDITIONS); i++) {
        const struct condition *c = &CONDITIONS[i];
        char rules[256];
        (void)snprintf(rules, sizeof rules, "{when: [%s], then: ignore}", c->cond);
        ald_profiles_t *profiles = with_rules(rules, "");
        const struct ald_facts facts = {.http = c->http,
                                        .query = ald_span_str("q=v"),
                                        .headers = &header,
                                        .header_count = 1,
                                        .body = ald_span_str(c->body)};
        struct ald_buf scratch;
        struct ald_verdict verdict;
        ald_buf_init(&scratch, 4096);
        ald_profile_judge(ald_profiles_at(profiles, 0), ALD_STAGE_CALLBACK, &facts, &scratch,
                          &verdict);
        if ((verdict.then == ALD_THEN_IGNORE) != c->holds)
            fail_msg("%s on %s: %s", c->cond, c->body, ald_then_name(verdict.then));
        ald_buf_free(&scratch);
        ald_profiles_destroy(&profiles);
    }
}

struct coded {
    const char *body;
    enum ald_class cls;
    const char *row;
    int64_t wait_ms;
};

static const struct coded CODED[] = {
    {"A", ALD_CLASS_FAILED, "A", 0},          {"B", ALD_CLASS_FAILED, "A", 0},
    {"E: 1", ALD_CLASS_LOST, "E: 1", 0},      {"E: 2", ALD_CLASS_PERMANENT, "E: *", 0},
    {"E: x9", ALD_CLASS_PENDING, "E: x*", 0}, {"AA", ALD_CLASS_UNKNOWN, "_default", 0},
};

static void test_codes(void **state)
{
    (void)state;
    ald_profiles_t *profiles = with_rules(
        "{when: [], then: code, code: {text: all}}",
        "A: {class: failed, alias: [B]}, 'E: *': {class: permanent}, 'E: x*': {class: pending}, "
        "'E: 1': {class: lost}");
    for (size_t i = 0; i < ALD_COUNT(CODED); i++) {
        const struct ald_facts facts = {.body = ald_span_str(CODED[i].body)};
        struct ald_buf scratch;
        struct ald_verdict verdict;
        ald_buf_init(&scratch, 4096);
        ald_profile_judge(ald_profiles_at(profiles, 0), ALD_STAGE_CALLBACK, &facts, &scratch,
                          &verdict);
        assert_int_equal(verdict.cls, CODED[i].cls);
        assert_string_equal(verdict.code_row, CODED[i].row);
        assert_string_equal(verdict.code, CODED[i].body);
        ald_buf_free(&scratch);
    }
    ald_profiles_destroy(&profiles);
}

/* A field that can't be decoded means nothing, though another rule would hold. */
static void test_malformed(void **state)
{
    (void)state;
    ald_profiles_t *profiles =
        with_rules("{when: [{form: c, eq: x}], then: pending}, {when: [], then: hint}", "");
    static const char *const bodies[] = {"id=1&c=%zz", "id=1&c=%00", "{\"id\":", "[1"};
    for (size_t i = 0; i < ALD_COUNT(bodies); i++) {
        const struct ald_facts facts = {.body = ald_span_str(bodies[i])};
        struct ald_buf scratch;
        struct ald_verdict verdict;
        ald_buf_init(&scratch, 4096);
        ald_profile_judge(ald_profiles_at(profiles, 0), ALD_STAGE_CALLBACK, &facts, &scratch,
                          &verdict);
        assert_int_equal(verdict.then, ALD_THEN_UNKNOWN);
        assert_string_equal(verdict.rule, "malformed");
        ald_buf_free(&scratch);
    }
    ald_profiles_destroy(&profiles);
}

/* The door keeps the headers that rules look at, and they are read back from its lines. */
static void test_callback_headers(void **state)
{
    (void)state;
    ald_profiles_t *profiles =
        with_rules("{when: [{header: X-State, eq: 'on: 1'}], then: done, result: {header: x-r}}, "
                   "{when: [{header: x-state, is: present}], then: pending}",
                   "");
    const struct ald_profile *profile = ald_profiles_at(profiles, 0);
    assert_int_equal(profile->ruled->header_count, 2);
    assert_string_equal(profile->ruled->header[0], "X-State");
    struct ald_fact_header headers[ALD_FACT_HEADERS_MAX];
    const struct ald_facts facts = {
        .headers = headers,
        .header_count = ald_headers_read(
            ald_span_str("junk\nx-state: on: 1 \r\n: y\nX-R:  found\n\n"), headers)};
    assert_int_equal(facts.header_count, 2);
    struct ald_buf scratch;
    struct ald_verdict verdict;
    ald_buf_init(&scratch, 4096);
    ald_profile_judge(profile, ALD_STAGE_CALLBACK, &facts, &scratch, &verdict);
    assert_int_equal(verdict.then, ALD_THEN_DONE);
    assert_true(ald_span_eq_str(verdict.result, "found"));
    ald_buf_free(&scratch);
    ald_profiles_destroy(&profiles);
}

struct told {
    enum ald_stage stage;
    unsigned http;
    const char *retry_after, *date;
    enum ald_then then;
    int64_t wait_ms;
};

#define NOON "Sun, 29 Nov 2026 12:00:00 GMT"
#define OPERATION "https://h.example/op/1"

static const struct told TOLD[] = {
    {ALD_STAGE_POLL, 202, "3", "", ALD_THEN_PENDING, 3000},
    {ALD_STAGE_POLL, 202, "Sun, 29 Nov 2026 12:00:07 GMT", NOON, ALD_THEN_PENDING, 7000},
    {ALD_STAGE_POLL, 202, "Sun, 29 Nov 2026 11:59:00 GMT", NOON, ALD_THEN_PENDING, 0},
    {ALD_STAGE_POLL, 202, "Sun, 29 Nov 2026 12:00:07 GMT", "", ALD_THEN_PENDING, 0},
    {ALD_STAGE_POLL, 202, "soon", NOON, ALD_THEN_PENDING, 0},
    {ALD_STAGE_POLL, 202, "", "", ALD_THEN_PENDING, 0},
    {ALD_STAGE_POLL, 429, "9", "", ALD_THEN_CODE, 9000},
    {ALD_STAGE_SUBMIT, 202, "4", "", ALD_THEN_ACCEPTED, 4000},
};

/* The schedule of azure-lro says retry-after: seconds, or a date that is counted from the answer's
 * own. */
static void test_retry_after(void **state)
{
    (void)state;
    struct ald_errors errors;
    ald_profiles_t *profiles = profiles_of("p: {extends: azure-lro}\n", 0, &errors);
    assert_true(ald_profiles_at(profiles, 0)->schedule.asked_when_told);
    for (size_t i = 0; i < ALD_COUNT(TOLD); i++) {
        const struct told *told = &TOLD[i];
        const struct ald_fact_header headers[] = {
            {ald_span_str("Operation-Location"), ald_span_str(OPERATION)},
            {ald_span_str("retry-after"), ald_span_str(told->retry_after)},
            {ald_span_str("Date"), ald_span_str(told->date)}};
        const struct ald_facts facts = {
            .http = told->http, .headers = headers, .header_count = ALD_COUNT(headers)};
        struct ald_buf scratch;
        struct ald_verdict verdict;
        ald_buf_init(&scratch, 4096);
        ald_profile_judge(ald_profiles_at(profiles, 0), told->stage, &facts, &scratch, &verdict);
        if (verdict.then != told->then || verdict.wait_ms != told->wait_ms)
            fail_msg("%zu: %s, %lld ms", i, ald_then_name(verdict.then),
                     (long long)verdict.wait_ms);
        ald_buf_free(&scratch);
    }
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
}

/* ---- requests ---- */

#define ASKS                                                                                       \
    "p: {secrets: {k: {env: ALD_TEST_KEY}}, codes: {_default: {class: unknown}}, poll: {rules: "   \
    "[], request: {%s}, params: {%s}}}\n"

static const struct {
    const char *request, *params, *id;
    enum ald_rc rc;
    const char *url, *headers, *body;
} REQUESTS[] = {
    {"url: 'http://h/j/${id}'", "", "a/b?c", ALD_OK, "http://h/j/a%2Fb%3Fc", "", ""},
    {"url: 'http://h/j/${id}/x'", "", "..", ALD_INVALID, "", "", ""},
    {"url: 'http://h/${param.model}'", "", "1", ALD_OK, "http://h/fal-ai/x%26y", "", ""},
    {"url: 'http://h/${param.none}'", "", "1", ALD_MISSING, "", "", ""},
    {"url: 'http://h/'", "a: '${id}', k: '${secret.k}'", "1&k=2", ALD_OK,
     "http://h/?a=1%26k%3D2&k=k%2By", "", ""},
    {"url: 'http://h/?z=1'", "a: 1", "1", ALD_OK, "http://h/?z=1&a=1", "", ""},
    {"method: POST, encode: form, url: 'http://h/'", "a: '${id}'", "ä&b", ALD_OK, "http://h/", "",
     "a=%C3%A4%26b"},
    {"method: POST, encode: json, url: 'http://h/'",
     "i: '${id:number}', s: '${id}', b: true, t: 'true', n: 5, l: [1, {m: x}]", "42", ALD_OK,
     "http://h/", "",
     "{\"i\":42,\"s\":\"42\",\"b\":true,\"t\":\"true\",\"n\":5,\"l\":[1,{\"m\":\"x\"}]}"},
    {"method: POST, encode: json, url: 'http://h/'", "i: '${id:number}'", "042", ALD_OK,
     "http://h/", "", "{\"i\":\"042\"}"},
    {"method: POST, encode: json, url: 'http://h/'", "i: '${id:number}'", "1,\"x\":2\n", ALD_OK,
     "http://h/", "", "{\"i\":\"1,\\\"x\\\":2\\u000a\"}"},
    {"method: POST, encode: json, url: 'http://h/'", "i: '${id}'", "\xff", ALD_INVALID, "", "", ""},
    {"url: 'http://h/', headers: {Authorization: 'Key ${secret.k}'}", "", "1", ALD_OK, "http://h/",
     "Authorization: Key k+y\n", ""},
    {"url: 'http://h/', headers: {X: '${id}'}", "", "1\r\nY: 2", ALD_INVALID, "", "", ""},
    {"url: '${poll_url}'", "", "1", ALD_MISSING, "", "", ""},
    {"method: POST, encode: multipart, url: 'http://h/'", "a: '${id}'", "aldaba-part-0-of-a-form",
     ALD_OK, "http://h/", "",
     "--aldaba-part-1-of-a-form\r\nContent-Disposition: form-data; "
     "name=\"a\"\r\n\r\naldaba-part-0-of-a-form\r\n--aldaba-part-1-of-a-form--\r\n"},
};

static const char *parameter(void *arg, const char *name)
{
    (void)arg;
    return strcmp(name, "model") == 0 ? "fal-ai/x&y" : NULL;
}

static void test_requests(void **state)
{
    (void)state;
    (void)setenv("ALD_TEST_KEY", "k+y", 1);
    for (size_t i = 0; i < ALD_COUNT(REQUESTS); i++) {
        char yaml[1024];
        struct ald_errors errors;
        struct ald_request request;
        (void)snprintf(yaml, sizeof yaml, ASKS, REQUESTS[i].request, REQUESTS[i].params);
        ald_profiles_t *profiles = profiles_of(yaml, ALD_SECRETS_POLL, &errors);
        if (profiles == NULL)
            fail_msg("%s%s", yaml, ald_errors_text(&errors));
        const struct ald_request_in in = {
            .stage = ALD_STAGE_POLL, .id = REQUESTS[i].id, .param = parameter};
        ald_request_init(&request, 4096);
        assert_int_equal(ald_profile_request(ald_profiles_at(profiles, 0), &in, &request),
                         REQUESTS[i].rc);
        if (REQUESTS[i].rc == ALD_OK) {
            assert_string_equal(ald_buf_str(&request.url), REQUESTS[i].url);
            assert_string_equal(ald_buf_str(&request.headers), REQUESTS[i].headers);
            assert_string_equal(ald_buf_str(&request.body), REQUESTS[i].body);
        }
        ald_request_free(&request);
        ald_profiles_destroy(&profiles);
        ald_errors_free(&errors);
    }
}

/* An address that the provider gave is asked only where the profile's own host is. */
static void test_same_host(void **state)
{
    (void)state;
    struct ald_errors errors;
    (void)setenv("ALD_TEST_KEY", "k", 1);
    ald_profiles_t *profiles = profiles_of(
        "p: {extends: fal, secrets: {key: {env: ALD_TEST_KEY}}}\n", ALD_SECRETS_POLL, &errors);
    assert_non_null(profiles);
    static const struct {
        const char *url;
        enum ald_rc rc;
    } cases[] = {{"https://queue.fal.run/a/requests/1/status", ALD_OK},
                 {"https://QUEUE.fal.run/", ALD_OK},
                 {"http://queue.fal.run/", ALD_INVALID},
                 {"https://queue.fal.run.evil.example/", ALD_INVALID},
                 {"https://queue.fal.run@evil.example/", ALD_INVALID},
                 {"https://queue.fal.run:8443/", ALD_INVALID},
                 {"https://queue.fal.run\\@evil.example/", ALD_INVALID},
                 {"file:///etc/passwd", ALD_INVALID},
                 {NULL, ALD_MISSING}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_request request;
        const struct ald_request_in in = {
            .stage = ALD_STAGE_POLL, .id = "1", .poll_url = cases[i].url};
        ald_request_init(&request, 4096);
        assert_int_equal(ald_profile_request(ald_profiles_at(profiles, 0), &in, &request),
                         cases[i].rc);
        ald_request_free(&request);
    }
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
}

/* Patterns that take a server's time or memory are no patterns. */
static void test_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        bool good;
    } cases[] = {{"^resp_[0-9A-Za-z]{1,120}$", true},
                 {"(a)\\\\1", false},
                 {"((a{1,99}){1,99}){1,99}", false},
                 {"a{1,9999}", false},
                 {"[", false},
                 {"(", false}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char yaml[512];
        struct ald_errors errors;
        (void)snprintf(yaml, sizeof yaml,
                       "p: {codes: {}, poll: none, recover: {on_stale: alert}, id: {pattern: "
                       "\"%s\"}}\n",
                       cases[i].pattern);
        ald_profiles_t *profiles = profiles_of(yaml, 0, &errors);
        if ((profiles != NULL) != cases[i].good)
            fail_msg("%s: %s", cases[i].pattern, ald_errors_text(&errors));
        ald_profiles_destroy(&profiles);
        ald_errors_free(&errors);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),     cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_codes),       cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_requests),    cmocka_unit_test(test_same_host),
        cmocka_unit_test(test_patterns),    cmocka_unit_test(test_callback_headers),
        cmocka_unit_test(test_retry_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
