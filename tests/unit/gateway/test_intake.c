/* What the door makes of a request: routes, tokens, faults, proofs. The numbers in comments are the
 * field cases that a row holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "services/gateway/intake.h"

static const char profiles_yaml[] =
    "open: {family: inphp, poll: none, callback: {trust: token, max_body: 1KiB,"
    " verification_file: {path: /2captcha.txt, content: abc}}}\n"
    "lan: {family: inphp, poll: none, callback: {trust: id, auth: {source_ips: [127.0.0.1]}}}\n"
    "fenced: {family: inphp, poll: none, callback: {trust: token, auth: {source_ips: "
    "[10.0.0.1]}}}\n"
#define SIGNED "header_secret: {name: X-Secret, value: {env: ALD_TEST_SECRET}}"
    "kept: {family: inphp, poll: none, callback: {trust: auth, auth: {" SIGNED "}}}\n"
    "hint: {family: inphp, poll: none, callback: {auth: {on_fail: hint, " SIGNED "}}}\n"
    "no: {family: inphp, poll: none, callback: {trust: auth, auth: {on_fail: reject, " SIGNED
    "}}}\n"
    "wall: {family: inphp, poll: none, callback: {auth: {on_fail: reject, source_ips: "
    "[10.0.0.1]}}}\n"
    "soft: {family: inphp, poll: none, callback: {auth: {on_fail: hint, source_ips: "
    "[10.0.0.1]}}}\n"
    "shown: {poll: none, recover: {on_stale: alert}, codes: {}, callback: {id: {query: id}, "
    "trust: auth, auth: {" SIGNED "}, rules: [{when: [{header: X-Secret, is: present}, {header: "
    "X-State, is: present}], then: hint}]}}\n"
    "headed: {poll: none, recover: {on_stale: alert}, codes: {}, callback: {id: {header: X-Job}, "
    "trust: hint, rules: [{when: [{header: X-State, eq: on}], then: hint}]}}\n";

enum { TASK = 4711, NOW_MS = 1000 };

struct world {
    ald_yaml_t *yaml;
    struct ald_errors errors;
    ald_profiles_t *profiles;
    struct peer_rules peers;
    struct intake_rules rules;
    struct ald_keys keys;
    struct intake_work work;
};

static struct world w;

static int begin(void **state)
{
    (void)state;
    ald_errors_init(&w.errors);
    (void)setenv("ALD_TEST_SECRET", "open sesame", 1);
    if (ald_yaml_parse("t.yaml", ald_span_str(profiles_yaml), 0, &w.errors, &w.yaml) != ALD_OK ||
        ald_profiles_load(ald_yaml_root(w.yaml), ALD_SECRETS_AUTH, &w.errors, &w.profiles) !=
            ALD_OK) {
        (void)fputs(ald_errors_text(&w.errors), stderr);
        return -1;
    }
    w.rules = (struct intake_rules){.profiles = w.profiles,
                                    .default_provider = "lan",
                                    .peers = &w.peers,
                                    .max_body = 4096,
                                    .max_item = 1 << 20};
    ald_keys_rotate(&w.keys);
    intake_work_init(&w.work);
    return 0;
}

static int end(void **state)
{
    (void)state;
    intake_work_free(&w.work);
    ald_profiles_destroy(&w.profiles);
    ald_yaml_destroy(&w.yaml);
    ald_errors_free(&w.errors);
    return 0;
}

/* The path with TOKEN replaced by a genuine one of this provider. */
static const char *path_of(const char *path, const char *provider)
{
    static char out[256];
    const char *at = strstr(path, "TOKEN");
    char token[ALD_TOKEN_MAX];
    if (!at)
        return path;
    ald_token_make(&w.keys, provider, TASK, 1, token);
    (void)snprintf(out, sizeof out, "%.*s%s%s", (int)(at - path), path, token, at + 5);
    return out;
}

