/* Letters that are alike, counted; files of version 1; and bulk replays' rows. */
#include "tests/unit/dlq/fixture.h"

#include <stdio.h>
#include <string.h>

#include "common/base/ident.h"
#include "common/base/text.h"
#include "services/dlq/browse.h"
#include "services/dlq/piles.h"
#include "services/dlq/replays.h"
#include "services/dlq/schema.h"

struct seen {
    unsigned count;
    struct msg_letter_group group[8];
};

static void group_seen(void *context, const struct msg_letter_group *group)
{
    struct seen *seen = context;
    assert_true(seen->count < ALD_COUNT(seen->group));
    seen->group[seen->count++] = *group;
}

static struct seen groups(struct fixture *self, const char *reason, uint64_t limit)
{
    struct seen seen = {0};
    struct msg_letter_groups ask = {.limit = limit};
    ald_text_cut(ask.reason, sizeof ask.reason, ald_span_str(reason));
    do {
        char cursor[ALD_POSITION_MAX];
        assert_int_equal(piles_list(self->shelf, &ask, &seen, group_seen, cursor), ALD_OK);
        memcpy(ask.cursor, cursor, sizeof cursor);
    } while (ask.cursor[0] != '\0');
    return seen;
}

static void offer(struct fixture *self, uint64_t num, const char *id, const char *reason)
{
    const struct offer offer = {.num = num,
                                .id = id,
                                .reason = reason,
                                .provider = "two",
                                .proof = "none",
                                .original = "x"};
    (void)fixture_take(self, &offer);
}

static void test_example(void **state)
{
    struct fixture *self = *state;
    offer(self, 1, ID_1, "malformed");
    offer(self, 2, ID_2, "malformed");
    offer(self, 3, ID_3, "expired");
    struct seen seen = groups(self, "", 1);
    assert_int_equal(seen.count, 2);
    assert_string_equal(seen.group[0].reason, "malformed");
    assert_string_equal(seen.group[0].cause, "a test");
    assert_string_equal(seen.group[0].provider, "two");
    assert_int_equal(seen.group[0].count, 2);
    assert_int_equal(seen.group[0].oldest_at_ms, NOW - 5);
    assert_string_equal(seen.group[0].example, ID_2);
    assert_int_equal(groups(self, "expired", 0).count, 1);
    assert_int_equal(groups(self, "conflict", 0).count, 0);
}

static void test_closed_ones_leave(void **state)
{
    struct fixture *self = *state;
    offer(self, 1, ID_1, "malformed");
    offer(self, 2, ID_2, "malformed");
    fixture_drop(self, ID_2);
    struct seen seen = groups(self, "", 0);
    assert_int_equal(seen.group[0].count, 1);
    assert_string_equal(seen.group[0].example, ID_1);
    fixture_drop(self, ID_1);
    assert_int_equal(groups(self, "", 0).count, 0);
    offer(self, 3, ID_3, "malformed");
    fixture_reopen(self);
    assert_int_equal(groups(self, "", 0).group[0].count, 1);
}

/* ---- a file of version 1 ---- */

static const char old_rows[] =
    "INSERT INTO letters(letter, sender, num, reason, cause, provider, task, provider_id, proof,"
    " state, live, outcome, made, closed, due, attempts, revision, pinned, by_person, who, believe,"
    " bytes, sending, closing, stranger) VALUES"
    " ('" ID_1 "', '" SENDER "', 1, 'malformed', 'why', 'two', 0, '', 'none', 'open', 1, '', 5, 0,"
    "  0, 0, 1, 0, 0, '', 0, 3, 0, 0, 1),"
    " ('" ID_2 "', '" SENDER "', 2, 'malformed', 'why', 'two', 0, '', 'none', 'held', 1, '', 6, 0,"
    "  0, 3, 1, 0, 0, '', 0, 3, 0, 0, 1),"
    " ('" ID_3 "', '" SENDER "', 3, 'malformed', 'why', 'two', 0, '', 'none', 'dropped', 0,"
    "  'dropped', 7, 8, 0, 0, 1, 0, 0, '', 0, 3, 0, 0, 1);"
    "INSERT INTO originals(letter, revision, bytes, sum) VALUES"
    " ('" ID_1 "', 1, x'6f6c64',"
    "  x'b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c');"
    "INSERT INTO attempts(letter, attempt, revision, at, who, outcome, detail) VALUES"
    " ('" ID_2 "', 3, 1, 6, 'schedule', 'still', 'malformed');"
    "INSERT INTO tallies(reason, state, count) VALUES('malformed', 'open', 1),"
    " ('malformed', 'held', 1), ('malformed', 'dropped', 1);"
    "INSERT INTO strangers(provider, count, bytes) VALUES('two', 2, 6);";

