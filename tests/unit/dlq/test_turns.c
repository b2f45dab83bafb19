/* Letters that are found to be letters for another reason: wherever they are counted, they are
 * counted anew. */
#include "tests/unit/dlq/fixture.h"

#include <stdio.h>
#include <string.h>

#include "services/dlq/browse.h"
#include "services/dlq/piles.h"

static const struct shelf_turn conflict = {
    .reason = ALD_REASON_CONFLICT, .cause = "another answer", .task = 42};

static struct shelf_row row_of(struct fixture *self)
{
    struct shelf_row row;
    assert_int_equal(browse_find(self->shelf, ID_1, &row), ALD_OK);
    return row;
}

static void turn(struct fixture *self, const struct shelf_turn *to)
{
    struct shelf_row row = row_of(self);
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(shelf_turn(self->shelf, &row, to), ALD_OK);
    assert_int_equal(shelf_update(self->shelf, &row), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
}

static void group_seen(void *context, const struct msg_letter_group *group)
{
    char *text = context;
    size_t at = strlen(text);
    (void)snprintf(text + at, 200 - at, "%s/%s/%d ", group->reason, group->cause,
                   (int)group->count);
}

static void demand_groups(struct fixture *self, const char *want)
{
    char text[200] = "";
    char cursor[ALD_POSITION_MAX];
    const struct msg_letter_groups ask = {0};
    assert_int_equal(piles_list(self->shelf, &ask, text, group_seen, cursor), ALD_OK);
    assert_string_equal(text, want);
}

/* Letters that count in a provider's quota, by the table that the quota is read from. */
static int64_t strangers(struct fixture *self, const char *column)
{
    char sql[80];
    ald_stmt_t *stmt = NULL;
    (void)snprintf(sql, sizeof sql, "SELECT coalesce(sum(%s), 0) FROM strangers", column);
    assert_int_equal(ald_store_prepare(shelf_store(self->shelf), sql, &stmt), ALD_OK);
    assert_int_equal(ald_stmt_step(stmt), ALD_OK);
    int64_t count = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return count;
}

static void demand_turned(struct fixture *self)
{
    const struct tally *tally = shelf_tally(self->shelf);
    struct shelf_row row = row_of(self);
    assert_int_equal(row.letter.reason, ALD_REASON_CONFLICT);
    assert_int_equal(row.task, 42);
    assert_string_equal(row.cause, "another answer");
    assert_int_equal(tally_reason(tally, ALD_REASON_CONFLICT), 1);
    assert_int_equal(tally_reason(tally, ALD_REASON_UNKNOWN_TASK), 0);
    assert_true(tally->open_xor == tally_mark(ID_1)); /* the set of open ones is the same */
    assert_int_equal(strangers(self, "count"), 0);
    assert_int_equal(strangers(self, "bytes"), 0);
    demand_groups(self, "conflict/another answer/1 ");
}

static void test_example(void **state)
{
    struct fixture *self = *state;
    (void)fixture_take(self, &unknown);
    assert_int_equal(strangers(self, "count"), 1);
    demand_groups(self, "unknown_task/a test/1 ");
    turn(self, &conflict);
    demand_turned(self);
    turn(self, &conflict); /* said again */
    demand_turned(self);
    fixture_reopen(self);
    demand_turned(self);
    fixture_drop(self, ID_1);
    assert_int_equal(tally_state(shelf_tally(self->shelf), LETTER_OPEN), 0);
    assert_int_equal(strangers(self, "count"), 0);
    demand_groups(self, "");
}

/* A rollback takes everything back. */
static void test_rolled_back(void **state)
{
    struct fixture *self = *state;
    (void)fixture_take(self, &unknown);
    struct shelf_row row = row_of(self);
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(shelf_turn(self->shelf, &row, &conflict), ALD_OK);
    shelf_rollback(self->shelf);
    assert_int_equal(row_of(self).letter.reason, ALD_REASON_UNKNOWN_TASK);
    assert_int_equal(tally_reason(shelf_tally(self->shelf), ALD_REASON_UNKNOWN_TASK), 1);
    assert_int_equal(strangers(self, "count"), 1);
    demand_groups(self, "unknown_task/a test/1 ");
}

static void test_the_schedule_follows(void **state)
{
    struct fixture *self = *state;
    (void)fixture_take(self, &unknown);
    struct shelf_row row = row_of(self);
    assert_true(letter_begin(&row.letter, NOW + 1000));
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(shelf_turn(self->shelf, &row, &conflict), ALD_OK);
    assert_false(letter_answer(&row.letter, &plan, ALD_DISP_STILL, NOW + 2000, 0));
    assert_int_equal(shelf_update(self->shelf, &row), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
    row = row_of(self);
    assert_int_equal(row.letter.state, LETTER_OPEN); /* waits for a person, and is not tried */
    assert_int_equal(row.letter.due_at_ms, 0);
    assert_int_equal(letter_replay(&row.letter, LETTER_PUBLISH, NOW), LETTER_YES);
}

static void test_a_closed_one_stays(void **state)
{
    struct fixture *self = *state;
    (void)fixture_take(self, &unknown);
    fixture_drop(self, ID_1);
    turn(self, &conflict);
    assert_int_equal(row_of(self).letter.reason, ALD_REASON_UNKNOWN_TASK);
    assert_int_equal(shelf_tally(self->shelf)->count[ALD_REASON_UNKNOWN_TASK][LETTER_DROPPED], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHELF_TEST(test_example),
        SHELF_TEST(test_rolled_back),
        SHELF_TEST(test_the_schedule_follows),
        SHELF_TEST(test_a_closed_one_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
