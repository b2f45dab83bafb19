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
        cmocka_unit_test(test_example), cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_restore), cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
