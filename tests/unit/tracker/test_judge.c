/* What a re-injection would do, told and not done: each answer against what act_reinject then does.
 */
#include "services/tracker/acts/acts_judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "tests/unit/tracker/shop.h"

static const struct stage_again person = {.by_person = true};

/* The newest letter, judged as the dlq asks, with these words. query NULL: as it came. */
static struct msg_judged judged_with(struct stage *stage, const struct msg_judge *words,
                                     const char *query)
{
    struct msg_letter letter;
    struct msg_callback message;
    struct ald_buf original;
    struct ald_buf bytes;
    struct msg_answer answer = {0};
    struct msg_judged out = {0};
    zmsg_t *to = NULL;
    assert_true(stage_letter(stage, &letter));
    ald_buf_init(&original, 1 << 20);
    ald_buf_init(&bytes, 1 << 20);
    ald_buf_put_span(&original, letter.original);
    if (query) {
        assert_int_equal(ald_wire_decode(&MSG_CALLBACK, &message, letter.original), ALD_OK);
        message.query = ald_span_str(query);
        message.fault[0] = '\0';
        ald_buf_reset(&original);
        assert_int_equal(ald_wire_encode(&MSG_CALLBACK, &message, &original), ALD_OK);
    }
    struct msg_judge ask = *words;
    ask.req = 7;
    ask.revision = query ? 2 : 1;
    ask.original = ald_buf_span(&original);
    memcpy(ask.letter, letter.letter, sizeof ask.letter);
    memcpy(ask.reason, letter.reason, sizeof ask.reason);
    assert_int_equal(ald_wire_encode(&MSG_JUDGE, &ask, &bytes), ALD_OK);
    assert_true(act_judge_ask(&stage->tracker, ald_buf_span(&bytes), &answer, &to));
    assert_int_equal(answer.req, 7);
    assert_string_equal(answer.rc, "ok");
    zframe_t *frame = zmsg_first(to);
    assert_non_null(frame);
    assert_int_equal(
        ald_wire_decode(&MSG_JUDGED, &out, ald_span_of(zframe_data(frame), zframe_size(frame))),
        ALD_OK);
    zmsg_destroy(&to);
    ald_buf_free(&bytes);
    ald_buf_free(&original);
    return out;
}

static struct msg_judged judged(struct stage *stage, bool believe, const char *query)
{
    const struct msg_judge words = {.believe = believe};
    return judged_with(stage, &words, query);
}

static void take(struct stage *stage, const struct stage_callback *callback, const char *want)
{
    struct msg_ack ack = stage_take(stage, callback);
    assert_string_equal(ack.disposition, want);
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback callback = {.task = task, .query = "id=77&code=ERROR_NOBODY_KNOWS"};
    take(stage, &callback, "dead");
    struct msg_judged said = judged(stage, false, NULL);
    assert_string_equal(said.disposition, "still");
    assert_string_equal(said.reason, "unmapped_status");
    assert_string_equal(said.why, "The code is not in the profile's table.");
    assert_string_equal(said.code, "ERROR_NOBODY_KNOWS");
    assert_string_equal(said.task_state, "pending");
    assert_string_equal(said.state, "");
    assert_true(said.task == task);
    said = judged(stage, false, "id=77&code=good");
    assert_string_equal(said.disposition, "applied");
    assert_string_equal(said.state, "done");
    assert_string_equal(said.then, "done");
    assert_string_not_equal(said.rule, "");
    assert_string_equal(said.provider_id, "77");
}

