/* What a profile's callback.auth takes, refuses and shows, and what of a message breaks a proof.
 * The signatures themselves are in tests/contract/test_signatures.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/config/auth.h"
#include "tests/unit/config/folder.h"

static struct folder folder;

#define KEY "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"

/* Load a profile; errors are the caller's to free. */
static ald_auth_t *load(const char *yaml, bool resolve, struct ald_errors *errors)
{
    ald_yaml_t *doc = NULL;
    ald_errors_init(errors);
    assert_int_equal(ald_yaml_parse("p", ald_span_str(yaml), 0, errors, &doc), ALD_OK);
    ald_auth_t *auth = ald_auth_load(ald_yaml_root(doc), resolve, errors);
    ald_yaml_destroy(&doc);
    return auth;
}

/* The callback.auth of this text, which has no errors. */
static ald_auth_t *auth_of(const char *block)
{
    struct ald_buf yaml;
    struct ald_errors errors;
    ald_buf_init(&yaml, 4096);
    ald_buf_printf(&yaml, "{secrets: {s: {env: ALD_TEST_A}}, callback: {auth: %s}}", block);
    ald_auth_t *auth = load(ald_buf_str(&yaml), true, &errors);
    if (errors.count > 0)
        fail_msg("%s: %s", block, ald_errors_text(&errors));
    ald_errors_free(&errors);
    ald_buf_free(&yaml);
    return auth;
}

static const char *check(const ald_auth_t *auth, const struct ald_auth_facts *facts)
{
    struct ald_auth_result result;
    ald_auth_check(auth, facts, &result);
    assert_true((result.why == ALD_AUTH_OK) == (result.scheme[0] == '\0'));
    return ald_auth_why_name(result.why);
}

static void test_example(void **state)
{
    (void)state;
    ald_auth_t *auth = auth_of("{header_secret: {name: X-Secret, value: {env: ALD_TEST_A}}}");
    const struct ald_auth_header headers[] = {{"x-secret", "aaa"}};
    struct ald_auth_facts facts = {.headers = headers, .header_count = 1, .address = true};
    struct ald_auth_result result;
    ald_auth_check(auth, &facts, &result);
    assert_int_equal(result.why, ALD_AUTH_OK);
    facts.header_count = 0;
    ald_auth_check(auth, &facts, &result);
    assert_int_equal(result.why, ALD_AUTH_MISSING);
    assert_string_equal(result.scheme, "header_secret");
    ald_auth_destroy(&auth);
}

static void test_what_is_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *block;
        bool asks;
        enum ald_on_fail on_fail;
    } cases[] = {
        {"{}", false, ALD_ON_FAIL_QUARANTINE},
        {"{url_token: path, on_fail: hint}", false, ALD_ON_FAIL_HINT},
        {"{source_ips: [10.0.0.1], on_fail: reject}", false, ALD_ON_FAIL_REJECT},
        {"{standard_webhooks: {secret: {env: ALD_TEST_W}}}", true, ALD_ON_FAIL_QUARANTINE},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        ald_auth_t *auth = auth_of(cases[i].block);
        assert_int_equal(ald_auth_asks(auth), cases[i].asks);
        assert_int_equal(ald_auth_on_fail(auth), cases[i].on_fail);
        assert_true(ald_auth_ready(auth));
        ald_auth_destroy(&auth);
    }
}

struct check_case {
    const char *name;
    const char *block;
    struct ald_auth_header headers[3];
    bool url_token, elsewhere;
    const char *want;
};

#define SECRET "header_secret: {name: S, value: {env: ALD_TEST_A}}"

