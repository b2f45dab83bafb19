/* A bulk replay's decisions, without a store. */
#include "services/dlq/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NOW INT64_C(1800000000000)
#define ID_1 "01ARZ3NDEKTSV4RRFFQ69G5FB1"
#define ID_2 "01ARZ3NDEKTSV4RRFFQ69G5FB2"

static const struct letter_plan plan = {
    .backoff = {.first_ms = 300000, .percent = 200, .max_ms = 3600000}, .max_attempts = 3};

static struct letter letter_made(enum ald_reason reason)
{
    struct letter letter = {.reason = reason};
    letter_open(&letter, &plan, NOW, 0);
    return letter;
}

static struct replay replay_running(void)
{
    struct replay replay = {.rate = 50, .bound = ID_2, .made_at_ms = NOW};
    replay_begin(&replay, NOW + 1);
    return replay;
}

static void test_example(void **state)
{
    (void)state;
    struct replay replay = replay_running();
    struct letter letter = letter_made(ALD_REASON_UNKNOWN_TASK);
    assert_string_equal(replay_take(&replay, &letter, NOW), "");
    assert_int_equal(letter.due_at_ms, NOW);
    replay_looked(&replay, ID_1, 1, false);
    assert_false(replay_looked_through(&replay));
    replay_looked(&replay, ID_1, 0, true);
    assert_true(replay_looked_through(&replay));
    assert_false(replay_over(&replay, NOW + 2)); /* one is not answered */
    replay.answered++;
    assert_true(replay_over(&replay, NOW + 2));
    assert_int_equal(replay.state, REPLAY_DONE);
    assert_int_equal(replay.ended_at_ms, NOW + 2);
    assert_false(replay_over(&replay, NOW + 3));
}

/* What may not be tried is skipped, and says why; it never stops the others. */
static void test_what_is_skipped(void **state)
{
    (void)state;
    static const struct {
        enum ald_reason reason;
        enum letter_word word; /* that it takes */
    } cases[] = {
        {ALD_REASON_MALFORMED, LETTER_PLAIN},         {ALD_REASON_UNAUTHENTICATED, LETTER_BELIEVE},
        {ALD_REASON_UNKNOWN_TASK, LETTER_PLAIN},      {ALD_REASON_UNMAPPED_STATUS, LETTER_PLAIN},
        {ALD_REASON_CONFLICT, LETTER_PUBLISH},        {ALD_REASON_SUBMIT_FAILED, LETTER_BUY},
        {ALD_REASON_SUBMIT_UNCERTAIN, LETTER_BUY},    {ALD_REASON_EXPIRED, LETTER_BUY},
        {ALD_REASON_CONSUMER_REJECTED, LETTER_PLAIN},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        for (int word = LETTER_PLAIN; word <= LETTER_PUBLISH; word++) {
            struct replay replay = replay_running();
            struct letter letter = letter_made(cases[i].reason);
            replay.word = (enum letter_word)word;
            const char *want = replay.word == cases[i].word  ? ""
                               : replay.word == LETTER_PLAIN ? "unvouched"
                                                             : "not_forged";
            assert_string_equal(replay_take(&replay, &letter, NOW), want);
            assert_int_equal(replay.seen, 1);
            assert_int_equal(replay.replayed, want[0] == '\0');
            assert_int_equal(replay.skipped, want[0] != '\0');
            assert_int_equal(letter.by_person, want[0] == '\0');
            assert_int_equal(letter.word, want[0] == '\0' ? word : LETTER_PLAIN);
        }
    }
    struct replay replay = replay_running();
    struct letter asked = letter_made(ALD_REASON_UNKNOWN_TASK);
    assert_int_equal(letter_replay(&asked, LETTER_PLAIN, NOW), LETTER_YES);
    assert_string_equal(replay_take(&replay, &asked, NOW), "asked");
    struct letter busy = letter_made(ALD_REASON_UNKNOWN_TASK);
    assert_true(letter_begin(&busy, busy.due_at_ms));
    assert_string_equal(replay_take(&replay, &busy, NOW), "under_way");
    struct letter gone = letter_made(ALD_REASON_UNKNOWN_TASK);
    assert_int_equal(letter_drop(&gone, NOW), LETTER_YES);
    assert_string_equal(replay_take(&replay, &gone, NOW), "closed");
    assert_int_equal(replay.skipped, 3);
}

