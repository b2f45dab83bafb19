/* Each reason against each event, as a table: what the rules say must happen. */
#include "services/dlq/letters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NOW INT64_C(1800000000000)

static const struct letter_plan plan = {
    .backoff = {.first_ms = 300000, .percent = 200, .max_ms = 3600000, .jitter_percent = 0},
    .max_attempts = 3,
};

static struct letter letter_made(enum ald_reason reason)
{
    struct letter letter = {.reason = reason};
    letter_open(&letter, &plan, NOW, 0);
    return letter;
}

static void test_example(void **state)
{
    (void)state;
    struct letter letter = letter_made(ALD_REASON_UNKNOWN_TASK);
    assert_int_equal(letter.due_at_ms, NOW + 300000);
    assert_true(letter_begin(&letter, NOW + 300000));
    assert_false(letter_answer(&letter, &plan, ALD_DISP_STILL, NOW + 300000, 0));
    assert_int_equal(letter.due_at_ms, NOW + 300000 + 600000);
    assert_true(letter_begin(&letter, letter.due_at_ms));
    assert_true(letter_answer(&letter, &plan, ALD_DISP_APPLIED, NOW + 900001, 0));
    assert_int_equal(letter.state, LETTER_RESOLVED);
    assert_int_equal(letter.attempts, 2);
}

struct reason_case {
    enum ald_reason reason;
    bool scheduled;
    enum letter_verdict said[LETTER_PUBLISH + 1]; /* with each word */
};

static const struct reason_case reason_cases[] = {
    {ALD_REASON_NONE,
     false,
     {LETTER_NOT_ALLOWED, LETTER_NOT_ALLOWED, LETTER_NOT_ALLOWED, LETTER_NOT_ALLOWED}},
    {ALD_REASON_MALFORMED,
     false,
     {LETTER_YES, LETTER_NOT_FORGED, LETTER_NOT_FORGED, LETTER_NOT_FORGED}},
    {ALD_REASON_UNAUTHENTICATED,
     false,
     {LETTER_UNVOUCHED, LETTER_YES, LETTER_NOT_FORGED, LETTER_NOT_FORGED}},
    {ALD_REASON_UNKNOWN_TASK,
     true,
     {LETTER_YES, LETTER_NOT_FORGED, LETTER_NOT_FORGED, LETTER_NOT_FORGED}},
    {ALD_REASON_UNMAPPED_STATUS,
     true,
     {LETTER_YES, LETTER_NOT_FORGED, LETTER_NOT_FORGED, LETTER_NOT_FORGED}},
    {ALD_REASON_CONFLICT,
     false,
     {LETTER_UNVOUCHED, LETTER_NOT_FORGED, LETTER_NOT_FORGED, LETTER_YES}},
    {ALD_REASON_SUBMIT_FAILED,
     false,
     {LETTER_UNVOUCHED, LETTER_NOT_FORGED, LETTER_YES, LETTER_NOT_FORGED}},
    {ALD_REASON_SUBMIT_UNCERTAIN,
     false,
     {LETTER_UNVOUCHED, LETTER_NOT_FORGED, LETTER_YES, LETTER_NOT_FORGED}},
    {ALD_REASON_EXPIRED,
     false,
     {LETTER_UNVOUCHED, LETTER_NOT_FORGED, LETTER_YES, LETTER_NOT_FORGED}},
    {ALD_REASON_CONSUMER_REJECTED,
     true,
     {LETTER_YES, LETTER_NOT_FORGED, LETTER_NOT_FORGED, LETTER_NOT_FORGED}},
};