static const struct check_case check_cases[] = {
    {"nothing is asked for", "{}", {{0}}, false, false, "ok"},
    {"the address", "{}", {{0}}, false, true, "address"},
    {"the URL", "{url_token: path}", {{0}}, false, false, "url"},
    {"the right URL", "{url_token: path}", {{0}}, true, false, "ok"},
    {"white space around it", "{" SECRET "}", {{"S", " aaa "}}, false, false, "ok"},
    {"empty", "{" SECRET "}", {{"S", " "}}, false, false, "missing"},
    {"twice the same", "{" SECRET "}", {{"S", "aaa"}, {"s", "aaa"}}, false, false, "repeated"},
    {"a proof from a wrong address", "{" SECRET "}", {{"S", "aaa"}}, false, true, "address"},
    {"a proof at a wrong URL",
     "{url_token: path, " SECRET "}",
     {{"S", "aaa"}},
     false,
     false,
     "url"},
    {"the old of two",
     "{header_secret: {name: S, values: [{env: ALD_TEST_A}, {env: ALD_TEST_B}]}}",
     {{"S", "aaa"}},
     false,
     false,
     "ok"},
    {"the new of two",
     "{header_secret: {name: S, values: [{env: ALD_TEST_A}, {env: ALD_TEST_B}]}}",
     {{"S", "bbb"}},
     false,
     false,
     "ok"},
    {"named",
     "{header_secret: {name: S, value: \"${secret.s}\"}}",
     {{"S", "aaa"}},
     false,
     false,
     "ok"},
    {"a variable",
     "{header_secret: {name: S, value: \"${ALD_TEST_B}\"}}",
     {{"S", "bbb"}},
     false,
     false,
     "ok"},
    {"one of two proofs",
     "{" SECRET ", hmac: {header: H, secret: {env: ALD_TEST_A}}}",
     {{"S", "aaa"}},
     false,
     false,
     "missing"},
    {"a signature without its body",
     "{hmac: {header: H, secret: {env: ALD_TEST_A}}}",
     {{"H", "0"}},
     false,
     false,
     "malformed"},
    {"a jwks that nobody fetched",
     "{ed25519: {headers: {sig: S}, message: \"${body}\", keys: {jwks: \"https://h/j\"}}}",
     {{"S", "00"}},
     false,
     false,
     "no_key"},
};

static void test_checks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(check_cases); i++) {
        const struct check_case *c = &check_cases[i];
        ald_auth_t *auth = auth_of(c->block);
        struct ald_auth_facts facts = {
            .headers = c->headers, .url_token = c->url_token, .address = !c->elsewhere};
        while (facts.header_count < 3 && c->headers[facts.header_count].name != NULL)
            facts.header_count++;
        const char *why = check(auth, &facts);
        if (strcmp(why, c->want) != 0)
            fail_msg("%s: %s, not %s", c->name, why, c->want);
        ald_auth_destroy(&auth);
    }
}

/* What was fetched counts beside what the profile gives itself, and alone. */
static void test_fetched_keys(void **state)
{
    (void)state;
    static const char *const blocks[] = {
        "{ed25519: {headers: {sig: S}, message: \"${body}\", keys: {jwks: \"https://h/j\"}}}",
        "{ed25519: {headers: {sig: S}, message: \"${body}\", keys: [" KEY "]}}"};
    static const char zeros[129] = "00000000000000000000000000000000000000000000000000000000000000"
                                   "000000000000000000000000000000000000000000000000000000000000000"
                                   "000";
    struct ald_jwks fetched = {0};
    assert_true(ald_jwks_add(&fetched, ald_span_str(KEY)));
    const struct ald_auth_header headers[] = {{"S", zeros}};
    struct ald_auth_facts facts = {
        .headers = headers, .header_count = 1, .address = true, .fetched = &fetched};
    for (size_t i = 0; i < ALD_COUNT(blocks); i++) {
        ald_auth_t *auth = auth_of(blocks[i]);
        assert_string_equal(check(auth, &facts), "mismatch");
        assert_string_equal(ald_auth_jwks(auth, NULL), i == 0 ? "https://h/j" : "");
        ald_auth_destroy(&auth);
    }
    int64_t cache_ms = 0;
    ald_auth_t *auth = auth_of(blocks[0]);
    assert_string_equal(ald_auth_jwks(auth, &cache_ms), "https://h/j");
    assert_int_equal(cache_ms, 86400000);
    assert_string_equal(ald_auth_jwks(NULL, NULL), "");
    ald_auth_destroy(&auth);
}

