/* What is done about submissions, over a real store: every step, with a kill after it. Rules 2, 10,
 * 15, 16 and 22 of GUARANTEES.md, as far as they are one process. */
#include "tests/unit/tracker/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "services/tracker/acts.h"
#include "services/tracker/acts_submit.h"
#include "services/tracker/commands.h"
#include "services/tracker/pending_submit.h"
#include "services/tracker/vault_letters.h"
#include "services/tracker/vault_submits.h"

static const char SHOP[] =
    "two: {secrets: {key: {env: ALD_TEST_KEY}}, id: {pattern: \"^[0-9]+$\"}, codes: {_default: "
    "{class: unknown}}, submit: {request: {method: POST, url: \"https://h.example/in\", encode: "
    "form}, callback_param: {in: body, name: cb}, rules: []}, poll: {request: {method: GET, url: "
    "\"https://h.example/r\"}, schedule: {first_after: 10s, every: 5s, max_every: 60s, jitter: 0%, "
    "give_up_after: 600s}, rules: []}, callback: {id: {value: id}, trust: token, auth: {url_token: "
    "path}, rules: [{when: [{value: code, is: nonempty}], then: done, result: {value: code}}, "
    "{when: [], then: hint}]}}\n";

enum { DAY = 24 * STAGE_HOUR, LEASE = 30000, GIVE_UP = 600000 };

static int shop_setup(void **state)
{
    int rc = stage_setup(state);
    if (rc == 0)
        stage_restart(*state, SHOP);
    return rc;
}

static void begin(struct stage *stage)
{
    stage_tick(stage); /* brings the clocks along */
    vault_begin(&stage->tracker.vault);
}

static void commit(struct stage *stage)
{
    assert_true(tracker_commit(&stage->tracker));
}

static struct msg_answer answered;

static uint64_t order(struct stage *stage, const char *key, const char *ticket)
{
    struct msg_register ask = {.req = 1,
                               .submission = ald_span_str("{\"params\":{\"a\":1}}"),
                               .base = "https://cb.example"};
    struct msg_task_view view = {0};
    ald_text_cut(ask.provider, sizeof ask.provider, ald_span_str("two"));
    ald_text_cut(ask.key, sizeof ask.key, ald_span_str(key));
    ald_text_cut(ask.ticket, sizeof ask.ticket, ald_span_str(ticket));
    answered = (struct msg_answer){0};
    begin(stage);
    command_register(&stage->tracker, &ask, &answered, &view);
    commit(stage);
    return view.task;
}

static uint64_t leases;

/* The task that is handed out, 0 = none. The lease is `leases`. */
static uint64_t hand_out(struct stage *stage)
{
    stage_tick(stage);
    struct tracker *tracker = &stage->tracker;
    const struct pending_task *task =
        pending_lease(tracker->pending, 1, ++leases, tracker_now(tracker).run_ms);
    return task ? task->id : 0;
}

static const char *start(struct stage *stage, uint64_t task, uint64_t attempt, uint64_t lease)
{
    static struct msg_ack ack;
    const struct msg_started started = {.num = 1, .task = task, .attempt = attempt, .lease = lease};
    ack = (struct msg_ack){0};
    begin(stage);
    act_started(&stage->tracker, &started, &ack);
    commit(stage);
    return ack.disposition;
}

static const char *report(struct stage *stage, uint64_t task, uint64_t attempt, uint64_t lease,
                          const struct msg_outcome *outcome)
{
    static struct msg_ack ack;
    struct msg_outcome told = *outcome;
    told.num = 2;
    told.task = task;
    told.attempt = attempt;
    told.lease = lease;
    ald_text_cut(told.provider, sizeof told.provider, ald_span_str("two"));
    ack = (struct msg_ack){0};
    begin(stage);
    act_outcome(&stage->tracker, &told, &ack);
    commit(stage);
    return ack.disposition;
}

static const struct msg_outcome accepted = {
    .left = true, .answered = true, .then = "accepted", .provider_id = "77"};
