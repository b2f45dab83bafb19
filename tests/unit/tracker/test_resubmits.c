/* A late task is submitted again, over a real store: every step, with a kill after it. Rules 2, 10
 * and 16 of GUARANTEES.md, as far as they are one process. */
#include "tests/unit/tracker/again.h"

/* Its callback is late. */
static void late(struct stage *stage)
{
    stage_pass(STALE);
    (void)stage_gateway(stage);
    stage_tick(stage);
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    assert_true(kept(stage, task));
    stage_pass(STALE - 1);
    stage_tick(stage);
    assert_int_equal(hand_out(stage), 0);
    stage_pass(1);
    stage_tick(stage);
    assert_int_equal(resubmits(stage, task), 1);
    begin_attempt(stage, task, 2);
    assert_int_equal(state_of(stage, task), ALD_STATE_PENDING);
    assert_string_equal(take_as(stage, task, 2, "78"), "progress");
    assert_string_equal(id_of(stage, task), "78");
    assert_string_equal(call(stage, task, 2, "id=78&code=A"), "applied");
    assert_string_equal(stage_state(stage, task), "done callback");
    assert_false(kept(stage, task));
    assert_string_equal(letters_of(stage, task), "");
    assert_int_equal(notes(stage, task, "resubmitted"), 1);
    assert_int_equal(notes(stage, task, "late"), 0);
}

/* Rule 2: killed between any two steps, it is bought 1 + max_resubmits times, then it is said. */
static void test_rule_2_killed_at_each_step(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    again_restart(stage, NULL);
    for (uint64_t attempt = 2; attempt <= 3; attempt++) {
        char id[8];
        (void)snprintf(id, sizeof id, "%d", (int)attempt);
        late(stage);
        again_restart(stage, NULL);
        assert_int_equal(resubmits(stage, task), attempt - 1);
        assert_int_equal(hand_out(stage), task);
        uint64_t lost = leases;
        again_restart(stage, NULL);
        assert_string_equal(start(stage, task, attempt, lost), "duplicate");
        begin_attempt(stage, task, attempt);
        again_restart(stage, NULL);
        assert_int_equal(hand_out(stage), 0);
        assert_string_equal(start(stage, task, attempt, leases - 1), "applied");
        leases--;
        assert_string_equal(take_as(stage, task, attempt, id), "progress");
        again_restart(stage, NULL);
        assert_string_equal(take_as(stage, task, attempt, id), "duplicate");
        assert_string_equal(id_of(stage, task), id);
        assert_int_equal(kept(stage, task), attempt < 3);
        stage_tick(stage);
        assert_int_equal(hand_out(stage), 0); /* it is late anew only after its time */
    }
    late(stage);
    assert_int_equal(hand_out(stage), 0);
    assert_int_equal(resubmits(stage, task), 2);
    assert_int_equal(notes(stage, task, "late"), 1);
    again_restart(stage, NULL);
    stage_tick(stage);
    assert_int_equal(notes(stage, task, "late"), 1);
    assert_int_equal(hand_out(stage), 0);
    static const char *const queries[] = {"id=77&code=A", "id=2&code=A", "id=3&code=A"};
    for (uint64_t i = 0; i < ALD_COUNT(queries); i++)
        assert_string_equal(call(stage, task, i + 1, queries[i]), i == 0 ? "applied" : "duplicate");
    assert_string_equal(letters_of(stage, task), "");
}

/* A tracker that was killed while it was late has not forgotten that it is. */
static void test_killed_when_it_was_late(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    stage_pass(STALE + 1000);
    stage_stop(stage);
    stage_restart(stage, NULL);
    (void)stage_gateway(stage);
    stage_tick(stage);
    assert_int_equal(resubmits(stage, task), 1);
}

/* Rule 1: while a callback may lie in a spool nothing is late. */
static void test_rule_1_nothing_is_bought_past_a_spool(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    struct sender *gateway = stage_gateway(stage);
    for (int64_t past_ms = 0; past_ms < 2 * STALE; past_ms += 1000) {
        senders_told(stage->tracker.senders, gateway, 1, 1, tracker_now(&stage->tracker).run_ms);
        stage_pass(1000);
        stage_tick(stage);
    }
    assert_int_equal(resubmits(stage, task), 0);
    assert_int_equal(notes(stage, task, "late"), 0);
    (void)stage_gateway(stage);
    stage_pass(1000);
    stage_tick(stage);
    assert_int_equal(resubmits(stage, task), 1);
}

