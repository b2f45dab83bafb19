/* What becomes of a callback: task x verdict x proof x trust, as rules 3, 7, 8, 9 and 10 of
 * GUARANTEES.md have it.
 */
#include "services/tracker/acts/arrival.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct ald_verdict done = {.then = ALD_THEN_DONE};
static const struct ald_verdict done_named = {.then = ALD_THEN_DONE, .id = "77"};
static const struct ald_verdict failed_code = {.then = ALD_THEN_CODE, .cls = ALD_CLASS_FAILED};
static const struct ald_verdict failed = {.then = ALD_THEN_FAILED};
static const struct ald_verdict pending = {.then = ALD_THEN_PENDING};
static const struct ald_verdict hint = {.then = ALD_THEN_HINT};
static const struct ald_verdict unknown = {.then = ALD_THEN_UNKNOWN};

static const struct ald_profile profiles[] = {
    [ALD_TRUST_HINT] = {.name = "two", .trust = ALD_TRUST_HINT},
    [ALD_TRUST_ID] = {.name = "two", .trust = ALD_TRUST_ID},
    [ALD_TRUST_TOKEN] = {.name = "two", .trust = ALD_TRUST_TOKEN},
    [ALD_TRUST_AUTH] = {.name = "two", .trust = ALD_TRUST_AUTH},
};

struct scene {
    struct msg_callback message;
    struct arrival_facts facts;
};

/* A message with a genuine token about an open task whose id is 77, believed. */
static struct scene *scene_of(struct scene *self, const struct ald_verdict *verdict)
{
    *self = (struct scene){.message = {.task = 5}};
    self->facts = (struct arrival_facts){.message = &self->message,
                                         .proof = ALD_PROOF_TOKEN,
                                         .profile = &profiles[ALD_TRUST_TOKEN],
                                         .verdict = verdict,
                                         .digest = "d1",
                                         .task = ARRIVAL_TASK_OPEN,
                                         .task_provider_id = "77",
                                         .ended_state = ALD_STATE_DONE,
                                         .ended_digest = "d1"};
    return self;
}

static struct arrival_decision decided(const struct scene *self)
{
    struct arrival_decision decision;
    arrival_decide(&self->facts, &decision);
    /* What holds of every decision. */
    assert_int_equal(decision.ends || decision.corrects, decision.disposition == ALD_DISP_APPLIED);
    if (decision.corrects)
        assert_int_equal(self->facts.task, ARRIVAL_TASK_ENDED);
    assert_int_equal(decision.reason != ALD_REASON_NONE, decision.disposition == ALD_DISP_DEAD);
    assert_int_equal(decision.cause[0] != '\0', decision.disposition == ALD_DISP_DEAD);
    if (decision.ends)
        assert_int_equal(self->facts.task, ARRIVAL_TASK_OPEN);
    if (self->facts.replay)
        assert_int_not_equal(decision.disposition, ALD_DISP_PARKED);
    return decision;
}

static void test_example(void **state)
{
    (void)state;
    struct scene scene;
    struct arrival_decision decision = decided(scene_of(&scene, &done));
    assert_int_equal(decision.disposition, ALD_DISP_APPLIED);
    assert_int_equal(decision.state, ALD_STATE_DONE);
    assert_false(decision.hint);
}