static const struct msg_outcome silence = {.left = true, .then = "unknown", .error = "cut"};
static const struct msg_outcome refused = {
    .left = true, .answered = true, .then = "code", .class_ = "permanent", .code = "ERROR_X"};
static const struct msg_outcome busy = {.left = true,
                                        .answered = true,
                                        .then = "code",
                                        .class_ = "transient",
                                        .scope = "account",
                                        .code = "ERROR_BUSY",
                                        .wait_ms = 20000};
static const struct msg_outcome unsent = {.then = "unknown", .error = "refused"};

static enum ald_state state_of(struct stage *stage, uint64_t task)
{
    const struct pending_task *open = pending_find(stage->tracker.pending, task);
    assert_non_null(open);
    return pending_state(open);
}

static const char *id_of(struct stage *stage, uint64_t task)
{
    static struct vault_end end;
    const struct pending_task *open = pending_find(stage->tracker.pending, task);
    if (open)
        return open->provider_id;
    assert_true(
        vault_end_find(&stage->tracker.vault, task, tracker_tail_seq(&stage->tracker, task), &end));
    return end.provider_id;
}

static const char *code_of(struct stage *stage, uint64_t task)
{
    static char code[64];
    ald_stmt_t *stmt = NULL;
    assert_int_equal(ald_store_prepare(stage->tracker.vault.store,
                                       "SELECT code FROM results WHERE task = ?1", &stmt),
                     ALD_OK);
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    assert_int_equal(ald_stmt_step(stmt), ALD_OK);
    ald_text_cut(code, sizeof code, ald_stmt_text(stmt, 0));
    ald_stmt_reset(stmt);
    return code;
}

/* The letters of a task, such as "submit_uncertain:open". */
static const char *letters_of(struct stage *stage, uint64_t task)
{
    static char text[256];
    static const char *const states[] = {"open", "resolved", "dropped"};
    ald_stmt_t *stmt = NULL;
    text[0] = '\0';
    assert_int_equal(ald_store_prepare(stage->tracker.vault.store,
                                       "SELECT reason, state FROM letters WHERE task = ?1 AND "
                                       "task <> 0 ORDER BY letter",
                                       &stmt),
                     ALD_OK);
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    while (ald_stmt_step(stmt) == ALD_OK) {
        size_t at = strlen(text);
        (void)snprintf(text + at, sizeof text - at, "%s%s:%s", at ? " " : "",
                       ald_reason_name((enum ald_reason)ald_stmt_i64(stmt, 0)),
                       states[ald_stmt_i64(stmt, 1)]);
    }
    ald_stmt_reset(stmt);
    return text;
}

static bool kept(struct stage *stage, uint64_t task)
{
    char base[ALD_BASE_MAX];
    struct ald_buf body;
    ald_buf_init(&body, ALD_SUBMISSION_MAX);
    (void)vault_submit_job(&stage->tracker.vault, task, base, &body);
    bool any = body.len > 0;
    ald_buf_free(&body);
    return any;
}

/* Ordered, handed out, started as attempt 1 of the lease `leases`. */
static uint64_t under_way(struct stage *stage)
{
    uint64_t task = order(stage, "", "");
    assert_int_equal(hand_out(stage), task);
    assert_string_equal(start(stage, task, 1, leases), "applied");
    return task;
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    uint64_t task = order(stage, "", "");
    assert_int_equal(state_of(stage, task), ALD_STATE_ACCEPTED);
    assert_true(kept(stage, task));
    assert_int_equal(hand_out(stage), task);
    assert_string_equal(start(stage, task, 1, leases), "applied");
    assert_int_equal(state_of(stage, task), ALD_STATE_SUBMITTING);
    assert_string_equal(report(stage, task, 1, leases, &accepted), "progress");
    assert_int_equal(state_of(stage, task), ALD_STATE_PENDING);
    assert_string_equal(id_of(stage, task), "77");
    assert_false(kept(stage, task));
    const struct stage_callback callback = {.task = task, .query = "id=77&code=A"};
    assert_string_equal(stage_take(stage, &callback).disposition, "applied");
    assert_string_equal(stage_state(stage, task), "done callback");
    assert_string_equal(letters_of(stage, task), "");
}

