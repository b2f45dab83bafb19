/* Submissions: who may start, what a report means, and how the tasks of pending.h live through it.
 * Rules 2, 10 and 15 of GUARANTEES.md, as far as they are decisions. */
#include "services/tracker/pending_submit.h"

#include "common/base/text.h"
#include "services/tracker/pending_figures.h"
#include "tests/unit/tracker/pending_fixture.h"

enum { WITHIN = 86400000 };

static const struct ald_profile shop = {
    .name = "shop",
    .poll_url = "https://shop.example/res.php",
    .schedule = {.every_ms = EVERY, .max_every_ms = 60000, .max_requests = MAX_REQUESTS},
    .budgets = {.count = 2,
                .list = {{.name = "in", .counts = ALD_COUNTS_SUBMIT, .min_gap_ms = 100},
                         {.name = "res", .counts = ALD_COUNTS_POLL, .min_gap_ms = 100000}}},
};

static const struct ald_verdict taken = {.then = ALD_THEN_ACCEPTED, .id = "77"};
static const struct ald_verdict unknown = {.then = ALD_THEN_UNKNOWN};
static const struct ald_verdict handed_back = {.then = ALD_THEN_IGNORE};

static struct ald_verdict code(enum ald_class cls)
{
    return (struct ald_verdict){.then = ALD_THEN_CODE, .cls = cls};
}

static enum submission_end ends(const struct submission *self, struct submission_report report)
{
    struct submission_decision decision;
    submission_decide(self, &report, &decision);
    return decision.end;
}

static void test_example(void **state)
{
    (void)state;
    struct submission submit = {.stage = SUBMISSION_WAITING};
    assert_false(submission_start(&submit, 1, 10, false)); /* the lease is another's by now */
    assert_true(submission_start(&submit, 1, 10, true));
    submission_started(&submit, 1, 10);
    const struct submission_report report = {
        .attempt = 1, .lease = 10, .left = true, .answered = true, .verdict = &taken};
    assert_int_equal(ends(&submit, report), SUBMISSION_TAKEN);
}

/* Rule 2: a start is given to one lease, and to that one as often as it asks. */
static void test_who_may_start(void **state)
{
    (void)state;
    static const struct {
        enum submission_stage stage;
        uint64_t attempt, lease;
        bool leased, may;
    } cases[] = {
        {SUBMISSION_WAITING, 3, 20, true, true},    {SUBMISSION_WAITING, 3, 20, false, false},
        {SUBMISSION_WAITING, 2, 20, true, false},   {SUBMISSION_WAITING, 4, 20, true, false},
        {SUBMISSION_STARTED, 2, 10, false, true},   {SUBMISSION_STARTED, 2, 11, true, false},
        {SUBMISSION_STARTED, 3, 10, true, false},   {SUBMISSION_UNCERTAIN, 2, 10, true, false},
        {SUBMISSION_UNCERTAIN, 3, 20, true, false}, {SUBMISSION_SETTLED, 3, 20, true, false},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct submission submit = {.stage = cases[i].stage, .attempt = 2, .lease = 10};
        assert_int_equal(
            submission_start(&submit, cases[i].attempt, cases[i].lease, cases[i].leased),
            cases[i].may);
    }
}

