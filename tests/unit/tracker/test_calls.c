/* Clients' own questions to the provider: few, within the account's budget and blocks, each
 * answered once, also when nobody has asked in time; part of rule 24 of GUARANTEES.md. */
#include "services/tracker/calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "services/tracker/query.h"
#include "services/tracker/rest.h"
#include "tests/unit/tracker/stage.h"

/* The answers that went out: "rc", or "rc http body". */
static char answers[1024];

void __wrap_query_send(query_t *self, zmsg_t **msg_p);
void __wrap_query_send(query_t *self, zmsg_t **msg_p)
{
    (void)self;
    struct msg_answer head;
    struct msg_reply reply;
    size_t at = strlen(answers);
    (void)zmsg_first(*msg_p); /* who asked */
    zframe_t *frame = zmsg_next(*msg_p);
    assert_int_equal(ald_wire_decode(&MSG_ANSWER, &head, ald_frame_span(frame)), ALD_OK);
    at += (size_t)snprintf(answers + at, sizeof answers - at, "%s%llu %s", at ? ", " : "",
                           (unsigned long long)head.req, head.rc);
    frame = zmsg_next(*msg_p);
    if (frame) {
        assert_int_equal(ald_wire_decode(&MSG_REPLY, &reply, ald_frame_span(frame)), ALD_OK);
        (void)snprintf(answers + at, sizeof answers - at, " %llu%s %.*s",
                       (unsigned long long)reply.http, reply.block ? " block" : "",
                       (int)reply.body.len, (const char *)reply.body.data);
    }
    zmsg_destroy(msg_p);
}

static uint64_t leases;
static uint64_t req;

/* "" when it was taken; else the rc. */
static const char *ask(struct stage *stage, uint64_t task, const char *verb)
{
    static struct msg_answer refusal;
    struct msg_call call = {.req = ++req,
                            .provider = "two",
                            .params = ald_span_str("{\"action\":\"x\"}"),
                            .task = task,
                            .wait_ms = 15000};
    (void)snprintf(call.verb, sizeof call.verb, "%s", verb);
    refusal = (struct msg_answer){0};
    zframe_t *who = zframe_new("w", 1);
    bool taken = calls_ask(stage->tracker.calls, &who, &call, &refusal);
    zframe_destroy(&who);
    return taken ? "" : refusal.rc;
}

static bool lease(struct stage *stage)
{
    struct msg_lease out;
    stage_tick(stage);
    if (!calls_lease(stage->tracker.calls, leases + 1, &out))
        return false;
    leases++;
    assert_true(out.call);
    assert_true(ald_span_eq_str(out.params, "{\"action\":\"x\"}"));
    return true;
}

static const char *tell(struct stage *stage, const struct msg_outcome *said)
{
    struct msg_outcome outcome = *said;
    outcome.call = outcome.left = true;
    outcome.lease = leases;
    vault_begin(&stage->tracker.vault);
    const char *word = calls_outcome(stage->tracker.calls, &outcome);
    assert_true(tracker_commit(&stage->tracker));
    return word;
}

static void begin(struct stage *stage)
{
    answers[0] = '\0';
    req = 0;
    stage->tracker.calls = calls_new(&stage->tracker);
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    begin(stage);
    const struct msg_outcome balance = {
        .then = "unknown", .answered = true, .http = 200, .result = ald_span_str("4.73")};
    assert_string_equal(ask(stage, 0, ""), "");
    const uint64_t last = leases;
    leases = 0; /* of none: it is not handed out yet */
    assert_string_equal(tell(stage, &balance), "duplicate");
    leases = last;
    assert_true(lease(stage));
    assert_false(lease(stage));
    assert_string_equal(tell(stage, &balance), "progress");
    assert_string_equal(answers, "1 ok 200 4.73");
    assert_string_equal(tell(stage, &balance), "duplicate");
    calls_destroy(&stage->tracker.calls);
}

/* Its time is up while it waits, and while a poller has it; the late answer is nobody's. */
static void test_in_time_or_not(void **state)
{
    struct stage *stage = *state;
    begin(stage);
    const struct msg_outcome late = {
        .then = "unknown", .answered = true, .http = 200, .result = ald_span_str("4.73")};
    assert_string_equal(ask(stage, 0, ""), "");
    assert_true(lease(stage));
    assert_string_equal(ask(stage, 0, ""), "");
    stage_pass(14000);
    calls_tick(stage->tracker.calls);
    assert_string_equal(answers, "");
    stage_pass(1000);
    calls_tick(stage->tracker.calls);
    assert_string_equal(answers, "1 busy, 2 busy");
    assert_string_equal(tell(stage, &late), "duplicate");
    assert_false(lease(stage));
    calls_destroy(&stage->tracker.calls);
}

static void test_unanswered_is_told_at_once(void **state)
{
    struct stage *stage = *state;
    begin(stage);
    const struct msg_outcome cut = {.then = "unknown", .error = "the answer ended early"};
    assert_string_equal(ask(stage, 0, ""), "");
    assert_true(lease(stage));
    assert_string_equal(tell(stage, &cut), "progress");
    assert_string_equal(answers, "1 busy");
    calls_destroy(&stage->tracker.calls);
}

