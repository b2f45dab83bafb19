/* Answers that come after aldaba has given a task up, and answers that a person publishes: rule 9
 * of GUARANTEES.md. One event, then one that corrects it; the task has ended once, in the books and
 * for ever. */
#include "services/tracker/pending_figures.h"
#include "services/tracker/vault/recount.h"
#include "tests/unit/tracker/shop.h"

static const struct stage_again publish = {.by_person = true, .publish = true};
static const struct msg_outcome not_ready = {.answered = true, .left = true, .then = "pending"};
static const struct msg_outcome unknown_there = {.answered = true, .left = true, .then = "lost"};

/* The shop, whose late results are kept as letters. */
static void keep_late(struct stage *stage)
{
    char yaml[sizeof SHOP + 64];
    (void)snprintf(yaml, sizeof yaml, "two: {late_results: keep, %s", SHOP + sizeof "two: {" - 1);
    stage_restart(stage, yaml);
}

static void give_up(struct stage *stage, uint64_t task)
{
    (void)stage_gateway(stage);
    stage_pass(GIVE_UP);
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &not_ready), task);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, task), "expired manual");
}

static uint64_t expired_task(struct stage *stage)
{
    uint64_t task = stage_register(stage, "two", "77");
    give_up(stage, task);
    return task;
}

static const char *say(struct stage *stage, uint64_t task, const char *query)
{
    static struct msg_ack ack;
    const struct stage_callback callback = {.task = task, .query = query};
    ack = stage_take(stage, &callback);
    return ack.disposition;
}

/* The events of a task, such as "expired done<1": state, and which of them it corrects. */
static const char *events_of(struct stage *stage, uint64_t task)
{
    static char text[256];
    uint64_t seq[8];
    size_t count = 0;
    ald_stmt_t *stmt = NULL;
    text[0] = '\0';
    assert_int_equal(ald_store_prepare(stage->tracker.vault.store,
                                       "SELECT seq, state, corrects FROM results WHERE task = ?1"
                                       " ORDER BY seq",
                                       &stmt),
                     ALD_OK);
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    while (ald_stmt_step(stmt) == ALD_OK && count < ALD_COUNT(seq)) {
        size_t at = strlen(text);
        size_t which = 0;
        uint64_t corrects = (uint64_t)ald_stmt_i64(stmt, 2);
        seq[count++] = (uint64_t)ald_stmt_i64(stmt, 0);
        while (corrects != 0 && seq[which] != corrects)
            assert_true(++which < count);
        (void)snprintf(text + at, sizeof text - at, "%s%s", at ? " " : "",
                       ald_state_name((enum ald_state)ald_stmt_i64(stmt, 1)));
        if (corrects != 0)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "<%zu", which + 1);
    }
    ald_stmt_reset(stmt);
    return text;
}

static void recount_line(void *context, const char *name, int64_t value, const char *problem)
{
    (void)context, (void)value;
    if (problem[0] != '\0')
        print_error("%s: %s\n", name, problem);
    assert_string_equal(problem, "");
}

/* The rows are what the books say, also after a kill. */
static void recounted(struct stage *stage)
{
    static struct recount recount;
    enum ald_rc rc = ALD_AGAIN;
    recount_begin(&recount);
    while (rc == ALD_AGAIN)
        rc = recount_page(&recount, stage->tracker.vault.store);
    assert_int_equal(rc, ALD_OK);
    recount_tell(&recount, recount_line, NULL);
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    uint64_t task = expired_task(stage);
    assert_string_equal(say(stage, task, "id=77&code=A"), "applied");
    assert_string_equal(stage_state(stage, task), "done late");
    assert_string_equal(events_of(stage, task), "expired done<1");
    assert_string_equal(letters_of(stage, task), "expired:resolved");
    assert_int_equal(stage_book(stage, BOOK_STATE + ALD_STATE_EXPIRED), 1);
    assert_int_equal(stage_book(stage, BOOK_STATE + ALD_STATE_DONE), 0);
    assert_int_equal(stage_book(stage, BOOK_CORRECTIONS), 1);
    recounted(stage);
}