static void test_example(void **state)
{
    (void)state;
    const struct http_header headers[] = {{"Content-Type", "application/x-www-form-urlencoded"},
                                          {"Cookie", "secret=1"},
                                          {"User-Agent", "two"}};
    const struct http_request request = {.method = "POST",
                                         .path = path_of("/cb/open/TOKEN", "open"),
                                         .query = ald_span_str("a=1"),
                                         .peer = "203.0.113.9",
                                         .headers = headers,
                                         .header_count = ALD_COUNT(headers)};
    struct intake_route route;
    intake_route(&w.rules, &w.keys, &request, &route);
    assert_int_equal(route.next, INTAKE_CALLBACK);
    assert_int_equal(route.task, TASK);
    assert_int_equal(route.max_body, 1024);

    struct ald_span body = ald_span_str("id=5&code=x");
    struct msg_callback callback;
    assert_int_equal(intake_message(&w.rules, &route, &request, &body, NOW_MS, &w.work, &callback),
                     INTAKE_STORE);
    assert_string_equal(callback.provider, "open");
    assert_int_equal(callback.task, TASK);
    assert_int_equal(callback.attempt, 1);
    assert_string_equal(callback.proof, "token");
    assert_string_equal(callback.fault, "");
    assert_string_equal(callback.path, "/cb/open/{token}");
    assert_string_equal(callback.peer, "203.0.113.9");
    assert_true(ald_span_eq(callback.body, body));
    assert_true(ald_span_eq_str(callback.query, "a=1"));
    assert_true(ald_span_eq_str(callback.headers,
                                "content-type: application/x-www-form-urlencoded\n"
                                "user-agent: two\n"));
}

#define TRACE_ID "4bf92f3577b34da6a3ce929d0e0e4736"

struct route_case {
    const char *method;
    const char *path;
    const char *provider; /* whose token TOKEN is */
    enum intake_next want;
};

static const struct route_case route_cases[] = {
    {"GET", "/cb/open/TOKEN", "open", INTAKE_CALLBACK},
    {"POST", "/cb/open/TOKEN", "open", INTAKE_CALLBACK},
    {"PUT", "/cb/open/TOKEN", "open", INTAKE_CALLBACK},
    {"GET", "/cb/open/TOKEN/", "open", INTAKE_CALLBACK}, /* 62, 63: alike, never a redirect */
    {"HEAD", "/cb/open/TOKEN", "open", INTAKE_METHOD},
    {"DELETE", "/cb/open/TOKEN", "open", INTAKE_METHOD},
    {"OPTIONS", "/cb/open/TOKEN", "open", INTAKE_METHOD},
    {"GET", "/cb/open/TOKEN//", "open", INTAKE_NOT_FOUND},
    {"GET", "/cb/open/TOKEN/extra", "open", INTAKE_NOT_FOUND},
    {"GET", "/cb/open/TOKEN/00-" TRACE_ID "-00f067aa0ba902b7-01", "open", INTAKE_CALLBACK},
    {"GET", "/cb/open/TOKEN/00-" TRACE_ID "-00f067aa0ba902b7-0x", "open", INTAKE_NOT_FOUND},
    {"GET", "/cb/open/TOKENx", "open", INTAKE_NOT_FOUND},
    {"GET", "/cb/open/xTOKEN", "open", INTAKE_NOT_FOUND},
    {"GET", "/cb/open/TOKEN%00", "open", INTAKE_NOT_FOUND},
    {"GET", "/cb/open/../open/TOKEN", "open", INTAKE_NOT_FOUND},
    {"GET", "/cb/open/TOKEN", "lan", INTAKE_NOT_FOUND}, /* another provider's */
    {"GET", "/cb/Open/TOKEN", "Open", INTAKE_NOT_FOUND},
    {"GET", "/cb/gone/TOKEN", "gone", INTAKE_CALLBACK}, /* genuine, though the profile is gone */
    {"GET", "/cb/open/", NULL, INTAKE_NOT_FOUND},
    {"GET", "/cb/open", NULL, INTAKE_NOT_FOUND},
    {"GET", "/cb//TOKEN", "open", INTAKE_NOT_FOUND},
    {"GET", "/cb/", NULL, INTAKE_NOT_FOUND},
    {"GET", "/cb", NULL, INTAKE_NOT_FOUND}, /* 68: what names the task is in the path */
    {"HEAD", "/cb/open/forged", NULL, INTAKE_NOT_FOUND},
    {"GET", "/callback", NULL, INTAKE_CALLBACK},
    {"PUT", "/callback", NULL, INTAKE_CALLBACK},
    {"POST", "/callback/", NULL, INTAKE_CALLBACK},
    {"GET", "/callback/lan", NULL, INTAKE_CALLBACK},
    {"GET", "/callback/lan/", NULL, INTAKE_CALLBACK},
    {"HEAD", "/callback/lan", NULL, INTAKE_METHOD},
    {"GET", "/callback/nobody", NULL, INTAKE_NOBODY},
    {"GET", "/callback/lan/more", NULL, INTAKE_NOT_FOUND},
    {"GET", "/callback/../callback", NULL, INTAKE_NOT_FOUND},
    {"GET", "/callback/..%2fcallback", NULL, INTAKE_NOT_FOUND},
    {"GET", "/callbacks", NULL, INTAKE_NOT_FOUND},
    {"GET", "/2captcha.txt", NULL, INTAKE_FILE},
    {"POST", "/2captcha.txt", NULL, INTAKE_METHOD},
    {"GET", "/2captcha.txt/", NULL, INTAKE_NOT_FOUND},
    {"GET", "/", NULL, INTAKE_NOT_FOUND},
    {"GET", "", NULL, INTAKE_NOT_FOUND},
    {"GET", "/etc/passwd", NULL, INTAKE_NOT_FOUND},
    {"POST", "/v1/tasks", NULL, INTAKE_NOT_FOUND},
};

