/* Gateways: repeats get their first answer, and spools that may hold answers hold back our own
 * verdicts. rules 1 and 5 of GUARANTEES.md. */
#include "services/tracker/senders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ONE "01ARZ3NDEKTSV4RRFFQ69G5FB1"
#define OTHER "01ARZ3NDEKTSV4RRFFQ69G5FB2"

enum { GRACE = 600000 };

static void test_example(void **state)
{
    (void)state;
    senders_t *senders = senders_new(GRACE, 0);
    struct sender *sender = senders_get(senders, ONE);
    enum ald_disposition first;
    assert_false(sender_seen(sender, 5, &first));
    assert_int_equal(sender_note(sender, 5, ALD_DISP_PARKED), ALD_OK);
    assert_true(sender_seen(sender, 5, &first));
    assert_int_equal(first, ALD_DISP_PARKED);
    assert_ptr_equal(senders_get(senders, ONE), sender);
    assert_ptr_equal(senders_at(senders, 0), sender);
    assert_null(senders_at(senders, 1));
    senders_destroy(&senders);
}

static void test_repeats(void **state)
{
    (void)state;
    senders_t *senders = senders_new(GRACE, 0);
    struct sender *sender = senders_get(senders, ONE);
    enum ald_disposition first = ALD_DISP_COUNT;
    for (unsigned d = 0; d < ALD_DISP_COUNT; d++)
        assert_int_equal(sender_note(sender, 100 + d, (enum ald_disposition)d), ALD_OK);
    for (unsigned d = 0; d < ALD_DISP_COUNT; d++) {
        assert_true(sender_seen(sender, 100 + d, &first));
        assert_int_equal(first, d);
    }
    assert_false(sender_seen(senders_get(senders, OTHER), 100, &first)); /* each its own */
    ald_window_raise(&sender->window, 103);
    assert_true(sender_seen(sender, 100, &first)); /* below the floor: not news */
    assert_int_equal(first, ALD_DISP_DUPLICATE);
    assert_int_equal(sender_note(sender, 102, ALD_DISP_APPLIED), ALD_EXISTS);
    assert_int_equal(sender_note(sender, UINT64_C(1) << 40, ALD_DISP_APPLIED), ALD_FULL);
    senders_destroy(&senders);
}

static void test_two_runs_by_one_id(void **state)
{
    (void)state;
    static const char early[] = "01JD7Z5V9QK3M8R2T6W4XYZAB1", late[] = "01JD7Z5V9QK3M8R2T6W4XYZAB2";
    senders_t *senders = senders_new(GRACE, 0);
    struct sender *sender = senders_get(senders, ONE);
    assert_true(sender_speaks(sender, early));
    assert_true(sender_speaks(sender, early));
    assert_true(sender_speaks(sender, late)); /* it was started again */
    assert_false(sender_speaks(sender, early));
    assert_true(sender_speaks(sender, MSG_NUMBERLESS)); /* who drains what it left */
    assert_true(sender_speaks(sender, late));
    assert_true(sender_speaks(senders_get(senders, OTHER), early)); /* by an id of its own */
    senders_destroy(&senders);
}

static void test_the_highest_that_is_known(void **state)
{
    (void)state;
    senders_t *senders = senders_new(GRACE, 0);
    struct sender *sender = senders_get(senders, ONE);
    assert_int_equal(sender_highest(sender), 0);
    ald_window_raise(&sender->window, 100);
    assert_int_equal(sender_highest(sender), 99); /* settled, whether it was seen or not */
    assert_int_equal(sender_note(sender, 107, ALD_DISP_APPLIED), ALD_OK);
    assert_int_equal(sender_note(sender, 103, ALD_DISP_APPLIED), ALD_OK);
    assert_int_equal(sender_highest(sender), 107);
    ald_window_raise(&sender->window, 108);
    assert_int_equal(sender_highest(sender), 107);
    senders_destroy(&senders);
}