/* A hundred signatures of a stranger cost no more than the first few. */
static void test_a_long_list_of_signatures(void **state)
{
    (void)state;
    ald_auth_t *auth = auth_of("{standard_webhooks: {secret: {env: ALD_TEST_W}}}");
    struct ald_buf list;
    ald_buf_init(&list, 65536);
    for (size_t i = 0; i < 100; i++)
        ald_buf_put_str(&list, "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= ");
    const struct ald_auth_header headers[] = {
        {"webhook-id", "a"}, {"webhook-timestamp", "0"}, {"webhook-signature", ald_buf_str(&list)}};
    const struct ald_auth_facts facts = {.headers = headers, .header_count = 3, .address = true};
    assert_string_equal(check(auth, &facts), "mismatch");
    ald_buf_free(&list);
    ald_auth_destroy(&auth);
}

static void test_without_secrets_nothing_is_believed(void **state)
{
    (void)state;
    struct ald_errors errors;
    ald_auth_t *auth = load("{callback: {auth: {" SECRET "}}}", false, &errors);
    const struct ald_auth_header headers[] = {{"S", ""}, {"S2", "aaa"}};
    const struct ald_auth_facts facts = {.headers = headers, .header_count = 2, .address = true};
    assert_int_equal(errors.count, 0);
    assert_false(ald_auth_ready(auth));
    assert_string_equal(check(auth, &facts), "no_key");
    ald_auth_destroy(&auth);
    ald_errors_free(&errors);
}

static const struct {
    const char *block;
    const char *want;
} load_cases[] = {
    {"{hmak: {}}", "p:1:20: There is no setting hmak; did you mean hmac?\n"},
    {"{on_fail: drop}",
     "p:1:20: on_fail is \"drop\"; it must be one of: hint quarantine reject.\n"},
    {"{hmac: x}", "p:1:20: hmac must hold settings by their names.\n"},
    {"{header_secret: {}}", "p:1:20: header_secret needs name, the name of a header.\n"
                            "p:1:20: header_secret needs one of value and values.\n"},
    {"{header_secret: {name: \"a b\", value: plain}}",
     "p:1:20: name is no name of a header.\n"
     "p:1:49: A secret is written as {env: VAR}, {file: PATH}, ${VAR} or ${secret.NAME}.\n"},
    {"{header_secret: {name: S, value: \"${secret.none}\"}}",
     "p:1:45: There is no secret none in secrets.\n"},
    {"{header_secret: {name: S, value: \"x${secret.none}\"}}",
     "p:1:45: The secret of the profile is written ${secret.NAME}.\n"},
    {"{header_secret: {name: S, value: \"${ALD_TEST_NONE:-a}\"}}",
     "p:1:45: A secret is written as {env: VAR}, {file: PATH}, ${VAR} or ${secret.NAME}.\n"},
    {"{header_secret: {name: S, value: {env: ALD_TEST_NONE}}}",
     "p:1:53: The environment variable ALD_TEST_NONE is not set.\n"},
    {"{standard_webhooks: {secret: {env: ALD_TEST_A}, secrets: []}}",
     "p:1:20: standard_webhooks needs one of secret and secrets.\n"},
    {"{standard_webhooks: {secrets: []}}", "p:1:40: secrets must be a list of 1 to 4 secrets.\n"},
    {"{standard_webhooks: {secret: {env: ALD_TEST_A}, tolerance: 5}}",
     "p:1:67: tolerance is \"5\"; it must be a time with its unit, such as 250ms, 30s, 5m, 24h or "
     "30d.\n"
     "p:1:40: The secret must be whsec_ and base64.\n"},
    {"{hmac: {header: H, secret: {env: ALD_TEST_A}, format: t_v, prefix: x, version: t}}",
     "p:1:20: prefix is of the format body; t_v has version.\n"
     "p:1:20: version is a word such as v0.\n"},
    {"{ed25519: {headers: {sig: S, ts: T}, message: \"${body}\", keys: [short]}}",
     "p:1:56: message must hold the header of headers.ts: T.\n"
     "p:1:83: A key is 43 characters of base64url, and there are at most 16.\n"},
    {"{ed25519: {headers: {sig: S}, message: \"${header.a}\"}}",
     "p:1:49: message must hold one of ${body} and ${sha256hex.body}, once.\n"
     "p:1:20: ed25519 needs keys.\n"},
    {"{ed25519: {headers: {sig: S}, message: \"${bdoy}\", keys: {jwks: \"http://h\"}}}",
     "p:1:49: message may hold ${header.NAME}, ${body} and ${sha256hex.body}.\n"
     "p:1:69: jwks must be an address with https://, and hold no user, space or #.\n"},
    {"{ed25519: {headers: {sig: S}, message: \"${body}\", keys: {}}}",
     "p:1:69: keys needs a list of keys, file or jwks.\n"},
};

