/* Tasks that a person has made anew: rule 7 of GUARANTEES.md, as far as it is one process. Each
 * step with a kill after it, what may be answered after all, and how long what was submitted is
 * kept. */
#include "services/tracker/acts/again.h"
#include "services/tracker/vault/vault_again.h"
#include "services/tracker/vault/vault_purge.h"
#include "tests/unit/tracker/shop.h"

static const struct msg_outcome refused = {
    .left = true, .answered = true, .then = "code", .class_ = "permanent", .code = "ERROR_X"};
static const struct msg_outcome busy = {.left = true,
                                        .answered = true,
                                        .then = "code",
                                        .class_ = "transient",
                                        .scope = "account",
                                        .code = "ERROR_BUSY",
                                        .wait_ms = 1000};
static const struct stage_again buy = {.by_person = true, .buy = true};

static uint64_t is_replaced(const struct msg_ack *ack)
{
    uint64_t task = 0;
    assert_string_equal(ack->disposition, "replaced");
    assert_int_equal(ald_task_id_parse(ald_span_str(ack->reason), &task), ALD_OK);
    return task;
}

static void is_refused(const struct msg_ack *ack, const char *why)
{
    assert_string_equal(ack->disposition, "still");
    assert_string_equal(ack->reason, why);
}

/* A task that was refused for good. */
static uint64_t failed_task(struct stage *stage)
{
    uint64_t task = under_way(stage);
    assert_string_equal(report(stage, task, 1, leases, &refused), "applied");
    assert_string_equal(letters_of(stage, task), "submit_failed:open");
    return task;
}

static unsigned pending_letters(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

/* Bought once, under another id, with what was submitted; and however often it is said again, and
 * whoever was killed in between, no second time. */
static void test_example(void **state)
{
    struct stage *stage = *state;
    uint64_t old = failed_task(stage);
    struct msg_ack ack = stage_reinject(stage, &buy);
    uint64_t task = is_replaced(&ack);
    assert_int_not_equal(task, old);
    assert_string_equal(letters_of(stage, old), "submit_failed:resolved");
    assert_true(kept(stage, task));
    assert_false(spare(stage, old));
    for (int i = 0; i < 3; i++) {
        ack = stage_reinject(stage, &buy);
        assert_int_equal(is_replaced(&ack), task);
        stage_restart(stage, NULL);
    }
    assert_int_equal(stage_book(stage, BOOK_CREATED), 2);
    assert_int_equal(hand_out(stage), task);
    assert_string_equal(start(stage, task, 1, leases), "applied");
    assert_string_equal(report(stage, task, 1, leases, &accepted), "progress");
    const struct stage_callback callback = {.task = task, .query = "id=77&code=A"};
    assert_string_equal(stage_take(stage, &callback).disposition, "applied");
    assert_string_equal(stage_state(stage, old), "failed submit");
    assert_int_equal(hand_out(stage), 0);
}

static void test_what_is_decided(void **state)
{
    (void)state;
    static const struct {
        struct again_facts facts;
        const char *why;
    } cases[] = {
        {{.person = true, .asked_at_ms = 5, .submitted = true, .kept = true}, NULL},
        {{.asked_at_ms = 5, .submitted = true, .kept = true}, "unasked"},
        {{.person = true, .asked_at_ms = 5, .since_ms = 4, .submitted = true, .kept = true}, NULL},
        {{.person = true, .asked_at_ms = 5, .since_ms = 5, .submitted = true, .kept = true},
         "older"},
        {{.person = true, .since_ms = 5, .submitted = true, .kept = true}, "older"},
        {{.person = true, .asked_at_ms = 5, .kept = true}, "unsubmitted"},
        {{.person = true, .asked_at_ms = 5, .submitted = true}, "forgotten"},
        {{.person = true, .submitted = true, .kept = true, .answered = true}, "answered"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const char *why = again_unfit(&cases[i].facts);
        assert_int_equal(why == NULL, cases[i].why == NULL);
        if (why)
            assert_string_equal(why, cases[i].why);
    }
    for (int reason = 0; reason < ALD_REASON_COUNT; reason++)
        assert_int_equal(again_reason((enum ald_reason)reason),
                         reason == ALD_REASON_SUBMIT_FAILED ||
                             reason == ALD_REASON_SUBMIT_UNCERTAIN || reason == ALD_REASON_EXPIRED);
}

/* Nothing changes, and a word says why. */
static void test_refused(void **state)
{
    struct stage *stage = *state;
    const struct stage_again schedule = {.buy = true};
    const struct stage_again plain = {.by_person = true};
    uint64_t old = failed_task(stage);
    struct msg_ack ack = stage_reinject(stage, &schedule);
    is_refused(&ack, "unasked");
    ack = stage_reinject(stage, &plain);
    is_refused(&ack, "unasked");
    stage->settings.tracker.max_open = 0;
    ack = stage_reinject(stage, &buy);
    is_refused(&ack, "full");
    stage->settings.tracker.max_open = 1000;
    stage_renew(stage,
                "other: {family: inphp, secrets: {key: {env: ALD_TEST_KEY}}, poll: {request: "
                "{url: \"https://h.example/res.php\"}}}\n");
    ack = stage_reinject(stage, &buy);
    is_refused(&ack, "unfit");
    stage_renew(stage, SHOP);
    assert_int_equal(stage_book(stage, BOOK_CREATED), 1);
    assert_true(spare(stage, old));
    ack = stage_reinject(stage, &buy);
    assert_int_not_equal(is_replaced(&ack), old);
}

/* Who was not submitted by aldaba has nothing that could be. */
static void test_registered(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    (void)stage_gateway(stage);
    stage_pass(GIVE_UP);
    const struct msg_outcome not_ready = {.answered = true, .left = true, .then = "pending"};
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &not_ready), task);
    stage_tick(stage);
    assert_string_equal(letters_of(stage, task), "expired:open");
    struct msg_ack ack = stage_reinject(stage, &buy);
    is_refused(&ack, "unsubmitted");
}