static void test_routes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(route_cases); i++) {
        const struct route_case *c = &route_cases[i];
        const struct http_request request = {.method = c->method,
                                             .path = path_of(c->path, c->provider)};
        struct intake_route route;
        intake_route(&w.rules, &w.keys, &request, &route);
        if (route.next != c->want)
            fail_msg("%s %s: %d, not %d", c->method, c->path, (int)route.next, (int)c->want);
    }
}

/* Behind the token, as it was given to the provider. */
static void test_the_callers_trace(void **state)
{
    (void)state;
    const char *path = path_of("/cb/open/TOKEN/00-" TRACE_ID "-00f067aa0ba902b7-01", "open");
    const struct http_request request = {.method = "GET", .path = path, .peer = ""};
    const struct ald_span none = ald_span_str("");
    struct intake_route route;
    struct msg_callback callback;
    intake_route(&w.rules, &w.keys, &request, &route);
    (void)!intake_message(&w.rules, &route, &request, &none, NOW_MS, &w.work, &callback);
    assert_int_equal(callback.task, TASK);
    assert_string_equal(callback.trace, "00-" TRACE_ID "-00f067aa0ba902b7-01");
}

static void test_without_keys_nothing_is_verified(void **state)
{
    (void)state;
    struct http_request request = {.method = "GET", .path = path_of("/cb/open/TOKEN", "open")};
    struct intake_route route;
    intake_route(&w.rules, NULL, &request, &route);
    assert_int_equal(route.next, INTAKE_NO_KEYS);
    request.path = "/callback/lan";
    intake_route(&w.rules, NULL, &request, &route);
    assert_int_equal(route.next, INTAKE_CALLBACK);
}

static void test_a_key_that_is_gone(void **state)
{
    (void)state;
    const struct http_request request = {.method = "GET",
                                         .path = path_of("/cb/open/TOKEN", "open")};
    struct ald_keys other = {0};
    struct intake_route route;
    ald_keys_rotate(&other);
    intake_route(&w.rules, &other, &request, &route);
    assert_int_equal(route.next, INTAKE_NOT_FOUND);
}

static void test_no_default_provider(void **state)
{
    (void)state;
    struct intake_rules rules = w.rules;
    const struct http_request request = {.method = "GET", .path = "/callback"};
    struct intake_route route;
    rules.default_provider = "";
    intake_route(&rules, &w.keys, &request, &route);
    assert_int_equal(route.next, INTAKE_NOT_FOUND);
}

#define FORM "application/x-www-form-urlencoded"
#define JSON "application/json; charset=utf-8"
#define TOO_LARGE ((const char *)1)

struct message_case {
    const char *path;
    const char *provider;
    const char *peer;
    const char *query;
    const char *type;
    const char *body; /* NULL: none; TOO_LARGE */
    bool stored;
    const char *proof;
    const char *fault;
};