static const struct {
    const char *name;
    struct ald_verdict verdict;
    enum ald_disposition disposition;
    enum ald_reason reason;
    enum ald_state state;
    bool hint;
} ON_AN_OPEN_TASK[] = {
    {"done", {.then = ALD_THEN_DONE}, ALD_DISP_APPLIED, 0, ALD_STATE_DONE, false},
    {"failed", {.then = ALD_THEN_FAILED}, ALD_DISP_APPLIED, 0, ALD_STATE_FAILED, false},
    {"failed code",
     {.then = ALD_THEN_CODE, .cls = ALD_CLASS_FAILED},
     ALD_DISP_APPLIED,
     0,
     ALD_STATE_FAILED,
     false},
    {"permanent code",
     {.then = ALD_THEN_CODE, .cls = ALD_CLASS_PERMANENT},
     ALD_DISP_APPLIED,
     0,
     ALD_STATE_FAILED,
     false},
    {"permanent code of the account", /* rule 3: no verdict on the task */
     {.then = ALD_THEN_CODE, .cls = ALD_CLASS_PERMANENT, .scope = ALD_SCOPE_ACCOUNT},
     ALD_DISP_PROGRESS,
     0,
     0,
     true},
    {"config code",
     {.then = ALD_THEN_CODE, .cls = ALD_CLASS_CONFIG},
     ALD_DISP_PROGRESS,
     0,
     0,
     true},
    {"transient code",
     {.then = ALD_THEN_CODE, .cls = ALD_CLASS_TRANSIENT},
     ALD_DISP_PROGRESS,
     0,
     0,
     true},
    {"lost code", /* only a poll may say so */
     {.then = ALD_THEN_CODE, .cls = ALD_CLASS_LOST},
     ALD_DISP_PROGRESS,
     0,
     0,
     true},
    {"lost", {.then = ALD_THEN_LOST}, ALD_DISP_PROGRESS, 0, 0, true},
    {"pending", {.then = ALD_THEN_PENDING}, ALD_DISP_PROGRESS, 0, 0, false},
    {"pending code",
     {.then = ALD_THEN_CODE, .cls = ALD_CLASS_PENDING},
     ALD_DISP_PROGRESS,
     0,
     0,
     false},
    {"ignore", {.then = ALD_THEN_IGNORE}, ALD_DISP_PROGRESS, 0, 0, false},
    {"hint", {.then = ALD_THEN_HINT}, ALD_DISP_PROGRESS, 0, 0, true},
    {"unknown", {.then = ALD_THEN_UNKNOWN}, ALD_DISP_DEAD, ALD_REASON_UNMAPPED_STATUS, 0, true},
    {"unknown code",
     {.then = ALD_THEN_CODE, .cls = ALD_CLASS_UNKNOWN},
     ALD_DISP_DEAD,
     ALD_REASON_UNMAPPED_STATUS,
     0,
     true},
};

static void test_verdicts_on_an_open_task(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(ON_AN_OPEN_TASK); i++) {
        struct scene scene;
        struct arrival_decision decision = decided(scene_of(&scene, &ON_AN_OPEN_TASK[i].verdict));
        if (decision.disposition != ON_AN_OPEN_TASK[i].disposition ||
            decision.hint != ON_AN_OPEN_TASK[i].hint)
            print_error("%s\n", ON_AN_OPEN_TASK[i].name);
        assert_int_equal(decision.disposition, ON_AN_OPEN_TASK[i].disposition);
        assert_int_equal(decision.reason, ON_AN_OPEN_TASK[i].reason);
        assert_int_equal(decision.hint, ON_AN_OPEN_TASK[i].hint);
        if (decision.ends)
            assert_int_equal(decision.state, ON_AN_OPEN_TASK[i].state);
    }
}

/* Who is not believed makes us ask, and ends nothing. */
static void test_proof_and_trust(void **state)
{
    (void)state;
    static const bool believed[4][4] = {
        /* proof:           none   id     token  auth */
        [ALD_TRUST_HINT] = {false, false, false, false},
        [ALD_TRUST_ID] = {false, true, true, true},
        [ALD_TRUST_TOKEN] = {false, false, true, true},
        [ALD_TRUST_AUTH] = {false, false, false, true},
    };
    for (unsigned trust = 0; trust < 4; trust++)
        for (unsigned proof = 0; proof < ALD_PROOF_COUNT; proof++) {
            struct scene scene;
            (void)scene_of(&scene, &done);
            scene.facts.profile = &profiles[trust];
            scene.facts.proof = (enum ald_proof)proof;
            struct arrival_decision decision = decided(&scene);
            assert_int_equal(decision.ends, believed[trust][proof]);
            assert_int_equal(decision.hint, !believed[trust][proof]);
        }
}

