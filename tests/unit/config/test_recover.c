/* recover: what of it can be done is loaded, what can't is refused or warned of; and which codes
 * say that a new submission may succeed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/config/ruled.h"

#define SUBMIT ", submit: {request: {method: POST, url: \"https://h.example/in\"}, rules: []}"
#define POLL ", poll: {request: {method: GET, url: \"https://h.example/r\"}, rules: []}"
#define MUTE ", poll: none"
#define CALLBACK                                                                                   \
    ", callback: {id: {json: /id}, trust: token, auth: {url_token: path}, rules: [{when: [{json: " \
    "/e, is: nonempty}], then: code, code: {json: /e}}, {when: [{json: /c, is: nonempty}], then: " \
    "code, code: {json: /c}, class: permanent}]}"
#define CODES                                                                                      \
    "codes: {_default: {class: unknown}, BAD: {class: failed, resubmit: true}, END: {class: "      \
    "failed}, NEVER: {class: permanent, resubmit: true}, BUSY: {class: transient}}"
#define PLAIN "codes: {_default: {class: unknown}}"

static ald_profiles_t *load(const char *profile, struct ald_errors *errors,
                            struct ald_errors *warnings)
{
    char yaml[2048];
    ald_yaml_t *doc = NULL;
    ald_profiles_t *out = NULL;
    (void)snprintf(yaml, sizeof yaml, "p: {%s}\n", profile);
    ald_errors_init(errors);
    ald_errors_init(warnings);
    assert_int_equal(ald_yaml_parse("p.yaml", ald_span_str(yaml), 0, errors, &doc), ALD_OK);
    (void)!ald_profiles_load_warned(ald_yaml_root(doc), 0, errors, warnings, &out);
    ald_yaml_destroy(&doc);
    return out;
}

static void test_example(void **state)
{
    (void)state;
    struct ald_errors errors;
    struct ald_errors warnings;
    ald_profiles_t *profiles =
        load(CODES SUBMIT POLL CALLBACK ", recover: {on_stale: alert, max_resubmits: 2}", &errors,
             &warnings);
    assert_non_null(profiles);
    const struct ald_ruled *ruled = ald_profiles_at(profiles, 0)->ruled;
    assert_true(!ruled->resubmit && ruled->max_resubmits == 2 && warnings.count == 0);
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
    ald_errors_free(&warnings);
}

static void test_what_recover_may_say(void **state)
{
    (void)state;
    static const struct {
        const char *profile;
        const char *said; /* NULL: it loads */
        unsigned max;
        bool resubmit, warned;
    } cases[] = {
        {CODES SUBMIT POLL CALLBACK, NULL, 0, false, false},
        {CODES SUBMIT POLL CALLBACK ", recover: {max_resubmits: 10}", NULL, 10, false, false},
        {CODES SUBMIT POLL CALLBACK ", recover: {max_resubmits: 11}", "10", 0, false, false},
        {CODES SUBMIT POLL ", recover: {on_stale: alert, max_resubmits: 1}", NULL, 1, false, false},
        {PLAIN SUBMIT POLL ", recover: {max_resubmits: 1}", NULL, 1, false, true},
        {CODES POLL ", recover: {max_resubmits: 1}", "needs submit", 0, false, false},
        {CODES SUBMIT POLL CALLBACK ", recover: {on_stale: resubmit}", "without poll", 0, false,
         false},
        {PLAIN SUBMIT MUTE CALLBACK ", recover: {on_stale: resubmit}", NULL, 1, true, true},
        {PLAIN SUBMIT MUTE CALLBACK ", recover: {on_stale: resubmit, max_resubmits: 3}", NULL, 3,
         true, false}, /* who says how often knows that it is bought again */
        {PLAIN SUBMIT MUTE CALLBACK ", recover: {on_stale: resubmit, max_resubmits: 0}", "opposite",
         0, false, false},
        {PLAIN MUTE CALLBACK ", recover: {on_stale: resubmit}", "needs submit", 0, false, false},
        {PLAIN SUBMIT MUTE ", recover: {on_stale: resubmit}", "needs callback", 0, false, false},
        {PLAIN SUBMIT MUTE CALLBACK ", recover: {max_resubmits: 1}", "needs on_stale", 0, false,
         false},
        {PLAIN MUTE CALLBACK ", recover: {on_stale: alert}", NULL, 0, false, false},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_errors errors;
        struct ald_errors warnings;
        print_message("%s\n", cases[i].profile);
        ald_profiles_t *profiles = load(cases[i].profile, &errors, &warnings);
        assert_int_equal(profiles == NULL, cases[i].said != NULL);
        if (profiles) {
            const struct ald_ruled *ruled = ald_profiles_at(profiles, 0)->ruled;
            assert_int_equal(ruled->max_resubmits, cases[i].max);
            assert_int_equal(ruled->resubmit, cases[i].resubmit);
            assert_int_equal(warnings.count > 0, cases[i].warned);
        } else if (strstr(ald_errors_text(&errors), cases[i].said) == NULL) {
            fail_msg("%s", ald_errors_text(&errors));
        }
        ald_profiles_destroy(&profiles);
        ald_errors_free(&errors);
        ald_errors_free(&warnings);
    }
}

/* Only a failure of the task can be mended by buying again, whatever its row says. */
static void test_which_codes_say_so(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool resubmit;
    } cases[] = {
        {"{\"id\":\"7\",\"e\":\"BAD\"}", true},    {"{\"id\":\"7\",\"e\":\"END\"}", false},
        {"{\"id\":\"7\",\"e\":\"NEVER\"}", false}, {"{\"id\":\"7\",\"e\":\"BUSY\"}", false},
        {"{\"id\":\"7\",\"e\":\"NEW\"}", false},   {"{\"id\":\"7\",\"c\":\"BAD\"}", false},
    };
    struct ald_errors errors;
    struct ald_errors warnings;
    struct ald_buf scratch;
    ald_profiles_t *profiles = load(CODES SUBMIT POLL CALLBACK, &errors, &warnings);
    assert_non_null(profiles);
    ald_buf_init(&scratch, 4096);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct ald_facts facts = {.body = ald_span_str(cases[i].body)};
        struct ald_verdict verdict;
        ald_profile_judge(ald_profiles_at(profiles, 0), ALD_STAGE_CALLBACK, &facts, &scratch,
                          &verdict);
        print_message("%s: %s\n", cases[i].body, verdict.rule);
        assert_int_equal(verdict.resubmit, cases[i].resubmit);
    }
    ald_buf_free(&scratch);
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
    ald_errors_free(&warnings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example),
                                       cmocka_unit_test(test_what_recover_may_say),
                                       cmocka_unit_test(test_which_codes_say_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