/* The first attempt's answer comes after all, when the second one is at each of its steps. */
static void test_the_first_one_answers(void **state)
{
    struct stage *stage = *state;
    static const char *const steps[] = {"waits", "leased", "started", "uncertain", "taken"};
    for (size_t i = 0; i < ALD_COUNT(steps); i++) {
        for (int kill = 0; kill < 2; kill++) {
            char first[8];
            char second[8];
            char other[32];
            print_message("%s, %d\n", steps[i], kill);
            (void)snprintf(first, sizeof first, "1%u%d", (unsigned)i % 10, kill % 2);
            (void)snprintf(second, sizeof second, "2%u%d", (unsigned)i % 10, kill % 2);
            uint64_t task = bought_as(stage, first);
            late(stage);
            if (i > 0)
                assert_int_equal(hand_out(stage), task);
            if (i > 1)
                assert_string_equal(start(stage, task, 2, leases), "applied");
            if (i == 3)
                assert_string_equal(report(stage, task, 2, leases, &silence), "progress");
            if (i == 4)
                assert_string_equal(take_as(stage, task, 2, second), "progress");
            if (kill)
                again_restart(stage, NULL);
            (void)snprintf(other, sizeof other, "id=%s&code=A", first);
            assert_string_equal(call(stage, task, 1, other), "applied");
            assert_string_equal(stage_state(stage, task), "done callback");
            assert_false(kept(stage, task));
            assert_int_equal(hand_out(stage), 0);
            if (i == 2 || i == 3)
                assert_string_equal(take_as(stage, task, 2, second), "progress");
            assert_string_equal(take_as(stage, task, 2, second), i < 2 ? "progress" : "duplicate");
            (void)snprintf(other, sizeof other, "id=%s&code=A", second);
            assert_string_equal(call(stage, task, 2, other), "duplicate");
            assert_string_equal(letters_of(stage, task), i == 3 ? "submit_uncertain:resolved" : "");
            (void)snprintf(other, sizeof other, "id=%s&code=B", second);
            assert_string_equal(call(stage, task, 2, other), "dead");
        }
    }
    assert_int_equal(stage_book(stage, BOOK_STATE + ALD_STATE_DONE), 2 * ALD_COUNT(steps));
}

/* Every id names the task, by whatever way it is said, over a start. */
static void test_rule_16_each_id_names_it(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    late(stage);
    begin_attempt(stage, task, 2);
    assert_string_equal(take_as(stage, task, 2, "78"), "progress");
    for (int kill = 0; kill < 2; kill++) {
        assert_ptr_equal(pending_find_ref(stage->tracker.pending, "two", "77"),
                         pending_find(stage->tracker.pending, task));
        assert_ptr_equal(pending_find_ref(stage->tracker.pending, "two", "78"),
                         pending_find(stage->tracker.pending, task));
        again_restart(stage, NULL);
    }
    assert_string_equal(call(stage, task, 1, "id=79&code=A"), "dead"); /* neither of them */
    assert_string_equal(call(stage, task, 1, "id=78&code=A"), "applied");
    assert_string_equal(call(stage, 0, 0, "id=77&code=A"), "duplicate");
    assert_string_equal(letters_of(stage, task), "conflict:open");
}

/* A callback of the second attempt that comes before its receipt tells its id. */
static void test_the_second_one_answers_before_its_receipt(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    late(stage);
    begin_attempt(stage, task, 2);
    assert_string_equal(call(stage, task, 2, "id=78"), "progress");
    assert_string_equal(id_of(stage, task), "78");
    assert_string_equal(take_as(stage, task, 2, "78"), "duplicate");
    again_restart(stage, NULL);
    assert_string_equal(id_of(stage, task), "78");
    assert_string_equal(call(stage, task, 1, "id=77&code=A"), "applied");
}

/* A provider that knows the request gives the same id again; one of another task's is uncertain. */
static void test_the_same_id_again(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    late(stage);
    begin_attempt(stage, task, 2);
    assert_string_equal(take_as(stage, task, 2, "77"), "progress");
    assert_null(pending_find(stage->tracker.pending, task)->submit);
    again_restart(stage, NULL);
    late(stage);
    assert_int_equal(resubmits(stage, task), 2);
    begin_attempt(stage, task, 3);
    uint64_t other = stage_register(stage, "two", "99");
    assert_string_equal(take_as(stage, task, 3, "99"), "progress");
    assert_string_equal(letters_of(stage, task), "submit_uncertain:open");
    assert_string_equal(call(stage, task, 2, "id=77&code=A"), "applied");
    assert_string_equal(call(stage, other, 0, "id=99&code=A"), "applied");
}

