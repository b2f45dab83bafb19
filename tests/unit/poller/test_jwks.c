/* What is asked for a provider's public keys, and what is told of the answer. */
#include "services/poller/jwks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/config/profile_of.h"

#define PROFILE(keys)                                                                              \
    "p: {family: inphp, poll: none, callback: {trust: auth, auth: {ed25519: {headers: {sig: S}, "  \
    "message: \"${body}\", keys: " keys "}}}}\n"

static ald_profiles_t *load(const char *yaml)
{
    struct ald_errors errors;
    ald_profiles_t *profiles = profiles_of(yaml, 0, &errors);
    if (!profiles)
        fail_msg("%s", ald_errors_text(&errors));
    ald_errors_free(&errors);
    return profiles;
}

static void test_example(void **state)
{
    (void)state;
    ald_profiles_t *profiles = load(PROFILE("{jwks: \"https://h.example/j\"}"));
    struct fetch_request request;
    assert_null(jwks_request(ald_profiles_at(profiles, 0), &request));
    assert_string_equal(request.url, "https://h.example/j");
    assert_null(request.headers); /* no secret */
    assert_int_equal(request.max_bytes, 64 << 10);
    const struct fetch_answer answer = {.left = true,
                                        .answered = true,
                                        .status = 404,
                                        .body = ald_span_str("not here"),
                                        .error = ""};
    struct msg_outcome outcome;
    jwks_answered(ald_profiles_at(profiles, 0), &answer, &outcome);
    assert_int_equal(outcome.http, 404);
    assert_true(ald_span_eq_str(outcome.result, "not here"));
    assert_true(ald_span_eq_str(outcome.poll_url, "https://h.example/j"));
    ald_profiles_destroy(&profiles);
}

/* A part of an answer is none. */
static void test_cut(void **state)
{
    (void)state;
    ald_profiles_t *profiles = load(PROFILE("{jwks: \"https://h.example/j\"}"));
    const struct fetch_answer answer = {
        .left = true, .status = 200, .body = ald_span_str("{\"keys\""), .error = "cut off"};
    struct msg_outcome outcome;
    jwks_answered(ald_profiles_at(profiles, 0), &answer, &outcome);
    assert_false(outcome.answered);
    assert_int_equal(outcome.result.len, 0);
    assert_string_equal(outcome.error, "cut off");
    ald_profiles_destroy(&profiles);
}

/* A tracker with other settings than this poller's can't send it anywhere. */
static void test_no_address(void **state)
{
    (void)state;
    ald_profiles_t *profiles = load("p: {family: inphp, poll: none}\n");
    struct fetch_request request;
    assert_non_null(jwks_request(ald_profiles_at(profiles, 0), &request));
    ald_profiles_destroy(&profiles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example), cmocka_unit_test(test_cut),
                                       cmocka_unit_test(test_no_address)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
