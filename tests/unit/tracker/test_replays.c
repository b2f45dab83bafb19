/* Letters that come back from the dlq: rule 7 of GUARANTEES.md, row by row, as far as the tracker
 * decides. */
#include "services/tracker/acts/acts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/vault/vault_letters.h"
#include "services/tracker/vault/vault_purge.h"
#include "tests/unit/tracker/stage.h"

static const struct stage_again schedule = {0};
static const struct stage_again person = {.by_person = true};
static const struct stage_again believed = {.by_person = true, .believe = true};

static void take(struct stage *stage, const struct stage_callback *callback, const char *want)
{
    struct msg_ack ack = stage_take(stage, callback);
    assert_string_equal(ack.disposition, want);
}

/* A letter about an unknown bare id, 77 of `bare`. */
static void unknown_letter(struct stage *stage)
{
    const struct stage_callback callback = {
        .provider = "bare", .proof = "id", .query = "id=77&code=abc"};
    take(stage, &callback, "parked");
    stage_pass(2 * STAGE_HOUR);
    stage_tick(stage);
    assert_int_equal(stage_disposition(stage, ALD_DISP_DEAD), 1);
}

static void again(struct stage *stage, const struct stage_again *how, const char *want)
{
    struct msg_ack ack = stage_reinject(stage, how);
    if (strcmp(ack.disposition, want) != 0)
        print_error("%s %s, not %s\n", ack.disposition, ack.reason, want);
    assert_string_equal(ack.disposition, want);
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    unknown_letter(stage);
    uint64_t task = stage_register(stage, "bare", "77");
    assert_string_equal(stage_state(stage, task), "open"); /* a letter is not parked any more */
    again(stage, &schedule, "applied");
    assert_string_equal(stage_state(stage, task), "done replay");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_RESOLVED), 1);
}

/* It is looked up and never parked, however often, and no second letter is made. */
static void test_still_unknown(void **state)
{
    struct stage *stage = *state;
    unknown_letter(stage);
    for (int i = 0; i < 3; i++) {
        struct msg_ack ack = stage_reinject(stage, &schedule);
        assert_string_equal(ack.disposition, "still");
        assert_string_equal(ack.reason, "unknown_task");
    }
    assert_int_equal(park_count(stage->tracker.park), 0);
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 1);
    assert_int_equal(stage_book(stage, BOOK_RECEIVED), 1);
}

/* The answer of an attempt was lost: the next one gets the same. */
static void test_a_lost_answer(void **state)
{
    struct stage *stage = *state;
    unknown_letter(stage);
    (void)stage_register(stage, "bare", "77");
    again(stage, &schedule, "applied");
    again(stage, &schedule, "applied");
    stage_restart(stage, NULL);
    again(stage, &schedule, "applied");
    assert_int_equal(stage_book(stage, BOOK_SOURCE + ALD_SOURCE_REPLAY), 1);
}

static void test_the_task_had_another_answer(void **state)
{
    struct stage *stage = *state;
    static const struct {
        const char *query;
        const char *want;
        const char *reason;
    } cases[] = {{"id=77&code=abc", "duplicate", ""}, {"id=77&code=xyz", "still", "conflict"}};
    unknown_letter(stage);
    uint64_t task = stage_register(stage, "bare", "77");
    const struct stage_callback answer = {
        .provider = "bare", .task = task, .query = cases[1].query};
    take(stage, &answer, "applied");
    for (int i = 0; i < 2; i++) {
        struct msg_ack ack = stage_reinject(stage, &schedule);
        assert_string_equal(ack.disposition, cases[1].want);
        assert_string_equal(ack.reason, cases[1].reason);
    }
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 1);
    assert_string_equal(stage_state(stage, task), "done callback");
    struct msg_letter letter;
    assert_true(stage_letter(stage, &letter));
    (void)stage_close(stage, letter.letter);
}

static void test_the_task_had_the_same_answer(void **state)
{
    struct stage *stage = *state;
    unknown_letter(stage);
    uint64_t task = stage_register(stage, "bare", "77");
    const struct stage_callback answer = {
        .provider = "bare", .task = task, .query = "id=77&code=abc"};
    take(stage, &answer, "applied");
    again(stage, &schedule, "duplicate");
    assert_int_equal(stage_disposition(stage, ALD_DISP_DUPLICATE), 1);
    assert_int_equal(stage_disposition(stage, ALD_DISP_DEAD), 0);
}

/* A conflict does not close itself by meeting its own letter. */
static void test_a_conflict_stays_one(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback first = {.task = task, .query = "id=77&code=abc"};
    const struct stage_callback other = {.task = task, .query = "id=77&code=xyz"};
    take(stage, &first, "applied");
    take(stage, &other, "dead");
    struct msg_ack ack = stage_reinject(stage, &person);
    assert_string_equal(ack.disposition, "still");
    assert_string_equal(ack.reason, "conflict");
}

