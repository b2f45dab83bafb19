/* What asking for a task takes beside its id: said with the task, kept, and told by answers. */
#include "services/tracker/ways.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/commands.h"
#include "services/tracker/pending_rules.h"
#include "services/tracker/vault/vault_ways.h"
#include "tests/unit/tracker/stage.h"

#define HOST "https://queue.fal.run"

static const char PROFILES[] =
    "far: {extends: fal, secrets: {key: {env: ALD_TEST_KEY}}}\n"
    "op: {extends: azure-lro, secrets: {key: {env: ALD_TEST_KEY}}}\n"
    "named: {codes: {}, poll: {request: {url: \"https://h.example/${param.model}/${id}\"},"
    " params: {n: \"${param.n}\"}, rules: []}}\n"
    "two: {family: inphp, secrets: {key: {env: ALD_TEST_KEY}}, poll: {request: {url: "
    "\"https://two.example/res.php\"}}}\n";

static struct msg_answer answer;
static struct msg_task_view view;

static int setup(void **state)
{
    (void)setenv("ALD_TEST_KEY", "k", 1);
    if (stage_setup(state) != 0)
        return -1;
    stage_restart(*state, PROFILES);
    return 0;
}

static const char *ask(struct stage *stage, const struct msg_register *question)
{
    answer = (struct msg_answer){0};
    view = (struct msg_task_view){0};
    vault_begin(&stage->tracker.vault);
    command_register(&stage->tracker, question, &answer, &view);
    assert_true(tracker_commit(&stage->tracker));
    return answer.rc;
}

/* The task and its way as one line. */
static const char *way_of(struct stage *stage, uint64_t id)
{
    static char line[1024];
    struct ald_buf room;
    struct vault_way way;
    const struct pending_task *task = pending_find(stage->tracker.pending, id);
    ald_buf_init(&room, 8192);
    (void)vault_way_find(&stage->tracker.vault, id, &room, &way);
    (void)snprintf(
        line, sizeof line, "%s %.*s %.*s %.*s", pending_can_poll(task) ? "asked" : "waits",
        (int)way.poll_url.len, (const char *)way.poll_url.data, (int)way.result_url.len,
        (const char *)way.result_url.data, (int)way.params.len, (const char *)way.params.data);
    ald_buf_free(&room);
    return line;
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    const struct msg_register far = {.req = 1,
                                     .provider = "far",
                                     .provider_id = "a1",
                                     .poll_url = HOST "/m/requests/a1/status",
                                     .result_url = HOST "/m/requests/a1"};
    assert_string_equal(ask(stage, &far), "ok");
    uint64_t task = view.task;
    const char *want = "asked " HOST "/m/requests/a1/status " HOST "/m/requests/a1 ";
    assert_string_equal(way_of(stage, task), want);
    stage_restart(stage, PROFILES);
    assert_string_equal(way_of(stage, task), want);
}

/* Without an address there is nothing to ask; the callback may still come. */
static void test_an_address_that_comes_later(void **state)
{
    struct stage *stage = *state;
    struct msg_register far = {.req = 1, .provider = "far", .provider_id = "a1"};
    assert_string_equal(ask(stage, &far), "ok");
    uint64_t task = view.task;
    assert_string_equal(way_of(stage, task), "waits   ");
    stage_pass(200000);
    stage_tick(stage);
    assert_int_equal(pending_find(stage->tracker.pending, task)->phase, PENDING_IDLE);
    struct msg_attach attach = {.req = 2, .task = task, .provider_id = "a1", .poll_url = HOST "/s"};
    vault_begin(&stage->tracker.vault);
    command_attach(&stage->tracker, &attach, &answer, &view);
    assert_true(tracker_commit(&stage->tracker));
    assert_string_equal(answer.rc, "ok");
    assert_string_equal(way_of(stage, task), "asked " HOST "/s  ");
    stage_tick(stage);
    assert_int_equal(pending_find(stage->tracker.pending, task)->phase, PENDING_QUEUED);
    (void)snprintf(far.result_url, sizeof far.result_url, HOST "/r"); /* registered again */
    assert_string_equal(ask(stage, &far), "exists");
    assert_string_equal(way_of(stage, task), "asked " HOST "/s " HOST "/r ");
}