static void test_what_answers_mean(void **state)
{
    (void)state;
    const struct {
        struct ald_verdict verdict;
        bool left, answered;
        enum submission_end end;
    } cases[] = {
        {taken, true, true, SUBMISSION_TAKEN},
        {{.then = ALD_THEN_DONE_AT_SUBMIT}, true, true, SUBMISSION_DONE},
        {{.then = ALD_THEN_DONE}, true, true, SUBMISSION_DONE},
        {{.then = ALD_THEN_FAILED}, true, true, SUBMISSION_FAILED},
        {{.then = ALD_THEN_FAILED}, false, false, SUBMISSION_FAILED},
        {unknown, true, true, SUBMISSION_UNSURE},
        {unknown, true, false, SUBMISSION_UNSURE},
        {unknown, false, false, SUBMISSION_AGAIN},
        {{.then = ALD_THEN_PENDING}, true, true, SUBMISSION_UNSURE},
        {{.then = ALD_THEN_IGNORE}, true, true, SUBMISSION_UNSURE},
        {{.then = ALD_THEN_LOST}, true, true, SUBMISSION_UNSURE},
        {{.then = ALD_THEN_FETCH}, true, true, SUBMISSION_UNSURE},
        {code(ALD_CLASS_TRANSIENT), true, true, SUBMISSION_AGAIN},
        {code(ALD_CLASS_CONFIG), true, true, SUBMISSION_AGAIN},
        {code(ALD_CLASS_PERMANENT), true, true, SUBMISSION_FAILED},
        {code(ALD_CLASS_FAILED), true, true, SUBMISSION_FAILED},
        {code(ALD_CLASS_UNKNOWN), true, true, SUBMISSION_AGAIN},
        {code(ALD_CLASS_PERMANENT), true, false, SUBMISSION_UNSURE}, /* half an answer is none */
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        for (unsigned stage = SUBMISSION_STARTED; stage <= SUBMISSION_UNCERTAIN; stage++) {
            const struct submission submit = {.stage = stage, .attempt = 1, .lease = 10};
            const struct submission_report report = {.attempt = 1,
                                                     .lease = 10,
                                                     .left = cases[i].left,
                                                     .answered = cases[i].answered,
                                                     .verdict = &cases[i].verdict};
            assert_int_equal(ends(&submit, report), cases[i].end);
        }
    }
    const struct ald_verdict strange = code(ALD_CLASS_UNKNOWN);
    const struct submission third = {
        .stage = SUBMISSION_STARTED, .attempt = 3, .lease = 10, .strange = 2};
    assert_int_equal(
        ends(&third,
             (struct submission_report){
                 .attempt = 3, .lease = 10, .left = true, .answered = true, .verdict = &strange}),
        SUBMISSION_FAILED);
}

/* A refusal with a status of 5xx: who failed may have taken it, and would be asked to again. */
static void test_refused_by_a_server_that_failed(void **state)
{
    (void)state;
    static const enum ald_class classes[] = {ALD_CLASS_TRANSIENT, ALD_CLASS_CONFIG,
                                             ALD_CLASS_UNKNOWN};
    const struct submission submit = {.stage = SUBMISSION_STARTED, .attempt = 1, .lease = 10};
    for (size_t i = 0; i < ALD_COUNT(classes); i++) {
        struct ald_verdict verdict = code(classes[i]);
        struct submission_report report = {
            .attempt = 1, .lease = 10, .left = true, .answered = true, .verdict = &verdict};
        (void)snprintf(verdict.code, sizeof verdict.code, "ERROR_SERVER_ERROR");
        report.http = 429;
        assert_int_equal(ends(&submit, report), SUBMISSION_AGAIN);
        report.http = 504;
        assert_int_equal(ends(&submit, report), SUBMISSION_UNSURE);
        verdict.code[0] = '\0'; /* the profile's not_taken */
        assert_int_equal(ends(&submit, report), SUBMISSION_AGAIN);
    }
}

/* A report is a fact about its attempt: not about the one that another lease has started since. */
static void test_whose_report_it_is(void **state)
{
    (void)state;
    const struct ald_verdict busy = code(ALD_CLASS_TRANSIENT);
    const struct {
        enum submission_stage stage;
        struct submission_report report;
        enum submission_end end;
    } cases[] = {
        /* Attempt 2 of lease 10 is under way, or was. */
        {SUBMISSION_STARTED, {2, 10, true, true, true, &busy, 0}, SUBMISSION_AGAIN},
        {SUBMISSION_STARTED, {2, 9, false, false, false, &handed_back, 0}, SUBMISSION_NOTHING},
        {SUBMISSION_UNCERTAIN, {2, 9, false, false, false, &handed_back, 0}, SUBMISSION_NOTHING},
        {SUBMISSION_UNCERTAIN, {2, 10, false, false, false, &handed_back, 0}, SUBMISSION_AGAIN},
        {SUBMISSION_STARTED, {1, 8, false, true, true, &busy, 0}, SUBMISSION_NOTHING},
        {SUBMISSION_STARTED, {1, 8, false, true, false, &unknown, 0}, SUBMISSION_NOTHING},
        {SUBMISSION_STARTED, {1, 8, false, true, true, &taken, 0}, SUBMISSION_TAKEN},
        /* It was told that attempt 2 was not taken. */
        {SUBMISSION_WAITING, {2, 10, false, true, true, &busy, 0}, SUBMISSION_NOTHING},
        {SUBMISSION_WAITING, {2, 10, false, true, false, &unknown, 0}, SUBMISSION_NOTHING},
        {SUBMISSION_WAITING, {2, 10, false, true, true, &taken, 0}, SUBMISSION_TAKEN},
        {SUBMISSION_WAITING, {3, 11, true, false, false, &handed_back, 0}, SUBMISSION_AGAIN},
        {SUBMISSION_WAITING, {3, 12, false, false, false, &handed_back, 0}, SUBMISSION_NOTHING},
        /* A store that is older than what was done. */
        {SUBMISSION_WAITING, {3, 12, false, true, false, &unknown, 0}, SUBMISSION_UNSURE},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct submission submit = {.stage = cases[i].stage, .attempt = 2, .lease = 10};
        assert_int_equal(ends(&submit, cases[i].report), cases[i].end);
    }
}