/* What was unknown to the profile is judged again by the rules of today. */
static void test_unmapped(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback odd = {.task = task, .query = "id=77&code=ERROR_NEW_WORD"};
    take(stage, &odd, "dead");
    struct msg_ack ack = stage_reinject(stage, &schedule);
    assert_string_equal(ack.disposition, "still");
    assert_string_equal(ack.reason, "unmapped_status");
    const struct stage_callback answer = {.task = task, .query = "id=77&code=abc"};
    take(stage, &answer, "applied");
    again(stage, &schedule, "duplicate"); /* its task has ended meanwhile */
}

/* "Verified once at the door, never again": a forged message is believed by nobody but a person who
 * may, and says so. */
static void test_unauthenticated(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback forged = {
        .task = task, .query = "id=77&code=abc", .fault = "unauthenticated"};
    take(stage, &forged, "dead");
    again(stage, &schedule, "still");
    again(stage, &person, "still");
    const struct stage_again no_person = {.believe = true};
    again(stage, &no_person, "still");
    assert_string_equal(stage_state(stage, task), "open");
    again(stage, &believed, "applied");
    assert_string_equal(stage_state(stage, task), "done manual");
}

/* Belief is for that reason alone: it makes no other letter true. */
static void test_belief_elsewhere(void **state)
{
    struct stage *stage = *state;
    const struct stage_callback stranger = {
        .provider = "thin", .proof = "none", .query = "id=77&code=abc"};
    take(stage, &stranger, "parked");
    stage_pass(2 * STAGE_HOUR);
    stage_tick(stage);
    uint64_t task = stage_register(stage, "thin", "77");
    again(stage, &believed, "progress"); /* a hint, as it was at the door */
    assert_string_equal(stage_state(stage, task), "open");
}

static void test_malformed(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback broken = {.task = task, .query = "%", .fault = "malformed"};
    take(stage, &broken, "dead");
    again(stage, &person, "still");
    assert_string_equal(stage_state(stage, task), "open");
}

/* A purged task answers `duplicate` from its tomb. */
static void test_a_purged_task(void **state)
{
    struct stage *stage = *state;
    struct tracker *tracker = &stage->tracker;
    unknown_letter(stage);
    uint64_t task = stage_register(stage, "bare", "77");
    const struct stage_callback answer = {
        .provider = "bare", .task = task, .query = "id=77&code=xyz"};
    take(stage, &answer, "applied");
    stage_index(stage);
    const struct vault_bounds before = {.results_ms = INT64_MAX};
    (void)vault_purge(&tracker->vault, &before, 10, 5);
    assert_string_equal(stage_state(stage, task), "none");
    unsigned whole = stage_whole(stage);
    take(stage, &answer, "duplicate");
    assert_int_equal(stage_whole(stage), whole); /* counted: nobody can look at its task */
    again(stage, &schedule, "duplicate");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_RESOLVED), 1);
}

static void test_closings(void **state)
{
    struct stage *stage = *state;
    struct msg_letter letter;
    unknown_letter(stage);
    assert_true(stage_letter(stage, &letter));
    for (int i = 0; i < 2; i++) { /* the dlq says it until it is heard */
        struct msg_ack ack = stage_close(stage, letter.letter);
        assert_string_equal(ack.disposition, "applied");
    }
    assert_int_equal(stage_disposition(stage, ALD_DISP_DROPPED), 1);
    assert_int_equal(stage_disposition(stage, ALD_DISP_DEAD), 0);
    assert_int_equal(stage_book(stage, BOOK_LETTERS_DROPPED), 1);
    again(stage, &schedule, "dropped");
    struct msg_ack ack = stage_close(stage, "01ARZ3NDEKTSV4RRFFQ69G5FAV"); /* nobody's */
    assert_string_equal(ack.disposition, "applied");
}

/* A letter that this store has never made, as after a restore. */
static void test_a_letter_of_another_history(void **state)
{
    struct stage *stage = *state;
    unknown_letter(stage);
    (void)stage_register(stage, "bare", "77");
    const struct stage_again strange = {.letter = "01ARZ3NDEKTSV4RRFFQ69G5FAV"};
    again(stage, &strange, "still");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STAGE(test_example),
        ON_STAGE(test_still_unknown),
        ON_STAGE(test_a_lost_answer),
        ON_STAGE(test_the_task_had_another_answer),
        ON_STAGE(test_the_task_had_the_same_answer),
        ON_STAGE(test_a_conflict_stays_one),
        ON_STAGE(test_unmapped),
        ON_STAGE(test_unauthenticated),
        ON_STAGE(test_belief_elsewhere),
        ON_STAGE(test_malformed),
        ON_STAGE(test_a_purged_task),
        ON_STAGE(test_closings),
        ON_STAGE(test_a_letter_of_another_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
