/* What ends submissions, or holds them up: refusals, deadlines, ids that are taken, withdrawals.
 * Rules 15, 16 and 22 of GUARANTEES.md, as far as they are one process. */
#include "tests/unit/tracker/shop.h"

static const struct msg_outcome refused = {
    .left = true, .answered = true, .then = "code", .class_ = "permanent", .code = "ERROR_X"};
static const struct msg_outcome busy = {.left = true,
                                        .answered = true,
                                        .then = "code",
                                        .class_ = "transient",
                                        .scope = "account",
                                        .code = "ERROR_BUSY",
                                        .wait_ms = 20000};

static void test_example(void **state)
{
    struct stage *stage = *state;
    uint64_t task = under_way(stage);
    assert_string_equal(report(stage, task, 1, leases, &accepted), "progress");
    assert_int_equal(state_of(stage, task), ALD_STATE_PENDING);
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

/* Cancelled while it is not known whether the provider has it: that is on record, and a receipt
 * that comes later fills the id. */
static void test_cancelled_under_way(void **state)
{
    struct stage *stage = *state;
    uint64_t task = under_way(stage);
    uint64_t lease = leases;
    stage_cancel(stage, task);
    assert_string_equal(stage_state(stage, task), "cancelled manual");
    assert_string_equal(letters_of(stage, task), "submit_uncertain:dropped");
    assert_string_equal(report(stage, task, 1, lease, &accepted), "progress");
    assert_string_equal(id_of(stage, task), "77");
    task = order(stage, "", ""); /* nobody was asked: there is nothing to say */
    stage_cancel(stage, task);
    assert_string_equal(letters_of(stage, task), "");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SHOP(test_example),
        IN_SHOP(test_again),
        IN_SHOP(test_refused_for_good),
        IN_SHOP(test_done_at_submit),
        IN_SHOP(test_rule_15_never_submitted),
        IN_SHOP(test_rule_16_an_id_that_is_taken),
        IN_SHOP(test_cancelled_under_way),
        IN_SHOP(test_rule_22_withdrawn),
        IN_SHOP(test_rule_22_keys),
        IN_SHOP(test_attached_while_it_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
