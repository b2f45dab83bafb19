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

static uint64_t leases;

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
        assert_true(ald_span_eq_str(got.poll_url, "http://client.example/done?a=1"));
        size_t at = strlen(bodies);
        (void)snprintf(bodies + at, sizeof bodies - at, "%s%.*s", at ? " " : "", (int)got.body.len,
                       (const char *)got.body.data);
    }
    assert_int_equal(count, 0);
    zmsg_destroy(&msg);
    return bodies;
}

static const char *tell(struct stage *stage, uint64_t task, uint64_t http)
{
    struct msg_outcome outcome = {
        .task = task, .push = true, .left = http != 0, .answered = http != 0, .http = http};
    vault_begin(&stage->tracker.vault);
    const char *said = pushes_outcome(stage->tracker.pushes, &outcome);
    assert_true(tracker_commit(&stage->tracker));
    return said;
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

int main(void)
{
    const struct CMUnitTest tests[] = {ON_STAGE(test_example), ON_STAGE(test_without_a_result),
                                       ON_STAGE(test_kills), ON_STAGE(test_until_it_is_given_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