/* Once: what comes then is a duplicate, or conflicts with what is published now. In the index and
 * before it, over a kill. */
static void test_once(void **state)
{
    struct stage *stage = *state;
    for (int round = 0; round < 4; round++) {
        uint64_t task = expired_task(stage);
        if (round & 1)
            stage_index(stage);
        assert_string_equal(say(stage, task, "id=77&code=A"), "applied");
        if (round & 2)
            stage_index(stage);
        for (int kill = 0; kill < 2; kill++) {
            assert_string_equal(say(stage, task, "id=77&code=A"), "duplicate");
            assert_string_equal(say(stage, task, "id=77&code=B"), kill ? "duplicate" : "dead");
            assert_string_equal(events_of(stage, task), "expired done<1");
            stage_restart(stage, NULL);
            assert_string_equal(stage_state(stage, task), "done late");
        }
        recounted(stage);
    }
    assert_int_equal(pending_count(stage->tracker.pending), 0);
}

/* A person gives up a task for good: nothing comes after that. */
static void test_not_after_a_cancel(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    stage_cancel(stage, task);
    assert_string_equal(say(stage, task, "id=77&code=A"), "duplicate");
    assert_string_equal(events_of(stage, task), "cancelled");
}

/* An answer to a poll that was on its way, or to a submission that nobody knew anything of. */
static void test_outcomes(void **state)
{
    struct stage *stage = *state;
    struct msg_outcome done = {.left = true, .answered = true, .then = "done", .at_ms = 9};
    done.result = ald_span_str("A");
    uint64_t task = stage_register(stage, "two", "77");
    stage_pass(GIVE_UP / 2);
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &unknown_there), task);
    assert_string_equal(stage_state(stage, task), "lost poll");
    assert_string_equal(report(stage, task, 0, 99, &done), "applied");
    assert_string_equal(report(stage, task, 0, 99, &done), "duplicate");
    assert_string_equal(stage_state(stage, task), "done poll");
    assert_string_equal(events_of(stage, task), "lost done<1");
    task = under_way(stage);
    uint64_t lease = leases;
    stage_pass(LEASE + 25000);
    stage_tick(stage);
    (void)stage_gateway(stage);
    stage_pass(DAY);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, task), "expired manual");
    assert_string_equal(letters_of(stage, task), "submit_uncertain:open");
    (void)snprintf(done.then, sizeof done.then, "done_at_submit");
    (void)snprintf(done.provider_id, sizeof done.provider_id, "78");
    assert_string_equal(report(stage, task, 1, lease, &done), "applied");
    assert_string_equal(stage_state(stage, task), "done submit");
    assert_string_equal(id_of(stage, task), "78");
    assert_string_equal(letters_of(stage, task), "submit_uncertain:resolved");
    assert_int_equal(stage_book(stage, BOOK_CORRECTIONS), 2);
    assert_int_equal(stage_book(stage, BOOK_CORRECTIONS_APPLIED), 0);
    recounted(stage);
}

/* late_results: keep. The letter says why it is one, and a person publishes what is in it. */
static void test_kept(void **state)
{
    struct stage *stage = *state;
    struct msg_letter letter;
    keep_late(stage);
    uint64_t task = expired_task(stage);
    assert_string_equal(say(stage, task, "id=77&code=A"), "dead");
    assert_true(stage_letter(stage, &letter));
    assert_string_equal(letter.reason, "conflict");
    assert_non_null(strstr(letter.cause, "given the task up"));
    const struct stage_again plain = {.by_person = true};
    const struct stage_again schedule = {.publish = true};
    assert_string_equal(stage_reinject(stage, &plain).reason, "conflict");
    assert_string_equal(stage_reinject(stage, &schedule).reason, "conflict");
    assert_string_equal(events_of(stage, task), "expired");
    for (int kill = 0; kill < 3; kill++) {
        assert_string_equal(stage_reinject(stage, &publish).disposition, "corrected");
        assert_string_equal(events_of(stage, task), "expired done<1");
        stage_restart(stage, NULL);
    }
    assert_string_equal(stage_state(stage, task), "done manual");
    assert_string_equal(letters_of(stage, task), "expired:resolved conflict:resolved");
    assert_int_equal(stage_disposition(stage, ALD_DISP_DEAD), 0);
    assert_int_equal(stage_disposition(stage, ALD_DISP_APPLIED), 1);
    recounted(stage);
}