/* An id that it had two attempts ago. */
static void test_an_earlier_id_again(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    static const char *const ids[] = {"78", "77"};
    for (uint64_t i = 0; i < 2; i++) {
        late(stage);
        begin_attempt(stage, task, i + 2);
        assert_string_equal(take_as(stage, task, i + 2, ids[i]), "progress");
        assert_string_equal(id_of(stage, task), ids[i]);
    }
    again_restart(stage, NULL);
    assert_string_equal(call(stage, task, 2, "id=78&code=A"), "applied");
    assert_string_equal(call(stage, task, 3, "id=77&code=A"), "duplicate");
}

/* Rule 10: what is uncertain is never submitted again, neither a first attempt nor a later one. */
static void test_rule_10_uncertain_stays(void **state)
{
    struct stage *stage = *state;
    for (uint64_t attempt = 1; attempt <= 2; attempt++) {
        uint64_t task = attempt == 1 ? buy(stage) : bought_as(stage, "77");
        if (attempt == 2)
            late(stage);
        begin_attempt(stage, task, attempt);
        assert_string_equal(report(stage, task, attempt, leases, &silence), "progress");
        int64_t had = resubmits(stage, task);
        for (int i = 0; i < 4; i++) {
            late(stage);
            assert_int_equal(hand_out(stage), 0);
            again_restart(stage, NULL);
        }
        assert_int_equal(resubmits(stage, task), had);
        stage_pass(GIVE_UP);
        (void)stage_gateway(stage);
        stage_tick(stage);
        assert_string_equal(stage_state(stage, task), "expired manual");
        assert_string_equal(code_of(stage, task), "submit_uncertain");
        assert_string_equal(letters_of(stage, task), "submit_uncertain:open");
    }
}

/* A person knows what became of it. */
static void test_attach_joins_the_second_half(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    assert_string_equal(stage_attach(stage, task, "78"), "conflict");
    late(stage);
    assert_string_equal(stage_attach(stage, task, "78"), "conflict");
    begin_attempt(stage, task, 2);
    assert_string_equal(report(stage, task, 2, leases, &silence), "progress");
    assert_string_equal(stage_attach(stage, task, "78"), "ok");
    assert_string_equal(letters_of(stage, task), "submit_uncertain:resolved");
    assert_string_equal(call(stage, task, 1, "id=77&code=A"), "applied");
}

/* What its caller submitted, and what an older copy of a store holds, is only said to be late. */
static void test_what_is_only_late(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "70");
    late(stage);
    assert_int_equal(hand_out(stage), 0);
    assert_int_equal(notes(stage, task, "late"), 1);
    uint64_t copied = bought_as(stage, "77");
    stage_stop(stage);
    assert_int_equal(remove(folder_file(&stage->folder, "mark")), 0);
    stage_restart(stage, NULL);
    assert_false(kept(stage, copied));
    late(stage);
    assert_int_equal(hand_out(stage), 0);
    assert_int_equal(resubmits(stage, 0), 0);
}

/* An older copy in which it waits: it may have been submitted since. */
static void test_an_older_copy_that_waits(void **state)
{
    struct stage *stage = *state;
    uint64_t task = bought_as(stage, "77");
    late(stage);
    stage_stop(stage);
    assert_int_equal(remove(folder_file(&stage->folder, "mark")), 0);
    stage_restart(stage, NULL);
    assert_int_equal(hand_out(stage), 0);
    assert_string_equal(letters_of(stage, task), "submit_uncertain:open");
    assert_string_equal(call(stage, task, 1, "id=77&code=A"), "applied");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WHEN_MUTE(test_example),
        WHEN_MUTE(test_rule_2_killed_at_each_step),
        WHEN_MUTE(test_killed_when_it_was_late),
        WHEN_MUTE(test_rule_1_nothing_is_bought_past_a_spool),
        WHEN_MUTE(test_the_first_one_answers),
        WHEN_MUTE(test_rule_16_each_id_names_it),
        WHEN_MUTE(test_the_second_one_answers_before_its_receipt),
        WHEN_MUTE(test_the_same_id_again),
        WHEN_MUTE(test_an_earlier_id_again),
        WHEN_MUTE(test_rule_10_uncertain_stays),
        WHEN_MUTE(test_attach_joins_the_second_half),
        WHEN_MUTE(test_what_is_only_late),
        WHEN_MUTE(test_an_older_copy_that_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