static void test_errors_have_their_place_and_come_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(load_cases); i++) {
        struct ald_buf yaml;
        struct ald_errors errors;
        ald_buf_init(&yaml, 4096);
        ald_buf_printf(&yaml, "{callback: {auth: %s}}", load_cases[i].block);
        ald_auth_t *auth = load(ald_buf_str(&yaml), true, &errors);
        if (strcmp(ald_errors_text(&errors), load_cases[i].want) != 0)
            fail_msg("%s\nsays: %s\nwants: %s", ald_buf_str(&yaml), ald_errors_text(&errors),
                     load_cases[i].want);
        ald_auth_destroy(&auth);
        ald_errors_free(&errors);
        ald_buf_free(&yaml);
    }
}

static const struct {
    const char *ack;
    unsigned status;
    const char *text, *want;
} ack_cases[] = {
    {"{}", 401, "not authenticated", ""},
    {"{rejected: 200}", 200, "not authenticated", ""},
    {"{rejected: [200, OK], stored: [200, OK], not_stored: 503}", 200, "OK", ""},
    {"{rejected: 301}", 401, "not authenticated",
     "p:1:19: rejected is a status of 200 to 299 or 400 to 599, or [STATUS, TEXT].\n"},
    {"{rejected: []}", 401, "not authenticated",
     "p:1:19: rejected is a status of 200 to 299 or 400 to 599, or [STATUS, TEXT].\n"},
    {"{stored: 201, not_stored: 404, rejcted: 200}", 401, "not authenticated",
     "p:1:19: What is stored is answered 200.\n"
     "p:1:32: What is not stored is answered 503.\n"
     "p:1:49: There is no setting callback.ack.rejcted.\n"},
    {"200", 401, "not authenticated", "p:1:13: ack must hold settings by their names.\n"},
};

static void test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(ack_cases); i++) {
        char yaml[256];
        struct ald_errors errors;
        (void)snprintf(yaml, sizeof yaml, "{callback: {ack: %s}}", ack_cases[i].ack);
        ald_auth_t *auth = load(yaml, true, &errors);
        const char *text;
        assert_int_equal(ald_auth_rejected(auth, &text), ack_cases[i].status);
        assert_string_equal(text, ack_cases[i].text);
        assert_string_equal(ald_errors_text(&errors), ack_cases[i].want);
        ald_auth_destroy(&auth);
        ald_errors_free(&errors);
    }
}

static void test_keys_from_a_file(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{\"keys\": [{\"kty\": \"RSA\", \"x\": 1}, {\"kty\": \"OKP\", \"crv\": \"Ed25519\", "
         "\"x\": "
         "\"" KEY "\"}]}",
         ""},
        {"{\"keys\": []}", " is no JWKS with an Ed25519 key.\n"},
        {"{\"keys\": 3}", " is no JWKS with an Ed25519 key.\n"},
        {"[", " is no JWKS with an Ed25519 key.\n"},
        {"", " is no JWKS with an Ed25519 key.\n"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char yaml[512];
        struct ald_errors errors;
        folder_write(&folder, "keys.json", cases[i].text);
        (void)snprintf(
            yaml, sizeof yaml,
            "{callback: {auth: {ed25519: {headers: {sig: S}, message: \"${body}\", keys: "
            "{file: %s}}}}}",
            folder_path(&folder, "keys.json"));
        ald_auth_t *auth = load(yaml, true, &errors);
        assert_int_equal(errors.count == 0, cases[i].want[0] == '\0');
        assert_non_null(strstr(ald_errors_text(&errors), cases[i].want));
        assert_int_equal(ald_auth_ready(auth), errors.count == 0);
        ald_auth_destroy(&auth);
        ald_errors_free(&errors);
    }
}

