/* The letters on disk: what is kept, counted and purged, over closing and opening. */
#include "tests/unit/dlq/fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "services/dlq/browse.h"
#include "services/dlq/intake.h"

static void test_example(void **state)
{
    struct fixture *self = *state;
    struct msg_ack ack = fixture_take(self, &unknown);
    assert_string_equal(ack.disposition, "applied");
    assert_int_equal(ack.num, 7);

    struct shelf_row row;
    assert_int_equal(browse_find(self->shelf, ID_1, &row), ALD_OK);
    assert_int_equal(row.letter.state, LETTER_OPEN);
    assert_int_equal(row.letter.due_at_ms, NOW + 1000);
    struct ald_buf original;
    ald_buf_init(&original, 1000);
    assert_int_equal(browse_original(self->shelf, ID_1, 1, &original), ALD_OK);
    assert_string_equal(ald_buf_str(&original), "evidence");
    ald_buf_free(&original);
    assert_int_equal(browse_find(self->shelf, ID_2, &row), ALD_NOTFOUND);
}

static void test_files_are_private(void **state)
{
    struct fixture *self = *state;
    struct stat info;
    (void)fixture_take(self, &unknown);
    assert_int_equal(stat(self->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

struct intake_case {
    const char *name;
    struct offer offer;
    const char *want;
};

static const struct intake_case intake_cases[] = {
    {"new", {1, ID_1, "malformed", "two", "none", "x", 0, 0, NULL}, "applied"},
    {"again", {1, ID_1, "malformed", "two", "none", "x", 0, 0, NULL}, "duplicate"},
    {"again under another number",
     {2, ID_1, "malformed", "two", "none", "x", 0, 0, NULL},
     "duplicate"},
    {"without original", {3, ID_2, "expired", "two", "", "", 9, 0, NULL}, "applied"},
    {"no such reason", {4, ID_3, "boredom", "two", "none", "x", 0, 0, NULL}, "refused"},
    {"no reason", {5, ID_3, "", "two", "none", "x", 0, 0, NULL}, "refused"},
    {"id too short", {6, "01ARZ3", "conflict", "two", "none", "x", 0, 0, NULL}, "refused"},
    {"id of other letters",
     {7, "01ARZ3NDEKTSV4RRFFQ69G5FIL", "conflict", "two", "none", "x", 0, 0, NULL},
     "refused"},
    {"id with a path",
     {8, "../../../../../etc/passwd_", "conflict", "two", "none", "x", 0, 0, NULL},
     "refused"},
};

static void test_intake(void **state)
{
    struct fixture *self = *state;
    for (size_t i = 0; i < ALD_COUNT(intake_cases); i++) {
        print_message("%s\n", intake_cases[i].name);
        struct msg_ack ack = fixture_take(self, &intake_cases[i].offer);
        assert_string_equal(ack.disposition, intake_cases[i].want);
        assert_int_equal(ack.num, intake_cases[i].offer.num);
    }
    char big[1200];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    struct offer offer = {9, ID_3, "conflict", "two", "none", big, 0, 0, NULL};
    struct msg_ack ack = fixture_take(self, &offer);
    assert_string_equal(ack.disposition, "refused");
    assert_string_equal(ack.reason, "oversized");
    assert_int_equal(tally_state(shelf_tally(self->shelf), LETTER_OPEN), 2);
}

/* What is no letter is refused by its number, if it has one. */
static void test_intake_of_garbage(void **state)
{
    struct fixture *self = *state;
    struct intake intake = {
        .shelf = self->shelf, .plan = &plan, .max_item_bytes = 1000, .sender = SENDER};
    static const struct {
        const char *bytes;
        uint64_t num;
    } cases[] = {
        {"\x83\xa1k\xa6letter\xa1v\x01\xa3num\x05", 5}, /* nothing but a number */
        {"\x82\xa1k\xa6letter\xa1v\x01", 0},
        {"\xc1\xff", 0},
    };
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct msg_ack ack;
        assert_int_equal(intake_take(&intake, ald_span_str(cases[i].bytes), &ack), ALD_OK);
        assert_int_equal(ack.num, cases[i].num);
        assert_string_equal(ack.disposition, "refused");
    }
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
}

/* Rule 18: a letter that was closed here and is sent again does not rise from the dead. */
static void test_tombstone(void **state)
{
    struct fixture *self = *state;
    (void)fixture_take(self, &unknown);
    fixture_drop(self, ID_1);
    fixture_reopen(self);
    struct msg_ack ack = fixture_take(self, &unknown);
    assert_string_equal(ack.disposition, "duplicate");
    struct shelf_row row;
    assert_int_equal(browse_find(self->shelf, ID_1, &row), ALD_OK);
    assert_int_equal(row.letter.state, LETTER_DROPPED);
}

static unsigned fixture_purge(struct fixture *self, int64_t before_ms)
{
    unsigned count = 0;
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(shelf_purge(self->shelf, before_ms, 100, &count), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
    return count;
}

static void fixture_floor(struct fixture *self, uint64_t floor)
{
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(shelf_floor_note(self->shelf, SENDER, floor), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
}

/* The tombstone outlives its time as long as the sender may send it or has not been told. */
static void test_purge(void **state)
{
    struct fixture *self = *state;
    struct shelf_row row;
    (void)fixture_take(self, &unknown);
    assert_int_equal(fixture_purge(self, INT64_MAX), 0); /* open */
    fixture_drop(self, ID_1);
    fixture_floor(self, 8);
    assert_int_equal(fixture_purge(self, INT64_MAX), 0); /* closing not told */
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(browse_find(self->shelf, ID_1, &row), ALD_OK);
    row.closing = 0;
    assert_int_equal(shelf_update(self->shelf, &row), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
    assert_int_equal(fixture_purge(self, NOW), 0); /* too young */
    fixture_floor(self, 7);                        /* lower: nothing changes */
    assert_int_equal(fixture_purge(self, NOW + 1), 1);
    assert_int_equal(browse_find(self->shelf, ID_1, &row), ALD_NOTFOUND);
    assert_int_equal(tally_state(shelf_tally(self->shelf), LETTER_DROPPED), 1);
    assert_int_equal(shelf_tally(self->shelf)->purged, 1);
}

static void test_purge_waits_for_the_floor(void **state)
{
    struct fixture *self = *state;
    struct shelf_row row;
    (void)fixture_take(self, &unknown);
    fixture_drop(self, ID_1);
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(browse_find(self->shelf, ID_1, &row), ALD_OK);
    row.closing = 0;
    assert_int_equal(shelf_update(self->shelf, &row), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
    fixture_floor(self, 7); /* its number is 7: not below */
    assert_int_equal(fixture_purge(self, INT64_MAX), 0);
    fixture_floor(self, 8);
    assert_int_equal(fixture_purge(self, INT64_MAX), 1);
}

/* A copy that was put back has forgotten which numbers it used: it numbers under another name. */
static void test_behind_the_mark(void **state)
{
    struct fixture *self = *state;
    char sender[ALD_ULID_MAX];
    (void)fixture_take(self, &unknown);
    memcpy(sender, shelf_sender(self->shelf), sizeof sender);
    fixture_reopen(self);
    assert_string_equal(shelf_sender(self->shelf), sender);
    fixture_drop(self, ID_1); /* takes number 1 */
    fixture_reopen(self);
    assert_string_equal(shelf_sender(self->shelf), sender);
    assert_int_equal(ald_store_exec(shelf_store(self->shelf),
                                    "UPDATE facts SET value = 1 WHERE name = 'next_number'"),
                     ALD_OK);
    fixture_reopen(self);
    assert_string_not_equal(shelf_sender(self->shelf), sender);
    memcpy(sender, shelf_sender(self->shelf), sizeof sender);
    fixture_reopen(self);
    assert_string_equal(shelf_sender(self->shelf), sender);
}

/* Opened again after a failure by the same process, a file that lost its last commits does not make
 * it use a number twice, nor change its name under the courier. */
static void test_opened_again(void **state)
{
    struct fixture *self = *state;
    struct ald_err err;
    char sender[ALD_ULID_MAX];
    char run[ALD_ULID_MAX];
    (void)fixture_take(self, &unknown);
    fixture_drop(self, ID_1); /* takes number 1 */
    memcpy(sender, shelf_sender(self->shelf), sizeof sender);
    memcpy(run, shelf_run(self->shelf), sizeof run);
    assert_int_equal(ald_store_exec(shelf_store(self->shelf),
                                    "UPDATE facts SET value = 1 WHERE name = 'next_number'"),
                     ALD_OK);
    assert_int_equal(shelf_open(self->shelf, &err), ALD_OK);
    assert_int_equal(shelf_number(self->shelf), 2);
    assert_string_equal(shelf_sender(self->shelf), sender);
    assert_string_not_equal(shelf_run(self->shelf), run);
}

/* The numbers are those of the rows, also after a rollback and after opening again. */
static void test_tally(void **state)
{
    struct fixture *self = *state;
    struct offer second = unknown;
    second.num = 8;
    second.id = ID_2;
    second.reason = "malformed";
    (void)fixture_take(self, &unknown);
    (void)fixture_take(self, &second);
    uint64_t both = tally_mark(ID_1) ^ tally_mark(ID_2);
    assert_int_equal(shelf_tally(self->shelf)->open_xor, both);
    assert_true(both < UINT64_C(1) << 53);

    struct shelf_row row;
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(browse_find(self->shelf, ID_2, &row), ALD_OK);
    assert_int_equal(letter_drop(&row.letter, NOW), LETTER_YES);
    row.closing = shelf_number(self->shelf);
    assert_int_equal(shelf_update(self->shelf, &row), ALD_OK);
    assert_int_equal(tally_state(shelf_tally(self->shelf), LETTER_DROPPED), 1);
    shelf_rollback(self->shelf);
    assert_int_equal(tally_state(shelf_tally(self->shelf), LETTER_DROPPED), 0);
    assert_int_equal(shelf_tally(self->shelf)->open_xor, both);

    fixture_drop(self, ID_2);
    uint64_t next = shelf_number(self->shelf);
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    shelf_rollback(self->shelf);
    fixture_reopen(self);
    const struct tally *tally = shelf_tally(self->shelf);
    assert_int_equal(tally->count[ALD_REASON_UNKNOWN_TASK][LETTER_OPEN], 1);
    assert_int_equal(tally->count[ALD_REASON_MALFORMED][LETTER_DROPPED], 1);
    assert_int_equal(tally->count[ALD_REASON_MALFORMED][LETTER_OPEN], 0);
    assert_int_equal(tally->open_xor, tally_mark(ID_1));
    assert_int_equal(shelf_number(self->shelf), next);
}

static void test_mark(void **state)
{
    (void)state;
    /* The first 53 bits of SHA-256 of the text, worked out by another program. */
    assert_true(tally_mark(SENDER) == UINT64_C(5019865274263982));
}

/* A number is settled when no letter is sent under it any more; none comes twice. */
static void test_numbers(void **state)
{
    struct fixture *self = *state;
    struct shelf_row row;
    uint64_t floor = 0;
    (void)fixture_take(self, &unknown);
    assert_int_equal(browse_floor(self->shelf, &floor), ALD_OK);
    assert_int_equal(floor, 1);
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(browse_find(self->shelf, ID_1, &row), ALD_OK);
    assert_true(letter_begin(&row.letter, NOW + 1000));
    row.sending = shelf_number(self->shelf);
    assert_int_equal(row.sending, 1);
    assert_int_equal(shelf_update(self->shelf, &row), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
    fixture_reopen(self);

    struct browse_ids ids;
    assert_int_equal(browse_sending(self->shelf, &ids), ALD_OK);
    assert_int_equal(ids.count, 1);
    assert_string_equal(ids.id[0], ID_1);
    assert_int_equal(browse_find_number(self->shelf, 1, &row), ALD_OK);
    assert_int_equal(row.letter.pinned, 1);
    assert_int_equal(row.letter.attempts, 1);
    assert_int_equal(browse_floor(self->shelf, &floor), ALD_OK);
    assert_int_equal(floor, 1);
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    (void)letter_answer(&row.letter, &plan, ALD_DISP_STILL, NOW, 0);
    row.sending = 0;
    assert_int_equal(shelf_update(self->shelf, &row), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
    assert_int_equal(browse_floor(self->shelf, &floor), ALD_OK);
    assert_int_equal(floor, 2);
    assert_int_equal(browse_find_number(self->shelf, 1, &row), ALD_NOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHELF_TEST(test_example),
        SHELF_TEST(test_files_are_private),
        SHELF_TEST(test_intake),
        SHELF_TEST(test_intake_of_garbage),
        SHELF_TEST(test_tombstone),
        SHELF_TEST(test_purge),
        SHELF_TEST(test_purge_waits_for_the_floor),
        SHELF_TEST(test_behind_the_mark),
        SHELF_TEST(test_opened_again),
        SHELF_TEST(test_tally),
        cmocka_unit_test(test_mark),
        SHELF_TEST(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
