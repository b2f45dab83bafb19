/* Answers to polls for several tasks: what they say of each, and when they say nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/config/batch.h"
#include "common/config/profile_request.h"
#include "tests/unit/config/profile_of.h"

static const char *const PROFILES[] = {
    "p: {extends: twocaptcha-v1, secrets: {key: {env: ALD_TEST_KEY}}}\n",
    "p: {family: inphp, secrets: {key: {env: ALD_TEST_KEY}}, poll: {request: {url: "
    "\"https://h.example/res.php\"}, batch: {max: 50}}}\n",
};

static ald_profiles_t *load(const char *yaml)
{
    struct ald_errors errors;
    (void)setenv("ALD_TEST_KEY", "k+y", 1);
    ald_profiles_t *profiles = profiles_of(yaml, ALD_SECRETS_POLL, &errors);
    if (profiles == NULL)
        (void)fprintf(stderr, "%s", ald_errors_text(&errors));
    assert_non_null(profiles);
    ald_errors_free(&errors);
    return profiles;
}

struct room {
    struct ald_buf scratch, joined;
    struct ald_batch_answer answer;
};

static void room_init(struct room *room)
{
    ald_buf_init(&room->scratch, 65536);
    ald_buf_init(&room->joined, 65536);
}

static void room_free(struct room *room)
{
    ald_buf_free(&room->scratch);
    ald_buf_free(&room->joined);
}

/* One line: the verdict of each task, `!` behind who must be asked for alone. */
static void line_of(const struct ald_profile *profile, unsigned http, const char *body,
                    size_t count, struct room *room, struct ald_buf *line)
{
    const struct ald_facts facts = {.http = http, .body = ald_span_str(body)};
    ald_buf_reset(line);
    ald_batch_read(profile, &facts, count, &room->scratch, &room->joined, &room->answer);
    for (size_t i = 0; i < count; i++) {
        struct ald_verdict verdict;
        bool alone = ald_batch_judge(profile, &room->answer, i, &room->scratch, &verdict);
        ald_buf_printf(line, "%s%s", i > 0 ? " " : "", ald_then_name(verdict.then));
        if (verdict.then == ALD_THEN_CODE)
            ald_buf_printf(line, ":%s", ald_class_name(verdict.cls));
        if (verdict.then == ALD_THEN_DONE) {
            ald_buf_put_byte(line, '=');
            ald_buf_put_span(line, verdict.result);
        }
        assert_true(verdict.then == ALD_THEN_DONE || verdict.result.len == 0);
        ald_buf_put_str(line, alone ? "!" : "");
    }
}

static void test_example(void **state)
{
    (void)state;
    ald_profiles_t *profiles = load(PROFILES[0]);
    struct room room;
    struct ald_buf line;
    room_init(&room);
    ald_buf_init(&line, 65536);
    line_of(ald_profiles_at(profiles, 0), 200,
            "{\"status\":1,\"request\":\"ONE|CAPCHA_NOT_READY|THREE\"}", 3, &room, &line);
    assert_string_equal(ald_buf_str(&line), "done=ONE code:pending done=THREE");
    room_free(&room);
    ald_buf_free(&line);
    ald_profiles_destroy(&profiles);
}