static void write_old(struct fixture *self)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    ald_store_t *store;
    struct ald_err err = {0};
    shelf_destroy(&self->shelf);
    for (size_t i = 0; i < ALD_COUNT(suffixes); i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s%s", self->path, suffixes[i]);
        (void)remove(path);
    }
    const struct ald_store_options options = {.path = self->path,
                                              .application_id = SCHEMA_APPLICATION,
                                              .steps = schema_steps,
                                              .step_count = 1};
    assert_int_equal(ald_store_open(&options, &store, &err), ALD_OK);
    assert_int_equal(ald_store_exec(store, old_rows), ALD_OK);
    ald_store_destroy(&store);
    self->shelf = shelf_new(self->path);
}

static void line_seen(void *context, const struct shelf_attempt *line)
{
    *(uint64_t *)context = line->attempt;
    assert_string_equal(line->replay, "");
}

static void test_a_file_of_version_1(void **state)
{
    struct fixture *self = *state;
    struct ald_err err = {0};
    struct shelf_row row;
    uint64_t attempt = 0;
    write_old(self);
    assert_int_equal(shelf_open(self->shelf, &err), ALD_OK);
    assert_int_equal(ald_store_version(shelf_store(self->shelf)), 2);
    struct seen seen = groups(self, "", 0);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.group[0].count, 2);
    assert_int_equal(seen.group[0].oldest_at_ms, 5);
    assert_int_equal(seen.group[0].newest_at_ms, 6);
    assert_int_equal(browse_find(self->shelf, ID_3, &row), ALD_OK);
    assert_int_equal(row.pile, 0);
    assert_int_equal(browse_history(self->shelf, ID_2, &attempt, line_seen), ALD_OK);
    assert_int_equal(attempt, 3);
    fixture_drop(self, ID_1);
    assert_int_equal(groups(self, "", 0).group[0].count, 1);
}

/* A program of version 1 has written a file of version 2: it knows no piles, and takes a letter
 * back without a word to the bulk replay that asked. */
static void test_after_an_older_program(void **state)
{
    struct fixture *self = *state;
    struct replay replay = {.id = ID_3, .rate = 1, .by = "ana"};
    struct shelf_row row;
    offer(self, 1, ID_1, "malformed");
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(replays_add(self->shelf, &replay), ALD_OK);
    assert_int_equal(browse_find(self->shelf, ID_1, &row), ALD_OK);
    assert_string_equal(replay_take(&replay, &row.letter, NOW), "");
    memcpy(row.replay, replay.id, sizeof row.replay);
    assert_int_equal(shelf_update(self->shelf, &row), ALD_OK);
    assert_int_equal(replays_save(self->shelf, &replay), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
    assert_int_equal(ald_store_exec(shelf_store(self->shelf),
                                    "UPDATE letters SET state = 'resolved', live = 0, outcome ="
                                    " 'applied', by_person = 0, due = 0, closed = 5"),
                     ALD_OK);
    assert_int_equal(
        ald_store_exec(
            shelf_store(self->shelf),
            "INSERT INTO letters(letter, sender, num, reason, cause, provider, task, provider_id,"
            " proof, state, live, outcome, made, closed, due, attempts, revision, pinned,"
            " by_person, who, believe, bytes, sending, closing, stranger) VALUES('" ID_2 "',"
            " 's', 2, 'expired', 'why', 'two', 0, '', '', 'open', 1, '', 6, 0, 0, 0, 1, 0, 0, '',"
            " 0, 0, 0, 0, 0)"),
        ALD_OK);
    fixture_reopen(self);
    struct seen seen = groups(self, "", 0);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.group[0].reason, "expired");
    assert_int_equal(seen.group[0].count, 1);
    assert_int_equal(replays_find(self->shelf, replay.id, &replay), ALD_OK);
    assert_int_equal(replay.answered, 1);
    assert_int_equal(browse_find(self->shelf, ID_1, &row), ALD_OK);
    assert_string_equal(row.replay, "");
}

/* ---- what is counted for a bulk replay ---- */