static void test_print_masks_secrets_and_reads_back(void **state)
{
    (void)state;
    static const char text[] =
        "{secrets: {s: {env: ALD_TEST_A}}, callback: {ack: {rejected: [200, OK]}, auth: {"
        "url_token: path, on_fail: hint, header_secret: {name: S, value: \"${ALD_TEST_B}\"}, "
        "standard_webhooks: {secrets: [{env: ALD_TEST_W}, \"${ALD_TEST_W}\"], tolerance: 1m}, "
        "hmac: {header: H, secret: \"${secret.s}\"}, "
        "ed25519: {headers: {sig: S, ts: T}, message: \"${header.T}\\n${body}\", keys: [" KEY
        "]}}}}";
    struct ald_errors errors;
    struct ald_buf said;
    ald_yaml_t *doc = NULL, *again = NULL;
    ald_errors_init(&errors);
    ald_buf_init(&said, 65536);
    assert_int_equal(ald_yaml_parse("p", ald_span_str(text), 0, &errors, &doc), ALD_OK);
    ald_buf_put_str(&said, "  auth:\n");
    ald_auth_print(ald_yaml_root(doc), 4, &said);
    assert_null(strstr(ald_buf_str(&said), "bbb"));
    assert_null(strstr(ald_buf_str(&said), "MDEy"));
    assert_int_equal(ald_yaml_parse("s", ald_buf_span(&said), 0, &errors, &again), ALD_OK);
    const struct ald_node *root = ald_yaml_root(again);
    static const struct {
        const char *path, *want;
    } cases[] = {{"auth.on_fail", "hint"},
                 {"auth.url_token", "path"},
                 {"auth.header_secret.value", "***"},
                 {"auth.standard_webhooks.tolerance", "1m"},
                 {"auth.hmac.secret", "***"},
                 {"auth.hmac.format", "body"},
                 {"auth.ed25519.headers.ts", "T"},
                 {"auth.ed25519.message", "${header.T}\n${body}"}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct ald_node *node = ald_node_at(root, cases[i].path);
        if (node == NULL || strcmp(node->text, cases[i].want) != 0)
            fail_msg("%s: not %s in\n%s", cases[i].path, cases[i].want, ald_buf_str(&said));
    }
    const struct ald_node *rejected = ald_node_at(root, "ack.rejected");
    assert_string_equal(rejected->first->text, "200");
    assert_string_equal(rejected->last->text, "OK");
    assert_int_equal(ald_node_at(root, "auth.standard_webhooks.secrets")->count, 2);
    assert_string_equal(ald_node_at(root, "auth.ed25519.keys")->first->text, KEY);
    ald_yaml_destroy(&again);
    ald_yaml_destroy(&doc);
    ald_buf_free(&said);
    ald_errors_free(&errors);
}

static int begin(void **state)
{
    (void)setenv("ALD_TEST_A", "aaa", 1);
    (void)setenv("ALD_TEST_B", "bbb", 1);
    (void)setenv("ALD_TEST_W", "whsec_MDEyMzQ1Njc4OWFiY2RlZg==", 1);
    (void)unsetenv("ALD_TEST_NONE");
    (void)state;
    folder_make(&folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_what_is_asked_for),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_fetched_keys),
        cmocka_unit_test(test_a_long_list_of_signatures),
        cmocka_unit_test(test_without_secrets_nothing_is_believed),
        cmocka_unit_test(test_errors_have_their_place_and_come_at_once),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_keys_from_a_file),
        cmocka_unit_test(test_print_masks_secrets_and_reads_back),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