/* What was asked before the store was put back may have been bought since; what is asked after it
 * is asked by somebody who could look. */
static void test_an_older_copy(void **state)
{
    struct stage *stage = *state;
    uint64_t old = failed_task(stage);
    const struct stage_again before = {
        .by_person = true, .buy = true, .asked_at_ms = tracker_now(&stage->tracker).wall_ms};
    stage_stop(stage);
    assert_int_equal(remove(folder_file(&stage->folder, "mark")), 0);
    stage_pass(1000);
    stage_restart(stage, NULL);
    struct msg_ack ack = stage_reinject(stage, &before);
    is_refused(&ack, "older");
    assert_string_equal(letters_of(stage, old), "submit_failed:open");
    stage_pass(1000);
    stage_tick(stage);
    ack = stage_reinject(stage, &buy);
    assert_int_not_equal(is_replaced(&ack), old);
}

/* An uncertain one is open, and may be answered: it is, and no letter rises again. */
static void test_uncertain_and_answered(void **state)
{
    struct stage *stage = *state;
    uint64_t old = under_way(stage);
    uint64_t lease = leases;
    assert_string_equal(report(stage, old, 1, lease, &silence), "progress");
    assert_string_equal(letters_of(stage, old), "submit_uncertain:open");
    struct msg_ack ack = stage_reinject(stage, &buy);
    uint64_t task = is_replaced(&ack);
    for (int kill = 0; kill < 2; kill++) {
        assert_int_equal(state_of(stage, old), ALD_STATE_SUBMITTING);
        assert_string_equal(letters_of(stage, old), "submit_uncertain:resolved");
        stage_restart(stage, NULL);
    }
    const struct stage_callback callback = {.task = old, .query = "id=70&code=A"};
    assert_string_equal(stage_take(stage, &callback).disposition, "applied");
    assert_string_equal(letters_of(stage, old), "submit_uncertain:resolved");
    assert_false(kept(stage, old) || spare(stage, old));
    assert_int_equal(hand_out(stage), task);
    assert_int_equal(hand_out(stage), 0);
}

