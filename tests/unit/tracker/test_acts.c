/* Callbacks on their way to tasks, over a real store: rules 5, 6, 9, 10 and 16 of GUARANTEES.md. */
#include "services/tracker/acts/acts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/acts/arrival.h"
#include "services/tracker/vault/vault_letters.h"
#include "tests/unit/tracker/stage.h"

static const char *take(struct stage *stage, const struct stage_callback *callback)
{
    static char disposition[ALD_WORD_MAX];
    struct msg_ack ack = stage_take(stage, callback);
    memcpy(disposition, ack.disposition, sizeof disposition);
    return disposition;
}

static const struct stage_callback bare_77 = {
    .provider = "bare", .proof = "id", .query = "id=77&code=abc"};

static void test_example(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback answer = {.task = task, .query = "id=77&code=abc"};
    assert_string_equal(take(stage, &answer), "applied");
    assert_string_equal(stage_state(stage, task), "done callback");
    assert_string_equal(take(stage, &answer), "duplicate");
}

/* The callback is faster than our own registration. */
static void test_before_the_registration(void **state)
{
    struct stage *stage = *state;
    assert_string_equal(take(stage, &bare_77), "parked");
    assert_string_equal(take(stage, &bare_77), "parked");
    stage_restart(stage, NULL);
    uint64_t task = stage_register(stage, "bare", "77");
    assert_string_equal(stage_state(stage, task), "done callback");
    assert_int_equal(stage_disposition(stage, ALD_DISP_APPLIED), 1);
    assert_int_equal(stage_disposition(stage, ALD_DISP_DUPLICATE), 1);
    assert_int_equal(stage_disposition(stage, ALD_DISP_PARKED), 0);
}

/* Reserved, and answered before anybody attached the id. */
static void test_before_the_attachment(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "bare", "");
    assert_string_equal(take(stage, &bare_77), "parked");
    assert_string_equal(stage_attach(stage, task, "77\n"), "invalid");
    assert_string_equal(stage_attach(stage, task, "77"), "ok");
    assert_string_equal(stage_state(stage, task), "done callback");
    assert_string_equal(stage_attach(stage, task, "77"), "exists");
}

/* Rule 10: a genuine token that names the id joins both halves. */
static void test_a_token_names_the_id(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "bare", "");
    assert_string_equal(take(stage, &bare_77), "parked");
    const struct stage_callback hint = {.provider = "bare", .task = task, .query = "id=77"};
    assert_string_equal(take(stage, &hint), "progress");
    assert_string_equal(stage_state(stage, task), "done callback");
    assert_int_equal(vault_ref_find(&stage->tracker.vault, "bare", "77"), task);
    assert_int_equal(stage_disposition(stage, ALD_DISP_PARKED), 0);
}

static void test_a_token_names_another_id(void **state)
{
    struct stage *stage = *state;
    struct msg_letter letter;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback odd = {.task = task, .query = "id=78&code=abc"};
    assert_string_equal(take(stage, &odd), "dead");
    assert_true(stage_letter(stage, &letter));
    assert_string_equal(letter.reason, "conflict");
    assert_string_equal(take(stage, &odd), "progress"); /* the same again: counted */
    assert_string_equal(stage_state(stage, task), "open");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 1);
}

/* Rule 5: a repeat gets its first answer, also after a restart. */
static void test_repeats(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    static const char *const want[] = {"progress", "dead", "applied", "duplicate"};
    const struct stage_callback callbacks[] = {
        {.num = 1, .task = task, .query = "id=77"},
        {.num = 2, .task = task, .query = "id=77&code=ERROR_NEW_WORD"},
        {.num = 3, .task = task, .query = "id=77&code=abc"},
        {.num = 4, .task = task, .query = "id=77&code=abc"},
    };
    for (unsigned turn = 0; turn < 4; turn++) {
        for (size_t i = 0; i < ALD_COUNT(callbacks); i++)
            assert_string_equal(take(stage, &callbacks[i]), want[i]);
        assert_int_equal(stage_book(stage, BOOK_RECEIVED), 4);
        if (turn == 1)
            stage_stop(stage); /* a snapshot; before there were only rows */
        stage_restart(stage, NULL);
    }
    ald_window_raise(&stage_gateway(stage)->window, 5);
    assert_string_equal(take(stage, &callbacks[2]), "duplicate");
    assert_int_equal(stage_book(stage, BOOK_RECEIVED), 4);
}

