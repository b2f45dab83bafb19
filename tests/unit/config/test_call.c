/* A caller's own request to where a profile's polls go: what of the profile goes with it, and where
 * none can be made. */
#include "common/config/profile_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/config/profile_of.h"

#define RULES "rules: [{when: [], then: pending}]"

static ald_profiles_t *profile_with(const char *poll)
{
    char yaml[1024];
    struct ald_errors errors;
    (void)setenv("ALD_TEST_KEY", "k+y", 1);
    (void)snprintf(yaml, sizeof yaml,
                   "p: {secrets: {key: {env: ALD_TEST_KEY}}, codes: {_default: {class: unknown}}, "
                   "poll: {%s, " RULES "}}\n",
                   poll);
    ald_profiles_t *profiles = profiles_of(yaml, ALD_SECRETS_POLL, &errors);
    if (!profiles)
        fail_msg("%s\n%s", yaml, ald_errors_text(&errors));
    ald_errors_free(&errors);
    return profiles;
}

static enum ald_rc fill(const ald_profiles_t *profiles, const char *path, const char *params,
                        struct ald_request *out)
{
    struct ald_given given = {0};
    assert_int_equal(ald_json_scan(ald_span_str(params), &given.params, NULL), ALD_OK);
    return ald_profile_call(ald_profiles_at(profiles, 0), path, &given, out);
}

#define RES                                                                                        \
    "request: {method: GET, url: \"https://h.example/res.php\", encode: query}, params: {key: "    \
    "\"${secret.key}\", action: get, id: \"${id}\", json: \"1\"}"
#define TASK                                                                                       \
    "request: {method: POST, url: \"https://h.example/v1/getTaskResult?x=1\", encode: json, "      \
    "headers: {X-Key: \"${secret.key}\"}}, params: {clientKey: \"${secret.key}\", taskId: "        \
    "\"${id:number}\"}"
#define ONE "request: {method: GET, url: \"https://h.example/tasks/${id}\"}"

static const struct {
    const char *name, *poll, *path, *params;
    enum ald_rc rc;
    const char *url, *headers, *body;
} CASES[] = {
    {"a balance", RES, "", "{\"action\":\"getbalance\"}", ALD_OK,
     "https://h.example/res.php?action=getbalance&key=k%2By", "", ""},
    {"a report, whose key is not the caller's", RES, "",
     "{\"action\":\"reportgood\",\"id\":\"77\",\"json\":1,\"key\":\"mine\"}", ALD_OK,
     "https://h.example/res.php?action=reportgood&id=77&json=1&key=k%2By", "", ""},
    {"beside the address of polls", TASK, "getBalance", "{}", ALD_OK,
     "https://h.example/v1/getBalance?x=1", "X-Key: k+y\n", "{\"clientKey\":\"k+y\"}"},
    {"numbers stay numbers", TASK, "reportCorrect", "{\"taskId\":12345678901234567890}", ALD_OK,
     "https://h.example/v1/reportCorrect?x=1", "X-Key: k+y\n",
     "{\"taskId\":12345678901234567890,\"clientKey\":\"k+y\"}"},
    {"no way out of the path", TASK, "../admin", "{}", ALD_INVALID, NULL, NULL, NULL},
    {"nor into the query", TASK, "a?b", "{}", ALD_INVALID, NULL, NULL, NULL},
    {"an address of one task", ONE, "", "{}", ALD_MISSING, NULL, NULL, NULL},
};

static void check(size_t i)
{
    struct ald_request request;
    ald_profiles_t *profiles = profile_with(CASES[i].poll);
    ald_request_init(&request, 65536);
    enum ald_rc rc = fill(profiles, CASES[i].path, CASES[i].params, &request);
    if (rc != CASES[i].rc)
        fail_msg("%s: %s", CASES[i].name, ald_rc_name(rc));
    if (rc == ALD_OK) {
        assert_string_equal(ald_buf_str(&request.url), CASES[i].url);
        assert_string_equal(ald_buf_str(&request.headers), CASES[i].headers);
        assert_string_equal(ald_buf_str(&request.body), CASES[i].body);
    }
    ald_request_free(&request);
    ald_profiles_destroy(&profiles);
}

static void test_example(void **state)
{
    (void)state;
    check(0);
}

static void test_calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(CASES); i++)
        check(i);
}

/* Without rules of its own there is no such address; without its key nothing is sent. */
static void test_missing(void **state)
{
    (void)state;
    struct ald_errors errors;
    struct ald_request request;
    ald_request_init(&request, 65536);
    ald_profiles_t *profiles = profiles_of("p: {family: inphp, poll: none}", 0, &errors);
    assert_int_equal(fill(profiles, "", "{}", &request), ALD_MISSING);
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
    profiles = profiles_of("p: {extends: twocaptcha-v1}", 0, &errors);
    assert_int_equal(fill(profiles, "", "{}", &request), ALD_MISSING);
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
    ald_request_free(&request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example), cmocka_unit_test(test_calls),
                                       cmocka_unit_test(test_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
