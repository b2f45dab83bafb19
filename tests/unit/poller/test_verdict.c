#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "services/poller/verdict.h"

static const struct ald_profile PROFILE = {
    .name = "demo",
    .family = "inphp",
    .poll_url = "http://127.0.0.1/res.php",
    .key = "0123456789abcdef",
    .poll_max_bytes = 1 << 20,
    .plus = 'a',
};

/* Judge one answer; the outcome's spans live in room. */
static void judge(const struct fetch_answer *answer, struct verdict_room *room,
                  struct msg_outcome *out)
{
    memset(out, 0, sizeof *out);
    verdict_make(&PROFILE, answer, room, out);
}

static struct fetch_answer whole(unsigned status, const char *body)
{
    return (struct fetch_answer){
        .left = true,
        .answered = true,
        .status = status,
        .body = ald_span_str(body),
        .content_type = ald_span_str("text/html; charset=utf-8"),
        .error = "",
        .took_ms = 12,
    };
}

static void test_example(void **state)
{
    (void)state;
    struct verdict_room room;
    struct msg_outcome outcome;
    verdict_room_init(&room);
    const struct fetch_answer answer = whole(200, "OK|hello");
    judge(&answer, &room, &outcome);
    assert_string_equal(outcome.then, "done");
    assert_true(ald_span_eq_str(outcome.result, "hello"));
    verdict_room_free(&room);
}

/* Field cases of the kinds poll-* by their number, and what the family documents. */
static const struct {
    const char *name;
    unsigned status;
    const char *body;
    enum ald_then then;
    enum ald_class cls;
    enum ald_scope scope;
    bool block;
    int64_t wait_ms;
    const char *code;
    const char *result;
} WHOLE_ANSWERS[] = {
    {.name = "case 1", .status = 500, .body = "500 Internal Server Error"},
    {.name = "case 2", .status = 200, .body = "500 Internal Server Error"},
    {.name = "case 5", .status = 200, .body = ""},
    {.name = "case 7", .status = 502, .body = "<html><title>502 Bad Gateway</title></html>"},
    {.name = "case 8", .status = 503, .body = "<!DOCTYPE html><p>503</p>"},
    {.name = "case 10", .status = 200, .body = "<!DOCTYPE html><title>Unicorn</title>"},
    {.name = "case 11",
     .status = 200,
     .body = "\xEF\xBB\xBF {\"status\":1,\"request\":\"T\"} <!-- cached by X -->",
     .then = ALD_THEN_DONE,
     .result = "T"},
    {.name = "case 13",
     .status = 200,
     .body = "{\"status\":0,\"request\":\"https://a.example/blog/search\"}",
     .then = ALD_THEN_CODE,
     .cls = ALD_CLASS_UNKNOWN,
     .wait_ms = 5000,
     .code = "https://a.example/blog/search"},
    {.name = "case 14",
     .status = 200,
     .body = "{\"status\":0,\"request\":\"ERROR_SOMETHING_NEW\"}",
     .then = ALD_THEN_CODE,
     .cls = ALD_CLASS_UNKNOWN,
     .wait_ms = 5000,
     .code = "ERROR_SOMETHING_NEW"},
    {.name = "case 19",
     .status = 200,
     .body = "CAPCHA_NOT_READY",
     .then = ALD_THEN_CODE,
     .cls = ALD_CLASS_PENDING,
     .wait_ms = 5000,
     .code = "CAPCHA_NOT_READY"},
    {.name = "case 21", .status = 200, .body = "{\"result\":\"aborted\"}"},
    {.name = "the other spelling",
     .status = 200,
     .body = "CAPTCHA_NOT_READY",
     .then = ALD_THEN_CODE,
     .cls = ALD_CLASS_PENDING,
     .wait_ms = 5000,
     .code = "CAPTCHA_NOT_READY"},
    {.name = "not ready, as JSON",
     .status = 200,
     .body = "{\"status\":0,\"request\":\"CAPCHA_NOT_READY\"}",
     .then = ALD_THEN_CODE,
     .cls = ALD_CLASS_PENDING,
     .wait_ms = 5000,
     .code = "CAPCHA_NOT_READY"},
    {.name = "too many requests: five minutes for the account",
     .status = 200,
     .body = "ERROR: 1005",
     .then = ALD_THEN_CODE,
     .cls = ALD_CLASS_TRANSIENT,
     .scope = ALD_SCOPE_ACCOUNT,
     .block = true,
     .wait_ms = 300000,
     .code = "ERROR: 1005"},
    {.name = "only the first pipe cuts",
     .status = 200,
     .body = "OK|40|200|-120",
     .then = ALD_THEN_DONE,
     .result = "40|200|-120"},
    {.name = "not with this status", .status = 500, .body = "OK|x"},
    {.name = "no result", .status = 200, .body = "OK|"},
    {.name = "unsolvable",
     .status = 200,
     .body = "ERROR_CAPTCHA_UNSOLVABLE",
     .then = ALD_THEN_CODE,
     .cls = ALD_CLASS_FAILED,
     .code = "ERROR_CAPTCHA_UNSOLVABLE"},
    {.name = "redirect", .status = 302, .body = ""},
};