/* Rule 6: at most 64 arrivals are kept a task, the rest counted; open or ended. */
static void test_a_noisy_task(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback hint = {.task = task, .query = "id=77"};
    for (int i = 0; i < ARRIVAL_KEPT_MAX + 10; i++)
        assert_string_equal(take(stage, &hint), "progress");
    assert_int_equal(stage_whole(stage), ARRIVAL_KEPT_MAX);
    assert_int_equal(stage_book(stage, BOOK_RECEIVED), ARRIVAL_KEPT_MAX + 10);
}

static void test_a_noisy_ended_task(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback answer = {.task = task, .query = "id=77&code=abc"};
    for (int i = 0; i < ARRIVAL_KEPT_MAX + 10; i++)
        (void)take(stage, &answer);
    assert_int_equal(stage_whole(stage), ARRIVAL_KEPT_MAX + 1); /* and the one that ended it */
    stage_index(stage);
    for (int i = 0; i < 10; i++)
        assert_string_equal(take(stage, &answer), "duplicate");
    assert_int_equal(stage_whole(stage), ARRIVAL_KEPT_MAX + 1);
    assert_int_equal(stage_disposition(stage, ALD_DISP_DUPLICATE), ARRIVAL_KEPT_MAX + 19);
}

/* Rule 6: letters of one task are bounded, whoever has its token. */
static void test_a_task_of_unknown_words(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback odd = {.task = task, .query = "id=77&code=ERROR_NEW_WORD"};
    for (int i = 0; i < ARRIVAL_LETTERS_MAX; i++)
        assert_string_equal(take(stage, &odd), "dead");
    assert_string_equal(take(stage, &odd), "progress");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), ARRIVAL_LETTERS_MAX);
}