static const struct {
    const char *name;
    unsigned http;
    const char *body;
    size_t count;
    const char *want;
} ANSWERS[] = {
    {"codes of each", 200,
     "{\"status\":1,\"request\":\"ERROR_CAPTCHA_UNSOLVABLE|ERROR_WRONG_CAPTCHA_ID|A\"}", 3,
     "code:failed code:lost done=A"},
    {"a new code is no end", 200, "{\"status\":1,\"request\":\"ERROR_NEW|A\"}", 2,
     "code:unknown done=A"},
    {"an escaped answer", 200, "{\"status\":1,\"request\":\"a\\u0062\\/c|x=1,y=2;x=3\"}", 2,
     "done=ab/c done=x=1,y=2;x=3"},
    {"JSON in an answer is its text", 200, "{\"status\":1,\"request\":\"[{\\\"x\\\":1}]|B\"}", 2,
     "done=[{\"x\":1}] done=B"},
    /* Rule 3: a result with a | shifts every other one. */
    {"too many parts", 200, "{\"status\":1,\"request\":\"40|200|-120|B\"}", 2, "unknown! unknown!"},
    {"too few parts", 200, "{\"status\":1,\"request\":\"A|B\"}", 3, "unknown! unknown! unknown!"},
    {"more parts than fit", 200,
     "||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||", 2,
     "unknown! unknown!"},
    {"one result", 200, "{\"status\":1,\"request\":\"A\"}", 2, "unknown! unknown!"},
    {"an object", 200, "{\"status\":1,\"request\":{\"a\":\"x|y\"}}", 2, "unknown! unknown!"},
    {"OK|, as for one", 200, "OK|A|B", 2, "unknown! unknown!"},
    {"an empty part", 200, "{\"status\":1,\"request\":\"A|\"}", 2, "done=A unknown!"},
    /* Bare text: nothing says that these are results. */
    {"bare text", 200, "A|CAPCHA_NOT_READY", 2, "unknown! code:pending"},
    {"bare codes", 200, "CAPCHA_NOT_READY|CAPCHA_NOT_READY", 2, "code:pending code:pending"},
    {"a sentence with a joint", 200, "Service unavailable | try later", 2, "unknown! unknown!"},
    /* About the account, or of all alike. */
    {"banned", 200, "ERROR: 1005", 2, "code:transient code:transient"},
    {"banned, in JSON", 200, "{\"status\":0,\"request\":\"ERROR: 1005\"}", 2,
     "code:transient code:transient"},
    {"a ban is not cut out of parts", 200, "ERROR: 1005|A", 3, "unknown! unknown! unknown!"},
    {"a wrong key", 200, "ERROR_WRONG_USER_KEY", 2, "code:config code:config"},
    {"none is ready", 200, "{\"status\":0,\"request\":\"CAPCHA_NOT_READY\"}", 2,
     "code:pending code:pending"},
    {"no end of all at once", 200, "{\"status\":0,\"request\":\"ERROR_WRONG_CAPTCHA_ID\"}", 2,
     "unknown! unknown!"},
    {"nor a failure", 200, "ERROR_CAPTCHA_UNSOLVABLE", 2, "unknown! unknown!"},
    /* No answer at all. */
    {"empty", 200, "", 2, "unknown unknown"},
    {"HTML", 200, "<html>A|B</html>", 2, "unknown unknown"},
    {"HTML behind a mark", 200, "\xEF\xBB\xBF <html>A|B</html>", 2, "unknown unknown"},
    {"502", 502, "{\"status\":1,\"request\":\"A|B\"}", 2, "unknown unknown"},
    {"broken JSON", 200, "{\"status\":1,\"request\":\"A|", 2, "unknown! unknown!"},
};

static void test_answers(void **state)
{
    (void)state;
    struct room room;
    struct ald_buf line;
    room_init(&room);
    ald_buf_init(&line, 65536);
    for (size_t p = 0; p < ALD_COUNT(PROFILES); p++) {
        ald_profiles_t *profiles = load(PROFILES[p]);
        for (size_t i = 0; i < ALD_COUNT(ANSWERS); i++) {
            line_of(ald_profiles_at(profiles, 0), ANSWERS[i].http, ANSWERS[i].body,
                    ANSWERS[i].count, &room, &line);
            if (strcmp(ald_buf_str(&line), ANSWERS[i].want) != 0)
                fail_msg("%s (profile %zu): %s", ANSWERS[i].name, p, ald_buf_str(&line));
        }
        ald_profiles_destroy(&profiles);
    }
    room_free(&room);
    ald_buf_free(&line);
}

/* A ban in the answer for many is the account's: it blocks. */
static void test_a_whole_verdict_is_kept_whole(void **state)
{
    (void)state;
    ald_profiles_t *profiles = load(PROFILES[0]);
    struct room room;
    room_init(&room);
    const struct ald_facts facts = {.body = ald_span_str("ERROR: 1005")};
    ald_batch_read(ald_profiles_at(profiles, 0), &facts, 2, &room.scratch, &room.joined,
                   &room.answer);
    struct ald_verdict verdict;
    assert_false(
        ald_batch_judge(ald_profiles_at(profiles, 0), &room.answer, 1, &room.scratch, &verdict));
    assert_true(verdict.block);
    assert_int_equal(verdict.wait_ms, 300000);
    assert_string_equal(verdict.code, "ERROR: 1005");
    room_free(&room);
    ald_profiles_destroy(&profiles);
}