/* Asked a hundred times, and nothing is another than before. */
static void test_nothing_is_changed(void **state)
{
    struct stage *stage = *state;
    const struct stage_callback callback = {
        .provider = "bare", .proof = "id", .query = "id=77&code=abc"};
    take(stage, &callback, "parked");
    stage_pass(2 * STAGE_HOUR);
    stage_tick(stage);
    struct msg_judged said = judged(stage, false, NULL);
    assert_string_equal(said.disposition, "still");
    assert_string_equal(said.reason, "unknown_task");
    assert_true(said.task == 0);
    uint64_t task = stage_register(stage, "bare", "77");
    for (unsigned i = 0; i < 100; i++)
        said = judged(stage, false, NULL);
    assert_string_equal(said.disposition, "applied");
    assert_string_equal(said.state, "done");
    assert_int_equal(park_count(stage->tracker.park), 0);
    assert_string_equal(stage_state(stage, task), "open");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 1);
    assert_int_equal(stage_book(stage, BOOK_LETTERS_RESOLVED), 0);
    assert_int_equal(stage_disposition(stage, ALD_DISP_DEAD), 1);
    /* And then it is as it was told. */
    assert_string_equal(stage_reinject(stage, &person).disposition, "applied");
    assert_string_equal(stage_state(stage, task), "done replay");
    said = judged(stage, false, NULL);
    assert_string_equal(said.disposition, "applied");
    assert_string_equal(said.why, "The tracker has closed the letter.");
}

/* The proof is the door's, whatever is edited; a person's word is another thing. */
static void test_proof(void **state)
{
    struct stage *stage = *state;
    (void)stage_register(stage, "two", "77");
    const struct stage_callback callback = {
        .proof = "none", .query = "id=77&code=abc", .fault = "unauthenticated"};
    take(stage, &callback, "dead");
    struct msg_judged said = judged(stage, false, NULL);
    assert_string_equal(said.disposition, "still");
    assert_string_equal(said.reason, "unauthenticated");
    said = judged(stage, true, NULL);
    assert_string_equal(said.disposition, "applied");
    said = judged(stage, false, "id=77&code=forged");
    assert_string_not_equal(said.disposition, "applied");
}

/* The profile is gone, or the letter is of another store: it says so. */
static void test_what_stands_in_the_way(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback callback = {.task = task, .query = "id=88&code=abc"};
    take(stage, &callback, "dead");
    struct msg_judged said = judged(stage, false, NULL);
    assert_string_equal(said.disposition, "still");
    assert_string_equal(said.reason, "conflict");
    assert_true(strlen(said.why) > 10);
}

/* Rule 7: with the word that a letter needs, what it would buy or publish; and nothing is bought.
 */
static void test_rule_7_what_a_word_would_do(void **state)
{
    struct stage *stage = *state;
    const struct msg_judge buy = {.buy = true};
    const struct msg_judge publish = {.publish = true};
    const struct msg_outcome refused = {
        .left = true, .answered = true, .then = "code", .class_ = "permanent", .code = "ERROR_X"};
    uint64_t task = under_way(stage);
    assert_string_equal(report(stage, task, 1, leases, &refused), "applied");
    struct msg_judged said = judged_with(stage, &buy, NULL);
    assert_string_equal(said.disposition, "replaced");
    assert_string_equal(said.task_state, "failed");
    assert_true(said.task == task);
    said = judged(stage, false, NULL);
    assert_string_equal(said.disposition, "still");
    assert_string_equal(said.reason, "unasked");
    stage->settings.tracker.max_open = 0;
    said = judged_with(stage, &buy, NULL);
    assert_string_equal(said.disposition, "still");
    assert_string_equal(said.reason, "full");
    stage->settings.tracker.max_open = 1000;
    assert_int_equal(stage_book(stage, BOOK_CREATED), 1);
    assert_string_equal(letters_of(stage, task), "submit_failed:open");
    const struct stage_again bought = {.by_person = true, .buy = true};
    assert_string_equal(stage_reinject(stage, &bought).disposition, "replaced");
    uint64_t other = stage_register(stage, "two", "78");
    const struct stage_callback first = {.task = other, .query = "id=78&code=A"};
    const struct stage_callback second = {.task = other, .query = "id=78&code=B"};
    take(stage, &first, "applied");
    take(stage, &second, "dead");
    said = judged_with(stage, &publish, NULL);
    assert_string_equal(said.disposition, "corrected");
    assert_string_equal(said.state, "done");
    assert_int_equal(stage_book(stage, BOOK_CORRECTIONS), 0);
    const struct stage_again published = {.by_person = true, .publish = true};
    assert_string_equal(stage_reinject(stage, &published).disposition, "corrected");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STAGE(test_example),
        ON_STAGE(test_nothing_is_changed),
        ON_STAGE(test_proof),
        ON_STAGE(test_what_stands_in_the_way),
        IN_SHOP(test_rule_7_what_a_word_would_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