static void test_reasons(void **state)
{
    (void)state;
    assert_int_equal(ALD_COUNT(reason_cases), ALD_REASON_COUNT);
    for (size_t i = 0; i < ALD_COUNT(reason_cases); i++) {
        const struct reason_case *want = &reason_cases[i];
        print_message("%s\n", ald_reason_name(want->reason));
        struct letter letter = letter_made(want->reason);
        assert_int_equal(letter.state, LETTER_OPEN);
        assert_int_equal(letter.due_at_ms != 0, want->scheduled);
        for (int word = LETTER_PLAIN; word <= LETTER_PUBLISH; word++) {
            struct letter asked = letter;
            enum letter_verdict said = letter_replay(&asked, (enum letter_word)word, NOW);
            assert_int_equal(said, want->said[word]);
            assert_int_equal(asked.due_at_ms == NOW && asked.by_person, said == LETTER_YES);
            assert_int_equal(asked.word, said == LETTER_YES ? word : LETTER_PLAIN);
            assert_int_equal(letter_why(said, want->reason)[0] != '\0', said != LETTER_YES);
        }
        struct letter dropped = letter;
        assert_int_equal(letter_drop(&dropped, NOW + 5), LETTER_YES);
        assert_int_equal(dropped.state, LETTER_DROPPED);
        assert_true(dropped.closing);
        assert_int_equal(dropped.due_at_ms, 0);
        assert_int_equal(dropped.closed_at_ms, NOW + 5);
        bool refused = want->said[0] == LETTER_NOT_ALLOWED;
        assert_int_equal(refused, letter_rule_of(want->reason)->refused != NULL);
    }
}

struct answer_case {
    const char *name;
    enum ald_disposition disposition;
    enum letter_state scheduled; /* what becomes of an unknown_task letter */
    enum letter_state asked;     /* and of a replayed malformed one */
};

static const struct answer_case answer_cases[] = {
    {"applied", ALD_DISP_APPLIED, LETTER_RESOLVED, LETTER_RESOLVED},
    {"progress", ALD_DISP_PROGRESS, LETTER_RESOLVED, LETTER_RESOLVED},
    {"duplicate", ALD_DISP_DUPLICATE, LETTER_RESOLVED, LETTER_RESOLVED},
    {"dropped", ALD_DISP_DROPPED, LETTER_DROPPED, LETTER_DROPPED},
    {"parked", ALD_DISP_PARKED, LETTER_OPEN, LETTER_OPEN},
    {"dead", ALD_DISP_DEAD, LETTER_OPEN, LETTER_OPEN},
    {"busy", ALD_DISP_BUSY, LETTER_OPEN, LETTER_OPEN},
    {"refused", ALD_DISP_REFUSED, LETTER_OPEN, LETTER_OPEN},
    {"still", ALD_DISP_STILL, LETTER_OPEN, LETTER_OPEN},
    {"replaced", ALD_DISP_REPLACED, LETTER_RESOLVED, LETTER_RESOLVED},
    {"corrected", ALD_DISP_CORRECTED, LETTER_RESOLVED, LETTER_RESOLVED},
};

static void test_answers(void **state)
{
    (void)state;
    assert_int_equal(ALD_COUNT(answer_cases), ALD_DISP_ANSWERS);
    for (size_t i = 0; i < ALD_COUNT(answer_cases); i++) {
        const struct answer_case *want = &answer_cases[i];
        print_message("%s\n", want->name);
        struct letter planned = letter_made(ALD_REASON_UNKNOWN_TASK);
        assert_true(letter_begin(&planned, planned.due_at_ms));
        bool closed = letter_answer(&planned, &plan, want->disposition, NOW, 0);
        assert_int_equal(planned.state, want->scheduled);
        assert_int_equal(closed, letter_closed(want->scheduled));
        assert_int_equal(planned.due_at_ms != 0, !closed);
        assert_false(planned.closing);

        struct letter asked = letter_made(ALD_REASON_MALFORMED);
        assert_int_equal(letter_replay(&asked, LETTER_PLAIN, NOW), LETTER_YES);
        assert_true(letter_begin(&asked, NOW));
        assert_true(asked.by_person);
        (void)letter_answer(&asked, &plan, want->disposition, NOW, 0);
        assert_int_equal(asked.state, want->asked);
        assert_int_equal(asked.due_at_ms, 0);
        assert_false(asked.by_person);
    }
}