/* Rule 9: what a later answer is to a task that has ended. */
static void test_ended_tasks(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum ald_state had;
        const struct ald_verdict *verdict;
        bool same;
        enum ald_disposition disposition;
    } cases[] = {
        {"the same", ALD_STATE_DONE, &done, true, ALD_DISP_DUPLICATE},
        {"another answer", ALD_STATE_DONE, &done, false, ALD_DISP_DEAD},
        {"failed after done", ALD_STATE_DONE, &failed, false, ALD_DISP_DEAD},
        {"failed again", ALD_STATE_FAILED, &failed_code, true, ALD_DISP_DUPLICATE},
        {"done after failed", ALD_STATE_FAILED, &done, true, ALD_DISP_DEAD},
        {"done after expired", ALD_STATE_EXPIRED, &done, true, ALD_DISP_APPLIED},
        {"failed after expired", ALD_STATE_EXPIRED, &failed, false, ALD_DISP_DUPLICATE},
        {"done after lost", ALD_STATE_LOST, &done, false, ALD_DISP_APPLIED},
        {"failed after lost", ALD_STATE_LOST, &failed_code, false, ALD_DISP_DUPLICATE},
        {"done after cancelled", ALD_STATE_CANCELLED, &done, false, ALD_DISP_DUPLICATE},
        {"pending after done", ALD_STATE_DONE, &pending, false, ALD_DISP_DUPLICATE},
        {"hint after done", ALD_STATE_DONE, &hint, false, ALD_DISP_DUPLICATE},
        {"unknown after done", ALD_STATE_DONE, &unknown, false, ALD_DISP_DUPLICATE},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct scene scene;
        (void)scene_of(&scene, cases[i].verdict);
        scene.facts.task = ARRIVAL_TASK_ENDED;
        scene.facts.ended_state = cases[i].had;
        scene.facts.ended_digest = cases[i].same ? "d1" : "d2";
        struct arrival_decision decision = decided(&scene);
        if (decision.disposition != cases[i].disposition)
            print_error("%s\n", cases[i].name);
        assert_int_equal(decision.disposition, cases[i].disposition);
        assert_false(decision.hint);
        if (decision.disposition == ALD_DISP_DEAD)
            assert_int_equal(decision.reason, ALD_REASON_CONFLICT);
    }
}

/* Rule 9: published as a correction where it is believed, and the profile does not keep it. */
static void test_an_answer_after_our_own_verdict(void **state)
{
    (void)state;
    static const struct ald_profile keeps = {
        .name = "two", .trust = ALD_TRUST_TOKEN, .late_results_kept = true};
    static const struct {
        const char *name;
        const struct ald_profile *profile;
        enum ald_proof proof;
        bool corrects;
    } cases[] = {
        {"believed", &profiles[ALD_TRUST_TOKEN], ALD_PROOF_TOKEN, true},
        {"kept", &keeps, ALD_PROOF_TOKEN, false},
        {"of anybody", &profiles[ALD_TRUST_TOKEN], ALD_PROOF_ID, false},
        {"by its id, as the profile wants", &profiles[ALD_TRUST_ID], ALD_PROOF_ID, true},
        {"a hint", &profiles[ALD_TRUST_HINT], ALD_PROOF_AUTH, false},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct scene scene;
        print_message("%s\n", cases[i].name);
        (void)scene_of(&scene, &done);
        scene.facts.task = ARRIVAL_TASK_ENDED;
        scene.facts.ended_state = ALD_STATE_EXPIRED;
        scene.facts.profile = cases[i].profile;
        scene.facts.proof = cases[i].proof;
        struct arrival_decision decision = decided(&scene);
        assert_int_equal(decision.corrects, cases[i].corrects);
        if (decision.corrects)
            assert_int_equal(decision.state, ALD_STATE_DONE);
        else
            assert_non_null(strstr(decision.cause, "given the task up"));
    }
}

