/* The letters on disk: what is kept, counted and found again, over closing and opening. */
#include "services/dlq/shelf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/ident.h"
#include "common/base/text.h"
#include "services/dlq/browse.h"
#include "services/dlq/intake.h"
#include "services/dlq/meters.h"
#include "services/dlq/upkeep.h"

#define NOW INT64_C(1800000000000)
#define SENDER "01ARZ3NDEKTSV4RRFFQ69G5FAV"

static const struct letter_plan plan = {
    .backoff = {.first_ms = 1000, .percent = 200, .max_ms = 60000, .jitter_percent = 0},
    .max_attempts = 2,
};

struct fixture {
    char dir[64];
    char path[96];
    shelf_t *shelf;
};

static int fixture_open(void **state)
{
    struct fixture *self = calloc(1, sizeof *self);
    (void)snprintf(self->dir, sizeof self->dir, "/tmp/aldaba-shelf-XXXXXX");
    assert_non_null(mkdtemp(self->dir));
    (void)snprintf(self->path, sizeof self->path, "%s/letters.db", self->dir);
    self->shelf = shelf_new(self->path);
    struct ald_err err = {0};
    if (shelf_open(self->shelf, &err) != ALD_OK)
        print_error("%s\n", err.text);
    assert_true(shelf_ready(self->shelf));
    *state = self;
    return 0;
}

static int fixture_close(void **state)
{
    struct fixture *self = *state;
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".mark"};
    shelf_destroy(&self->shelf);
    for (size_t i = 0; i < ALD_COUNT(suffixes); i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s%s", self->path, suffixes[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(self->dir), 0);
    free(self);
    return 0;
}

static void fixture_reopen(struct fixture *self)
{
    struct ald_err err = {0};
    shelf_destroy(&self->shelf);
    self->shelf = shelf_new(self->path);
    assert_int_equal(shelf_open(self->shelf, &err), ALD_OK);
}

struct offer {
    uint64_t num;
    const char *id;
    const char *reason;
    const char *provider;
    const char *proof;
    const char *original;
    uint64_t task;
};

/* Take one letter in a transaction of its own; its acknowledgement. */
static struct msg_ack fixture_take(struct fixture *self, const struct offer *offer)
{
    struct msg_ack ack;
    struct msg_letter letter = {.num = offer->num,
                                .task = offer->task,
                                .made_at_ms = NOW - 5,
                                .original = ald_span_str(offer->original)};
    ald_text_cut(letter.letter, sizeof letter.letter, ald_span_str(offer->id));
    ald_text_cut(letter.reason, sizeof letter.reason, ald_span_str(offer->reason));
    ald_text_cut(letter.provider, sizeof letter.provider, ald_span_str(offer->provider));
    ald_text_cut(letter.proof, sizeof letter.proof, ald_span_str(offer->proof));
    ald_text_cut(letter.cause, sizeof letter.cause, ald_span_str("a test"));
    struct ald_buf bytes;
    ald_buf_init(&bytes, 1 << 20);
    assert_int_equal(ald_wire_encode(&MSG_LETTER, &letter, &bytes), ALD_OK);
    struct intake intake = {.shelf = self->shelf,
                            .plan = &plan,
                            .max_item_bytes = 1000,
                            .sender = SENDER,
                            .now_ms = NOW};
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(intake_take(&intake, ald_buf_span(&bytes), &ack), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
    ald_buf_free(&bytes);
    return ack;
}

#define ID_1 "01ARZ3NDEKTSV4RRFFQ69G5FB1"
#define ID_2 "01ARZ3NDEKTSV4RRFFQ69G5FB2"
#define ID_3 "01ARZ3NDEKTSV4RRFFQ69G5FB3"

static const struct offer unknown = {.num = 7,
                                     .id = ID_1,
                                     .reason = "unknown_task",
                                     .provider = "two",
                                     .proof = "id",
                                     .original = "evidence",
                                     .task = 0};

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
    {"new", {1, ID_1, "malformed", "two", "none", "x", 0}, "applied"},
    {"again", {1, ID_1, "malformed", "two", "none", "x", 0}, "duplicate"},
    {"again under another number", {2, ID_1, "malformed", "two", "none", "x", 0}, "duplicate"},
    {"without original", {3, ID_2, "expired", "two", "", "", 9}, "applied"},
    {"no such reason", {4, ID_3, "boredom", "two", "none", "x", 0}, "refused"},
    {"no reason", {5, ID_3, "", "two", "none", "x", 0}, "refused"},
    {"id too short", {6, "01ARZ3", "conflict", "two", "none", "x", 0}, "refused"},
    {"id of other letters",
     {7, "01ARZ3NDEKTSV4RRFFQ69G5FIL", "conflict", "two", "none", "x", 0},
     "refused"},
    {"id with a path",
     {8, "../../../../../etc/passwd_", "conflict", "two", "none", "x", 0},
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
    struct offer offer = {9, ID_3, "conflict", "two", "none", big, 0};
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

static void fixture_drop(struct fixture *self, const char *id)
{
    struct shelf_row row;
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(browse_find(self->shelf, id, &row), ALD_OK);
    assert_int_equal(letter_drop(&row.letter, NOW), LETTER_YES);
    row.closing = shelf_number(self->shelf);
    assert_int_equal(shelf_update(self->shelf, &row), ALD_OK);
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

static void test_due(void **state)
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
    upkeep_clock(&upkeep, NOW - 86400000, 60000);
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
    assert_int_equal(browse_attempts(self->shelf, ID_1, &page, attempt_seen), ALD_OK);
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

#define SHELF_TEST(function) cmocka_unit_test_setup_teardown(function, fixture_open, fixture_close)

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
        SHELF_TEST(test_due),
        SHELF_TEST(test_lists),
        SHELF_TEST(test_attempts),
        SHELF_TEST(test_quota),
        SHELF_TEST(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