static void test_whole_answers(void **state)
{
    (void)state;
    struct verdict_room room;
    verdict_room_init(&room);
    for (size_t i = 0; i < ALD_COUNT(WHOLE_ANSWERS); i++) {
        struct msg_outcome outcome;
        const struct fetch_answer answer = whole(WHOLE_ANSWERS[i].status, WHOLE_ANSWERS[i].body);
        judge(&answer, &room, &outcome);
        print_message("%s\n", WHOLE_ANSWERS[i].name);
        assert_true(outcome.left && outcome.answered);
        assert_int_equal(outcome.http, WHOLE_ANSWERS[i].status);
        assert_int_equal(outcome.took_ms, 12);
        assert_string_equal(outcome.then, ald_then_name(WHOLE_ANSWERS[i].then));
        assert_string_equal(outcome.class_, ald_class_name(WHOLE_ANSWERS[i].cls));
        assert_string_equal(outcome.scope, ald_scope_name(WHOLE_ANSWERS[i].scope));
        assert_int_equal(outcome.block, WHOLE_ANSWERS[i].block);
        assert_int_equal(outcome.wait_ms, WHOLE_ANSWERS[i].wait_ms);
        assert_string_equal(outcome.code, WHOLE_ANSWERS[i].code ? WHOLE_ANSWERS[i].code : "");
        assert_true(ald_span_eq_str(outcome.result,
                                    WHOLE_ANSWERS[i].result ? WHOLE_ANSWERS[i].result : ""));
        assert_true(ald_span_eq_str(outcome.evidence, WHOLE_ANSWERS[i].body));
        assert_string_equal(outcome.error, "");
    }
    verdict_room_free(&room);
}

/* Whatever the bytes of half an answer say, it is not an end. */
static void test_answers_that_are_not_whole(void **state)
{
    (void)state;
    static const struct {
        bool left;
        unsigned status;
        const char *body;
        const char *error;
    } cases[] = {
        {true, 200, "OK|half", "Transferred a partial file"},
        {true, 200, "ERROR_CAPTCHA_UNSOLVABLE", "the answer is too big"},
        {true, 200, "ERROR: 1005", "no whole answer within the time limit"},
        {true, 0, "", "Server returned nothing (no headers, no data)"},
        {false, 0, "", "Couldn't connect to server"}, /* case 15 */
        {false, 0, "", "Couldn't resolve host name"}, /* case 16: no poll was used up */
    };
    struct verdict_room room;
    verdict_room_init(&room);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct msg_outcome outcome;
        const struct fetch_answer answer = {.left = cases[i].left,
                                            .status = cases[i].status,
                                            .body = ald_span_str(cases[i].body),
                                            .error = cases[i].error};
        judge(&answer, &room, &outcome);
        assert_string_equal(outcome.then, "unknown");
        assert_string_equal(outcome.class_, ald_class_name(ALD_CLASS_NONE));
        assert_int_equal(outcome.left, cases[i].left);
        assert_false(outcome.answered || outcome.block || outcome.result_json);
        assert_int_equal(outcome.wait_ms, 0);
        assert_int_equal(outcome.result.len, 0);
        assert_string_equal(outcome.code, "");
        assert_string_equal(outcome.error, cases[i].error);
        assert_int_equal(outcome.http, cases[i].status);
        assert_true(ald_span_eq_str(outcome.evidence, cases[i].body));
    }
    verdict_room_free(&room);
}

static void test_a_huge_result_is_whole_and_its_evidence_cut(void **state)
{
    (void)state;
    enum { SIZE = 900000 };
    char *body = malloc(SIZE + 1);
    memset(body, 'x', SIZE);
    memcpy(body, "OK|", 3);
    body[SIZE] = '\0';
    struct verdict_room room;
    struct msg_outcome outcome;
    verdict_room_init(&room);
    const struct fetch_answer answer = whole(200, body);
    judge(&answer, &room, &outcome);
    assert_string_equal(outcome.then, "done");
    assert_int_equal(outcome.result.len, SIZE - 3);
    assert_memory_equal(outcome.result.data, body + 3, SIZE - 3);
    assert_int_equal(outcome.evidence.len, VERDICT_EVIDENCE_MAX);
    verdict_room_free(&room);
    free(body);
}

static void test_json_results_stay_raw(void **state)
{
    (void)state;
    struct verdict_room room;
    struct msg_outcome outcome;
    verdict_room_init(&room);
    const struct fetch_answer answer =
        whole(200, "{\"status\":1,\"request\":{\"a\": 1.50 , \"b\":[12345678901234567890]}}");
    judge(&answer, &room, &outcome);
    assert_true(outcome.result_json);
    assert_true(ald_span_eq_str(outcome.result, "{\"a\": 1.50 , \"b\":[12345678901234567890]}"));
    verdict_room_free(&room);
}