/* Rule 2: killed between any two steps. A lease that was not started is handed out again under a
 * new lease, and the old one has lost its right; one that was started keeps it, and is never handed
 * out again. */
static void test_rule_2_killed_at_each_step(void **state)
{
    struct stage *stage = *state;
    uint64_t task = order(stage, "", "");
    stage_restart(stage, NULL);
    assert_int_equal(hand_out(stage), task);
    uint64_t first = leases;
    stage_restart(stage, NULL);
    assert_string_equal(start(stage, task, 1, first), "duplicate");
    assert_int_equal(hand_out(stage), task);
    assert_string_equal(start(stage, task, 1, first), "duplicate");
    assert_string_equal(start(stage, task, 1, leases), "applied");
    uint64_t second = leases;
    stage_restart(stage, NULL);
    assert_int_equal(state_of(stage, task), ALD_STATE_SUBMITTING);
    assert_int_equal(hand_out(stage), 0);
    assert_string_equal(start(stage, task, 1, second), "applied"); /* its answer was lost */
    assert_string_equal(report(stage, task, 1, second, &accepted), "progress");
    stage_restart(stage, NULL);
    assert_string_equal(report(stage, task, 1, second, &accepted), "duplicate");
    assert_string_equal(id_of(stage, task), "77");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 0);
}

/* Rule 2: a poller that stood still reports nothing about a lease that was never its to start. */
static void test_rule_2_a_lease_that_was_taken_over(void **state)
{
    struct stage *stage = *state;
    uint64_t task = order(stage, "", "");
    assert_int_equal(hand_out(stage), task);
    uint64_t old = leases;
    stage_pass(LEASE);
    assert_int_equal(hand_out(stage), task);
    assert_string_equal(start(stage, task, 1, leases), "applied");
    const struct msg_outcome back = {.then = "ignore", .error = "handed back"};
    assert_string_equal(report(stage, task, 1, old, &back), "duplicate");
    assert_int_equal(state_of(stage, task), ALD_STATE_SUBMITTING);
    assert_int_equal(hand_out(stage), 0);
    assert_string_equal(report(stage, task, 1, leases - 1, &accepted), "progress");
}

/* Rules 2 and 10: silence is uncertain, says so at once, and is not sent again. The answer, by
 * whatever way, closes the letter. */
static void test_rule_10_uncertain_and_its_ends(void **state)
{
    struct stage *stage = *state;
    static const char *const ways[] = {"callback", "report", "never left", "attach", "cancel"};
    for (size_t i = 0; i < ALD_COUNT(ways); i++) {
        print_message("%s\n", ways[i]);
        uint64_t task = under_way(stage);
        uint64_t lease = leases;
        stage_pass(LEASE);
        assert_int_equal(hand_out(stage), 0);
        assert_int_equal(state_of(stage, task), ALD_STATE_SUBMITTING);
        assert_string_equal(letters_of(stage, task), "submit_uncertain:open");
        stage_stop(stage); /* so that service time goes on */
        stage_restart(stage, NULL);
        assert_string_equal(start(stage, task, 1, lease), "duplicate");
        assert_string_equal(report(stage, task, 1, lease, &silence), "progress");
        assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), i + 1);
        char query[64];
        char id[16];
        struct msg_outcome late = accepted;
        (void)snprintf(id, sizeof id, "%zu", 100 + i);
        (void)snprintf(query, sizeof query, "id=%s&code=A", id);
        (void)snprintf(late.provider_id, sizeof late.provider_id, "%s", id);
        const struct stage_callback callback = {.task = task, .query = query};
        if (i == 0)
            assert_string_equal(stage_take(stage, &callback).disposition, "applied");
        else if (i == 1)
            assert_string_equal(report(stage, task, 1, lease, &late), "progress");
        else if (i == 2)
            assert_string_equal(report(stage, task, 1, lease, &unsent), "progress");
        else if (i == 3)
            assert_string_equal(stage_attach(stage, task, id), "ok");
        else
            stage_cancel(stage, task);
        assert_string_equal(letters_of(stage, task),
                            i == 4 ? "submit_uncertain:dropped" : "submit_uncertain:resolved");
        assert_string_equal(id_of(stage, task), i == 2 || i == 4 ? "" : id);
        stage_pass(60000);
        assert_int_equal(hand_out(stage) == task, i == 2 || i == 1 || i == 3);
        if (i == 0 || i == 4)
            continue;
        assert_int_equal(state_of(stage, task), i == 2 ? ALD_STATE_ACCEPTED : ALD_STATE_PENDING);
        stage_cancel(stage, task);
    }
}

