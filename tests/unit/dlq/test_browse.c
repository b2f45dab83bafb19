/* The letters found again: what is due, lists by pages, attempts, what is over quota or damaged. */
#include "tests/unit/dlq/fixture.h"

#include <stdio.h>
#include <string.h>

#include "common/base/ident.h"
#include "common/base/text.h"
#include "services/dlq/browse.h"
#include "services/dlq/meters.h"
#include "services/dlq/upkeep.h"
#include "services/dlq/verify.h"

static void test_example(void **state)
{
    struct fixture *self = *state;
    struct browse_ids ids;
    (void)fixture_take(self, &unknown);
    assert_int_equal(browse_due(self->shelf, NOW + 999, 10, &ids), ALD_OK);
    assert_int_equal(ids.count, 0);
    assert_int_equal(browse_due(self->shelf, NOW + 1000, 0, &ids), ALD_OK);
    assert_int_equal(ids.count, 0);
    assert_int_equal(browse_due(self->shelf, NOW + 1000, 10, &ids), ALD_OK);
    assert_int_equal(ids.count, 1);
    /* The clock is set back by a day: what waits must not wait a day longer. */
    struct upkeep upkeep = {.shelf = self->shelf};
    assert_true(upkeep_clock(&upkeep, NOW - 86400000, 60000));
    assert_int_equal(browse_due(self->shelf, NOW - 86400000 + 60000, 10, &ids), ALD_OK);
    assert_int_equal(ids.count, 1);
}

struct page {
    unsigned count;
    char last[ALD_ULID_MAX];
};

static void page_seen(void *context, const struct shelf_row *row)
{
    struct page *page = context;
    if (page->count > 0)
        assert_true(strcmp(row->id, page->last) < 0); /* newest first */
    page->count++;
    memcpy(page->last, row->id, sizeof page->last);
}

static unsigned fixture_list(struct fixture *self, struct msg_letters ask)
{
    struct page page = {0};
    do {
        char cursor[ALD_ULID_MAX];
        assert_int_equal(browse_list(self->shelf, &ask, &page, page_seen, cursor), ALD_OK);
        memcpy(ask.cursor, cursor, sizeof cursor);
    } while (ask.cursor[0] != '\0');
    return page.count;
}

static void test_lists(void **state)
{
    struct fixture *self = *state;
    char ids[10][ALD_ULID_SIZE];
    for (unsigned i = 0; i < 10; i++) {
        ald_ulid_new(ids[i]);
        struct offer offer = {.num = i + 1,
                              .id = ids[i],
                              .reason = i % 2 ? "malformed" : "unknown_task",
                              .provider = i < 3 ? "one" : "two",
                              .proof = "none",
                              .original = "x",
                              .task = i % 5};
        (void)fixture_take(self, &offer);
    }
    fixture_drop(self, ids[0]);
    static const struct {
        struct msg_letters ask;
        unsigned want;
    } cases[] = {
        {{.limit = 0}, 9},
        {{.limit = 1}, 9},
        {{.limit = 4}, 9},
        {{.state = "open"}, 9},
        {{.state = "dropped"}, 1},
        {{.state = "held"}, 0},
        {{.reason = "malformed", .limit = 2}, 5},
        {{.provider = "one", .limit = 1}, 2},
        {{.task = 3, .limit = 1}, 2},
        {{.task = 3, .reason = "malformed"}, 1},
        {{.task = 3, .state = "dropped"}, 0},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        print_message("case %zu\n", i);
        assert_int_equal(fixture_list(self, cases[i].ask), cases[i].want);
    }
}

/* By time, by consumer, and by a text that stands somewhere in a letter. */
static void test_finds(void **state)
{
    struct fixture *self = *state;
    char ids[6][ALD_ULID_SIZE];
    for (unsigned i = 0; i < 6; i++) {
        ald_ulid_new(ids[i]);
        struct offer offer = {.num = i + 1,
                              .id = ids[i],
                              .reason = i < 2 ? "consumer_rejected" : "unknown_task",
                              .provider = "two",
                              .proof = "none",
                              .original = i % 2 ? "id=77&code=needle" : "id=77&code=hay",
                              .task = i == 4 ? 1234567 : 0,
                              .made_at_ms = NOW + i,
                              .consumer = i == 1 ? "mailer" : ""};
        (void)fixture_take(self, &offer);
    }
    static const struct {
        struct msg_letters ask;
        unsigned want;
    } cases[] = {
        {{.since_ms = NOW + 2}, 4},
        {{.until_ms = NOW + 2}, 2},
        {{.since_ms = NOW + 2, .until_ms = NOW + 3}, 1},
        {{.consumer = "mailer"}, 1},
        {{.q = "needle"}, 3},
        {{.q = "needle", .limit = 1}, 3},
        {{.q = "needle", .since_ms = NOW + 2}, 2},
        {{.q = "code="}, 6},
        {{.q = "a test"}, 6}, /* the cause */
        {{.q = "23456"}, 1},  /* the task */
        {{.q = "thread"}, 0},
        {{.q = "needle", .state = "dropped"}, 0},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        print_message("case %zu\n", i);
        assert_int_equal(fixture_list(self, cases[i].ask), cases[i].want);
    }
}

