/* What ends a task that is submitted again, or holds it up: failures by a code, refusals,
 * deadlines, profiles that change their mind, purging. Rules 2, 15, 16 and 19 of GUARANTEES.md, as
 * far as they are one process. */
#include "services/tracker/vault/vault_purge.h"
#include "tests/unit/tracker/again.h"

#define ANSWERED .left = true, .answered = true, .http = 200, .then = "code", .scope = "task"

static const struct msg_outcome bad = {ANSWERED, .class_ = "failed", .code = "BAD",
                                       .resubmit = true};
static const struct msg_outcome end = {ANSWERED, .class_ = "failed", .code = "END"};
static const struct msg_outcome not_ready = {ANSWERED, .class_ = "pending", .code = "WAIT"};
static const struct msg_outcome refused = {ANSWERED, .class_ = "permanent", .code = "ERROR_X"};

/* The task is polled now, with this outcome. */
static const char *poll(struct stage *stage, uint64_t task, const struct msg_outcome *outcome)
{
    stage_pass(STALE);
    (void)stage_gateway(stage);
    stage_tick(stage);
    assert_int_equal(hand_out(stage), task);
    return report(stage, task, 0, leases, outcome);
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    assert_string_equal(poll(stage, task, &bad), "progress");
    assert_int_equal(resubmits(stage, task), 1);
    begin_attempt(stage, task, 2);
    assert_string_equal(take_as(stage, task, 2, "78"), "progress");
    assert_string_equal(call(stage, task, 2, "id=78&code=A"), "applied");
    assert_string_equal(stage_state(stage, task), "done callback");
    assert_false(kept(stage, task));
}

/* By a callback and by a poll, in turn; after the last one the code is the end. */
static void test_until_it_has_been_enough(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    assert_string_equal(call(stage, task, 1, "id=77&err=BAD"), "progress");
    assert_string_equal(call(stage, task, 1, "id=77&err=BAD"), "progress"); /* said again */
    begin_attempt(stage, task, 2);
    assert_string_equal(call(stage, task, 1, "id=77&err=BAD"), "progress");
    assert_string_equal(call(stage, task, 1, "id=77&err=END"), "progress");
    assert_string_equal(take_as(stage, task, 2, "78"), "progress");
    again_restart(stage, NULL);
    assert_string_equal(call(stage, task, 1, "id=77&err=BAD"), "progress");
    assert_string_equal(call(stage, 0, 0, "id=77&err=END"), "progress");
    assert_int_equal(resubmits(stage, task), 1);
    assert_string_equal(poll(stage, task, &bad), "progress");
    uint64_t polled = leases;
    again_restart(stage, NULL);
    assert_string_equal(report(stage, task, 0, polled, &bad), "progress"); /* its ack was lost */
    assert_int_equal(resubmits(stage, task), 2);
    begin_attempt(stage, task, 3);
    assert_string_equal(take_as(stage, task, 3, "79"), "progress");
    assert_string_equal(report(stage, task, 0, polled, &bad), "progress");
    again_restart(stage, NULL);
    assert_string_equal(report(stage, task, 0, polled, &bad), "progress");
    assert_string_equal(stage_state(stage, task), "open");
    assert_string_equal(call(stage, task, 3, "id=79&err=BAD"), "applied");
    assert_string_equal(stage_state(stage, task), "failed late");
    assert_string_equal(code_of(stage, task), "BAD");
    assert_string_equal(call(stage, task, 1, "id=77&err=END"), "duplicate");
    assert_string_equal(letters_of(stage, task), "");
    assert_int_equal(stage_book(stage, BOOK_STATE + ALD_STATE_FAILED), 1);
}

