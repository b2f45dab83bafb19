/* Every recorded message of the two services of the in.php family, against what it must mean.
 *
 * samples.jsonl holds messages of other services too, which are passed over. Its `then` is the
 * class where a code was recognised, its absent `http` is 200, and `code_row` is not an output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/base/text.h"
#include "tests/unit/config/profile_of.h"

static const char *sample_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static enum ald_stage sample_stage(const char *word)
{
    return strcmp(word, "submit") == 0 ? ALD_STAGE_SUBMIT
           : strcmp(word, "poll") == 0 ? ALD_STAGE_POLL
                                       : ALD_STAGE_CALLBACK;
}

static const char *sample_then(const struct ald_verdict *verdict)
{
    return verdict->then == ALD_THEN_CODE ? ald_class_name(verdict->cls)
                                          : ald_then_name(verdict->then);
}

static void sample_same(const char *why, const char *what, const char *got, const char *want)
{
    if (strcmp(got, want) != 0)
        fail_msg("%s: %s is \"%s\", not \"%s\"", why, what, got, want);
}

static void sample_result(const char *why, const struct ald_verdict *verdict, const json_t *want)
{
    char got[512];
    ald_text_cut(got, sizeof got, verdict->result);
    if (json_is_string(want)) {
        assert_false(verdict->result_json);
        sample_same(why, "result", got, json_string_value(want));
        return;
    }
    json_t *parsed = json_loads(got, 0, NULL);
    assert_true(verdict->result_json);
    assert_true(json_equal(parsed, want));
    json_decref(parsed);
}

static void sample_check(const json_t *sample, const struct ald_profile *profile)
{
    const json_t *msg = json_object_get(sample, "msg");
    const json_t *expect = json_object_get(sample, "expect");
    const char *why = sample_text(sample, "why");
    struct ald_facts facts = {
        .http = (unsigned)json_integer_value(json_object_get(msg, "http")),
        .query = ald_span_str(sample_text(msg, "query")),
        .body = ald_span_str(sample_text(msg, "body")),
    };
    struct ald_buf scratch;
    ald_buf_init(&scratch, 4096);
    struct ald_verdict verdict;
    ald_profile_judge(profile, sample_stage(sample_text(sample, "stage")), &facts, &scratch,
                      &verdict);
    sample_same(why, "then", sample_then(&verdict), sample_text(expect, "then"));
    if (json_object_get(expect, "id") != NULL)
        sample_same(why, "id", verdict.id, sample_text(expect, "id"));
    if (json_object_get(expect, "cost") != NULL)
        sample_same(why, "cost", verdict.cost, sample_text(expect, "cost"));
    if (json_object_get(expect, "result") != NULL)
        sample_result(why, &verdict, json_object_get(expect, "result"));
    if (json_object_get(expect, "wait") != NULL) {
        int64_t wait_ms = 0;
        assert_int_equal(ald_text_duration_ms(ald_span_str(sample_text(expect, "wait")), &wait_ms),
                         ALD_OK);
        assert_int_equal(verdict.wait_ms, wait_ms);
    }
    ald_buf_free(&scratch);
}

static size_t samples_check(const char *name, const struct ald_profile *profile)
{
    FILE *file = fopen("tests/unit/config/samples.jsonl", "r");
    assert_non_null(file);
    char line[4096];
    size_t count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        json_t *sample = json_loads(line, 0, NULL);
        assert_non_null(sample);
        if (strcmp(sample_text(sample, "profile"), name) == 0) {
            sample_check(sample, profile);
            count++;
        }
        json_decref(sample);
    }
    (void)fclose(file);
    return count;
}

static void test_example(void **state)
{
    (void)state;
    struct ald_profile profile = profile_of("");
    assert_int_equal(samples_check("twocaptcha-v1", &profile), 27);
}

static void test_captchaai(void **state)
{
    (void)state;
    struct ald_profile profile = profile_of("dialect: captchaai");
    assert_int_equal(samples_check("captchaai", &profile), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_captchaai),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