/* The tracker has closed it while an answer was on its way: no answer opens it. */
static void test_an_answer_to_a_closed_letter(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(answer_cases); i++) {
        struct letter letter = letter_made(ALD_REASON_CONSUMER_REJECTED);
        letter.attempts = plan.max_attempts - 1;
        assert_true(letter_begin(&letter, letter.due_at_ms));
        assert_true(letter_told(&letter, i % 2 == 0, NOW));
        enum letter_state closed = letter.state;
        assert_true(letter_answer(&letter, &plan, answer_cases[i].disposition, NOW + 1, 0));
        assert_int_equal(letter.state, closed);
        assert_int_equal(letter.due_at_ms, 0);
        assert_int_equal(letter.closed_at_ms, NOW);
    }
}

/* After max_attempts the schedule ends; a person may go on for ever, and the count goes on. */
static void test_held_and_replayed(void **state)
{
    (void)state;
    struct letter letter = letter_made(ALD_REASON_UNMAPPED_STATUS);
    for (uint64_t attempt = 1; attempt <= plan.max_attempts; attempt++) {
        assert_int_equal(letter.state, LETTER_OPEN);
        assert_true(letter_begin(&letter, letter.due_at_ms));
        assert_int_equal(letter.attempts, attempt);
        assert_false(letter_answer(&letter, &plan, ALD_DISP_STILL, NOW, 0));
    }
    assert_int_equal(letter.state, LETTER_HELD);
    assert_int_equal(letter.due_at_ms, 0);
    for (uint64_t attempt = plan.max_attempts + 1; attempt < 9; attempt++) {
        assert_int_equal(letter_replay(&letter, LETTER_PLAIN, NOW), LETTER_YES);
        assert_int_equal(letter.state, LETTER_HELD);
        assert_true(letter_begin(&letter, NOW));
        assert_int_equal(letter.attempts, attempt);
        assert_false(letter_answer(&letter, &plan, ALD_DISP_STILL, NOW, 0));
        assert_int_equal(letter.state, LETTER_HELD);
        assert_int_equal(letter.due_at_ms, 0);
    }
    assert_int_equal(letter_drop(&letter, NOW), LETTER_YES);
}

static void test_under_way(void **state)
{
    (void)state;
    struct letter letter = letter_made(ALD_REASON_UNKNOWN_TASK);
    assert_false(letter_begin(&letter, letter.due_at_ms - 1));
    assert_int_equal(letter.attempts, 0);
    letter.revision = 4;
    assert_true(letter_begin(&letter, letter.due_at_ms));
    letter.revision = 5;
    assert_int_equal(letter.pinned, 4);
    assert_int_equal(letter_replay(&letter, LETTER_PLAIN, NOW), LETTER_UNDER_WAY);
    assert_int_equal(letter_drop(&letter, NOW), LETTER_UNDER_WAY);
    assert_false(letter_begin(&letter, INT64_MAX));
    assert_int_equal(letter.attempts, 1);
    (void)letter_answer(&letter, &plan, ALD_DISP_STILL, NOW, 0);
    assert_int_equal(letter.pinned, 0);
}