/* Without a code that says so, or a profile that does, or a submission of ours, it is the end. */
static void test_what_fails_as_ever(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    assert_string_equal(call(stage, task, 1, "id=77&err=END"), "applied");
    task = bought_as(stage, "78");
    assert_string_equal(poll(stage, task, &end), "applied");
    task = stage_register(stage, "two", "79");
    assert_string_equal(call(stage, task, 0, "id=79&err=BAD"), "applied");
    again_restart(stage, CODED_OFF);
    task = bought_as(stage, "80");
    assert_false(kept(stage, task));
    assert_string_equal(poll(stage, task, &bad), "applied");
    assert_int_equal(resubmits(stage, 0), 0);
    assert_int_equal(stage_book(stage, BOOK_STATE + ALD_STATE_FAILED), 4);
}

/* It failed before its receipt came: the callback is one, too. Without an id nothing is certain. */
static void test_it_fails_before_its_receipt(void **state)
{
    struct stage *stage = *state;
    uint64_t task = buy(stage);
    begin_attempt(stage, task, 1);
    assert_string_equal(call(stage, task, 1, "id=77&err=BAD"), "progress");
    assert_string_equal(take_as(stage, task, 1, "77"), "duplicate");
    assert_int_equal(resubmits(stage, task), 1);
    begin_attempt(stage, task, 2);
    assert_string_equal(call(stage, task, 2, "err=BAD"), "applied");
    assert_string_equal(stage_state(stage, task), "failed callback");
}

/* A poll that was under way when a callback said that it failed: its words are old. */
static void test_a_poll_of_the_attempt_before(void **state)
{
    struct stage *stage = *state;
    static const struct msg_outcome done = {
        .left = true, .answered = true, .then = "done", .result = {(const uint8_t *)"A", 1}};
    static const struct msg_outcome *const said[] = {&bad, &end, &not_ready, &done};
    for (size_t i = 0; i < ALD_COUNT(said); i++) {
        char id[8];
        char query[32];
        (void)snprintf(id, sizeof id, "1%zu", i);
        (void)snprintf(query, sizeof query, "id=%s&err=BAD", id);
        uint64_t task = bought_as(stage, id);
        stage_pass(STALE);
        stage_tick(stage);
        assert_int_equal(hand_out(stage), task);
        uint64_t polled = leases;
        assert_string_equal(call(stage, task, 1, query), "progress");
        begin_attempt(stage, task, 2);
        assert_string_equal(report(stage, task, 0, polled, said[i]),
                            said[i] == &done ? "applied" : "progress");
        assert_string_equal(stage_state(stage, task), said[i] == &done ? "done poll" : "open");
        if (said[i] != &done)
            stage_cancel(stage, task);
    }
}

/* The new id is asked for as often as the first one was, also after a start. */
static void test_polls_are_counted_anew(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    for (int i = 0; i < 4; i++)
        assert_string_equal(poll(stage, task, &not_ready), "progress");
    assert_string_equal(poll(stage, task, &bad), "progress");
    begin_attempt(stage, task, 2);
    assert_string_equal(take_as(stage, task, 2, "78"), "progress");
    for (int i = 0; i < 4; i++) {
        if (i == 2)
            again_restart(stage, NULL);
        assert_string_equal(poll(stage, task, &not_ready), "progress");
        const struct pending_task *open = pending_find(stage->tracker.pending, task);
        assert_int_equal(pending_looked(open)->polls, i + 1);
        assert_int_equal(pending_looked(open)->requests, i + 1);
        assert_int_equal(open->again->polls, 5);
    }
    stage_cancel(stage, task);
}

/* The provider refuses the second one for good. What failed has failed; what was only late is
 * waited for. */