/* The provider did not have the first one after all: it is not sent again beside its replacement.
 */
static void test_uncertain_and_not_taken(void **state)
{
    struct stage *stage = *state;
    for (int kill = 0; kill < 2; kill++) {
        uint64_t old = under_way(stage);
        uint64_t lease = leases;
        stage_pass(LEASE + 25000); /* its lease is over: nobody knows */
        stage_tick(stage);
        assert_string_equal(letters_of(stage, old), "submit_uncertain:open");
        struct msg_ack ack = stage_reinject(stage, &buy);
        uint64_t task = is_replaced(&ack);
        if (kill)
            stage_restart(stage, NULL);
        assert_string_equal(report(stage, old, 1, lease, &busy), "applied");
        assert_string_equal(stage_state(stage, old), "failed submit");
        assert_string_equal(code_of(stage, old), "replaced");
        assert_string_equal(letters_of(stage, old), "submit_uncertain:resolved");
        stage_pass(60000);
        assert_int_equal(hand_out(stage), task);
        assert_int_equal(hand_out(stage), 0);
        stage_cancel(stage, task);
    }
}

/* Taken, and never answered. */
static void test_expired(void **state)
{
    struct stage *stage = *state;
    uint64_t old = under_way(stage);
    assert_string_equal(report(stage, old, 1, leases, &accepted), "progress");
    assert_true(spare(stage, old));
    stage_restart(stage, NULL);
    (void)stage_gateway(stage);
    stage_pass(GIVE_UP);
    stage_tick(stage);
    const struct msg_outcome not_ready = {.answered = true, .left = true, .then = "pending"};
    assert_int_equal(stage_poll(stage, &not_ready), old);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, old), "expired manual");
    assert_true(spare(stage, old));
    struct msg_ack ack = stage_reinject(stage, &buy);
    assert_int_equal(hand_out(stage), is_replaced(&ack));
    assert_false(spare(stage, old));
    assert_int_equal(stage->tracker.vault.spare_bytes, 0);
}

/* An answer of it lies in a letter: that is not bought past. */
static void test_answered(void **state)
{
    struct stage *stage = *state;
    struct msg_letter letter;
    uint64_t old = failed_task(stage);
    assert_true(stage_letter(stage, &letter));
    char id[ALD_ULID_MAX];
    memcpy(id, letter.letter, sizeof id);
    const struct stage_callback callback = {.task = old, .query = "id=77&code=A"};
    assert_string_equal(stage_take(stage, &callback).disposition, "dead");
    const struct stage_again first = {.letter = id, .by_person = true, .buy = true};
    struct msg_ack ack = stage_reinject(stage, &first);
    is_refused(&ack, "answered");
    assert_true(stage_letter(stage, &letter));
    (void)stage_close(stage, letter.letter);
    ack = stage_reinject(stage, &first);
    assert_int_not_equal(is_replaced(&ack), old);
}

static int64_t spare_rows(struct stage *stage)
{
    ald_stmt_t *stmt = NULL;
    assert_int_equal(ald_store_prepare(stage->tracker.vault.store,
                                       "SELECT SUM(LENGTH(body)) FROM submits WHERE stage = 3",
                                       &stmt),
                     ALD_OK);
    assert_int_equal(ald_stmt_step(stmt), ALD_OK);
    int64_t bytes = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return bytes;
}