/* Rule 9: the first letter for each answer, four for a task; the rest is counted. */
static void test_letters_are_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const struct ald_verdict *verdict;
        enum arrival_task task;
        const char *task_id;
        unsigned letters, conflicts;
        bool known;
        enum ald_disposition disposition;
    } cases[] = {
        {"first", &done, ARRIVAL_TASK_ENDED, "77", 0, 0, false, ALD_DISP_DEAD},
        {"fourth", &done, ARRIVAL_TASK_ENDED, "77", 3, 3, false, ALD_DISP_DEAD},
        {"fifth", &done, ARRIVAL_TASK_ENDED, "77", 4, 4, false, ALD_DISP_DUPLICATE},
        {"again", &done, ARRIVAL_TASK_ENDED, "77", 1, 1, true, ALD_DISP_DUPLICATE},
        {"after others", &done, ARRIVAL_TASK_ENDED, "77", 63, 3, false, ALD_DISP_DEAD},
        {"one too many", &done, ARRIVAL_TASK_ENDED, "77", 64, 0, false, ALD_DISP_DUPLICATE},
        {"unknown word", &unknown, ARRIVAL_TASK_OPEN, "77", 63, 4, false, ALD_DISP_DEAD},
        {"too many words", &unknown, ARRIVAL_TASK_OPEN, "77", 64, 0, false, ALD_DISP_PROGRESS},
        {"other id", &done_named, ARRIVAL_TASK_OPEN, "78", 0, 0, false, ALD_DISP_DEAD},
        {"other id, again", &done_named, ARRIVAL_TASK_OPEN, "78", 1, 1, true, ALD_DISP_PROGRESS},
        {"other ids", &done_named, ARRIVAL_TASK_OPEN, "78", 4, 4, false, ALD_DISP_PROGRESS},
        {"other id, ended", &done_named, ARRIVAL_TASK_ENDED, "78", 4, 4, false, ALD_DISP_DUPLICATE},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct scene scene;
        (void)scene_of(&scene, cases[i].verdict);
        scene.facts.task = cases[i].task;
        scene.facts.task_provider_id = cases[i].task_id;
        scene.facts.ended_digest = "d2";
        scene.facts.letters = cases[i].letters;
        scene.facts.conflicts = cases[i].conflicts;
        scene.facts.conflict_known = cases[i].known;
        struct arrival_decision decision = decided(&scene);
        if (decision.disposition != cases[i].disposition)
            print_error("%s\n", cases[i].name);
        assert_int_equal(decision.disposition, cases[i].disposition);
    }
}

/* Rules 6, 7 and 10: messages of a task that is not here. */
static void test_unknown_tasks(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t token_task;
        const char *id;
        enum arrival_task task;
        bool replay;
        enum ald_disposition disposition;
        enum ald_reason reason;
    } cases[] = {
        {"bare id", 0, "77", ARRIVAL_TASK_UNKNOWN, false, ALD_DISP_PARKED, 0},
        {"bare id, replayed", 0, "77", ARRIVAL_TASK_UNKNOWN, true, ALD_DISP_DEAD,
         ALD_REASON_UNKNOWN_TASK},
        {"token", 5, "", ARRIVAL_TASK_UNKNOWN, false, ALD_DISP_DEAD, ALD_REASON_UNKNOWN_TASK},
        {"token and id", 5, "77", ARRIVAL_TASK_UNKNOWN, false, ALD_DISP_DEAD,
         ALD_REASON_UNKNOWN_TASK},
        {"no name", 0, "", ARRIVAL_TASK_UNKNOWN, false, ALD_DISP_DEAD, ALD_REASON_MALFORMED},
        {"purged", 5, "77", ARRIVAL_TASK_PURGED, false, ALD_DISP_DUPLICATE, 0},
        {"purged, bare", 0, "77", ARRIVAL_TASK_PURGED, false, ALD_DISP_DUPLICATE, 0},
        {"purged, replayed", 5, "", ARRIVAL_TASK_PURGED, true, ALD_DISP_DUPLICATE, 0},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct scene scene;
        struct ald_verdict verdict = done;
        (void)snprintf(verdict.id, sizeof verdict.id, "%s", cases[i].id);
        (void)scene_of(&scene, &verdict);
        scene.message.task = cases[i].token_task;
        scene.facts.task = cases[i].task;
        scene.facts.task_provider_id = "";
        scene.facts.replay = cases[i].replay;
        struct arrival_decision decision = decided(&scene);
        if (decision.disposition != cases[i].disposition)
            print_error("%s\n", cases[i].name);
        assert_int_equal(decision.disposition, cases[i].disposition);
        assert_int_equal(decision.reason, cases[i].reason);
    }
}