static void test_refused_for_good(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    assert_string_equal(poll(stage, task, &bad), "progress");
    begin_attempt(stage, task, 2);
    assert_string_equal(report(stage, task, 2, leases, &refused), "applied");
    assert_string_equal(stage_state(stage, task), "failed submit");
    assert_string_equal(code_of(stage, task), "ERROR_X");
    again_restart(stage, MUTE);
    task = bought_as(stage, "78");
    stage_pass(STALE);
    stage_tick(stage);
    begin_attempt(stage, task, 2);
    assert_string_equal(report(stage, task, 2, leases, &refused), "progress");
    assert_false(kept(stage, task));
    for (int i = 0; i < 3; i++) {
        stage_pass(STALE);
        (void)stage_gateway(stage);
        stage_tick(stage);
        assert_int_equal(hand_out(stage), 0);
        again_restart(stage, NULL);
    }
    assert_int_equal(resubmits(stage, task), 1);
    assert_int_equal(notes(stage, task, "late"), 1);
    assert_string_equal(call(stage, task, 1, "id=78&code=A"), "applied");
}

/* Refusals for now take no resubmission more. */
static void test_refused_for_now(void **state)
{
    struct stage *stage = *state;
    static const struct msg_outcome busy = {ANSWERED, .class_ = "transient", .code = "BUSY",
                                            .wait_ms = 1000};
    uint64_t task = bought_as(stage, "77");
    assert_string_equal(poll(stage, task, &bad), "progress");
    for (uint64_t attempt = 2; attempt < 5; attempt++) {
        begin_attempt(stage, task, attempt);
        assert_string_equal(report(stage, task, attempt, leases, &busy), "progress");
        again_restart(stage, NULL);
        stage_pass(60000);
    }
    begin_attempt(stage, task, 5);
    assert_string_equal(take_as(stage, task, 5, "78"), "progress");
    assert_int_equal(resubmits(stage, task), 1);
    assert_string_equal(call(stage, task, 5, "id=78&code=A"), "applied");
}

/* Rule 15: the deadline counts from the first attempt, over starts, and nothing leaves after it. */
static void test_rule_15_one_deadline(void **state)
{
    struct stage *stage = *state;
    static const char *const ends[] = {"expired manual", "failed submit", "expired manual"};
    for (int i = 0; i < 3; i++) {
        char id[8];
        (void)snprintf(id, sizeof id, "1%d", i);
        print_message("%d\n", i);
        again_restart(stage, i == 1 ? CODED : MUTE);
        uint64_t task = bought_as(stage, id);
        int64_t end_ms = pending_find(stage->tracker.pending, task)->give_up_at_ms;
        if (i == 1)
            assert_string_equal(poll(stage, task, &bad), "progress");
        stage_pass(i == 1 ? 0 : STALE);
        stage_tick(stage);
        if (i == 2) {
            begin_attempt(stage, task, 2);
            assert_string_equal(take_as(stage, task, 2, "99"), "progress");
        }
        again_restart(stage, NULL);
        assert_int_equal(pending_find(stage->tracker.pending, task)->give_up_at_ms, end_ms);
        if (i < 2) {
            assert_int_equal(hand_out(stage), task);
            stage_pass(end_ms - tracker_now(&stage->tracker).run_ms);
            assert_string_equal(start(stage, task, 2, leases), "duplicate");
        }
        stage_pass(i == 2 ? end_ms - tracker_now(&stage->tracker).run_ms : 1000);
        (void)stage_gateway(stage);
        stage_tick(stage);
        assert_string_equal(stage_state(stage, task), ends[i]);
        assert_string_equal(code_of(stage, task), i == 1 ? "BAD" : "");
        assert_string_equal(letters_of(stage, task), i == 1 ? "" : "expired:open");
    }
}

/* Rule 19: what was decided and has not left is stopped when the profile does not want it any more.
 */
