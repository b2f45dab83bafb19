/* Every word of the closed lists, there and back. */
#include "proto/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_example(void **state)
{
    (void)state;
    enum ald_state found = ALD_STATE_ACCEPTED;
    assert_string_equal(ald_state_name(ALD_STATE_DONE), "done");
    assert_true(ald_state_find("done", &found));
    assert_int_equal(found, ALD_STATE_DONE);
    assert_false(ald_state_find("Done", &found));
    assert_int_equal(found, ALD_STATE_DONE);
}

static void test_states(void **state)
{
    (void)state;
    static const char *const want[ALD_STATE_COUNT] = {"accepted", "submitting", "pending",
                                                      "polling",  "done",       "failed",
                                                      "lost",     "expired",    "cancelled"};
    for (int i = 0; i < ALD_STATE_COUNT; i++) {
        enum ald_state found = ALD_STATE_COUNT;
        assert_string_equal(ald_state_name((enum ald_state)i), want[i]);
        assert_true(ald_state_find(want[i], &found));
        assert_int_equal(found, i);
        assert_int_equal(ald_state_ended(found), i >= ALD_STATE_DONE);
    }
}

static void test_dispositions(void **state)
{
    (void)state;
    static const char *const want[ALD_DISP_ANSWERS] = {
        "applied", "progress", "duplicate", "parked",   "dead",     "dropped",
        "busy",    "refused",  "still",     "replaced", "corrected"};
    for (int i = 0; i < ALD_DISP_ANSWERS; i++) {
        enum ald_disposition found = ALD_DISP_ANSWERS;
        assert_string_equal(ald_disposition_name((enum ald_disposition)i), want[i]);
        assert_true(ald_disposition_find(want[i], &found));
        assert_int_equal(found, i);
    }
}

static void test_reasons(void **state)
{
    (void)state;
    static const char *const want[ALD_REASON_COUNT] = {
        "",         "malformed",     "unauthenticated",  "unknown_task", "unmapped_status",
        "conflict", "submit_failed", "submit_uncertain", "expired",      "consumer_rejected"};
    for (int i = 0; i < ALD_REASON_COUNT; i++) {
        enum ald_reason found = ALD_REASON_COUNT;
        assert_string_equal(ald_reason_name((enum ald_reason)i), want[i]);
        assert_true(ald_reason_find(want[i], &found));
        assert_int_equal(found, i);
    }
}

static void test_sources_and_proofs(void **state)
{
    (void)state;
    static const char *const sources[ALD_SOURCE_COUNT] = {"callback", "late",   "poll",
                                                          "replay",   "manual", "submit"};
    static const char *const proofs[ALD_PROOF_COUNT] = {"none", "id", "token", "auth"};
    for (int i = 0; i < ALD_SOURCE_COUNT; i++) {
        enum ald_source found = ALD_SOURCE_COUNT;
        assert_string_equal(ald_source_name((enum ald_source)i), sources[i]);
        assert_true(ald_source_find(sources[i], &found));
        assert_int_equal(found, i);
    }
    for (int i = 0; i < ALD_PROOF_COUNT; i++) {
        enum ald_proof found = ALD_PROOF_COUNT;
        assert_string_equal(ald_proof_name((enum ald_proof)i), proofs[i]);
        assert_true(ald_proof_find(proofs[i], &found));
        assert_int_equal(found, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_dispositions),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_sources_and_proofs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