/* Another answer than the published one, by a person: and again, in the place of that. */
static void test_a_person_publishes(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    assert_string_equal(say(stage, task, "id=77&code=A"), "applied");
    assert_string_equal(say(stage, task, "id=77&code=B"), "dead");
    assert_string_equal(stage_reinject(stage, &publish).disposition, "corrected");
    assert_string_equal(events_of(stage, task), "done done<1");
    assert_string_equal(say(stage, task, "id=77&code=B"), "duplicate");
    assert_string_equal(say(stage, task, "id=77&code=C"), "dead");
    assert_string_equal(stage_reinject(stage, &publish).disposition, "corrected");
    assert_string_equal(events_of(stage, task), "done done<1 done<2");
    recounted(stage);
}

/* A late copy of what was published, read and corrected is no new conflict. */
static void test_what_was_corrected_comes_again(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    assert_string_equal(say(stage, task, "id=77&code=A"), "applied");
    for (const char *next = "BC"; *next != '\0'; next++) {
        char query[] = "id=77&code=?";
        query[sizeof query - 2] = *next;
        assert_string_equal(say(stage, task, query), "dead");
        assert_string_equal(stage_reinject(stage, &publish).disposition, "corrected");
    }
    stage_restart(stage, NULL);
    assert_string_equal(say(stage, task, "id=77&code=A"), "duplicate");
    assert_string_equal(say(stage, task, "id=77&code=B"), "duplicate");
    assert_string_equal(say(stage, task, "id=77&code=C"), "duplicate");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 2);
    assert_string_equal(say(stage, task, "id=77&code=D"), "dead");
    recounted(stage);
}

/* What can't be published stays, and says why. */
static void test_refused(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    assert_string_equal(say(stage, task, "id=70&code=A"), "dead"); /* another task's id */
    struct msg_ack ack = stage_reinject(stage, &publish);
    assert_string_equal(ack.disposition, "still");
    assert_string_equal(ack.reason, "open");
    assert_string_equal(say(stage, task, "id=77&code=A"), "applied");
    ack = stage_reinject(stage, &publish); /* that letter; it is the same answer by now */
    assert_string_equal(ack.disposition, "duplicate");
    assert_string_equal(say(stage, task, "id=77&code=B"), "dead");
    stage_renew(stage,
                "other: {family: inphp, secrets: {key: {env: ALD_TEST_KEY}}, poll: {request: "
                "{url: \"https://h.example/res.php\"}}}\n");
    stage_restart(stage, "other: {family: inphp, secrets: {key: {env: ALD_TEST_KEY}}, poll: "
                         "{request: {url: \"https://h.example/res.php\"}}}\n");
    ack = stage_reinject(stage, &publish);
    assert_string_equal(ack.disposition, "still");
    assert_string_equal(ack.reason, "unreadable");
    assert_string_equal(events_of(stage, task), "done");
}

/* A genuine callback fills the id of a task that was given up without one. */
static void test_joins(void **state)
{
    struct stage *stage = *state;
    uint64_t task = under_way(stage);
    stage_pass(LEASE + 25000);
    stage_tick(stage);
    (void)stage_gateway(stage);
    stage_pass(DAY);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, task), "expired manual");
    assert_string_equal(say(stage, task, "id=79&code=A"), "applied");
    assert_string_equal(id_of(stage, task), "79");
    assert_string_equal(letters_of(stage, task), "submit_uncertain:resolved");
    assert_false(spare(stage, task));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SHOP(test_example),  IN_SHOP(test_once),  IN_SHOP(test_not_after_a_cancel),
        IN_SHOP(test_outcomes), IN_SHOP(test_kept),  IN_SHOP(test_a_person_publishes),
        IN_SHOP(test_refused),  IN_SHOP(test_joins), IN_SHOP(test_what_was_corrected_comes_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