/* The account's key, said back by the provider, goes no further. */
static void test_the_key_is_blotted_out(void **state)
{
    (void)state;
    static const struct {
        const char *before; /* the key */
        size_t pad;         /* bytes before it */
        const char *evidence_end;
    } cases[] = {
        {"ERROR_KEY ", 0, "ERROR_KEY ****************"},
        {"ERROR_", VERDICT_EVIDENCE_MAX - 12, "xxx******"}, /* the cut goes through it */
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char body[512];
        size_t len = strlen(cases[i].before);
        memcpy(body, cases[i].before, len);
        memset(body + len, 'x', cases[i].pad);
        len += cases[i].pad;
        snprintf(body + len, sizeof body - len, "%s", PROFILE.key);
        struct verdict_room room;
        struct msg_outcome outcome;
        verdict_room_init(&room);
        const struct fetch_answer answer = whole(200, body);
        judge(&answer, &room, &outcome);
        size_t end = strlen(cases[i].evidence_end);
        assert_memory_equal(outcome.evidence.data + outcome.evidence.len - end,
                            cases[i].evidence_end, end);
        assert_null(strstr(outcome.code, PROFILE.key));
        verdict_room_free(&room);
    }
}

/* An outcome travels with others: a code that is not text must not spoil the batch. */
static void test_a_code_is_always_text(void **state)
{
    (void)state;
    struct verdict_room room;
    struct msg_outcome outcome;
    struct ald_buf bytes;
    verdict_room_init(&room);
    ald_buf_init(&bytes, 4096);
    const struct fetch_answer answer = whole(200, "ERROR_\xFF\xFE x");
    judge(&answer, &room, &outcome);
    assert_int_equal(ald_wire_encode(&MSG_OUTCOME, &outcome, &bytes), ALD_OK);
    struct msg_outcome back;
    assert_int_equal(ald_wire_decode(&MSG_OUTCOME, &back, ald_buf_span(&bytes)), ALD_OK);
    assert_string_equal(back.code, "ERROR_?? x");
    ald_buf_free(&bytes);
    verdict_room_free(&room);
}

static void test_a_poll_that_was_not_begun(void **state)
{
    (void)state;
    struct msg_outcome outcome = {.lease = 7, .task = 9};
    verdict_make_unsent("handed back", &outcome);
    assert_false(outcome.left || outcome.answered);
    assert_string_equal(outcome.then, "ignore");
    assert_string_equal(outcome.error, "handed back");
    assert_int_equal(outcome.lease, 7);
}

/* One answer, two tasks: what is told apart, and what the evidence of neither may hold. */
static void test_an_answer_for_several(void **state)
{
    (void)state;
    static const struct {
        const char *name, *body, *then[2], *evidence[2];
        bool answered, alone;
    } cases[] = {
        {"two parts",
         "{\"status\":1,\"request\":\"A|CAPCHA_NOT_READY\"}",
         {"done", "code"},
         {"A", "CAPCHA_NOT_READY"},
         true,
         false},
        {"three parts",
         "{\"status\":1,\"request\":\"A|B|C\"}",
         {"unknown", "unknown"},
         {"", ""},
         true,
         true},
        {"HTML", "<html>", {"unknown", "unknown"}, {"<html>", "<html>"}, true, false},
        {"half of it", "A|B", {"unknown", "unknown"}, {"A|B", "A|B"}, false, false},
        {"a key echoed",
         "{\"status\":1,\"request\":\"x0123456789abcdef|B\"}",
         {"done", "done"},
         {"x****************", "B"},
         true,
         false},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct verdict_room room;
        struct fetch_answer answer = whole(200, cases[i].body);
        answer.answered = cases[i].answered;
        answer.error = cases[i].answered ? "" : "cut off";
        verdict_room_init(&room);
        verdict_read_batch(&PROFILE, &answer, &room, 2);
        for (size_t k = 0; k < 2; k++) {
            struct msg_outcome outcome = {0};
            verdict_make_part(&PROFILE, &answer, &room, k, &outcome);
            assert_string_equal(outcome.then, cases[i].then[k]);
            assert_int_equal(outcome.alone, cases[i].alone);
            assert_int_equal(outcome.answered, cases[i].answered);
            assert_true(outcome.left);
            assert_true(ald_span_eq_str(outcome.evidence, cases[i].evidence[k]));
        }
        verdict_room_free(&room);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_whole_answers),
        cmocka_unit_test(test_answers_that_are_not_whole),
        cmocka_unit_test(test_a_huge_result_is_whole_and_its_evidence_cut),
        cmocka_unit_test(test_json_results_stay_raw),
        cmocka_unit_test(test_the_key_is_blotted_out),
        cmocka_unit_test(test_a_code_is_always_text),
        cmocka_unit_test(test_a_poll_that_was_not_begun),
        cmocka_unit_test(test_an_answer_for_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