/* Rule 10: without an answer it expires, once, with a code that says why, and keeps its letter. A
 * receipt that comes still later fills the id of the ended task. */
static void test_rule_10_expired_and_a_late_receipt(void **state)
{
    struct stage *stage = *state;
    uint64_t task = under_way(stage);
    uint64_t lease = leases;
    assert_string_equal(report(stage, task, 1, lease, &silence), "progress");
    (void)stage_gateway(stage);
    stage_pass(GIVE_UP - 1);
    stage_tick(stage);
    assert_int_equal(state_of(stage, task), ALD_STATE_SUBMITTING);
    stage_pass(1);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, task), "expired manual");
    assert_string_equal(code_of(stage, task), "submit_uncertain");
    assert_string_equal(letters_of(stage, task), "submit_uncertain:open");
    assert_string_equal(report(stage, task, 1, lease, &accepted), "progress");
    assert_string_equal(id_of(stage, task), "77");
    assert_int_equal(vault_ref_find(&stage->tracker.vault, "two", "77"), task);
    assert_string_equal(report(stage, task, 1, lease, &accepted), "duplicate");
    assert_int_equal(stage_book(stage, BOOK_STATE + ALD_STATE_EXPIRED), 1);
}

/* A callback that names its id by the token's URL, and ends nothing, is a receipt as well. */
static void test_rule_10_a_callback_that_names_the_id(void **state)
{
    struct stage *stage = *state;
    uint64_t task = under_way(stage);
    assert_string_equal(report(stage, task, 1, leases, &silence), "progress");
    const struct stage_callback thin = {.task = task, .query = "id=77"};
    assert_string_equal(stage_take(stage, &thin).disposition, "progress");
    assert_int_equal(state_of(stage, task), ALD_STATE_PENDING);
    assert_string_equal(letters_of(stage, task), "submit_uncertain:resolved");
    const struct stage_callback other = {.task = task, .query = "id=78&code=A"};
    assert_string_equal(stage_take(stage, &other).disposition, "dead");
    assert_string_equal(letters_of(stage, task), "submit_uncertain:resolved conflict:open");
}

/* The callback is earlier than the answer to the submission, or than its start's report. */
static void test_early_callbacks(void **state)
{
    struct stage *stage = *state;
    uint64_t task = under_way(stage);
    const struct stage_callback callback = {.task = task, .query = "code=A"};
    assert_string_equal(stage_take(stage, &callback).disposition, "applied");
    assert_string_equal(stage_state(stage, task), "done callback");
    assert_string_equal(id_of(stage, task), "");
    assert_string_equal(report(stage, task, 1, leases, &accepted), "progress");
    assert_string_equal(id_of(stage, task), "77");
    assert_false(kept(stage, task));
    /* By the common address: it waits for the id. */
    task = under_way(stage);
    const struct stage_callback bare = {.query = "id=78&code=B"};
    assert_string_equal(stage_take(stage, &bare).disposition, "parked");
    struct msg_outcome other = accepted;
    (void)snprintf(other.provider_id, sizeof other.provider_id, "78");
    assert_string_equal(report(stage, task, 1, leases, &other), "progress");
    assert_int_equal(stage_disposition(stage, ALD_DISP_PARKED), 0);
}