static const struct message_case message_cases[] = {
    /* a genuine token is always stored, readable or not */
    {"/cb/open/TOKEN", "open", "1.2.3.4", "id=5&code=x", NULL, NULL, true, "token", ""},
    {"/cb/open/TOKEN/", "open", "1.2.3.4", "", NULL, NULL, true, "token", ""}, /* 62, 63 */
    {"/cb/open/TOKEN", "open", "1.2.3.4", "code=ab+cd/ef==", NULL, NULL, true, "token",
     ""}, /* 38 */
    {"/cb/open/TOKEN", "open", "1.2.3.4", "", FORM, "code=Hbs+QbOotpyFj", true, "token",
     ""}, /* 39 */
    {"/cb/open/TOKEN", "open", "1.2.3.4", "", FORM, "code=abc21fa9+2cbef==", true, "token",
     ""},                                                                                 /* 41 */
    {"/cb/open/TOKEN", "open", "1.2.3.4", "code=a%252Bb", NULL, NULL, true, "token", ""}, /* 42 */
    {"/cb/open/TOKEN", "open", "1.2.3.4", "", FORM "; charset=windows-1254", "name=Kj%E6r", true,
     "token", ""}, /* 44 */
    {"/cb/open/TOKEN", "open", "1.2.3.4", "", FORM "; charset=GBK", "code=%C4%E3", true, "token",
     ""}, /* 45 */
    {"/cb/open/TOKEN", "open", "1.2.3.4", "", JSON, "{\"id\":20180814033130818988}", true, "token",
     ""},
    {"/cb/open/TOKEN", "open", "1.2.3.4", "", JSON, "{\"id\":1", true, "token", "malformed"},
    {"/cb/open/TOKEN", "open", "1.2.3.4", "", "text/plain", "{\"id\":1", true, "token", ""},
    {"/cb/open/TOKEN", "open", "1.2.3.4", "id=12%0034", NULL, NULL, true, "token", "malformed"},
    {"/cb/open/TOKEN", "open", "1.2.3.4", "id=%zz", NULL, NULL, true, "token", "malformed"},
    {"/cb/open/TOKEN", "open", "1.2.3.4", "id=%4", NULL, NULL, true, "token", "malformed"},
    {"/cb/open/TOKEN", "open", "1.2.3.4", "", FORM, "id=12%00", true, "token", "malformed"},
    {"/cb/open/TOKEN", "open", "1.2.3.4", "", NULL, TOO_LARGE, true, "token",
     "oversized"}, /* 59, 60 */
    {"/cb/gone/TOKEN", "gone", "1.2.3.4", "id=5&code=x", NULL, NULL, true, "token", ""},
    {"/cb/fenced/TOKEN", "fenced", "10.0.0.1", "id=5&code=x", NULL, NULL, true, "token", ""},
    {"/cb/fenced/TOKEN", "fenced", "1.2.3.4", "id=5&code=x", NULL, NULL, true, "token",
     "unauthenticated"},
    /* the bare form is believed by trust and address, and refused when it can't be read */
    {"/callback/lan", NULL, "127.0.0.1", "id=5&code=x", NULL, NULL, true, "id", ""},
    {"/callback", NULL, "127.0.0.1", "", FORM, "id=5&code=x", true, "id", ""},
    {"/callback/lan", NULL, "1.2.3.4", "id=5&code=x", NULL, NULL, true, "none", ""},
    {"/callback/open", NULL, "127.0.0.1", "id=5&code=x", NULL, NULL, true, "none", ""},
    {"/callback/lan", NULL, "127.0.0.1", "id=12%0034&code=x", NULL, NULL, false, NULL, NULL},
    {"/callback/lan", NULL, "127.0.0.1", "id=%zz&code=x", NULL, NULL, false, NULL, NULL},
    {"/callback/lan", NULL, "127.0.0.1", "id=..%2f..%2fetc&code=x", NULL, NULL, true, "id", ""},
    {"/callback/lan", NULL, "127.0.0.1", "id=5%0a&code=x", NULL, NULL, false, NULL, NULL},
    {"/callback/lan", NULL, "127.0.0.1", "code=x", NULL, NULL, false, NULL, NULL},
    {"/callback/lan", NULL, "127.0.0.1", "", NULL, NULL, false, NULL, NULL},
    {"/callback/lan", NULL, "127.0.0.1", "", JSON, "{\"id\":", false, NULL, NULL},
    {"/callback/lan", NULL, "127.0.0.1", "", NULL, TOO_LARGE, false, NULL, NULL},
};

static void check_message(const struct message_case *c)
{
    const struct http_header headers[] = {{"content-type", c->type ? c->type : ""}};
    const struct http_request request = {.method = "POST",
                                         .path = path_of(c->path, c->provider),
                                         .query = ald_span_str(c->query),
                                         .peer = c->peer,
                                         .headers = headers,
                                         .header_count = c->type ? 1 : 0};
    struct intake_route route;
    intake_route(&w.rules, &w.keys, &request, &route);
    assert_int_equal(route.next, INTAKE_CALLBACK);
    bool too_large = c->body == TOO_LARGE;
    struct ald_span body = ald_span_str(c->body && !too_large ? c->body : "");
    struct msg_callback callback;
    bool stored = intake_message(&w.rules, &route, &request, too_large ? NULL : &body, NOW_MS,
                                 &w.work, &callback) == INTAKE_STORE;
    if (stored != c->stored)
        fail_msg("%s ?%s: stored %d", c->path, c->query, stored);
    if (!stored)
        return;
    if (strcmp(callback.proof, c->proof) != 0 || strcmp(callback.fault, c->fault) != 0)
        fail_msg("%s ?%s: proof %s fault %s", c->path, c->query, callback.proof, callback.fault);
    if (!too_large) { /* the evidence is kept to the byte */
        assert_true(ald_span_eq(callback.query, request.query));
        assert_true(ald_span_eq(callback.body, body));
    }
}

