/* What is learned of how long callbacks take, over a real store: from which of them, and when it
 * is still known. */
#include "tests/unit/tracker/shop.h"

enum { STALE_MS = 45000, TOOK_MS = 8000, BOUND_MS = 8192 };

static const struct stale *learned(struct stage *stage, const char *provider)
{
    const struct ald_profile *profile = ald_profiles_find(stage->profiles, provider);
    return &pending_account(stage->tracker.pending, profile)->stale;
}

static void call(struct stage *stage, const char *provider, uint64_t task, const char *query)
{
    const struct stage_callback callback = {.provider = provider, .task = task, .query = query};
    (void)stage_take(stage, &callback);
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    stage_pass(TOOK_MS);
    call(stage, "two", task, "id=77&code=abc");
    assert_int_equal(learned(stage, "two")->total, 1);
    assert_int_equal(stale_share_ms(learned(stage, "two"), 95), BOUND_MS);
    call(stage, "two", task, "id=77&code=abc"); /* again: the first one counts */
    assert_int_equal(learned(stage, "two")->total, 1);
    assert_int_equal(learned(stage, "bare")->total, 0);
}

/* The poll was first: the callback teaches all the same, or else no late one ever would. */
static void test_a_callback_after_the_poll(void **state)
{
    struct stage *stage = *state;
    const struct msg_outcome done = {
        .left = true, .answered = true, .then = "done", .result = {(const uint8_t *)"abc", 3}};
    uint64_t task = stage_register(stage, "two", "77");
    stage_pass(STALE_MS);
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &done), task);
    assert_string_equal(stage_state(stage, task), "done poll");
    stage_pass(STALE_MS);
    call(stage, "two", task, "id=77&code=abc");
    call(stage, "two", task, "id=77&code=abc");
    assert_int_equal(learned(stage, "two")->total, 1);
    assert_true(stale_share_ms(learned(stage, "two"), 95) >= 2 * STALE_MS);
}

/* A spool holds a callback up, not the provider: the door's time counts. */
static void test_the_doors_time_counts(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    stage_pass(TOOK_MS + STAGE_HOUR);
    const struct stage_callback late = {
        .task = task, .query = "id=77&code=abc", .age_ms = STAGE_HOUR, .spooled = true};
    (void)stage_take(stage, &late);
    assert_int_equal(stale_share_ms(learned(stage, "two"), 95), BOUND_MS);
}

/* What waited in our own queue, or was tried in vain, was not with the provider. Nor does a restart
 * in between make it longer. */
static void test_our_own_queue_is_not_counted(void **state)
{
    struct stage *stage = *state;
    static const struct msg_outcome busy = {
        .left = true, .answered = true, .then = "code", .class_ = "transient", .http = 429};
    for (unsigned round = 0; round < 3; round++) {
        uint64_t task = order(stage, "", "");
        stage_pass(STAGE_HOUR);
        assert_int_equal(hand_out(stage), task);
        assert_string_equal(start(stage, task, 1, leases), "applied");
        if (round == 1) { /* again, an hour later */
            assert_string_equal(report(stage, task, 1, leases, &busy), "progress");
            stage_pass(STAGE_HOUR);
            assert_int_equal(hand_out(stage), task);
            assert_string_equal(start(stage, task, 2, leases), "applied");
        }
        if (round == 2) {
            stage_stop(stage); /* what was learned is on disk */
            stage_restart(stage, NULL);
        }
        stage_pass(TOOK_MS);
        char query[16];
        (void)snprintf(query, sizeof query, "id=%u&code=A", round);
        call(stage, "two", task, query);
        assert_string_equal(stage_state(stage, task), "done callback");
        assert_int_equal(learned(stage, "two")->total, round + 1);
        assert_int_equal(stale_share_ms(learned(stage, "two"), 100), BOUND_MS);
    }
}

/* A person said its id while it waited: when the provider got it nobody knows. */
static void test_a_start_that_is_not_known(void **state)
{
    struct stage *stage = *state;
    uint64_t task = order(stage, "", "");
    stage_pass(STAGE_HOUR);
    assert_string_equal(stage_attach(stage, task, "5"), "ok");
    stage_pass(TOOK_MS);
    call(stage, "two", task, "id=5&code=A");
    assert_string_equal(stage_state(stage, task), "done callback");
    assert_int_equal(learned(stage, "two")->total, 0);
}

/* Strangers, and what says nothing of an end, teach nothing. */
static void test_what_teaches_nothing(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback forged = {.query = "id=77&code=abc"};
    stage_pass(TOOK_MS);
    (void)stage_take(stage, &forged);
    call(stage, "two", task, "id=77");
    call(stage, "two", task, "id=77&code=CAPCHA_NOT_READY");
    call(stage, "two", task, "id=77&code=ERROR:+1005");
    const struct stage_callback bad = {.task = task, .query = "id=77", .fault = "malformed"};
    (void)stage_take(stage, &bad);
    assert_int_equal(learned(stage, "two")->total, 0);
    assert_string_equal(stage_state(stage, task), "open");
}

/* An answer that was there before its task: it came at once. */
static void test_before_the_registration(void **state)
{
    struct stage *stage = *state;
    const struct stage_callback early = {
        .provider = "bare", .proof = "id", .query = "id=77&code=abc"};
    (void)stage_take(stage, &early);
    assert_int_equal(learned(stage, "bare")->total, 0);
    stage_pass(TOOK_MS);
    uint64_t task = stage_register(stage, "bare", "77");
    assert_string_equal(stage_state(stage, task), "done callback");
    assert_int_equal(learned(stage, "bare")->total, 1);
    assert_true(stale_share_ms(learned(stage, "bare"), 95) < TOOK_MS);
}

static void test_it_outlives_the_tracker(void **state)
{
    struct stage *stage = *state;
    char id[8];
    for (unsigned i = 0; i < 30; i++) {
        (void)snprintf(id, sizeof id, "%u", 100 + i);
        uint64_t task = stage_register(stage, "two", id);
        stage_pass(TOOK_MS);
        call(stage, "two", task, "code=abc");
    }
    assert_int_equal(learned(stage, "two")->total, 30);
    stage_stop(stage);
    stage_restart(stage, NULL);
    assert_int_equal(learned(stage, "two")->total, 30);
    assert_int_equal(stale_share_ms(learned(stage, "two"), 50), BOUND_MS);
    assert_false(learned(stage, "two")->changed);
}

/* The profiles are read anew (SIGHUP), then once more without this one, then with it. */
static void test_it_outlives_a_reload(void **state)
{
    struct stage *stage = *state;
    static const char *const sets[] = {SHOP, "other: {family: inphp, poll: none}\n", SHOP};
    uint64_t task = under_way(stage);
    stage_pass(TOOK_MS);
    call(stage, "two", task, "id=1&code=A");
    assert_int_equal(learned(stage, "two")->total, 1);
    for (size_t i = 0; i < ALD_COUNT(sets); i++) {
        stage_renew(stage, sets[i]);
        assert_int_equal(learned(stage, "two")->total, 1);
        assert_int_equal(stale_share_ms(learned(stage, "two"), 95), BOUND_MS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STAGE(test_example),
        ON_STAGE(test_a_callback_after_the_poll),
        ON_STAGE(test_the_doors_time_counts),
        ON_STAGE(test_what_teaches_nothing),
        ON_STAGE(test_before_the_registration),
        ON_STAGE(test_it_outlives_the_tracker),
        IN_SHOP(test_our_own_queue_is_not_counted),
        IN_SHOP(test_a_start_that_is_not_known),
        IN_SHOP(test_it_outlives_a_reload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