static void test_rule_19_the_profile_changes_its_mind(void **state)
{
    struct stage *stage = *state;
    uint64_t failed = bought_as(stage, "77");
    assert_string_equal(poll(stage, failed, &bad), "progress");
    again_restart(stage, CODED_OFF);
    assert_int_equal(hand_out(stage), failed);
    assert_string_equal(start(stage, failed, 2, leases), "duplicate");
    assert_string_equal(stage_state(stage, failed), "failed submit");
    assert_string_equal(code_of(stage, failed), "BAD");
    again_restart(stage, MUTE);
    uint64_t task = bought_as(stage, "78");
    stage_pass(STALE);
    stage_tick(stage);
    again_restart(stage, MUTE_ALERT);
    assert_int_equal(hand_out(stage), task);
    assert_string_equal(start(stage, task, 2, leases), "duplicate");
    assert_string_equal(stage_state(stage, task), "open");
    assert_false(kept(stage, task));
    stage_tick(stage);
    assert_int_equal(notes(stage, task, "late"), 1);
    again_restart(stage, MUTE);
    stage_pass(STALE);
    stage_tick(stage);
    assert_int_equal(hand_out(stage), 0);
    assert_string_equal(call(stage, task, 1, "id=78&code=A"), "applied");
}

/* A late one's first attempt fails by a code while the second one waits: then there is only that.
 */
static void test_the_first_one_fails_meanwhile(void **state)
{
    struct stage *stage = *state;
    again_restart(stage, MUTE);
    uint64_t task = bought_as(stage, "77");
    stage_pass(STALE);
    stage_tick(stage);
    assert_string_equal(call(stage, task, 1, "id=77&err=END"), "progress");
    assert_string_equal(stage_state(stage, task), "open");
    again_restart(stage, NULL);
    begin_attempt(stage, task, 2);
    assert_string_equal(report(stage, task, 2, leases, &refused), "applied");
    assert_string_equal(stage_state(stage, task), "failed submit");
    assert_int_equal(resubmits(stage, task), 1);
}

/* Nobody withdraws what was bought; who cancels it gets what was decided stopped. */
static void test_cancelled(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    assert_string_equal(poll(stage, task, &bad), "progress");
    stage_cancel(stage, task);
    assert_false(kept(stage, task));
    assert_int_equal(hand_out(stage), 0);
    assert_string_equal(call(stage, task, 1, "id=77&code=A"), "duplicate");
}

/* What is left of a purged task names it by each of its ids, for as long as the rest of it does. */
static void test_rule_16_purged(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    assert_string_equal(call(stage, task, 1, "id=77&err=BAD"), "progress");
    begin_attempt(stage, task, 2);
    assert_string_equal(take_as(stage, task, 2, "78"), "progress");
    assert_string_equal(call(stage, task, 2, "id=78&code=A"), "applied");
    stage_index(stage);
    struct vault *vault = &stage->tracker.vault;
    struct vault_bounds before = {.results_ms = INT64_MAX};
    (void)vault_purge(vault, &before, 10, 5);
    assert_false(vault_task_known(vault, task));
    assert_string_equal(call(stage, 0, 0, "id=77&code=A"), "duplicate");
    assert_string_equal(call(stage, task, 1, "id=77&code=B"), "duplicate");
    before = (struct vault_bounds){.tombs_ms = 6};
    (void)vault_purge(vault, &before, 10, 7);
    assert_int_equal(vault_ref_find(vault, "two", "77"), 0);
    assert_int_equal(vault_ref_find(vault, "two", "78"), 0);
    assert_int_equal(resubmits(stage, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WHEN_CODED(test_example),
        WHEN_CODED(test_until_it_has_been_enough),
        WHEN_CODED(test_what_fails_as_ever),
        WHEN_CODED(test_it_fails_before_its_receipt),
        WHEN_CODED(test_a_poll_of_the_attempt_before),
        WHEN_CODED(test_polls_are_counted_anew),
        WHEN_CODED(test_refused_for_good),
        WHEN_CODED(test_refused_for_now),
        WHEN_CODED(test_rule_15_one_deadline),
        WHEN_CODED(test_rule_19_the_profile_changes_its_mind),
        WHEN_CODED(test_the_first_one_fails_meanwhile),
        WHEN_CODED(test_cancelled),
        WHEN_CODED(test_rule_16_purged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
