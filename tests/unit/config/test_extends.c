/* What a profile extends, what is printed of it, and which of its secrets a program needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/config/ruled.h"
#include "tests/unit/config/profile_of.h"

static void test_example(void **state)
{
    (void)state;
    struct ald_errors errors;
    ald_profiles_t *profiles = profiles_of(
        "a: {extends: captchaai, codes: {ERROR_PAGEURL: {class: lost}, MAX_USER_TURN: null}, "
        "poll: {rules+: [{when: [{text_prefix: X}], then: pending}], schedule: {every: 7s}}, "
        "secrets: {key: {file: /k}}}\n"
        "twocaptcha-v1: {extends: twocaptcha-v1}\n"
        "c: {extends: a}\n",
        0, &errors);
    assert_string_equal(ald_errors_text(&errors), "");
    const struct ald_profile *a = ald_profiles_find(profiles, "a");
    const struct ald_profile *base = ald_profiles_find(profiles, "twocaptcha-v1");
    assert_int_equal(a->schedule.every_ms, 7000);
    assert_int_equal(a->schedule.first_after_ms, 15000);
    assert_int_equal(a->ruled->stage[ALD_STAGE_POLL].rules.count,
                     base->ruled->stage[ALD_STAGE_POLL].rules.count + 3);
    assert_int_equal(a->ruled->stage[ALD_STAGE_POLL].rules.list[0].then, ALD_THEN_PENDING);
    assert_null(ald_codes_named(&a->ruled->codes, ald_span_str("MAX_USER_TURN")));
    assert_int_equal(ald_codes_named(&a->ruled->codes, ald_span_str("ERROR_PAGEURL"))->cls,
                     ALD_CLASS_LOST);
    assert_int_equal(ald_profiles_find(profiles, "c")->schedule.every_ms, 7000);
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
}

static void test_extends_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *says;
    } cases[] = {
        {"p: {extends: nobody}",
         "p.yaml:1:5: There is no profile \"nobody\" to extend; 'aldaba provider ls'"},
        {"p: {extends: replicat}", "to extend; did you mean replicate?"},
        {"shop: {extends: shopp}\nshops: {extends: replicate}", "did you mean shops?"},
        {"p: {extends: q}\nq: {extends: p}", "a ring of them"},
        {"p: {extends: p}", "a ring of them"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_errors errors;
        assert_null(profiles_of(cases[i].yaml, 0, &errors));
        if (strstr(ald_errors_text(&errors), cases[i].says) == NULL)
            fail_msg("%s", ald_errors_text(&errors));
        ald_errors_free(&errors);
    }
}

/* What is printed is what is in force, also where a profile has less than others. */
static void test_print(void **state)
{
    (void)state;
    static const char yaml[] = "d: {extends: deepgram}\na: {extends: azure-lro}\n"
                               "t: {extends: twocaptcha-v1}\n";
    static const char *const said[] = {"    extends: deepgram\n",  "      trust: \"auth\"\n",
                                       "        header_secret:\n", "          value: \"***\"\n",
                                       "    poll: none\n",         "    callback: none\n",
                                       "name: \"res.php\""};
    struct ald_errors errors;
    ald_yaml_t *doc = NULL;
    struct ald_buf out;
    ald_errors_init(&errors);
    ald_buf_init(&out, 1 << 16);
    assert_int_equal(ald_yaml_parse("p.yaml", ald_span_str(yaml), 0, &errors, &doc), ALD_OK);
    ald_profiles_print(ald_yaml_root(doc), &out);
    for (size_t i = 0; i < ALD_COUNT(said); i++)
        if (strstr(ald_buf_str(&out), said[i]) == NULL)
            fail_msg("no %s in\n%s", said[i], ald_buf_str(&out));
    ald_yaml_destroy(&doc);
    assert_int_equal(ald_yaml_parse("q.yaml", ald_buf_span(&out), 0, &errors, &doc), ALD_OK);
    ald_yaml_destroy(&doc);
    ald_buf_free(&out);
    ald_errors_free(&errors);
}

/* ---- what a program needs of it ---- */