/* However many letters there are, a page looks at so many and says where to go on. */
static void test_a_page_is_bounded(void **state)
{
    struct fixture *self = *state;
    struct page page = {0};
    char cursor[ALD_ULID_MAX];
    char id[ALD_ULID_SIZE];
    for (unsigned i = 0; i < BROWSE_FIND + 10; i++) {
        ald_ulid_new(id);
        struct offer offer = {.num = i + 1,
                              .id = id,
                              .reason = "unknown_task",
                              .provider = "two",
                              .proof = "token",
                              .original = i == 3 ? "needle" : "hay"};
        (void)fixture_take(self, &offer);
    }
    struct msg_letters ask = {.q = "needle"};
    assert_int_equal(browse_list(self->shelf, &ask, &page, page_seen, cursor), ALD_OK);
    assert_int_equal(page.count, 0);
    assert_string_not_equal(cursor, "");
    memcpy(ask.cursor, cursor, sizeof cursor);
    assert_int_equal(browse_list(self->shelf, &ask, &page, page_seen, cursor), ALD_OK);
    assert_int_equal(page.count, 1);
    assert_string_equal(cursor, "");
}

/* Each letter once, the oldest first, up to the bound; what is closed meanwhile is not met. */
static void test_walk(void **state)
{
    struct fixture *self = *state;
    char ids[8][ALD_ULID_SIZE];
    struct shelf_row rows[3];
    unsigned met = 0;
    for (unsigned i = 0; i < 8; i++) {
        ald_ulid_new(ids[i]);
        struct offer offer = {.num = i + 1,
                              .id = ids[i],
                              .reason = i == 2 ? "expired" : "unknown_task",
                              .provider = "two",
                              .proof = "token",
                              .original = "x"};
        (void)fixture_take(self, &offer);
    }
    const struct msg_letters filter = {.reason = "unknown_task"};
    struct browse_walk walk = {.filter = &filter, .bound = ids[6]};
    static const unsigned want[] = {0, 1, 3, 4, 6};
    do {
        assert_int_equal(browse_walk(self->shelf, &walk, rows, ALD_COUNT(rows)), ALD_OK);
        for (size_t i = 0; i < walk.count; i++) {
            assert_true(met < ALD_COUNT(want));
            assert_string_equal(rows[i].id, ids[want[met++]]);
        }
        if (met == 3)
            fixture_drop(self, ids[5]);
    } while (!walk.end);
    assert_int_equal(met, ALD_COUNT(want));
    assert_string_equal(walk.cursor, ids[6]);
}

static void attempt_seen(void *context, const struct shelf_attempt *attempt)
{
    struct page *page = context;
    page->count++;
    assert_int_equal(attempt->attempt, page->count);
    ald_text_cut(page->last, sizeof page->last, ald_span_str(attempt->outcome));
}

static void test_attempts(void **state)
{
    struct fixture *self = *state;
    struct page page = {0};
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    for (uint64_t i = 1; i <= 3; i++) {
        struct shelf_attempt attempt = {.attempt = i,
                                        .revision = 1,
                                        .at_ms = NOW,
                                        .by = "schedule",
                                        .outcome = "",
                                        .detail = ""};
        assert_int_equal(shelf_attempt_begin(self->shelf, ID_1, &attempt), ALD_OK);
        attempt.outcome = "still";
        if (i < 3)
            assert_int_equal(shelf_attempt_end(self->shelf, ID_1, &attempt), ALD_OK);
    }
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
    assert_int_equal(browse_history(self->shelf, ID_1, &page, attempt_seen), ALD_OK);
    assert_int_equal(page.count, 3);
    assert_string_equal(page.last, "");
}

