/* Letters that turn out to be letters for another reason when they are judged again: rules 7 and 9
 * of GUARANTEES.md, as far as the tracker decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/acts/acts.h"
#include "services/tracker/vault/vault_letters.h"
#include "tests/unit/tracker/stage.h"

static const struct stage_again schedule = {0};
static const struct stage_again person = {.by_person = true};
static const struct stage_again believed = {.by_person = true, .believe = true};
static const struct stage_again publish = {.by_person = true, .publish = true};

static void take(struct stage *stage, const struct stage_callback *callback, const char *want)
{
    struct msg_ack ack = stage_take(stage, callback);
    assert_string_equal(ack.disposition, want);
}

/* A letter about an unknown bare id, 77 of `bare`, and its id. */
static void unknown_letter(struct stage *stage, const char *query, char out[ALD_ULID_MAX])
{
    const struct stage_callback callback = {.provider = "bare", .proof = "id", .query = query};
    struct msg_letter letter;
    take(stage, &callback, "parked");
    stage_pass(2 * STAGE_HOUR);
    stage_tick(stage);
    assert_true(stage_letter(stage, &letter));
    assert_string_equal(letter.reason, "unknown_task");
    memcpy(out, letter.letter, ALD_ULID_MAX);
}

/* Its task becomes known, and ends with this. */
static uint64_t ended_task(struct stage *stage, const char *provider, const char *query)
{
    uint64_t task = stage_register(stage, provider, "77");
    const struct stage_callback answer = {.provider = provider, .task = task, .query = query};
    take(stage, &answer, "applied");
    return task;
}

static struct vault_letter row_of(struct stage *stage, const char *letter)
{
    struct vault_letter row;
    assert_true(vault_letter_find(&stage->tracker.vault, letter, &row));
    return row;
}

/* Judge a letter again: it stays one, for this reason. */
static struct msg_ack still(struct stage *stage, const char *letter, const struct stage_again *how,
                            const char *reason)
{
    struct stage_again again = *how;
    again.letter = letter;
    struct msg_ack ack = stage_reinject(stage, &again);
    assert_string_equal(ack.disposition, "still");
    assert_string_equal(ack.reason, reason);
    return ack;
}

static bool room(const struct stage *stage)
{
    return quota_room(stage->tracker.quota, "bare", "", 1, 0, 0, 1, 1 << 20);
}

/* FIRST came before its task was known, SECOND ended the task: FIRST lies against it. */
static void test_example(void **state)
{
    struct stage *stage = *state;
    char letter[ALD_ULID_MAX];
    unknown_letter(stage, "id=77&code=first", letter);
    uint64_t task = ended_task(stage, "bare", "id=77&code=second");
    assert_false(room(stage)); /* an id that nobody knows proves nothing */
    struct msg_ack ack = still(stage, letter, &schedule, "conflict");
    assert_int_equal(ack.task, task);
    assert_string_equal(ack.cause, "Another answer than the one that was published.");
    assert_true(room(stage)); /* one of a task does */
    struct vault_letter row = row_of(stage, letter);
    assert_int_equal(row.reason, ALD_REASON_CONFLICT);
    assert_int_equal(row.task, task);
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 1);
    assert_int_equal(stage_disposition(stage, ALD_DISP_DEAD), 1);

    struct stage_again how = publish;
    how.letter = letter;
    ack = stage_reinject(stage, &how);
    assert_string_equal(ack.disposition, "corrected");
    assert_int_equal(row_of(stage, letter).state, VAULT_LETTER_RESOLVED);
    assert_int_equal(stage_disposition(stage, ALD_DISP_DEAD), 0);
}

/* The answer to the attempt was lost: the same is said again, also after a restart. */
static void test_said_again(void **state)
{
    struct stage *stage = *state;
    char letter[ALD_ULID_MAX];
    unknown_letter(stage, "id=77&code=first", letter);
    uint64_t task = ended_task(stage, "bare", "id=77&code=second");
    for (int i = 0; i < 3; i++) {
        struct msg_ack ack = still(stage, letter, &schedule, "conflict");
        assert_int_equal(ack.task, task);
        assert_string_not_equal(ack.cause, "");
        stage_restart(stage, NULL);
        assert_true(room(stage));
    }
    (void)stage_close(stage, letter);
    assert_int_equal(row_of(stage, letter).state, VAULT_LETTER_DROPPED);
    assert_int_equal(stage_book(stage, BOOK_LETTERS_DROPPED), 1);
}

/* Rule 9: one letter a digest. A second copy, in a letter of its own or at the door, is none. */
static void test_one_letter_an_answer(void **state)
{
    struct stage *stage = *state;
    char letters[2][ALD_ULID_MAX];
    for (size_t i = 0; i < ALD_COUNT(letters); i++)
        unknown_letter(stage, "id=77&code=first", letters[i]);
    (void)ended_task(stage, "bare", "id=77&code=second");
    (void)still(stage, letters[0], &schedule, "conflict");
    struct stage_again other = {.letter = letters[1]};
    struct msg_ack ack = stage_reinject(stage, &other);
    assert_string_equal(ack.disposition, "duplicate");
    assert_int_equal(row_of(stage, letters[1]).state, VAULT_LETTER_RESOLVED);
    (void)still(stage, letters[0], &schedule, "conflict"); /* it does not meet itself */
    const struct stage_callback copy = {
        .provider = "bare", .proof = "id", .query = "id=77&code=first"};
    take(stage, &copy, "duplicate");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 2);
}

