#include "tests/unit/dlq/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/text.h"
#include "services/dlq/browse.h"
#include "services/dlq/intake.h"

const struct letter_plan plan = {
    .backoff = {.first_ms = 1000, .percent = 200, .max_ms = 60000, .jitter_percent = 0},
    .max_attempts = 2,
};

const struct offer unknown = {.num = 7,
                              .id = ID_1,
                              .reason = "unknown_task",
                              .provider = "two",
                              .proof = "id",
                              .original = "evidence",
                              .task = 0};

int fixture_open(void **state)
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

int fixture_close(void **state)
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

void fixture_reopen(struct fixture *self)
{
    struct ald_err err = {0};
    shelf_destroy(&self->shelf);
    self->shelf = shelf_new(self->path);
    assert_int_equal(shelf_open(self->shelf, &err), ALD_OK);
}

struct msg_ack fixture_take(struct fixture *self, const struct offer *offer)
{
    struct msg_ack ack;
    struct msg_letter letter = {.num = offer->num,
                                .task = offer->task,
                                .made_at_ms = offer->made_at_ms ? offer->made_at_ms : NOW - 5,
                                .original = ald_span_str(offer->original)};
    ald_text_cut(letter.letter, sizeof letter.letter, ald_span_str(offer->id));
    ald_text_cut(letter.reason, sizeof letter.reason, ald_span_str(offer->reason));
    ald_text_cut(letter.provider, sizeof letter.provider, ald_span_str(offer->provider));
    ald_text_cut(letter.proof, sizeof letter.proof, ald_span_str(offer->proof));
    ald_text_cut(letter.cause, sizeof letter.cause, ald_span_str("a test"));
    if (offer->consumer)
        ald_text_cut(letter.consumer, sizeof letter.consumer, ald_span_str(offer->consumer));
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

void fixture_drop(struct fixture *self, const char *id)
{
    struct shelf_row row;
    assert_int_equal(shelf_begin(self->shelf), ALD_OK);
    assert_int_equal(browse_find(self->shelf, id, &row), ALD_OK);
    assert_int_equal(letter_drop(&row.letter, NOW), LETTER_YES);
    row.closing = shelf_number(self->shelf);
    assert_int_equal(shelf_update(self->shelf, &row), ALD_OK);
    assert_int_equal(shelf_commit(self->shelf), ALD_OK);
}