static void test_states(void **state)
{
    (void)state;
    static const struct {
        enum replay_state from, pause, resume, cancel;
    } cases[] = {
        {REPLAY_QUEUED, REPLAY_PAUSED, REPLAY_QUEUED, REPLAY_CANCELLED},
        {REPLAY_RUNNING, REPLAY_PAUSED, REPLAY_RUNNING, REPLAY_CANCELLED},
        {REPLAY_PAUSED, REPLAY_PAUSED, REPLAY_QUEUED, REPLAY_CANCELLED},
        {REPLAY_DONE, REPLAY_DONE, REPLAY_DONE, REPLAY_DONE},
        {REPLAY_CANCELLED, REPLAY_CANCELLED, REPLAY_CANCELLED, REPLAY_CANCELLED},
    };
    assert_int_equal(ALD_COUNT(cases), REPLAY_STATES);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct replay replay = {.state = cases[i].from};
        bool ended = replay_ended(replay.state);
        assert_int_equal(replay_pause(&replay), !ended);
        assert_int_equal(replay.state, cases[i].pause);
        replay.state = cases[i].from;
        assert_int_equal(replay_resume(&replay), !ended);
        assert_int_equal(replay.state, cases[i].resume);
        replay.state = cases[i].from;
        assert_int_equal(replay_cancel(&replay, NOW), !ended);
        assert_int_equal(replay.state, cases[i].cancel);
        enum replay_state found = REPLAY_STATES;
        assert_true(replay_state_find(replay_state_name(cases[i].from), &found));
        assert_int_equal(found, cases[i].from);
    }
    struct replay none = {.bound = ""};
    replay_begin(&none, NOW);
    assert_true(replay_over(&none, NOW)); /* there was no letter */
    struct replay paused = replay_running();
    replay_looked(&paused, ID_2, 5, true);
    assert_true(replay_pause(&paused));
    assert_false(replay_over(&paused, NOW));
    assert_true(replay_resume(&paused));
    replay_begin(&paused, NOW + 9);
    assert_int_equal(paused.begun_at_ms, NOW + 1); /* the first time */
}

/* Paused or cancelled, no more than the window is still tried. */
static void test_window(void **state)
{
    (void)state;
    struct replay replay = replay_running();
    assert_int_equal(replay_room(&replay), REPLAY_WINDOW);
    replay.replayed = REPLAY_WINDOW - 1;
    assert_int_equal(replay_room(&replay), 1);
    replay.replayed = REPLAY_WINDOW + 5;
    assert_int_equal(replay_room(&replay), 0);
    replay.answered = 7;
    assert_int_equal(replay_room(&replay), 2);
}

static void test_pace(void **state)
{
    (void)state;
    static const struct {
        uint64_t rate;
        int64_t step_ms;
        unsigned steps;
        uint64_t least, most;
    } cases[] = {
        {50, 50, 20, 49, 50},    /* a second */
        {50, 50, 200, 499, 500}, /* ten */
        {1, 50, 100, 4, 5},      /* slower than its steps */
        {1000, 50, 20, 950, 1000},
        {50, 60000, 3, 20, 30}, /* one that was held up does not make up for it */
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct replay_pace pace = {0};
        uint64_t taken = 0;
        assert_int_equal(replay_pace_room(&pace, cases[i].rate, NOW), 0); /* begins empty */
        for (unsigned k = 1; k <= cases[i].steps; k++) {
            uint64_t room =
                replay_pace_room(&pace, cases[i].rate, NOW + (int64_t)k * cases[i].step_ms);
            replay_pace_use(&pace, room);
            taken += room;
        }
        print_message("case %zu: %llu\n", i, (unsigned long long)taken);
        assert_in_range(taken, cases[i].least, cases[i].most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_what_is_skipped),
        cmocka_unit_test(test_states),  cmocka_unit_test(test_window),
        cmocka_unit_test(test_pace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
