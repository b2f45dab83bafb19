/* The request of a submission, what of its answer's addresses is believed, and what is said of one
 * that can't be made. */
#include "services/poller/submit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "tests/unit/config/profile_of.h"

static const char SHOP[] =
    "p: {secrets: {key: {env: ALD_TEST_KEY}}, codes: {_default: {class: unknown}}, submit: "
    "{request: {method: POST, url: \"https://h.example/in\", encode: json}, rules: "
    "[{when: [{json: /id, is: scalar}], then: accepted, id: {json: /id}, poll_url: {json: "
    "/status}}]}, "
    "poll: {request: {method: GET, url: \"https://h.example/r\"}, rules: []}}\n";

static ald_profiles_t *shop(void)
{
    struct ald_errors errors;
    (void)setenv("ALD_TEST_KEY", "k", 1);
    ald_profiles_t *profiles = profiles_of(SHOP, ALD_SECRETS_POLL, &errors);
    if (!profiles)
        fail_msg("%s", ald_errors_text(&errors));
    ald_errors_free(&errors);
    return profiles;
}

static struct work_submit *lease_of(const char *submission)
{
    size_t len = strlen(submission);
    struct work_submit *submit = calloc(1, sizeof *submit + len + 1);
    assert_non_null(submit);
    submit->len = len;
    memcpy(submit->submission, submission, len);
    return submit;
}

static void test_example(void **state)
{
    (void)state;
    ald_profiles_t *profiles = shop();
    struct work_submit *submit = lease_of("{\"params\":{\"kind\":\"a\",\"n\":1}}");
    struct ald_request request;
    struct ald_err err = {0};
    ald_request_init(&request, 4096);
    assert_true(submit_request(ald_profiles_at(profiles, 0), submit, &request, &err));
    assert_string_equal(submit->asked, "https://h.example/in");
    assert_string_equal(submit->asked, ald_buf_str(&request.url));
    ald_request_free(&request);
    free(submit);
    ald_profiles_destroy(&profiles);
}

static void test_unmade(void **state)
{
    static const char *const cases[] = {"{", "[]", "{\"params\":7}"};
    (void)state;
    ald_profiles_t *profiles = shop();
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct work_submit *submit = lease_of(cases[i]);
        struct ald_request request;
        struct ald_err err = {0};
        ald_request_init(&request, 4096);
        if (submit_request(ald_profiles_at(profiles, 0), submit, &request, &err))
            fail_msg("%s", cases[i]);
        assert_string_not_equal(err.text, "");
        assert_string_equal(submit->asked, "");
        ald_request_free(&request);
        free(submit);
    }
    ald_profiles_destroy(&profiles);
}

/* The account's key goes with each poll: not to wherever an answer says. */
static void test_addresses(void **state)
{
    static const struct {
        const char *url;
        bool kept;
    } cases[] = {
        {"https://h.example/s/1", true},  {"https://h.example:444/s/1", false},
        {"http://h.example/s/1", false},  {"https://h.example.evil/s/1", false},
        {"https://evil.example/", false}, {"https://h.example@evil.example/", false},
    };
    (void)state;
    ald_profiles_t *profiles = shop();
    struct work_submit *submit = lease_of("{}");
    (void)snprintf(submit->asked, sizeof submit->asked, "https://h.example/in");
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct msg_outcome out = {.poll_url = ald_span_str(cases[i].url),
                                  .result_url = ald_span_str(cases[i].url),
                                  .provider_id = "https://evil.example/"};
        submit_check(ald_profiles_at(profiles, 0), submit, &out);
        if ((out.poll_url.len > 0) != cases[i].kept)
            fail_msg("%s", cases[i].url);
        assert_int_equal(out.result_url.len, 0);      /* this profile fetches nothing */
        assert_string_not_equal(out.provider_id, ""); /* no id of this profile is an address */
    }
    free(submit);
    ald_profiles_destroy(&profiles);
}

static void test_refused(void **state)
{
    struct msg_outcome out = {.answered = true, .left = true};
    (void)state;
    submit_refused("It says nothing.", &out);
    assert_string_equal(out.then, "failed");
    assert_string_equal(out.code, "invalid_submission");
    assert_string_equal(out.error, "It says nothing.");
    assert_false(out.answered || out.left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_unmade),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