static void test_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(message_cases); i++)
        check_message(&message_cases[i]);
}

struct proof_case {
    const char *path;
    const char *provider;
    const char *secret; /* NULL: no header */
    const char *body;
    enum intake_fate fate;
    const char *proof, *fault, *found;
};

static const struct proof_case proof_cases[] = {
    /* proved, at either door, readable or not */
    {"/cb/kept/TOKEN", "kept", "open sesame", "id=5&code=x", INTAKE_STORE, "auth", "", "ok"},
    {"/callback/kept", NULL, "open sesame", "id=5&code=x", INTAKE_STORE, "auth", "", "ok"},
    {"/callback/kept", NULL, "open sesame", "id=%zz", INTAKE_STORE, "auth", "malformed", "ok"},
    {"/callback/kept", NULL, "open sesame", "", INTAKE_STORE, "auth", "", "ok"},
    {"/cb/kept/TOKEN", "kept", "open sesame", TOO_LARGE, INTAKE_STORE, "token", "oversized", NULL},
    {"/callback/kept", NULL, "open sesame", TOO_LARGE, INTAKE_REFUSE, NULL, NULL, NULL},
    /* not proved: as the profile says */
    {"/cb/kept/TOKEN", "kept", NULL, "id=5&code=x", INTAKE_STORE, "token", "unauthenticated",
     "missing"},
    {"/cb/kept/TOKEN", "kept", "Open Sesame", "id=%zz", INTAKE_STORE, "token", "unauthenticated",
     "mismatch"},
    {"/callback/kept", NULL, NULL, "id=5&code=x", INTAKE_STORE, "none", "unauthenticated",
     "missing"},
    {"/callback/kept", NULL, NULL, "code=x", INTAKE_REFUSE, NULL, NULL, "missing"},
    {"/cb/hint/TOKEN", "hint", "open", "id=5&code=x", INTAKE_STORE, "none", "", "mismatch"},
    {"/callback/hint", NULL, NULL, "id=5&code=x", INTAKE_STORE, "none", "", "missing"},
    {"/cb/no/TOKEN", "no", NULL, "id=5&code=x", INTAKE_REJECT, NULL, NULL, "missing"},
    {"/callback/no", NULL, "", "id=5&code=x", INTAKE_REJECT, NULL, NULL, "missing"},
    {"/cb/no/TOKEN", "no", NULL, TOO_LARGE, INTAKE_STORE, "token", "oversized", NULL},
    /* the address alone */
    {"/cb/wall/TOKEN", "wall", NULL, "id=5&code=x", INTAKE_REJECT, NULL, NULL, "address"},
    {"/callback/wall", NULL, NULL, "id=5&code=x", INTAKE_REJECT, NULL, NULL, "address"},
    {"/cb/soft/TOKEN", "soft", NULL, "id=5&code=x", INTAKE_STORE, "none", "", "address"},
    {"/cb/fenced/TOKEN", "fenced", NULL, "id=5&code=x", INTAKE_STORE, "token", "unauthenticated",
     "address"},
    {"/callback/fenced", NULL, NULL, "id=5&code=x", INTAKE_STORE, "none", "", "address"},
};