/* Only what polls name is kept of parameters, which may be large. */
static void test_params(void **state)
{
    struct stage *stage = *state;
    const struct msg_register named = {
        .req = 1,
        .provider = "named",
        .provider_id = "1",
        .params = ald_span_str("{\"image\":\"AAAA\",\"model\":\"m\\/1\",\"n\":7.50,\"model\":{}}")};
    assert_string_equal(ask(stage, &named), "ok");
    assert_string_equal(way_of(stage, view.task), "asked   {\"model\":\"m\\/1\",\"n\":7.50}");
}

static void test_ids_that_are_addresses(void **state)
{
    struct stage *stage = *state;
    struct msg_register op = {.req = 1, .provider = "op", .provider_id = "https://h.example/op/1"};
    assert_string_equal(ask(stage, &op), "ok");
    assert_string_equal(way_of(stage, view.task), "asked   ");
    (void)snprintf(op.provider_id, sizeof op.provider_id, "op-2");
    assert_string_equal(ask(stage, &op), "ok");
    assert_string_equal(way_of(stage, view.task), "waits   ");
}

static void test_refused(void **state)
{
    struct stage *stage = *state;
    static const struct {
        const char *provider, *poll_url, *result_url, *params, *says;
    } cases[] = {
        {"far", "https://evil.example/s", "", "", "poll_url must"},
        {"far", "http://queue.fal.run/s", "", "", "poll_url must"},
        {"far", "https://queue.fal.run@evil.example/s", "", "", "poll_url must"},
        {"far", "", "ftp://queue.fal.run/s", "", "result_url must"},
        {"op", "", "https://h.example/r", "", "result_url must"}, /* it has no fetch */
        {"two", "https://two.example/s", "", "", "poll_url must"},
        {"named", "", "", "[1]", "params must be"},
        {"named", "", "", "{\"n\":1} x", "params must be"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct msg_register far = {
            .req = 1, .provider_id = "9", .params = ald_span_str(cases[i].params)};
        (void)snprintf(far.provider, sizeof far.provider, "%s", cases[i].provider);
        (void)snprintf(far.poll_url, sizeof far.poll_url, "%s", cases[i].poll_url);
        (void)snprintf(far.result_url, sizeof far.result_url, "%s", cases[i].result_url);
        if (strcmp(ask(stage, &far), "invalid") != 0 || !strstr(answer.detail, cases[i].says))
            fail_msg("%zu: %s %s", i, answer.rc, answer.detail);
    }
}

/* What an answer tells counts on the host that is asked anyway. */
static void test_told(void **state)
{
    struct stage *stage = *state;
    const struct msg_register op = {
        .req = 1, .provider = "op", .provider_id = "1", .poll_url = "https://h.example/op/1"};
    assert_string_equal(ask(stage, &op), "ok");
    uint64_t task = view.task;
    static const struct {
        const char *told, *want;
    } cases[] = {
        {"https://evil.example/op/2", "asked https://h.example/op/1  "},
        {"http://h.example/op/2", "asked https://h.example/op/1  "},
        {"", "asked https://h.example/op/1  "},
        {"https://h.example/op/2?v=1", "asked https://h.example/op/2?v=1  "},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct msg_outcome outcome = {.left = true,
                                            .answered = true,
                                            .http = 202,
                                            .then = "pending",
                                            .poll_url = ald_span_str(cases[i].told)};
        stage_pass(400000);
        stage_tick(stage);
        assert_int_equal(stage_poll(stage, &outcome), task);
        assert_string_equal(way_of(stage, task), cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_example, setup, stage_teardown),
        cmocka_unit_test_setup_teardown(test_an_address_that_comes_later, setup, stage_teardown),
        cmocka_unit_test_setup_teardown(test_params, setup, stage_teardown),
        cmocka_unit_test_setup_teardown(test_ids_that_are_addresses, setup, stage_teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, stage_teardown),
        cmocka_unit_test_setup_teardown(test_told, setup, stage_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