/* What the door could not read, or whom it could not believe. */
static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *fault;
        enum arrival_task task;
        enum ald_disposition disposition;
        enum ald_reason reason;
        bool hint;
    } cases[] = {
        {"malformed", ARRIVAL_TASK_OPEN, ALD_DISP_DEAD, ALD_REASON_MALFORMED, true},
        {"malformed", ARRIVAL_TASK_ENDED, ALD_DISP_DEAD, ALD_REASON_MALFORMED, false},
        {"malformed", ARRIVAL_TASK_UNKNOWN, ALD_DISP_DEAD, ALD_REASON_MALFORMED, false},
        {"unauthenticated", ARRIVAL_TASK_OPEN, ALD_DISP_DEAD, ALD_REASON_UNAUTHENTICATED, false},
        {"oversized", ARRIVAL_TASK_OPEN, ALD_DISP_PROGRESS, 0, true},
        {"oversized", ARRIVAL_TASK_ENDED, ALD_DISP_DUPLICATE, 0, false},
        {"unstored", ARRIVAL_TASK_OPEN, ALD_DISP_PROGRESS, 0, true},
        {"unstored", ARRIVAL_TASK_ENDED, ALD_DISP_DUPLICATE, 0, false},
        {"a word of tomorrow", ARRIVAL_TASK_OPEN, ALD_DISP_DEAD, ALD_REASON_MALFORMED, true},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct scene scene;
        (void)scene_of(&scene, &done); /* whatever it says */
        (void)snprintf(scene.message.fault, sizeof scene.message.fault, "%s", cases[i].fault);
        scene.facts.task = cases[i].task;
        struct arrival_decision decision = decided(&scene);
        assert_int_equal(decision.disposition, cases[i].disposition);
        assert_int_equal(decision.reason, cases[i].reason);
        assert_int_equal(decision.hint, cases[i].hint);
    }
}

/* Rule 19: a genuine message of a profile that is gone is kept for a person. */
static void test_no_profile(void **state)
{
    (void)state;
    struct scene scene;
    (void)scene_of(&scene, &done);
    scene.facts.profile = NULL;
    scene.facts.task = ARRIVAL_TASK_UNKNOWN;
    assert_int_equal(decided(&scene).reason, ALD_REASON_UNMAPPED_STATUS);
}