/* Refusals for now: again, each under its own attempt; the report of one is taken once. */
static void test_again(void **state)
{
    struct stage *stage = *state;
    uint64_t task = under_way(stage);
    uint64_t first = leases;
    assert_string_equal(report(stage, task, 1, first, &busy), "progress");
    assert_string_equal(report(stage, task, 1, first, &busy), "duplicate");
    assert_int_equal(state_of(stage, task), ALD_STATE_ACCEPTED);
    stage_restart(stage, NULL);
    assert_string_equal(report(stage, task, 1, first, &silence), "duplicate");
    assert_int_equal(hand_out(stage), 0);
    stage_pass(20000);
    assert_int_equal(hand_out(stage), task);
    assert_string_equal(start(stage, task, 1, first), "duplicate");
    assert_string_equal(start(stage, task, 2, leases), "applied");
    assert_string_equal(report(stage, task, 2, leases, &unsent), "progress");
    stage_pass(60000);
    assert_int_equal(hand_out(stage), task);
    assert_string_equal(start(stage, task, 3, leases), "applied");
    assert_string_equal(report(stage, task, 3, leases, &accepted), "progress");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 0);
}

static void test_refused_for_good(void **state)
{
    struct stage *stage = *state;
    uint64_t task = under_way(stage);
    assert_string_equal(report(stage, task, 1, leases, &refused), "applied");
    assert_string_equal(stage_state(stage, task), "failed submit");
    assert_string_equal(code_of(stage, task), "ERROR_X");
    assert_string_equal(letters_of(stage, task), "submit_failed:open");
    assert_false(kept(stage, task));
}

static void test_done_at_submit(void **state)
{
    struct stage *stage = *state;
    uint64_t task = under_way(stage);
    struct msg_outcome done = accepted;
    (void)snprintf(done.then, sizeof done.then, "done_at_submit");
    done.result = ald_span_str("A");
    assert_string_equal(report(stage, task, 1, leases, &done), "applied");
    assert_string_equal(stage_state(stage, task), "done submit");
    assert_string_equal(id_of(stage, task), "77");
    const struct stage_callback callback = {.task = task, .query = "id=77&code=A"};
    assert_string_equal(stage_take(stage, &callback).disposition, "duplicate");
}

/* Rule 15: what was not submitted in a day fails, also while the account is blocked; time in which
 * the tracker was down does not count. */
static void test_rule_15_never_submitted(void **state)
{
    struct stage *stage = *state;
    uint64_t task = under_way(stage);
    struct msg_outcome banned = busy;
    banned.block = true;
    banned.wait_ms = 10 * DAY;
    assert_string_equal(report(stage, task, 1, leases, &banned), "progress");
    (void)stage_gateway(stage);
    stage_pass(DAY - 1000);
    assert_int_equal(hand_out(stage), 0);
    stage_stop(stage);
    stage_restart(stage, NULL);
    assert_int_equal(hand_out(stage), 0);
    assert_int_equal(state_of(stage, task), ALD_STATE_ACCEPTED);
    (void)stage_gateway(stage);
    stage_pass(1000);
    assert_int_equal(hand_out(stage), 0);
    assert_string_equal(stage_state(stage, task), "failed submit");
    assert_string_equal(code_of(stage, task), "not_submitted");
    assert_string_equal(letters_of(stage, task), "submit_failed:open");
}

/* Rule 16: the provider gives the id of a task that is open. Which of the two it means is not
 * known; nothing of the other one is touched. */
static void test_rule_16_an_id_that_is_taken(void **state)
{
    struct stage *stage = *state;
    uint64_t other = stage_register(stage, "two", "77");
    uint64_t task = under_way(stage);
    assert_string_equal(report(stage, task, 1, leases, &accepted), "progress");
    assert_int_equal(state_of(stage, task), ALD_STATE_SUBMITTING);
    assert_string_equal(letters_of(stage, task), "submit_uncertain:open");
    assert_string_equal(id_of(stage, other), "77");
    const struct stage_callback callback = {.task = task, .query = "code=A"};
    assert_string_equal(stage_take(stage, &callback).disposition, "applied");
    assert_string_equal(letters_of(stage, task), "submit_uncertain:resolved");
    /* The id of one that has ended is free again. */
    stage_cancel(stage, other);
    task = under_way(stage);
    assert_string_equal(report(stage, task, 1, leases, &accepted), "progress");
    assert_int_equal(vault_ref_find(&stage->tracker.vault, "two", "77"), task);
}