/* Letters of strangers beyond the quota are dropped, the oldest first; proven ones never. */
static void test_quota(void **state)
{
    struct fixture *self = *state;
    struct upkeep upkeep = {.shelf = self->shelf, .quota_count = 3, .quota_bytes = 1000};
    struct shelf_row row;
    char ids[6][ALD_ULID_SIZE];
    meters_open();
    for (unsigned i = 0; i < 6; i++) {
        ald_ulid_new(ids[i]);
        struct offer offer = {.num = i + 1,
                              .id = ids[i],
                              .reason = "malformed",
                              .provider = "two",
                              .proof = i == 0 ? "token" : "none",
                              .original = "evidence"};
        (void)fixture_take(self, &offer);
    }
    assert_true(upkeep_quota(&upkeep, NOW));
    assert_false(upkeep_quota(&upkeep, NOW));
    static const enum letter_state want[] = {LETTER_OPEN, LETTER_DROPPED, LETTER_DROPPED,
                                             LETTER_OPEN, LETTER_OPEN,    LETTER_OPEN};
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(browse_find(self->shelf, ids[i], &row), ALD_OK);
        assert_int_equal(row.letter.state, want[i]);
        assert_int_equal(row.closing != 0, want[i] == LETTER_DROPPED);
    }
    upkeep.quota_bytes = 8; /* one message */
    assert_true(upkeep_quota(&upkeep, NOW));
    assert_false(upkeep_quota(&upkeep, NOW));
    assert_int_equal(tally_state(shelf_tally(self->shelf), LETTER_OPEN), 2);
    struct ald_buf original;
    ald_buf_init(&original, 100);
    assert_int_equal(browse_original(self->shelf, ids[1], 1, &original), ALD_NOTFOUND);
    ald_buf_free(&original);
}

/* More closed letters than one piece: who deletes them goes on until there are no more. */
static void test_purged_until_none_is_left(void **state)
{
    struct fixture *self = *state;
    struct upkeep upkeep = {.shelf = self->shelf};
    char id[ALD_ULID_SIZE];
    enum { MANY = 450 };
    for (unsigned i = 0; i < MANY; i++) {
        ald_ulid_new(id);
        struct offer offer = {.num = i + 1,
                              .id = id,
                              .reason = "malformed",
                              .provider = "two",
                              .proof = "token",
                              .original = "evidence"};
        (void)fixture_take(self, &offer);
        fixture_drop(self, id);
    }
    assert_int_equal(ald_store_exec(shelf_store(self->shelf), "UPDATE letters SET closing = 0"),
                     ALD_OK);
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(shelf_floor_note(self->shelf, SENDER, MANY + 1), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
    unsigned pieces = 1;
    while (upkeep_purge(&upkeep, INT64_MAX))
        assert_true(pieces++ < MANY);
    assert_int_equal(pieces, 3);
    assert_int_equal(shelf_tally(self->shelf)->purged, MANY);
    assert_false(upkeep_purge(&upkeep, INT64_MAX));
}

/* A file of the letters whose message was changed behind our back is noticed. */
static void test_damage(void **state)
{
    struct fixture *self = *state;
    struct ald_buf original;
    (void)fixture_take(self, &unknown);
    assert_int_equal(ald_store_exec(shelf_store(self->shelf),
                                    "UPDATE originals SET bytes = x'65766964656e6365ff'"),
                     ALD_OK);
    ald_buf_init(&original, 100);
    assert_int_equal(browse_original(self->shelf, ID_1, 1, &original), ALD_CORRUPT);
    ald_buf_free(&original);
    assert_true(shelf_ready(self->shelf));
}

/* Ids that a disk made up: nothing that goes on after the last one may begin again before it. */
static void test_damaged_ids(void **state)
{
    static const char *const made_up[] = {"x'ffee'", "CAST(x'30310078' AS TEXT)",
                                          "'01ARZ3NDEKTSV4RRFFQ69G5FAVxx'",
                                          "CAST(x'30c3' AS TEXT)"};
    struct fixture *self = *state;
    struct shelf_row rows[3];
    const struct msg_letters filter = {.reason = ""};
    struct offer offer = unknown;
    (void)fixture_take(self, &unknown);
    offer.id = ID_2;
    offer.num++;
    (void)fixture_take(self, &offer);
    for (size_t i = 0; i < ALD_COUNT(made_up); i++) {
        char sql[128];
        struct ald_err err = {0};
        struct browse_walk walk = {.filter = &filter, .bound = ID_3};
        size_t met = 0;
        (void)snprintf(sql, sizeof sql, "UPDATE letters SET letter = %s WHERE letter <> '" ID_2 "'",
                       made_up[i]);
        assert_int_equal(ald_store_exec(shelf_store(self->shelf), sql), ALD_OK);
        for (unsigned step = 0; !walk.end; step++) {
            assert_true(step < 10);
            assert_int_equal(browse_walk(self->shelf, &walk, rows, ALD_COUNT(rows)), ALD_OK);
            met += walk.count;
        }
        assert_int_equal(met, 1);
        FILE *nowhere = fopen("/dev/null", "w");
        struct ald_report report = {.to = nowhere};
        assert_int_equal(verify_look(self->dir, &report, &err), ALD_OK);
        assert_int_equal(report.problems, 1);
        (void)fclose(nowhere);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHELF_TEST(test_example), SHELF_TEST(test_lists),
        SHELF_TEST(test_finds),   SHELF_TEST(test_a_page_is_bounded),
        SHELF_TEST(test_walk),    SHELF_TEST(test_attempts),
        SHELF_TEST(test_quota),   SHELF_TEST(test_purged_until_none_is_left),
        SHELF_TEST(test_damage),  SHELF_TEST(test_damaged_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
