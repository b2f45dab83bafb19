/* Callers' own pingbacks: due with the end and not before, again until taken, over restarts; part
 * of rule 24 of GUARANTEES.md. */
#include "services/tracker/pushes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/commands.h"
#include "tests/unit/tracker/stage.h"

static uint64_t leases, newest; /* as given out */

static uint64_t place(struct stage *stage, bool json)
{
    struct msg_answer answer = {0};
    struct msg_task_view view = {0};
    struct msg_register ask = {.provider = "two", .provider_id = "77", .pingback_json = json};
    (void)snprintf(ask.pingback, sizeof ask.pingback, "http://client.example/done?a=1");
    vault_begin(&stage->tracker.vault);
    command_register(&stage->tracker, &ask, &answer, &view);
    assert_true(tracker_commit(&stage->tracker));
    assert_string_equal(answer.rc, "ok");
    return view.task;
}

static void begin(void *context, zmsg_t **msg)
{
    (void)context;
    if (!*msg)
        *msg = zmsg_new();
}

/* The bodies that pollers get now, joined by spaces. */
static const char *lease(struct stage *stage)
{
    static char bodies[1024];
    zmsg_t *msg = NULL;
    bodies[0] = '\0';
    stage_tick(stage);
    size_t count = pushes_lease(stage->tracker.pushes, &leases, 10, &msg, begin, NULL);
    for (zframe_t *frame = msg ? zmsg_first(msg) : NULL; frame; frame = zmsg_next(msg), count--) {
        struct msg_lease got;
        assert_int_equal(ald_wire_decode(&MSG_LEASE, &got, ald_frame_span(frame)), ALD_OK);
        assert_true(got.push);
        newest = got.lease;
        assert_true(ald_span_eq_str(got.poll_url, "http://client.example/done?a=1"));
        size_t at = strlen(bodies);
        (void)snprintf(bodies + at, sizeof bodies - at, "%s%.*s", at ? " " : "", (int)got.body.len,
                       (const char *)got.body.data);
    }
    assert_int_equal(count, 0);
    zmsg_destroy(&msg);
    return bodies;
}

static const char *tell_outcome(struct stage *stage, const struct msg_outcome *outcome)
{
    vault_begin(&stage->tracker.vault);
    const char *said = pushes_outcome(stage->tracker.pushes, outcome);
    assert_true(tracker_commit(&stage->tracker));
    return said;
}

static const char *tell(struct stage *stage, uint64_t task, uint64_t http)
{
    struct msg_outcome outcome = {.lease = newest,
                                  .task = task,
                                  .push = true,
                                  .left = http != 0,
                                  .answered = http != 0,
                                  .http = http};
    return tell_outcome(stage, &outcome);
}

/* It was never sent. */
static const char *hand_back(struct stage *stage, uint64_t task)
{
    struct msg_outcome outcome = {.lease = newest, .task = task, .push = true, .class_ = "none"};
    return tell_outcome(stage, &outcome);
}

static void start(struct stage *stage)
{
    pushes_destroy(&stage->tracker.pushes);
    stage->tracker.pushes = pushes_new(&stage->tracker);
}

static void kill_it(struct stage *stage)
{
    pushes_destroy(&stage->tracker.pushes);
    stage_restart(stage, NULL);
    start(stage);
}

static void finish(struct stage *stage, uint64_t task)
{
    const struct stage_callback callback = {.task = task, .query = "id=77&code=a%2Bb"};
    assert_string_equal(stage_take(stage, &callback).disposition, "applied");
}

static const char *form(uint64_t task, const char *code)
{
    static char text[128];
    (void)snprintf(text, sizeof text, "id=%llu&code=%s", (unsigned long long)task, code);
    return text;
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    start(stage);
    uint64_t task = place(stage, false);
    assert_string_equal(lease(stage), "");
    finish(stage, task);
    assert_string_equal(lease(stage), form(task, "a%2Bb"));
    assert_string_equal(tell(stage, task, 204), "applied");
    stage_pass(STAGE_HOUR);
    assert_string_equal(lease(stage), "");
    assert_string_equal(tell(stage, task, 204), "duplicate");
    pushes_destroy(&stage->tracker.pushes);
}

/* In the manner that its client speaks, also of an end without a result. */
static void test_without_a_result(void **state)
{
    struct stage *stage = *state;
    start(stage);
    uint64_t task = place(stage, true);
    char want[160];
    (void)snprintf(want, sizeof want,
                   "{\"errorId\":12,\"errorCode\":\"ERROR_CAPTCHA_UNSOLVABLE\",\"taskId\":%llu}",
                   (unsigned long long)task);
    stage_cancel(stage, task);
    assert_string_equal(lease(stage), want);
    pushes_destroy(&stage->tracker.pushes);
}

/* A kill before the end, after it, and while a poller has it. */
static void test_kills(void **state)
{
    struct stage *stage = *state;
    start(stage);
    uint64_t task = place(stage, false);
    kill_it(stage);
    finish(stage, task);
    kill_it(stage);
    assert_string_equal(lease(stage), form(task, "a%2Bb"));
    assert_string_equal(lease(stage), "");
    kill_it(stage);
    assert_string_equal(lease(stage), form(task, "a%2Bb"));
    assert_string_equal(tell(stage, task, 200), "applied");
    kill_it(stage);
    assert_string_equal(lease(stage), "");
    pushes_destroy(&stage->tracker.pushes);
}