static const char *withdraw(struct stage *stage, const char *ticket)
{
    static struct msg_answer answer;
    struct msg_withdraw ask = {.req = 1};
    struct msg_task_view view = {0};
    answer = (struct msg_answer){0};
    ald_text_cut(ask.ticket, sizeof ask.ticket, ald_span_str(ticket));
    begin(stage);
    command_withdraw(&stage->tracker, &ask, &answer, &view);
    commit(stage);
    return answer.rc;
}

/* Rule 22: who has no answer takes it back, as long as nothing can have been sent. */
static void test_rule_22_withdrawn(void **state)
{
    struct stage *stage = *state;
    uint64_t task = order(stage, "", "T1");
    assert_string_equal(withdraw(stage, "T0"), "notfound");
    assert_string_equal(withdraw(stage, ""), "notfound");
    assert_int_equal(hand_out(stage), task); /* leased is not started */
    uint64_t lease = leases;
    stage_restart(stage, NULL);
    assert_string_equal(withdraw(stage, "T1"), "ok");
    assert_string_equal(stage_state(stage, task), "cancelled manual");
    assert_string_equal(start(stage, task, 1, lease), "duplicate");
    assert_string_equal(withdraw(stage, "T1"), "notfound");
    task = order(stage, "", "T2");
    assert_int_equal(hand_out(stage), task);
    assert_string_equal(start(stage, task, 1, leases), "applied");
    assert_string_equal(withdraw(stage, "T2"), "exists");
    assert_int_equal(state_of(stage, task), ALD_STATE_SUBMITTING);
}

/* Rule 22: the key gives the same task, before, while and after it was submitted. */
static void test_rule_22_keys(void **state)
{
    struct stage *stage = *state;
    uint64_t task = order(stage, "k", "");
    assert_string_equal(answered.rc, "ok");
    assert_int_equal(order(stage, "k", ""), task);
    assert_string_equal(answered.rc, "exists");
    assert_int_equal(hand_out(stage), task);
    stage_restart(stage, NULL);
    assert_int_equal(order(stage, "k", ""), task);
    assert_int_equal(hand_out(stage), task);
    assert_int_equal(hand_out(stage), 0);
}

/* Somebody else has submitted it: it is not submitted any more. */
static void test_attached_while_it_waits(void **state)
{
    struct stage *stage = *state;
    uint64_t task = order(stage, "", "");
    assert_int_equal(hand_out(stage), task);
    assert_string_equal(stage_attach(stage, task, "77"), "ok");
    assert_string_equal(start(stage, task, 1, leases), "duplicate");
    assert_false(kept(stage, task));
    stage_restart(stage, NULL);
    assert_int_equal(hand_out(stage), 0);
    assert_int_equal(state_of(stage, task), ALD_STATE_PENDING);
}

#define IN_SHOP(test) cmocka_unit_test_setup_teardown(test, shop_setup, stage_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SHOP(test_example),
        IN_SHOP(test_rule_2_killed_at_each_step),
        IN_SHOP(test_rule_2_a_lease_that_was_taken_over),
        IN_SHOP(test_rule_10_uncertain_and_its_ends),
        IN_SHOP(test_rule_10_expired_and_a_late_receipt),
        IN_SHOP(test_rule_10_a_callback_that_names_the_id),
        IN_SHOP(test_early_callbacks),
        IN_SHOP(test_again),
        IN_SHOP(test_refused_for_good),
        IN_SHOP(test_done_at_submit),
        IN_SHOP(test_rule_15_never_submitted),
        IN_SHOP(test_rule_16_an_id_that_is_taken),
        IN_SHOP(test_rule_22_withdrawn),
        IN_SHOP(test_rule_22_keys),
        IN_SHOP(test_attached_while_it_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