static void count_seen(void *context, const struct msg_replay_count *count)
{
    struct ald_buf *out = context;
    ald_buf_printf(out, "%s %s %s %llu;", count->result, count->reason, count->why,
                   (unsigned long long)count->count);
}

/* However a letter stops waiting, it is counted once. */
static void test_every_way_is_counted_once(void **state)
{
    struct fixture *self = *state;
    struct replay replay = {.id = SENDER, .rate = 1, .by = "ana"};
    static const char *const ids[] = {ID_1, ID_2, ID_3};
    struct shelf_row row[3];
    struct ald_buf counts;
    for (size_t i = 0; i < 3; i++)
        offer(self, i + 1, ids[i], "unknown_task");
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(replays_add(self->shelf, &replay), ALD_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(browse_find(self->shelf, ids[i], &row[i]), ALD_OK);
        assert_string_equal(replay_take(&replay, &row[i].letter, NOW), "");
        memcpy(row[i].replay, replay.id, sizeof row[i].replay);
        assert_int_equal(shelf_update(self->shelf, &row[i]), ALD_OK);
    }
    assert_int_equal(replays_save(self->shelf, &replay), ALD_OK);
    /* One is answered, one is dropped before its turn, one waits. */
    assert_true(letter_begin(&row[0].letter, NOW));
    assert_int_equal(shelf_update(self->shelf, &row[0]), ALD_OK);
    (void)letter_answer(&row[0].letter, &plan, ALD_DISP_STILL, NOW, 0);
    (void)snprintf(row[0].outcome, sizeof row[0].outcome, "still");
    assert_int_equal(shelf_update(self->shelf, &row[0]), ALD_OK);
    assert_int_equal(letter_drop(&row[1].letter, NOW), LETTER_YES);
    (void)snprintf(row[1].outcome, sizeof row[1].outcome, "dropped");
    assert_int_equal(shelf_update(self->shelf, &row[1]), ALD_OK);
    assert_int_equal(browse_find(self->shelf, ids[1], &row[1]), ALD_OK);
    row[1].closing = 0;
    assert_int_equal(shelf_update(self->shelf, &row[1]), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
    assert_int_equal(replays_find(self->shelf, replay.id, &replay), ALD_OK);
    assert_int_equal(replay.replayed, 3);
    assert_int_equal(replay.answered, 2);
    ald_buf_init(&counts, 1000);
    assert_int_equal(replays_counts(self->shelf, replay.id, &counts, count_seen), ALD_OK);
    assert_string_equal(ald_buf_str(&counts), "dropped unknown_task  1;still unknown_task  1;");
    ald_buf_free(&counts);
}

static void test_one_at_a_time(void **state)
{
    struct fixture *self = *state;
    struct replay first = {.id = ID_1, .rate = 1};
    struct replay second = {.id = ID_2, .rate = 1};
    struct replay now;
    int64_t unfinished = 0;
    assert_int_equal(replays_current(self->shelf, &now), ALD_NOTFOUND);
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(replays_add(self->shelf, &first), ALD_OK);
    assert_int_equal(replays_add(self->shelf, &second), ALD_OK);
    assert_int_equal(replays_current(self->shelf, &now), ALD_OK);
    assert_string_equal(now.id, first.id);
    replay_begin(&second, NOW);
    assert_int_equal(replays_save(self->shelf, &second), ALD_OK);
    assert_int_equal(replays_current(self->shelf, &now), ALD_OK);
    assert_string_equal(now.id, second.id); /* what runs goes before what waits */
    assert_true(replay_cancel(&second, NOW));
    assert_true(replay_pause(&first));
    assert_int_equal(replays_save(self->shelf, &second), ALD_OK);
    assert_int_equal(replays_save(self->shelf, &first), ALD_OK);
    assert_int_equal(replays_current(self->shelf, &now), ALD_NOTFOUND);
    assert_int_equal(replays_unfinished(self->shelf, &unfinished), ALD_OK);
    assert_int_equal(unfinished, 1);
    assert_int_equal(replays_purge(self->shelf, NOW + 1, 10), ALD_OK);
    assert_int_equal(replays_find(self->shelf, second.id, &now), ALD_NOTFOUND);
    assert_int_equal(replays_find(self->shelf, first.id, &now), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHELF_TEST(test_example),
        SHELF_TEST(test_closed_ones_leave),
        SHELF_TEST(test_a_file_of_version_1),
        SHELF_TEST(test_after_an_older_program),
        SHELF_TEST(test_every_way_is_counted_once),
        SHELF_TEST(test_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