static void test_waits_and_blocks(void **state)
{
    (void)state;
    struct submission submit = {.stage = SUBMISSION_STARTED, .attempt = 1, .lease = 10};
    struct submission_decision decision;
    struct ald_verdict verdict = {.then = ALD_THEN_CODE,
                                  .cls = ALD_CLASS_TRANSIENT,
                                  .scope = ALD_SCOPE_ACCOUNT,
                                  .block = true,
                                  .wait_ms = 30000};
    struct submission_report report = {
        .attempt = 1, .lease = 10, .left = true, .answered = true, .verdict = &verdict};
    submission_decide(&submit, &report, &decision);
    assert_true(decision.block && decision.wait_ms == 30000);
    assert_false(decision.unasked);
    verdict = (struct ald_verdict){.then = ALD_THEN_IGNORE};
    report.left = report.answered = false;
    submission_decide(&submit, &report, &decision);
    assert_true(decision.end == SUBMISSION_AGAIN && decision.unasked);
    report.left = report.answered = true;
    verdict = (struct ald_verdict){
        .then = ALD_THEN_CODE, .cls = ALD_CLASS_CONFIG, .scope = ALD_SCOPE_ACCOUNT};
    submission_decide(&submit, &report, &decision);
    assert_true(decision.block && decision.wait_ms > 0);
    assert_int_equal(submission_wait(&submit, &shop.schedule, 0, 0), EVERY);
    submit.tries = 3;
    assert_int_equal(submission_wait(&submit, &shop.schedule, 0, 0), 4 * EVERY);
    assert_int_equal(submission_wait(&submit, &shop.schedule, 90000, 0), 90000);
    submit.tries = 100;
    assert_int_equal(submission_wait(&submit, &shop.schedule, 0, 0), 60000);
}

/* ---- in pending.h ---- */

static struct pending_task *submitted(pending_t *self, uint64_t id, int64_t now_ms)
{
    const struct submission facts = {.made_ms = now_ms,
                                     .within_ms = WITHIN,
                                     .stale_after_ms = STALE,
                                     .give_up_after_ms = GIVE_UP};
    struct pending_task *task = add(self, id, &shop, "", now_ms);
    pending_submit(self, task, &facts, now_ms);
    return task;
}

static enum pending_due_kind due_kind(pending_t *self, int64_t now_ms, struct pending_task **task)
{
    enum pending_due_kind kind = PENDING_WAITS;
    for (unsigned turns = 0; kind == PENDING_WAITS && turns < 1000; turns++)
        kind = pending_due(self, now_ms, false, task);
    return kind;
}