/* What is known of it may be less than a task's end. */
static void test_to_an_unmapped_one(void **state)
{
    struct stage *stage = *state;
    char letter[ALD_ULID_MAX];
    unknown_letter(stage, "id=77&code=ERROR_NEW_WORD", letter);
    uint64_t task = stage_register(stage, "bare", "77");
    struct msg_ack ack = still(stage, letter, &schedule, "unmapped_status");
    assert_int_equal(ack.task, task);
    assert_string_equal(ack.cause, "The code is not in the profile's table.");
    const struct stage_callback answer = {
        .provider = "bare", .task = task, .query = "id=77&code=abc"};
    take(stage, &answer, "applied");
    ack = stage_reinject(stage, &schedule);
    assert_string_equal(ack.disposition, "duplicate");
}

/* It was never about this task, if a person mistyped the id: he can edit it again. */
static void test_an_edited_one_is_no_conflict(void **state)
{
    struct stage *stage = *state;
    char letter[ALD_ULID_MAX];
    const struct stage_again edited = {.by_person = true, .edited = true};
    unknown_letter(stage, "id=77&code=first", letter);
    (void)ended_task(stage, "bare", "id=77&code=second");
    struct msg_ack ack = still(stage, letter, &edited, "conflict");
    assert_string_equal(ack.cause, "");
    assert_int_equal(row_of(stage, letter).reason, ALD_REASON_UNKNOWN_TASK);
}

/* It was edited while the attempt that found the conflict was under way: the new message is judged
 * for itself, and the letter follows it. */
static void test_edited_under_way(void **state)
{
    struct stage *stage = *state;
    char letter[ALD_ULID_MAX];
    const struct stage_again edited = {.by_person = true, .edited = true};
    unknown_letter(stage, "id=77&code=first", letter);
    (void)ended_task(stage, "bare", "id=77&code=second");
    (void)still(stage, letter, &schedule, "conflict");
    struct msg_ack ack = still(stage, letter, &edited, "conflict");
    assert_string_equal(ack.cause, ""); /* it would not be edited again */
    struct stage_again other = edited;
    other.letter = letter;
    other.query = "id=78&code=first";
    ack = stage_reinject(stage, &other);
    assert_string_equal(ack.reason, "unknown_task");
    assert_int_equal(row_of(stage, letter).reason, ALD_REASON_UNKNOWN_TASK);
    uint64_t task = stage_register(stage, "bare", "78");
    ack = stage_reinject(stage, &other);
    assert_string_equal(ack.disposition, "applied");
    assert_string_equal(stage_state(stage, task), "done manual");
}

static void test_a_believed_one(void **state)
{
    struct stage *stage = *state;
    struct msg_letter letter;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback forged = {
        .task = task, .query = "id=77&code=first", .fault = "unauthenticated"};
    const struct stage_callback answer = {.task = task, .query = "id=77&code=second"};
    take(stage, &forged, "dead");
    assert_true(stage_letter(stage, &letter));
    char id[ALD_ULID_MAX];
    memcpy(id, letter.letter, sizeof id);
    take(stage, &answer, "applied");
    struct msg_ack ack = still(stage, id, &person, "unauthenticated");
    assert_string_equal(ack.cause, "");
    ack = still(stage, id, &believed, "conflict");
    assert_int_equal(ack.task, task);
    assert_int_equal(row_of(stage, id).reason, ALD_REASON_CONFLICT);
    struct stage_again how = publish;
    how.letter = id;
    ack = stage_reinject(stage, &how);
    assert_string_equal(ack.disposition, "corrected");
}

/* A person's word is for that once: nothing that a schedule could take up is made of it. */
static void test_belief_is_not_kept(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback forged = {
        .task = task, .query = "id=77&code=ERROR_NEW_WORD", .fault = "unauthenticated"};
    struct msg_letter letter;
    take(stage, &forged, "dead");
    assert_true(stage_letter(stage, &letter));
    char id[ALD_ULID_MAX];
    memcpy(id, letter.letter, sizeof id);
    struct msg_ack ack = still(stage, id, &believed, "unmapped_status");
    assert_string_equal(ack.cause, "");
    assert_int_equal(row_of(stage, id).reason, ALD_REASON_UNAUTHENTICATED);
    (void)still(stage, id, &schedule, "unauthenticated");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STAGE(test_example),
        ON_STAGE(test_said_again),
        ON_STAGE(test_one_letter_an_answer),
        ON_STAGE(test_to_an_unmapped_one),
        ON_STAGE(test_an_edited_one_is_no_conflict),
        ON_STAGE(test_edited_under_way),
        ON_STAGE(test_a_believed_one),
        ON_STAGE(test_belief_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