/* Who may edit what, and that nothing but the revision changes by it. */
static void test_edits(void **state)
{
    (void)state;
    static const struct {
        enum ald_reason reason;
        enum letter_verdict want;
    } cases[] = {
        {ALD_REASON_NONE, LETTER_NO_EDIT},          {ALD_REASON_MALFORMED, LETTER_YES},
        {ALD_REASON_UNAUTHENTICATED, LETTER_YES},   {ALD_REASON_UNKNOWN_TASK, LETTER_YES},
        {ALD_REASON_UNMAPPED_STATUS, LETTER_YES},   {ALD_REASON_CONFLICT, LETTER_NO_EDIT},
        {ALD_REASON_SUBMIT_FAILED, LETTER_NO_EDIT}, {ALD_REASON_SUBMIT_UNCERTAIN, LETTER_NO_EDIT},
        {ALD_REASON_EXPIRED, LETTER_NO_EDIT},       {ALD_REASON_CONSUMER_REJECTED, LETTER_NO_EDIT},
    };
    assert_int_equal(ALD_COUNT(cases), ALD_REASON_COUNT);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct letter letter = letter_made(cases[i].reason);
        struct letter before = letter;
        assert_int_equal(letter_edit(&letter, 1), cases[i].want);
        assert_int_equal(letter.revision, cases[i].want == LETTER_YES ? 2 : 1);
        assert_int_equal(letter.due_at_ms, before.due_at_ms);
        assert_int_equal(letter.state, before.state);
    }
    struct letter letter = letter_made(ALD_REASON_MALFORMED);
    assert_int_equal(letter_edit(&letter, 2), LETTER_STALE);
    for (uint64_t revision = 1; revision < LETTER_REVISIONS_MAX; revision++)
        assert_int_equal(letter_edit(&letter, revision), LETTER_YES);
    assert_int_equal(letter_edit(&letter, LETTER_REVISIONS_MAX), LETTER_REVISED);
    assert_int_equal(letter_drop(&letter, NOW), LETTER_YES);
    assert_int_equal(letter_edit(&letter, LETTER_REVISIONS_MAX), LETTER_CLOSED);
    struct letter empty = {.reason = ALD_REASON_MALFORMED, .empty = true};
    letter_open(&empty, &plan, NOW, 0);
    assert_int_equal(letter_edit(&empty, 1), LETTER_EMPTY);
}

/* Rule 7: a letter edited while its attempt is under way. That one judges what it pinned, the next
 * one the new message. */
static void test_rule_7_an_edit_under_way(void **state)
{
    (void)state;
    struct letter letter = letter_made(ALD_REASON_UNKNOWN_TASK);
    assert_true(letter_begin(&letter, letter.due_at_ms));
    assert_int_equal(letter_edit(&letter, 1), LETTER_YES);
    assert_int_equal(letter.pinned, 1);
    (void)letter_answer(&letter, &plan, ALD_DISP_STILL, NOW, 0);
    assert_int_equal(letter_replay(&letter, LETTER_PLAIN, NOW), LETTER_YES);
    assert_true(letter_asked(&letter));
    assert_true(letter_begin(&letter, NOW));
    assert_int_equal(letter.pinned, 2);
    assert_true(letter_asked(&letter));
    (void)letter_answer(&letter, &plan, ALD_DISP_STILL, NOW, 0);
    assert_false(letter_asked(&letter));
}

static void test_closed_stays_closed(void **state)
{
    (void)state;
    struct letter letter = letter_made(ALD_REASON_UNKNOWN_TASK);
    assert_int_equal(letter_drop(&letter, NOW), LETTER_YES);
    assert_int_equal(letter_drop(&letter, NOW), LETTER_CLOSED);
    assert_int_equal(letter_replay(&letter, LETTER_PLAIN, NOW), LETTER_CLOSED);
    assert_false(letter_begin(&letter, INT64_MAX));
}

static void test_empty_has_nothing_to_judge(void **state)
{
    (void)state;
    struct letter letter = {.reason = ALD_REASON_UNKNOWN_TASK, .empty = true};
    letter_open(&letter, &plan, NOW, 0);
    assert_int_equal(letter.due_at_ms, 0);
    assert_int_equal(letter_replay(&letter, LETTER_PLAIN, NOW), LETTER_EMPTY);
}