/* Rule 2: a lease that ends before its start is handed out again, one that ends after it never. */
static void test_leases(void **state)
{
    (void)state;
    pending_t *self = made();
    struct pending_task *task = submitted(self, 7, 0);
    struct pending_task *seen = NULL;
    assert_int_equal(pending_state(task), ALD_STATE_ACCEPTED);
    assert_ptr_equal(pending_lease(self, 1, 1, 0), task);
    assert_null(pending_lease(self, 2, 2, 1000));
    assert_int_equal(pending_count_polling(self), 0);
    pending_poller_gone(self, 1, 2000);
    assert_ptr_equal(pending_lease(self, 2, 2, 2000), task);
    assert_false(pending_submit_leased(task, 1));
    assert_int_equal(due_kind(self, 2000 + LEASE, &seen), PENDING_NOTHING);
    assert_ptr_equal(pending_lease(self, 3, 3, 2000 + LEASE), task);
    pending_submit_started(self, task, 1, 3, 3000 + LEASE);
    assert_int_equal(pending_state(task), ALD_STATE_SUBMITTING);
    assert_int_equal(pending_count_submitting(self), 1);
    pending_poller_gone(self, 3, 4000 + LEASE);
    assert_null(pending_lease(self, 2, 4, 4000 + LEASE));
    assert_int_equal(due_kind(self, 4000 + LEASE, &seen), PENDING_UNSURE);
    pending_submit_unsure(self, task, "L", 4000 + LEASE);
    assert_int_equal(due_kind(self, 3000 + LEASE + GIVE_UP - 1, &seen), PENDING_NOTHING);
    assert_null(pending_lease(self, 2, 5, 3000 + LEASE + GIVE_UP - 1));
    assert_int_equal(due_kind(self, 3000 + LEASE + GIVE_UP, &seen), PENDING_EXPIRE);
    assert_ptr_equal(seen, task);
    pending_end(self, &task, 3000 + LEASE + GIVE_UP);
    assert_int_equal(pending_count_submitting(self), 0);
    assert_int_equal(pending_count_phase(self, PENDING_IDLE), 0);
    pending_destroy(&self);
}

/* The lease of a started one runs out in silence. */
static void test_a_started_lease_runs_out(void **state)
{
    (void)state;
    pending_t *self = made();
    struct pending_task *task = submitted(self, 7, 0);
    struct pending_task *seen = NULL;
    assert_ptr_equal(pending_lease(self, 1, 1, 0), task);
    pending_submit_started(self, task, 1, 1, 10);
    assert_int_equal(due_kind(self, 10 + LEASE - 1, &seen), PENDING_NOTHING);
    assert_int_equal(due_kind(self, 10 + LEASE, &seen), PENDING_UNSURE);
    pending_destroy(&self);
}

/* Once the id is known it is a task like any other; its times count from the start. */
static void test_settled(void **state)
{
    (void)state;
    pending_t *self = made();
    struct pending_task *task = submitted(self, 7, 0);
    assert_ptr_equal(pending_lease(self, 1, 1, 0), task);
    pending_submit_started(self, task, 1, 1, 1000);
    assert_int_equal(pending_attach(self, task, "77", 2000), ALD_OK);
    assert_null(task->submit);
    assert_int_equal(task->phase, PENDING_IDLE);
    assert_int_equal(pending_state(task), ALD_STATE_PENDING);
    assert_int_equal(due(self, 1000 + STALE - 1, false), 0);
    assert_null(pending_lease(self, 1, 2, 1000 + STALE - 1));
    assert_int_equal(due(self, 1000 + STALE, false), 0);
    assert_ptr_equal(pending_lease(self, 1, 2, 1000 + STALE), task);
    assert_int_equal(pending_count_polling(self), 1);
    pending_destroy(&self);
}

static const struct submission_decision busy_for = {.end = SUBMISSION_AGAIN, .wait_ms = 20000};

/* Rule 15: what is not submitted in time fails, whatever held it up; refusals end no task. */
static void test_again_until_its_deadline(void **state)
{
    (void)state;
    pending_t *self = made();
    struct pending_task *task = submitted(self, 7, 0);
    struct pending_task *seen = NULL;
    int64_t now_ms = 0;
    for (uint64_t lease = 1; lease <= 5; lease++) {
        assert_ptr_equal(pending_lease(self, 1, lease, now_ms), task);
        pending_submit_started(self, task, lease, lease, now_ms);
        int64_t next_ms = pending_submit_again(self, task, &busy_for, lease, true, now_ms);
        assert_true(next_ms >= now_ms + 20000);
        assert_int_equal(due_kind(self, next_ms - 1, &seen), PENDING_NOTHING);
        assert_null(pending_lease(self, 1, 100, next_ms - 1));
        now_ms = next_ms;
        assert_int_equal(due_kind(self, now_ms, &seen), PENDING_NOTHING);
    }
    budget_block(&task->account->budget, INT64_C(10) * WITHIN, "banned");
    assert_int_equal(due_kind(self, WITHIN - 1, &seen), PENDING_NOTHING);
    assert_null(pending_lease(self, 1, 100, WITHIN - 1));
    assert_int_equal(due_kind(self, WITHIN, &seen), PENDING_EXPIRE);
    assert_int_equal(pending_state(seen), ALD_STATE_ACCEPTED);
    pending_destroy(&self);
}