/* A ban is the account's: the next waits it out. */
static void test_a_ban_holds_the_account(void **state)
{
    struct stage *stage = *state;
    begin(stage);
    const struct msg_outcome ban = {.then = "code",
                                    .class_ = "transient",
                                    .scope = "account",
                                    .block = true,
                                    .wait_ms = 3000,
                                    .code = "ERROR: 1005",
                                    .answered = true,
                                    .http = 200,
                                    .result = ald_span_str("ERROR: 1005")};
    assert_string_equal(ask(stage, 0, ""), "");
    assert_true(lease(stage));
    assert_string_equal(tell(stage, &ban), "progress");
    assert_string_equal(answers, "1 ok 200 block ERROR: 1005");
    assert_string_equal(ask(stage, 0, ""), "");
    assert_false(lease(stage));
    stage_pass(2900);
    assert_false(lease(stage));
    stage_pass(200);
    assert_true(lease(stage));
    calls_destroy(&stage->tracker.calls);
}

/* The same about a task is said once at a time, and noted when it was said. */
static void test_reports(void **state)
{
    struct stage *stage = *state;
    begin(stage);
    const struct msg_outcome good = {.then = "unknown",
                                     .answered = true,
                                     .http = 200,
                                     .result = ald_span_str("OK_REPORT_RECORDED")};
    uint64_t task = stage_register(stage, "two", "77");
    int64_t notes = stage->tracker.vault.last_note;
    assert_string_equal(ask(stage, task, "reportgood"), "");
    assert_string_equal(ask(stage, task, "reportgood"), "exists");
    assert_string_equal(ask(stage, task, "reportbad"), "");
    assert_true(lease(stage));
    assert_string_equal(tell(stage, &good), "progress");
    assert_int_equal(stage->tracker.vault.last_note, notes + 1);
    calls_destroy(&stage->tracker.calls);
}

#define COUNTED                                                                                    \
    "two: {family: inphp, secrets: {key: {env: ALD_TEST_KEY}}, poll: {request: {url: "             \
    "\"https://h.example/res.php\"}}, budgets: ["                                                  \
    "{name: b, requests: 1, per: 1h, counts: [balance]}, "                                         \
    "{name: r, requests: 1, per: 1h, counts: [report]}, "                                          \
    "{name: p, requests: 1, per: 1h, counts: [poll]}]}\n"

/* What a client asks counts in the budgets that say so, and in no other. */
static void test_budgets_tell_them_apart(void **state)
{
    struct stage *stage = *state;
    const struct msg_outcome good = {
        .then = "unknown", .answered = true, .http = 200, .result = ald_span_str("1")};
    stage_restart(stage, COUNTED);
    begin(stage);
    uint64_t task = stage_register(stage, "two", "77");
    const struct budget *budget =
        &pending_account(stage->tracker.pending, ald_profiles_find(stage->profiles, "two"))->budget;
    static const struct {
        bool report;
        int64_t used[3];
    } steps[] = {{false, {1, 0, 0}}, {true, {1, 1, 0}}};
    for (size_t i = 0; i < ALD_COUNT(steps); i++) {
        uint64_t about = steps[i].report ? task : 0;
        assert_string_equal(ask(stage, about, steps[i].report ? "reportgood" : ""), "");
        assert_true(lease(stage));
        stage_renew(stage, COUNTED); /* it is under way still */
        assert_int_equal(budget_used(budget, steps[i].report, BUDGET_ORDINARY, 0), 1);
        assert_string_equal(tell(stage, &good), "progress");
        assert_string_equal(ask(stage, about, steps[i].report ? "reportbad" : ""), "");
        assert_false(lease(stage)); /* one an hour */
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(budget_used(budget, k, BUDGET_ORDINARY, 0), steps[i].used[k]);
    }
    calls_destroy(&stage->tracker.calls);
}

static void test_bounds(void **state)
{
    struct stage *stage = *state;
    begin(stage);
    for (unsigned i = 0; i < CALLS_MAX; i++)
        assert_string_equal(ask(stage, 0, ""), "");
    assert_string_equal(ask(stage, 0, ""), "full");
    calls_forget(stage->tracker.calls);
    assert_string_equal(answers, "");
    assert_false(lease(stage));
    assert_string_equal(ask(stage, 0, ""), "");
    calls_destroy(&stage->tracker.calls);
}

/* As long as somebody waits the tick does not rest. */
static void test_no_rest_while_somebody_waits(void **state)
{
    struct stage *stage = *state;
    begin(stage);
    const struct msg_outcome balance = {
        .then = "unknown", .answered = true, .http = 200, .result = ald_span_str("4.73")};
    assert_int_equal(calls_rest_ms(stage->tracker.calls), REST_NOTHING);
    assert_string_equal(ask(stage, 0, ""), "");
    assert_int_equal(calls_rest_ms(stage->tracker.calls), 0);
    assert_true(lease(stage));
    assert_int_equal(calls_rest_ms(stage->tracker.calls), 0);
    assert_string_equal(tell(stage, &balance), "progress");
    assert_int_equal(calls_rest_ms(stage->tracker.calls), REST_NOTHING);
    calls_destroy(&stage->tracker.calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_STAGE(test_example),
                                       ON_STAGE(test_in_time_or_not),
                                       ON_STAGE(test_unanswered_is_told_at_once),
                                       ON_STAGE(test_a_ban_holds_the_account),
                                       ON_STAGE(test_reports),
                                       ON_STAGE(test_budgets_tell_them_apart),
                                       ON_STAGE(test_bounds),
                                       ON_STAGE(test_no_rest_while_somebody_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
