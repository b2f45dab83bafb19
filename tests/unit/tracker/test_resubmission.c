/* Submitting again, as far as it is a decision: rules 2 and 16 of GUARANTEES.md. */
#include "services/tracker/resubmission.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "services/tracker/acts/arrival.h"
#include "services/tracker/submission.h"

static const struct resubmission_facts late = {
    .why = RESUBMISSION_LATE, .on_stale = true, .most = 2, .kept = true, .now_ms = 9, .end_ms = 10};

static void test_example(void **state)
{
    (void)state;
    struct resubmission_facts facts = late;
    assert_true(resubmission_may(&facts));
    facts.had = 2;
    assert_false(resubmission_may(&facts));
}

/* Each thing that forbids it, alone. */
static void test_what_forbids_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 9; i++) {
        struct resubmission_facts facts = late;
        facts.on_stale = i != 0;
        facts.set_aside = i == 8;
        facts.had = i == 1 ? 2 : 1;
        facts.most = i == 2 ? 0 : 2;
        facts.kept = i != 3;
        facts.under_way = i == 4;
        facts.retired = i == 5;
        facts.now_ms = i == 6 ? facts.end_ms : 9;
        assert_int_equal(resubmission_may(&facts), i == 7);
        facts.why = RESUBMISSION_CODE; /* a late callback is nothing to it */
        assert_int_equal(resubmission_may(&facts), i == 7 || i == 0 || i == 8);
    }
}

/* One that was decided leaves only while it is wanted: it is counted itself. */
static void test_what_stops_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        struct resubmission_facts facts = late;
        facts.kept = false;
        facts.under_way = true;
        facts.had = 2;
        facts.on_stale = i != 0;
        facts.most = i == 1 ? 1 : 2;
        facts.retired = i == 2;
        facts.now_ms = i == 3 ? facts.end_ms : 9;
        assert_int_equal(resubmission_wanted(&facts), i == 4);
    }
}

static void test_which_attempt_another_follows(void **state)
{
    (void)state;
    assert_false(resubmission_followed(1, 1, false));
    assert_true(resubmission_followed(1, 1, true));
    assert_true(resubmission_followed(1, 2, false));
    assert_false(resubmission_followed(2, 1, true)); /* that is the one under way */
    assert_false(resubmission_followed(3, 3, false));
}

/* A report about what a resubmission follows is no news; its result is. */
static void test_reports_of_the_attempt_before(void **state)
{
    (void)state;
    static const struct ald_verdict verdicts[] = {
        {.then = ALD_THEN_ACCEPTED, .id = "77"},
        {.then = ALD_THEN_DONE_AT_SUBMIT},
        {.then = ALD_THEN_UNKNOWN},
        {.then = ALD_THEN_CODE, .cls = ALD_CLASS_PERMANENT},
    };
    for (unsigned stage = SUBMISSION_WAITING; stage <= SUBMISSION_UNCERTAIN; stage++) {
        const struct submission submit = {
            .stage = stage, .attempt = 1, .lease = 10, .resubmit = 1, .taken = 1};
        for (size_t i = 0; i < ALD_COUNT(verdicts); i++) {
            const struct submission_report report = {
                .attempt = 1, .lease = 10, .left = true, .answered = true, .verdict = &verdicts[i]};
            struct submission_decision decision;
            submission_decide(&submit, &report, &decision);
            assert_int_equal(decision.end, i == 1 ? SUBMISSION_DONE : SUBMISSION_NOTHING);
        }
    }
}

/* Of one that is submitted again the deadline is the task's, and its state stays pending. */
static void test_times_and_counts(void **state)
{
    (void)state;
    struct submission submit = {.made_ms = 5, .within_ms = 10, .until_ms = 99};
    assert_int_equal(submission_until(&submit), 15);
    submit.stage = SUBMISSION_STARTED;
    assert_true(submission_counts(&submit));
    submit.resubmit = 1;
    assert_int_equal(submission_until(&submit), 99);
    assert_false(submission_counts(&submit));
}

/* Callbacks that say that an attempt failed: believed or not, followed or not, with a code that
 * says so or not. */
static void test_failures_by_callback(void **state)
{
    (void)state;
    static const struct ald_profile profile = {.name = "two", .trust = ALD_TRUST_TOKEN};
    for (unsigned i = 0; i < 64; i++) {
        bool believed = i & 1;
        const struct ald_verdict verdict = {
            .then = ALD_THEN_CODE, .cls = ALD_CLASS_FAILED, .resubmit = i & 2, .id = "77"};
        const struct msg_callback message = {.task = 5};
        const struct arrival_facts facts = {.message = &message,
                                            .proof = believed ? ALD_PROOF_TOKEN : ALD_PROOF_NONE,
                                            .profile = &profile,
                                            .verdict = &verdict,
                                            .digest = "d1",
                                            .task = ARRIVAL_TASK_OPEN,
                                            .followed = i & 4,
                                            .again = i & 8,
                                            .under_way = i & 16,
                                            .task_provider_id = i & 32 ? "" : "77"};
        struct arrival_decision decision;
        arrival_decide(&facts, &decision);
        bool next = verdict.resubmit && facts.again && (!facts.under_way || decision.fill_id);
        assert_int_equal(decision.failed, believed && facts.followed);
        assert_int_equal(decision.again, believed && !facts.followed && next);
        assert_int_equal(decision.ends, believed && !facts.followed && !next);
        assert_int_equal(decision.disposition,
                         decision.ends ? ALD_DISP_APPLIED : ALD_DISP_PROGRESS);
        assert_int_equal(decision.hint, !believed && !facts.followed);
    }
}

/* A result is one of whatever attempt; a failure of one that was followed contradicts nothing. */
static void test_results_and_late_failures(void **state)
{
    (void)state;
    static const struct ald_profile profile = {.name = "two", .trust = ALD_TRUST_TOKEN};
    static const struct ald_verdict done = {.then = ALD_THEN_DONE, .id = "77"};
    static const struct ald_verdict failed = {.then = ALD_THEN_FAILED, .id = "77"};
    const struct msg_callback message = {.task = 5};
    struct arrival_facts facts = {.message = &message,
                                  .proof = ALD_PROOF_TOKEN,
                                  .profile = &profile,
                                  .verdict = &done,
                                  .digest = "d1",
                                  .task = ARRIVAL_TASK_OPEN,
                                  .task_provider_id = "77",
                                  .followed = true,
                                  .again = true};
    struct arrival_decision decision;
    arrival_decide(&facts, &decision);
    assert_true(decision.ends && decision.disposition == ALD_DISP_APPLIED);
    facts.task = ARRIVAL_TASK_ENDED;
    facts.ended_state = ALD_STATE_DONE;
    facts.ended_digest = "d2";
    arrival_decide(&facts, &decision);
    assert_true(decision.disposition == ALD_DISP_DEAD && decision.reason == ALD_REASON_CONFLICT);
    facts.verdict = &failed;
    arrival_decide(&facts, &decision);
    assert_int_equal(decision.disposition, ALD_DISP_DUPLICATE);
    facts.followed = false;
    arrival_decide(&facts, &decision);
    assert_int_equal(decision.disposition, ALD_DISP_DEAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_what_forbids_it),
        cmocka_unit_test(test_what_stops_it),
        cmocka_unit_test(test_which_attempt_another_follows),
        cmocka_unit_test(test_reports_of_the_attempt_before),
        cmocka_unit_test(test_times_and_counts),
        cmocka_unit_test(test_failures_by_callback),
        cmocka_unit_test(test_results_and_late_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