static void test_which_ids_go_together(void **state)
{
    (void)state;
    ald_profiles_t *profiles =
        load("p: {extends: twocaptcha-v1, secrets: {key: {env: ALD_TEST_KEY}}}\n"
             "q: {extends: captchaai, secrets: {key: {env: ALD_TEST_KEY}}}\n");
    const struct ald_profile *batches = ald_profiles_at(profiles, 0);
    assert_int_equal(batches->batch.max, 50);
    assert_true(ald_batch_takes(batches, "123"));
    assert_false(ald_batch_takes(batches, "1,2"));
    assert_false(ald_batch_takes(batches, "1|2"));
    assert_false(ald_batch_takes(batches, ""));
    assert_false(ald_batch_takes(ald_profiles_at(profiles, 1), "123"));
    ald_profiles_destroy(&profiles);
}

static void test_the_request(void **state)
{
    (void)state;
    static const char *const wants[] = {
        "https://2captcha.com/res.php?key=k%2By&action=get&ids=1%2C2%2C3&json=1",
        "https://h.example/res.php?key=k%2By&action=get&ids=1%2C2%2C3&json=1",
    };
    for (size_t p = 0; p < ALD_COUNT(PROFILES); p++) {
        ald_profiles_t *profiles = load(PROFILES[p]);
        struct ald_request request;
        struct ald_request_in in = {.stage = ALD_STAGE_POLL, .id = "1,2,3", .several = true};
        ald_request_init(&request, 4096);
        assert_int_equal(ald_profile_request(ald_profiles_at(profiles, 0), &in, &request), ALD_OK);
        assert_string_equal(ald_buf_str(&request.url), wants[p]);
        in.several = false;
        in.id = "1";
        assert_int_equal(ald_profile_request(ald_profiles_at(profiles, 0), &in, &request), ALD_OK);
        assert_non_null(strstr(ald_buf_str(&request.url), "&id=1&"));
        ald_request_free(&request);
        ald_profiles_destroy(&profiles);
    }
}

/* What can't be one request for several does not load. */
static void test_what_does_not_load(void **state)
{
    (void)state;
    static const struct {
        const char *poll, *error;
    } cases[] = {
        {"params: {id: \"${id}\"}, batch: {param: ids, max: 50, reply: pipe-joined}", NULL},
        {"params: {id: \"${id}\"}, batch: none", NULL},
        {"params: {id: \"${id}\"}, batch: {param: ids, max: 65, reply: pipe-joined}", "max"},
        {"params: {id: \"${id}\"}, batch: {param: ids, max: 50, reply: json}", "json"},
        {"params: {id: \"${id}\"}, batch: {max: 50, reply: pipe-joined}", "batch needs param"},
        {"params: {id: \"${id}\"}, batch: {param: ids, reply: pipe-joined, "
         "only_if_answer_has_no: \",\"}",
         "only_if_answer_has_no"},
        {"params: {id: \"a-${id}\"}, batch: {param: ids, max: 50, reply: pipe-joined}",
         "${id} once"},
        {"params: {id: \"${id}\", m: \"${param.m}\"}, batch: {param: ids, max: 50, reply: "
         "pipe-joined}",
         "${id} once"},
        {"params: {a: b}, batch: {param: ids, max: 50, reply: pipe-joined}", "${id} once"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char yaml[1024];
        struct ald_errors errors;
        (void)snprintf(yaml, sizeof yaml,
                       "p: {poll: {request: {url: \"https://h.example/\"}, rules: [], %s}, "
                       "callback: none}\n",
                       cases[i].poll);
        ald_profiles_t *profiles = profiles_of(yaml, 0, &errors);
        if ((profiles != NULL) != (cases[i].error == NULL) ||
            (cases[i].error && !strstr(ald_errors_text(&errors), cases[i].error)))
            fail_msg("%s: %s", cases[i].poll, ald_errors_text(&errors));
        ald_errors_free(&errors);
        ald_profiles_destroy(&profiles);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_a_whole_verdict_is_kept_whole),
        cmocka_unit_test(test_which_ids_go_together),
        cmocka_unit_test(test_the_request),
        cmocka_unit_test(test_what_does_not_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