/* Budgets count what they are about: a used one of polls holds up no submission, and the other way
 * round; both have their turns. */
static void test_budgets(void **state)
{
    (void)state;
    pending_t *self = made();
    struct pending_task *polled = add(self, 1, &shop, "1", 0);
    (void)add(self, 2, &shop, "2", 0);
    assert_int_equal(due(self, STALE, false), 0);
    struct pending_task *first = submitted(self, 3, STALE);
    struct pending_task *second = submitted(self, 4, STALE);
    assert_ptr_equal(pending_lease(self, 1, 1, STALE), first);
    assert_ptr_equal(pending_lease(self, 1, 2, STALE), polled); /* its turn */
    assert_null(pending_lease(self, 1, 3, STALE));
    assert_null(pending_lease(self, 1, 3, STALE + 99));
    assert_ptr_equal(pending_lease(self, 1, 3, STALE + 100), second);
    assert_null(pending_lease(self, 1, 4, STALE + 99999));
    assert_non_null(pending_lease(self, 1, 4, STALE + 100000));
    pending_destroy(&self);
}

/* Read back after a restart, in each stage. */
static void test_read_back(void **state)
{
    (void)state;
    pending_t *self = made();
    struct pending_task *seen = NULL;
    struct submission facts = {.made_ms = 0, .within_ms = WITHIN, .next_ms = 5000, .attempt = 1};
    struct pending_task *waits = add(self, 1, &shop, "", 0);
    pending_submit(self, waits, &facts, 1000);
    facts = (struct submission){.stage = SUBMISSION_STARTED, .attempt = 1, .lease = 9};
    struct pending_task *started = add(self, 2, &shop, "", 0);
    pending_submit(self, started, &facts, 1000);
    facts.stage = SUBMISSION_UNCERTAIN;
    struct pending_task *unsure = add(self, 3, &shop, "", 0);
    pending_submit(self, unsure, &facts, 1000);
    assert_int_equal(pending_count_submitting(self), 2);
    assert_int_equal(due_kind(self, 4999, &seen), PENDING_NOTHING);
    assert_null(pending_lease(self, 1, 20, 4999));
    assert_int_equal(due_kind(self, 5000, &seen), PENDING_NOTHING);
    assert_ptr_equal(pending_lease(self, 1, 20, 5000), waits);
    assert_true(submission_start(started->submit, 1, 9, pending_submit_leased(started, 9)));
    /* A start that is confirmed again is sent now: it counts from now on. */
    const struct budget_part *part = &started->account->budget.list[0].part[BUDGET_ORDINARY];
    uint64_t under_way = part->under_way;
    pending_submit_resumed(self, started, 9, 6000);
    pending_submit_resumed(self, started, 9, 6500);
    assert_int_equal(part->under_way, under_way + 1);
    assert_true(pending_submit_leased(started, 9));
    assert_int_equal(due_kind(self, 6000 + LEASE - 1, &seen), PENDING_NOTHING);
    assert_int_equal(due_kind(self, 6000 + LEASE, &seen), PENDING_UNSURE);
    assert_ptr_equal(seen, started);
    pending_submit_unsure(self, started, "L", 6000 + LEASE);
    assert_int_equal(part->under_way, under_way - 1); /* and that of `waits` is over */
    pending_destroy(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_who_may_start),
        cmocka_unit_test(test_what_answers_mean),
        cmocka_unit_test(test_refused_by_a_server_that_failed),
        cmocka_unit_test(test_whose_report_it_is),
        cmocka_unit_test(test_waits_and_blocks),
        cmocka_unit_test(test_leases),
        cmocka_unit_test(test_a_started_lease_runs_out),
        cmocka_unit_test(test_settled),
        cmocka_unit_test(test_again_until_its_deadline),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