static void test_unproven(void **state)
{
    (void)state;
    static const struct {
        enum ald_reason reason;
        bool none, id;
    } cases[] = {
        {ALD_REASON_NONE, false, false},           {ALD_REASON_MALFORMED, true, true},
        {ALD_REASON_UNAUTHENTICATED, true, true},  {ALD_REASON_UNKNOWN_TASK, true, true},
        {ALD_REASON_UNMAPPED_STATUS, true, false}, {ALD_REASON_CONFLICT, true, false},
        {ALD_REASON_SUBMIT_FAILED, false, false},  {ALD_REASON_SUBMIT_UNCERTAIN, false, false},
        {ALD_REASON_EXPIRED, false, false},        {ALD_REASON_CONSUMER_REJECTED, false, false},
    };
    assert_int_equal(ALD_COUNT(cases), ALD_REASON_COUNT);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        assert_int_equal(letter_unproven(cases[i].reason, ALD_PROOF_NONE), cases[i].none);
        assert_int_equal(letter_unproven(cases[i].reason, ALD_PROOF_ID), cases[i].id);
        assert_false(letter_unproven(cases[i].reason, ALD_PROOF_TOKEN));
        assert_false(letter_unproven(cases[i].reason, ALD_PROOF_AUTH));
    }
}

static void test_words(void **state)
{
    (void)state;
    for (unsigned i = 0; i < LETTER_STATES; i++) {
        enum letter_state found = LETTER_STATES;
        assert_true(letter_state_find(letter_state_name((enum letter_state)i), &found));
        assert_int_equal(found, i);
    }
    enum letter_state found = LETTER_OPEN;
    assert_false(letter_state_find("parked", &found));
    for (unsigned v = LETTER_YES + 1; v < LETTER_VERDICTS; v++) {
        const char *why = letter_why((enum letter_verdict)v, ALD_REASON_EXPIRED);
        assert_true(strlen(why) > 20);
        assert_int_equal(why[strlen(why) - 1], '.');
        const char *name = letter_verdict_name((enum letter_verdict)v);
        assert_true(strlen(name) > 3);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
    }
    assert_string_equal(letter_verdict_name(LETTER_YES), "");
}

/* What a person says with a replay is one word at most, and is kept as a number. */
static void test_what_is_said(void **state)
{
    (void)state;
    enum letter_word word;
    assert_true(letter_word_said(false, false, false, &word) && word == LETTER_PLAIN);
    assert_true(letter_word_said(true, false, false, &word) && word == LETTER_BELIEVE);
    assert_true(letter_word_said(false, true, false, &word) && word == LETTER_BUY);
    assert_true(letter_word_said(false, false, true, &word) && word == LETTER_PUBLISH);
    assert_false(letter_word_said(true, true, false, &word));
    assert_false(letter_word_said(false, true, true, &word));
    for (unsigned said = LETTER_PLAIN; said <= LETTER_PUBLISH; said++)
        assert_int_equal(letter_word_kept(said), said);
    assert_int_equal(letter_word_kept(-1), LETTER_PLAIN);
    assert_int_equal(letter_word_kept(INT64_MAX), LETTER_PLAIN);
    static const char *const refusals[] = {"unsubmitted", "forgotten", "older",
                                           "answered",    "unfit",     "full",
                                           "open",        "purged",    "unreadable"};
    for (size_t i = 0; i < ALD_COUNT(refusals); i++)
        assert_true(strncmp(letter_refusal(refusals[i]), "Nothing was ", 12) == 0);
    assert_string_equal(letter_refusal("another"), "another");
}

/* A due time further away than this was planned by another clock. */
static void test_longest(void **state)
{
    (void)state;
    const struct letter_plan longer = {.backoff = {.first_ms = 100, .max_ms = 5000}};
    const struct letter_plan first = {
        .backoff = {.first_ms = 9000, .max_ms = 5000, .jitter_percent = 10}};
    assert_int_equal(letter_plan_longest_ms(&longer), 6000);
    assert_int_equal(letter_plan_longest_ms(&first), 9000 + 900 + 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_an_answer_to_a_closed_letter),
        cmocka_unit_test(test_held_and_replayed),
        cmocka_unit_test(test_under_way),
        cmocka_unit_test(test_edits),
        cmocka_unit_test(test_rule_7_an_edit_under_way),
        cmocka_unit_test(test_closed_stays_closed),
        cmocka_unit_test(test_empty_has_nothing_to_judge),
        cmocka_unit_test(test_unproven),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_what_is_said),
        cmocka_unit_test(test_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