/* Rule 9: one letter for each other answer, at most four; also across an index run. */
static void test_conflicts(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    static const struct {
        const char *query;
        const char *want;
    } cases[] = {
        {"id=77&code=abc", "applied"},
        {"id=77&code=+abc+", "duplicate"},
        {"id=77&code=one", "dead"},
        {"id=77&code=one", "duplicate"},
        {"id=77&code=two", "dead"},
        {"id=77&code=three", "dead"},
        {"id=77&code=ERROR_CAPTCHA_UNSOLVABLE", "dead"},
        {"id=77&code=five", "duplicate"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct stage_callback callback = {.task = task, .query = cases[i].query};
        const char *said = take(stage, &callback);
        if (strcmp(said, cases[i].want) != 0)
            print_error("%s: %s\n", cases[i].query, said);
        assert_string_equal(said, cases[i].want);
        if (i == 3) {
            stage_index(stage);
        }
    }
    assert_string_equal(stage_state(stage, task), "done callback");
}

static void test_after_a_cancel(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    stage_cancel(stage, task);
    const struct stage_callback answer = {.task = task, .query = "id=77&code=abc"};
    assert_string_equal(take(stage, &answer), "duplicate");
    assert_string_equal(stage_state(stage, task), "cancelled manual");
}

/* Rule 3: a stranger who guesses ids makes us ask, and nothing more. */
static void test_a_stranger_ends_nothing(void **state)
{
    struct stage *stage = *state;
    static const char *const codes[] = {"abc", "ERROR_CAPTCHA_UNSOLVABLE", "IP_BANNED",
                                        "ERROR_WRONG_USER_KEY", "ERROR:+1005"};
    uint64_t task = stage_register(stage, "two", "77");
    for (size_t i = 0; i < ALD_COUNT(codes); i++) {
        char query[64];
        (void)snprintf(query, sizeof query, "id=77&code=%s", codes[i]);
        const struct stage_callback guess = {.proof = "none", .query = query};
        assert_string_equal(take(stage, &guess), "progress");
    }
    assert_string_equal(stage_state(stage, task), "open");
    const struct pending_account *account = pending_account_at(stage->tracker.pending, 0);
    assert_int_equal(account->budget.blocked_until_ms, 0);
    assert_int_equal(account->queued, 1);
}

/* Rule 6: strangers have a quota; what was answered from a spool is taken all the same. */
static void test_the_quota(void **state)
{
    struct stage *stage = *state;
    struct stage_callback stranger = {.provider = "thin", .proof = "none"};
    char query[32];
    for (int i = 0; i < 6; i++) {
        (void)snprintf(query, sizeof query, "id=%d&code=x", i);
        stranger.query = query;
        assert_string_equal(take(stage, &stranger), i < 4 ? "parked" : "refused");
    }
    stranger.query = "id=99&code=x";
    uint64_t refused = stage->num + 1;
    assert_string_equal(take(stage, &stranger), "refused");
    stranger.spooled = true;
    stranger.num = refused; /* refused is no disposition: the number is still free */
    assert_string_equal(take(stage, &stranger), "parked");
    stranger.num = 0;
    assert_int_equal(stage_book(stage, BOOK_RECEIVED), 5);
    /* Somebody else's quota, and what has a token, are not concerned. */
    assert_string_equal(take(stage, &bare_77), "parked");
    uint64_t task = stage_register(stage, "thin", "0");
    const struct stage_callback known = {.provider = "thin", .task = task, .query = "id=0"};
    assert_string_equal(take(stage, &known), "progress");
    /* A restart forgets nothing of it. */
    stage_restart(stage, NULL);
    stranger.spooled = false;
    assert_string_equal(take(stage, &stranger), "refused");
    uint64_t count = 0;
    uint64_t bytes = 0;
    park_share(stage->tracker.park, "thin", &count, &bytes);
    assert_int_equal(count, 4);
    assert_true(bytes > 4 * 20);
}

/* Also where the profile believes ids: one that nobody knows proves nothing. */
static void test_the_quota_of_believed_ids(void **state)
{
    struct stage *stage = *state;
    struct stage_callback stranger = bare_77;
    for (int i = 0; i < 5; i++)
        assert_string_equal(take(stage, &stranger), i < 4 ? "parked" : "refused");
    stage_pass(2 * STAGE_HOUR); /* letters of them count the same */
    stage_tick(stage);
    assert_int_equal(stage_disposition(stage, ALD_DISP_DEAD), 4);
    assert_string_equal(take(stage, &stranger), "refused");
    stage_restart(stage, NULL);
    assert_string_equal(take(stage, &stranger), "refused");
    struct msg_letter letter;
    assert_true(stage_letter(stage, &letter));
    (void)stage_close(stage, letter.letter);
    assert_string_equal(take(stage, &stranger), "parked");
}

/* Rule 18: the outbox has a limit of its own, for what nobody vouches for alone. */
static void test_a_full_outbox(void **state)
{
    struct stage *stage = *state;
    struct vault *vault = &stage->tracker.vault;
    stage->settings.tracker.outbox_max = 2;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback odd = {.task = task, .query = "id=77&code=ERROR_NEW_WORD"};
    struct stage_callback stranger = {.provider = "thin", .proof = "none", .query = "id=1&code=x"};
    assert_string_equal(take(stage, &odd), "dead");
    assert_string_equal(take(stage, &stranger), "parked");
    assert_string_equal(take(stage, &odd), "dead");
    assert_string_equal(take(stage, &stranger), "refused");
    assert_string_equal(take(stage, &bare_77), "refused");
    assert_string_equal(take(stage, &odd), "dead"); /* its token vouches for it */
    stranger.spooled = true;                        /* it has its 200 already */
    assert_string_equal(take(stage, &stranger), "parked");
    stranger.spooled = false;
    stage_restart(stage, NULL);
    assert_int_equal(vault->outbox, 3);
    assert_string_equal(take(stage, &stranger), "refused");
    vault_begin(vault);
    vault_outbox_remove(vault, 1);
    vault_outbox_remove(vault, 1);
    vault_outbox_remove(vault, 2);
    assert_int_equal(vault_commit(vault), ALD_OK);
    assert_int_equal(vault->outbox, 1);
    assert_string_equal(take(stage, &stranger), "parked");
}

/* What was parked becomes a letter when its time is up, but not while spools may hold the rest. */
static void test_parked_for_so_long(void **state)
{
    struct stage *stage = *state;
    struct msg_letter letter;
    assert_string_equal(take(stage, &bare_77), "parked");
    stage_pass(STAGE_HOUR - 1);
    stage_tick(stage);
    assert_int_equal(stage_disposition(stage, ALD_DISP_PARKED), 1);
    struct sender *gateway = stage_gateway(stage);
    senders_told(stage->tracker.senders, gateway, 5, 1, tracker_now(&stage->tracker).run_ms);
    stage_pass(1000);
    stage_tick(stage);
    assert_int_equal(stage_disposition(stage, ALD_DISP_PARKED), 1);
    (void)stage_gateway(stage);
    stage_tick(stage);
    assert_int_equal(stage_disposition(stage, ALD_DISP_PARKED), 0);
    assert_true(stage_letter(stage, &letter));
    assert_string_equal(letter.reason, "unknown_task");
    assert_string_equal(letter.provider_id, "77");
}

/* Genuine, but from a history that this store does not have: kept, never parked. */
static void test_a_token_of_another_history(void **state)
{
    struct stage *stage = *state;
    struct msg_letter letter;
    const struct stage_callback lost = {.task = 12345, .query = "id=77&code=abc"};
    assert_string_equal(take(stage, &lost), "dead");
    assert_true(stage_letter(stage, &letter));
    assert_string_equal(letter.reason, "unknown_task");
    const struct stage_callback gone = {.provider = "gone", .task = 1, .query = "id=77"};
    assert_string_equal(take(stage, &gone), "dead");
}

/* Rule 16: a provider that begins to count anew, and a task registered twice. */
static void test_ids_come_again(void **state)
{
    struct stage *stage = *state;
    uint64_t first = stage_register(stage, "bare", "77");
    assert_string_equal(take(stage, &bare_77), "applied");
    uint64_t second = stage_register(stage, "bare", "77");
    assert_true(second > first);
    assert_string_equal(take(stage, &bare_77), "applied");
    assert_string_equal(stage_state(stage, second), "done callback");
    assert_string_equal(take(stage, &bare_77), "duplicate");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STAGE(test_example),
        ON_STAGE(test_before_the_registration),
        ON_STAGE(test_before_the_attachment),
        ON_STAGE(test_a_token_names_the_id),
        ON_STAGE(test_a_token_names_another_id),
        ON_STAGE(test_repeats),
        ON_STAGE(test_a_noisy_task),
        ON_STAGE(test_a_noisy_ended_task),
        ON_STAGE(test_a_task_of_unknown_words),
        ON_STAGE(test_conflicts),
        ON_STAGE(test_after_a_cancel),
        ON_STAGE(test_a_stranger_ends_nothing),
        ON_STAGE(test_the_quota),
        ON_STAGE(test_the_quota_of_believed_ids),
        ON_STAGE(test_a_full_outbox),
        ON_STAGE(test_parked_for_so_long),
        ON_STAGE(test_a_token_of_another_history),
        ON_STAGE(test_ids_come_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