static void check_proof(const struct proof_case *c)
{
    const struct http_header headers[] = {{"Content-Type", FORM}, {"x-secret", c->secret}};
    const struct http_request request = {.method = "POST",
                                         .path = path_of(c->path, c->provider),
                                         .peer = "1.2.3.4",
                                         .headers = headers,
                                         .header_count = c->secret ? 2 : 1};
    bool too_large = c->body == TOO_LARGE;
    struct ald_span body = ald_span_str(too_large ? "" : c->body);
    struct intake_route route;
    struct msg_callback callback;
    intake_route(&w.rules, &w.keys, &request, &route);
    enum intake_fate fate = intake_message(&w.rules, &route, &request, too_large ? NULL : &body,
                                           NOW_MS, &w.work, &callback);
    const struct proof *proof = &w.work.proof;
    if (fate != c->fate)
        fail_msg("%s %s: %d, not %d", c->path, c->body, (int)fate, (int)c->fate);
    assert_int_equal(proof->looked, c->found != NULL);
    if (c->found && strcmp(ald_auth_why_name(proof->result.why), c->found) != 0)
        fail_msg("%s: %s", c->path, ald_auth_why_name(proof->result.why));
    if (fate == INTAKE_STORE &&
        (strcmp(callback.proof, c->proof) != 0 || strcmp(callback.fault, c->fault) != 0))
        fail_msg("%s: proof %s fault %s", c->path, callback.proof, callback.fault);
}

static void test_proofs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(proof_cases); i++)
        check_proof(&proof_cases[i]);
}

static void test_what_goes_out_can_be_encoded(void **state)
{
    (void)state;
    const struct http_header headers[] = {{"Content-Type", "text/\xff\x01plain"},
                                          {"traceparent", "00-\n-01"}};
    const struct http_request request = {.method = "GET",
                                         .path = path_of("/cb/open/TOKEN", "open"),
                                         .query = ald_span_str("id=5"),
                                         .peer = "::1",
                                         .headers = headers,
                                         .header_count = 2};
    struct ald_span body = ald_span_str("\xff\xfe");
    struct intake_route route;
    struct msg_callback callback;
    struct msg_callback back;
    struct ald_buf bytes;
    ald_buf_init(&bytes, 1 << 20);
    intake_route(&w.rules, &w.keys, &request, &route);
    assert_int_equal(intake_message(&w.rules, &route, &request, &body, NOW_MS, &w.work, &callback),
                     INTAKE_STORE);
    callback.num = 1;
    assert_int_equal(ald_wire_encode(&MSG_CALLBACK, &callback, &bytes), ALD_OK);
    assert_int_equal(ald_wire_decode(&MSG_CALLBACK, &back, ald_buf_span(&bytes)), ALD_OK);
    assert_string_equal(back.content_type, "text/??plain");
    assert_string_equal(back.trace, "00-?-01");
    ald_buf_free(&bytes);
}

/* What the profile's rules look at is kept, and names the task on the bare form. */
static void test_headers_that_rules_look_at(void **state)
{
    (void)state;
    const struct http_header headers[] = {
        {"x-job", "j1"}, {"User-Agent", "two"}, {"X-Other", "no"}, {"X-STATE", "on"}};
    const struct http_request request = {.method = "POST",
                                         .path = "/callback/headed",
                                         .peer = "::1",
                                         .headers = headers,
                                         .header_count = ALD_COUNT(headers)};
    struct ald_span body = ald_span_str("{}");
    struct intake_route route;
    struct msg_callback callback;
    intake_route(&w.rules, &w.keys, &request, &route);
    assert_int_equal(intake_message(&w.rules, &route, &request, &body, NOW_MS, &w.work, &callback),
                     INTAKE_STORE);
    assert_true(ald_span_eq_str(callback.headers, "X-Job: j1\nX-State: on\nuser-agent: two\n"));
}

/* But not a header that is a secret, even if rules look at it. */
static void test_a_secret_is_not_kept(void **state)
{
    (void)state;
    const struct http_header headers[] = {{"x-secret", "open sesame"}, {"X-State", "on"}};
    const struct http_request request = {.method = "POST",
                                         .path = "/callback/shown",
                                         .query = ald_span_str("id=1"),
                                         .peer = "::1",
                                         .headers = headers,
                                         .header_count = ALD_COUNT(headers)};
    struct ald_span body = ald_span_str("{}");
    struct intake_route route;
    struct msg_callback callback;
    intake_route(&w.rules, &w.keys, &request, &route);
    assert_int_equal(intake_message(&w.rules, &route, &request, &body, NOW_MS, &w.work, &callback),
                     INTAKE_STORE);
    assert_string_equal(callback.proof, "auth");
    assert_true(ald_span_eq_str(callback.headers, "X-State: on\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_the_callers_trace),
        cmocka_unit_test(test_without_keys_nothing_is_verified),
        cmocka_unit_test(test_a_key_that_is_gone),
        cmocka_unit_test(test_no_default_provider),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_proofs),
        cmocka_unit_test(test_what_goes_out_can_be_encoded),
        cmocka_unit_test(test_headers_that_rules_look_at),
        cmocka_unit_test(test_a_secret_is_not_kept),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