/* Rule 10: a genuine token that names an id fills an empty one; another id is a conflict. */
static void test_provider_ids(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *task_id, *message_id;
        enum ald_proof proof;
        bool fills;
        enum ald_disposition disposition;
    } cases[] = {
        {"fills", "", "77", ALD_PROOF_TOKEN, true, ALD_DISP_APPLIED},
        {"fills, signed", "", "77", ALD_PROOF_AUTH, true, ALD_DISP_APPLIED},
        {"a guess fills nothing", "", "77", ALD_PROOF_NONE, false, ALD_DISP_PROGRESS},
        {"nothing to fill with", "", "", ALD_PROOF_TOKEN, false, ALD_DISP_APPLIED},
        {"the same", "77", "77", ALD_PROOF_TOKEN, false, ALD_DISP_APPLIED},
        {"none named", "77", "", ALD_PROOF_TOKEN, false, ALD_DISP_APPLIED},
        {"another", "78", "77", ALD_PROOF_TOKEN, false, ALD_DISP_DEAD},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct scene scene;
        struct ald_verdict verdict = done;
        (void)snprintf(verdict.id, sizeof verdict.id, "%s", cases[i].message_id);
        (void)scene_of(&scene, &verdict);
        scene.facts.task_provider_id = cases[i].task_id;
        scene.facts.proof = cases[i].proof;
        struct arrival_decision decision = decided(&scene);
        if (decision.fill_id != cases[i].fills || decision.disposition != cases[i].disposition)
            print_error("%s\n", cases[i].name);
        assert_int_equal(decision.fill_id, cases[i].fills);
        assert_int_equal(decision.disposition, cases[i].disposition);
    }
}

/* Everything against everything: whatever comes together, a decision is one of those that hold. */
static void test_all_that_can_meet(void **state)
{
    (void)state;
    static const char *const faults[] = {"", "malformed", "oversized", "unauthenticated"};
    unsigned seen = 0;
    for (unsigned then = 0; then <= ALD_THEN_CODE; then++)
        for (unsigned cls = 0; cls <= ALD_CLASS_UNKNOWN; cls++)
            for (unsigned task = 0; task <= ARRIVAL_TASK_PURGED; task++)
                for (unsigned proof = 0; proof < ALD_PROOF_COUNT; proof++)
                    for (unsigned more = 0; more < 64; more++) {
                        struct scene scene;
                        struct ald_verdict verdict = {.then = (enum ald_then)then,
                                                      .cls = (enum ald_class)cls,
                                                      .id = {more & 1 ? '8' : '\0'}};
                        (void)scene_of(&scene, &verdict);
                        scene.message.task = more & 2 ? 5 : 0;
                        scene.facts.replay = (more & 4) != 0;
                        scene.facts.profile = &profiles[more >> 3 & 3];
                        scene.facts.task = (enum arrival_task)task;
                        scene.facts.proof = (enum ald_proof)proof;
                        scene.facts.ended_state =
                            (enum ald_state)(ALD_STATE_DONE + (more >> 3) % 5);
                        (void)snprintf(scene.message.fault, sizeof scene.message.fault, "%s",
                                       faults[more >> 4]);
                        struct arrival_decision decision = decided(&scene);
                        if (decision.disposition == ALD_DISP_PARKED)
                            assert_int_equal(task, ARRIVAL_TASK_UNKNOWN);
                        seen |= 1U << decision.disposition;
                    }
    assert_int_equal(seen, 31); /* all but dropped, which only a closing makes */
}

static void test_unproven(void **state)
{
    (void)state;
    assert_true(arrival_unproven(ALD_PROOF_NONE, ALD_REASON_CONFLICT));
    assert_true(arrival_unproven(ALD_PROOF_ID, ALD_REASON_UNKNOWN_TASK));
    assert_false(arrival_unproven(ALD_PROOF_ID, ALD_REASON_CONFLICT));
    assert_false(arrival_unproven(ALD_PROOF_TOKEN, ALD_REASON_UNKNOWN_TASK));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_verdicts_on_an_open_task),
        cmocka_unit_test(test_proof_and_trust),
        cmocka_unit_test(test_ended_tasks),
        cmocka_unit_test(test_an_answer_after_our_own_verdict),
        cmocka_unit_test(test_letters_are_bounded),
        cmocka_unit_test(test_unknown_tasks),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_no_profile),
        cmocka_unit_test(test_provider_ids),
        cmocka_unit_test(test_all_that_can_meet),
        cmocka_unit_test(test_unproven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