/* What it said by its old id of spool and counters would be counted twice, and hold back ends. */
static void test_a_run_takes_another_id(void **state)
{
    (void)state;
    static const char run[] = "01JD7Z5V9QK3M8R2T6W4XYZAB1";
    senders_t *senders = senders_new(GRACE, 0);
    struct sender *old = senders_get(senders, ONE), *own = senders_get(senders, OTHER);
    old->ledger.answered = 17;
    memcpy(old->ledger.instance, run, sizeof run);
    senders_told(senders, old, 5000, 3, GRACE);
    senders_told(senders, own, 0, 0, GRACE);
    assert_true(senders_hold(senders, GRACE + 1));
    senders_moved(senders, own, "01JD7Z5V9QK3M8R2T6W4XYZAB9"); /* another one's */
    assert_int_equal(old->ledger.answered, 17);
    senders_moved(senders, own, run);
    assert_int_equal(old->ledger.answered, 0);
    assert_false(senders_hold(senders, GRACE + 1));
    senders_destroy(&senders);
}

static void test_restore(void **state)
{
    (void)state;
    senders_t *senders = senders_new(GRACE, 0);
    const uint8_t marks[] = {0, ALD_DISP_DEAD + 1};
    senders_restore(senders, 7, ONE, 50, ald_span_of(marks, sizeof marks), 12345);
    struct sender *sender = senders_get(senders, ONE);
    enum ald_disposition first;
    assert_int_equal(sender->no, 7);
    assert_int_equal(sender->heard_at_ms, 12345);
    assert_false(sender_seen(sender, 50, &first));
    assert_true(sender_seen(sender, 51, &first));
    assert_int_equal(first, ALD_DISP_DEAD);
    assert_int_equal(senders_get(senders, OTHER)->no, 8);
    senders_destroy(&senders);
}

static void test_too_many(void **state)
{
    (void)state;
    senders_t *senders = senders_new(GRACE, 0);
    char id[ALD_ULID_MAX];
    for (unsigned i = 0; i < 1024; i++) {
        (void)snprintf(id, sizeof id, "%026u", i);
        assert_non_null(senders_get(senders, id));
    }
    assert_null(senders_get(senders, ONE));
    assert_non_null(senders_get(senders, id));
    senders_destroy(&senders);
}

/* A word of a gateway: when, and how much is in its spool. */
struct word {
    unsigned of; /* 1, 2; 0 = none */
    int64_t at_ms;
    uint64_t items;
};

static void test_hold(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned known; /* gateways on record */
        struct word words[3];
        int64_t at_ms;
        bool hold;
    } cases[] = {
        {"nobody on record", 0, {{0}}, 0, false},
        {"one, silent", 1, {{0}}, 1, true},
        {"one, silent, until the grace is over", 1, {{0}}, GRACE - 1, true},
        {"one, silent, grace over", 1, {{0}}, GRACE, false},
        {"empty", 1, {{1, 10, 0}}, 11, false},
        {"one of two", 2, {{1, 10, 0}}, 11, true},
        {"both", 2, {{1, 10, 0}, {2, 20, 0}}, 21, false},
        {"not empty", 1, {{1, 10, 3}}, 11, true},
        {"not empty, then empty", 1, {{1, 10, 3}, {1, 20, 0}}, 21, false},
        {"not empty, then killed", 1, {{1, 10, 3}}, GRACE - 1, true},
        {"not empty, killed, grace over", 1, {{1, 10, 3}}, GRACE, false},
        {"filled later", 1, {{1, 10, 0}, {1, 900000, 2}}, 900001, true},
        {"filled later, then silent", 1, {{1, 10, 0}, {1, 900000, 2}}, 910001, false},
        {"silent after it was empty", 1, {{1, 10, 0}}, 300000, false},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        static const char *const ids[] = {ONE, OTHER};
        senders_t *senders = senders_new(GRACE, 0);
        for (unsigned k = 0; k < cases[i].known; k++)
            senders_restore(senders, (int64_t)k + 1, ids[k], 0, ald_span_of(NULL, 0), 1);
        for (unsigned w = 0; w < 3 && cases[i].words[w].of != 0; w++)
            senders_told(senders, senders_get(senders, ids[cases[i].words[w].of - 1]),
                         cases[i].words[w].items > 0, cases[i].words[w].items,
                         cases[i].words[w].at_ms);
        if (senders_hold(senders, cases[i].at_ms) != cases[i].hold)
            print_error("%s\n", cases[i].name);
        assert_int_equal(senders_hold(senders, cases[i].at_ms), cases[i].hold);
        senders_destroy(&senders);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_two_runs_by_one_id),
        cmocka_unit_test(test_the_highest_that_is_known),
        cmocka_unit_test(test_a_run_takes_another_id),
        cmocka_unit_test(test_restore),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