/* Each time later, and not for ever. */
static void test_until_it_is_given_up(void **state)
{
    struct stage *stage = *state;
    start(stage);
    uint64_t task = place(stage, false);
    finish(stage, task);
    static const uint64_t answers[] = {0, 500, 404, 301};
    for (unsigned i = 0; i < PUSHES_TRIES_MAX; i++) {
        assert_string_equal(lease(stage), form(task, "a%2Bb"));
        assert_string_equal(tell(stage, task, answers[i % ALD_COUNT(answers)]), "progress");
        assert_string_equal(lease(stage), "");
        stage_pass(PUSHES_WAIT_MAX_MS + PUSHES_WAIT_MAX_MS / 4);
    }
    assert_string_equal(lease(stage), "");
    assert_string_equal(tell(stage, task, 200), "duplicate");
    pushes_destroy(&stage->tracker.pushes);
}

/* What no poller has sent is no try, however often it comes back; it waits a little each time. */
static void test_handed_back(void **state)
{
    struct stage *stage = *state;
    start(stage);
    uint64_t task = place(stage, false);
    finish(stage, task);
    for (unsigned i = 0; i < 50; i++) {
        assert_string_equal(lease(stage), form(task, "a%2Bb"));
        assert_string_equal(hand_back(stage, task), "progress");
        assert_string_equal(lease(stage), "");
        stage_pass(STAGE_HOUR);
    }
    assert_string_equal(lease(stage), form(task, "a%2Bb"));
    assert_string_equal(tell(stage, task, 204), "applied");
    pushes_destroy(&stage->tracker.pushes);
}

/* A poller that was given up tells late that it failed: another one has it, and goes on. */
static void test_an_outcome_of_a_lease_that_is_over(void **state)
{
    struct stage *stage = *state;
    start(stage);
    uint64_t task = place(stage, false);
    finish(stage, task);
    assert_string_equal(lease(stage), form(task, "a%2Bb"));
    const struct msg_outcome late = {.lease = newest - 1, .task = task, .push = true, .left = true};
    assert_string_equal(tell_outcome(stage, &late), "duplicate");
    assert_string_equal(lease(stage), ""); /* it is out still */
    const struct msg_outcome taken = {.lease = newest - 1,
                                      .task = task,
                                      .push = true,
                                      .left = true,
                                      .answered = true,
                                      .http = 200};
    assert_string_equal(tell_outcome(stage, &taken), "applied"); /* a fact, whoever tells it */
    assert_string_equal(tell(stage, task, 500), "duplicate");
    pushes_destroy(&stage->tracker.pushes);
}

static void give_up(struct stage *stage, uint64_t task)
{
    for (unsigned i = 0; i < PUSHES_TRIES_MAX; i++) {
        assert_string_equal(lease(stage), form(task, "a%2Bb"));
        assert_string_equal(tell(stage, task, 500), "progress");
        stage_pass(PUSHES_WAIT_MAX_MS + PUSHES_WAIT_MAX_MS / 4);
    }
    assert_string_equal(lease(stage), "");
}

/* What was given up is a letter that holds it: each re-injection is one more try, the caller's 2xx
 * closes it, and there is one letter however often it fails. */
static void test_rule_7_a_letter_sends_it_again(void **state)
{
    struct stage *stage = *state;
    const struct stage_again again = {.by_person = true};
    start(stage);
    uint64_t task = place(stage, false);
    struct msg_letter letter;
    finish(stage, task);
    assert_false(stage_letter(stage, &letter));
    give_up(stage, task);
    assert_true(stage_letter(stage, &letter));
    assert_string_equal(letter.reason, "consumer_rejected");
    assert_string_equal(letter.provider, "two");
    assert_string_equal(letter.provider_id, "77");
    assert_int_equal(letter.task, task);
    assert_non_null(strstr(letter.cause, "12 tries; at last: http=500"));
    for (unsigned i = 0; i < 3; i++) {
        struct msg_ack said = stage_reinject(stage, &again);
        assert_string_equal(said.disposition, "still");
        assert_string_equal(said.reason, "consumer_rejected");
        assert_string_equal(stage_reinject(stage, &again).disposition, "still"); /* under way */
        if (i == 1) {
            stage_stop(stage); /* so that service time goes on */
            kill_it(stage);
        }
        assert_string_equal(lease(stage), form(task, "a%2Bb"));
        if (i == 2)
            break;
        assert_string_equal(tell(stage, task, 0), "progress");
        stage_pass(STAGE_HOUR);
        assert_string_equal(lease(stage), "");
        assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 1);
        assert_int_equal(stage_book(stage, BOOK_LETTERS_RESOLVED), 0);
    }
    assert_string_equal(tell(stage, task, 200), "applied");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_RESOLVED), 1);
    stage_pass(STAGE_HOUR);
    assert_string_equal(lease(stage), "");
    pushes_destroy(&stage->tracker.pushes);
}

/* A person drops it: it is not sent, also when a try is under way. */
static void test_a_dropped_letter(void **state)
{
    struct stage *stage = *state;
    start(stage);
    uint64_t task = place(stage, false);
    struct msg_letter letter;
    finish(stage, task);
    give_up(stage, task);
    assert_true(stage_letter(stage, &letter));
    assert_string_equal(stage_reinject(stage, &(struct stage_again){0}).disposition, "still");
    assert_string_equal(lease(stage), form(task, "a%2Bb"));
    (void)stage_close(stage, letter.letter);
    assert_string_equal(tell(stage, task, 500), "duplicate");
    stage_pass(STAGE_HOUR);
    assert_string_equal(lease(stage), "");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_DROPPED), 1);
    pushes_destroy(&stage->tracker.pushes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_STAGE(test_example),
                                       ON_STAGE(test_without_a_result),
                                       ON_STAGE(test_kills),
                                       ON_STAGE(test_handed_back),
                                       ON_STAGE(test_an_outcome_of_a_lease_that_is_over),
                                       ON_STAGE(test_until_it_is_given_up),
                                       ON_STAGE(test_rule_7_a_letter_sends_it_again),
                                       ON_STAGE(test_a_dropped_letter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
