/* What is done about submissions, over a real store: every step, with a kill after it. Rules 2 and
 * 10 of GUARANTEES.md, as far as they are one process. */
#include "tests/unit/tracker/shop.h"

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

/* A store without its mark is an older copy, as a restored backup: what waits in it may have been
 * submitted since. It is not sent; the answer of back then still counts, and so does its callback.
 */
static void test_an_older_copy_submits_nothing(void **state)
{
    struct stage *stage = *state;
    uint64_t waits = order(stage, "", "");
    uint64_t leased = order(stage, "", "");
    assert_int_equal(hand_out(stage), waits);
    uint64_t lease = leases;
    stage_restart(stage, NULL); /* an ordinary kill */
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 0);
    assert_int_equal(remove(folder_file(&stage->folder, "mark")), 0);
    stage_restart(stage, NULL);
    assert_int_equal(hand_out(stage), 0);
    assert_int_equal(state_of(stage, waits), ALD_STATE_SUBMITTING);
    assert_string_equal(letters_of(stage, waits), "submit_uncertain:open");
    assert_string_equal(start(stage, waits, 1, lease), "duplicate");
    assert_string_equal(report(stage, waits, 1, lease, &accepted), "progress");
    assert_string_equal(letters_of(stage, waits), "submit_uncertain:resolved");
    assert_string_equal(id_of(stage, waits), "77");
    stage_restart(stage, NULL);
    assert_int_equal(hand_out(stage), 0);
    assert_string_equal(letters_of(stage, leased), "submit_uncertain:open");
    const struct stage_callback callback = {.task = leased, .query = "code=A"};
    assert_string_equal(stage_take(stage, &callback).disposition, "applied");
    assert_string_equal(letters_of(stage, leased), "submit_uncertain:resolved");
    /* What is ordered from now on is new. */
    (void)under_way(stage);
}

/* The answer that took it says when to ask: sooner or later than the profile would, but not after
 * the task's deadline. It is still known after a kill. */
static void test_the_first_poll_is_when_the_provider_says(void **state)
{
    struct stage *stage = *state;
    static const struct {
        const char *name;
        int64_t wait_ms, want_ms;
    } cases[] = {{"nothing", 0, 45000},
                 {"later", 90000, 90000},
                 {"sooner", 3000, 3000},
                 {"past the deadline", DAY, GIVE_UP}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        for (unsigned killed = 0; killed < 2; killed++) {
            struct msg_outcome taken = accepted;
            taken.wait_ms = cases[i].wait_ms;
            print_message("%s\n", cases[i].name);
            uint64_t task = under_way(stage);
            assert_string_equal(report(stage, task, 1, leases, &taken), "progress");
            stage_stop(stage); /* so that service time goes on */
            if (killed)
                stage_restart(stage, NULL);
            stage_pass(cases[i].want_ms - 1);
            assert_int_equal(hand_out(stage), 0);
            stage_pass(1);
            assert_int_equal(hand_out(stage), task);
            stage_cancel(stage, task);
        }
    }
}

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
        IN_SHOP(test_an_older_copy_submits_nothing),
        IN_SHOP(test_the_first_poll_is_when_the_provider_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