static ald_profiles_t *loaded(const char *yaml, unsigned secrets)
{
    struct ald_errors errors;
    ald_profiles_t *profiles = profiles_of(yaml, secrets, &errors);
    ald_errors_free(&errors);
    return profiles;
}

/* Who takes callbacks needs no key of the account, and who asks none of those that prove a sender.
 */
static void test_secrets(void **state)
{
    (void)state;
    static const char replicate[] = "r: {extends: replicate, secrets: {key: {env: ALD_TEST_ASK}, "
                                    "whsec: {env: ALD_TEST_HOOK}}}\n";
    static const char file[] =
        "t: {extends: twocaptcha-v1, secrets: {key: {env: ALD_TEST_ASK}, said: {env: "
        "ALD_TEST_HOOK}}, "
        "callback: {verification_file: {path: /2captcha.txt, content: \"${secret.said}\"}}}\n";
    (void)setenv("ALD_TEST_HOOK", "whsec_c2VjcmV0", 1);
    (void)unsetenv("ALD_TEST_ASK");
    assert_null(loaded(replicate, ALD_SECRETS_POLL));
    ald_profiles_t *profiles = loaded(replicate, ALD_SECRETS_AUTH);
    assert_non_null(profiles);
    assert_true(ald_auth_ready(ald_profiles_at(profiles, 0)->auth));
    assert_string_equal(ald_profiles_at(profiles, 0)->key, "");
    ald_profiles_destroy(&profiles);
    profiles = loaded(file, ALD_SECRETS_AUTH);
    assert_non_null(profiles);
    assert_string_equal(ald_profiles_at(profiles, 0)->verification_content, "whsec_c2VjcmV0");
    ald_profiles_destroy(&profiles);

    (void)setenv("ALD_TEST_ASK", "k", 1);
    (void)unsetenv("ALD_TEST_HOOK");
    assert_null(loaded(replicate, ALD_SECRETS_AUTH));
    profiles = loaded(replicate, ALD_SECRETS_POLL);
    assert_non_null(profiles);
    assert_false(ald_auth_ready(ald_profiles_at(profiles, 0)->auth));
    assert_string_equal(ald_profiles_at(profiles, 0)->key, "k");
    ald_profiles_destroy(&profiles);
}

struct bundled {
    const char *name;
    enum ald_trust trust;
    bool asks; /* for a scheme that proves the sender */
    unsigned rejected;
    unsigned budgets;
};

static const struct bundled BUNDLED[] = {
    {"twocaptcha-v1", ALD_TRUST_TOKEN, false, 200, 2},
    {"captchaai", ALD_TRUST_TOKEN, false, 200, 0},
    {"createtask-json", ALD_TRUST_TOKEN, false, 200, 1},
    {"assemblyai", ALD_TRUST_AUTH, true, 200, 0},
    {"deepgram", ALD_TRUST_AUTH, true, 401, 0},
    {"replicate", ALD_TRUST_AUTH, true, 401, 0},
    {"fal", ALD_TRUST_AUTH, true, 401, 0},
    {"openai-responses", ALD_TRUST_AUTH, true, 401, 0},
    {"azure-lro", ALD_TRUST_TOKEN, false, 401, 0},
};

/* Proofs and budgets come with a profile that is extended. */
static void test_bundled(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(BUNDLED); i++) {
        const struct bundled *want = &BUNDLED[i];
        char yaml[64];
        (void)snprintf(yaml, sizeof yaml, "p: {extends: %s}\n", want->name);
        ald_profiles_t *profiles = loaded(yaml, 0);
        if (profiles == NULL)
            fail_msg("%s", want->name);
        const struct ald_profile *profile = ald_profiles_at(profiles, 0);
        const char *text = NULL;
        if (profile->trust != want->trust || ald_auth_asks(profile->auth) != want->asks ||
            ald_auth_rejected(profile->auth, &text) != want->rejected ||
            profile->budgets.count != want->budgets)
            fail_msg("%s: trust %d, asks %d, rejected %u, budgets %u", want->name, profile->trust,
                     ald_auth_asks(profile->auth), ald_auth_rejected(profile->auth, &text),
                     profile->budgets.count);
        ald_profiles_destroy(&profiles);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_extends_nothing),
        cmocka_unit_test(test_print),   cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_bundled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