/* It is kept while it may be needed, and counted as it is; not a byte more. */
static void test_kept_for(void **state)
{
    struct stage *stage = *state;
    static const struct {
        const char *end;
        bool spare;
    } cases[] = {{"done", false}, {"cancelled", false}, {"failed", true}, {"dropped", false}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct msg_letter letter;
        uint64_t task = strcmp(cases[i].end, "done") != 0 && strcmp(cases[i].end, "cancelled") != 0
                            ? failed_task(stage)
                            : under_way(stage);
        if (i < 2)
            assert_string_equal(report(stage, task, 1, leases, &accepted), "progress");
        assert_true(spare(stage, task));
        const struct stage_callback callback = {.task = task, .query = "id=77&code=A"};
        if (strcmp(cases[i].end, "done") == 0)
            assert_string_equal(stage_take(stage, &callback).disposition, "applied");
        else if (strcmp(cases[i].end, "cancelled") == 0)
            stage_cancel(stage, task);
        else if (strcmp(cases[i].end, "dropped") == 0 && stage_letter(stage, &letter))
            (void)stage_close(stage, letter.letter);
        assert_int_equal(spare(stage, task), cases[i].spare);
        assert_int_equal(stage->tracker.vault.spare_bytes, spare_rows(stage));
        stage_restart(stage, NULL);
        assert_int_equal(stage->tracker.vault.spare_bytes, spare_rows(stage));
    }
    assert_true(stage->tracker.vault.spare_bytes > 0);
}

/* Open tasks may take half of what is kept, letters all; beyond it a person hears that it is gone.
 */
static void test_room(void **state)
{
    struct stage *stage = *state;
    enum { BODY = sizeof "{\"params\":{\"a\":1}}" - 1 };
    stage->settings.store.keep_submitted_bytes = 2 * BODY;
    uint64_t first = under_way(stage);
    assert_string_equal(report(stage, first, 1, leases, &accepted), "progress");
    uint64_t second = under_way(stage);
    struct msg_outcome other = accepted;
    (void)snprintf(other.provider_id, sizeof other.provider_id, "78");
    assert_string_equal(report(stage, second, 1, leases, &other), "progress");
    assert_true(spare(stage, first));
    assert_false(spare(stage, second));
    uint64_t third = failed_task(stage);
    assert_true(spare(stage, third));
    uint64_t fourth = failed_task(stage);
    assert_false(spare(stage, fourth));
    struct msg_ack ack = stage_reinject(stage, &buy);
    is_refused(&ack, "forgotten");
    assert_int_equal(stage->tracker.vault.spare_bytes, 2 * BODY);
}

/* What a letter of long ago was about is forgotten, and so is what was purged. */
static void test_kept_for_a_time(void **state)
{
    struct stage *stage = *state;
    for (int purged = 0; purged < 2; purged++) {
        stage->settings.store.keep_results_ms = (purged ? 1 : 90) * (int64_t)DAY;
        uint64_t task = failed_task(stage);
        stage_index(stage);
        for (int day = 0; day < 40 && (purged || spare(stage, task)); day++) {
            assert_true(day <= 31);
            stage_pass(DAY);
            const struct vault_bounds bounds = {.results_ms = tracker_now(&stage->tracker).wall_ms -
                                                              stage->settings.store.keep_results_ms,
                                                .spare_ms = tracker_now(&stage->tracker).wall_ms -
                                                            stage->settings.store.keep_letters_ms};
            (void)vault_purge(&stage->tracker.vault, &bounds, 100, bounds.results_ms);
            stage_tick(stage);
            if (purged && !vault_task_known(&stage->tracker.vault, task))
                break;
        }
        assert_false(spare(stage, task));
        assert_int_equal(stage->tracker.vault.spare_bytes, 0);
        struct msg_ack ack = stage_reinject(stage, &buy);
        is_refused(&ack, purged ? "unsubmitted" : "forgotten");
        assert_int_equal(pending_letters(letters_of(stage, task), "submit_failed:open"), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SHOP(test_example),
        cmocka_unit_test(test_what_is_decided),
        IN_SHOP(test_refused),
        IN_SHOP(test_registered),
        IN_SHOP(test_an_older_copy),
        IN_SHOP(test_uncertain_and_answered),
        IN_SHOP(test_uncertain_and_not_taken),
        IN_SHOP(test_expired),
        IN_SHOP(test_answered),
        IN_SHOP(test_kept_for),
        IN_SHOP(test_room),
        IN_SHOP(test_kept_for_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
