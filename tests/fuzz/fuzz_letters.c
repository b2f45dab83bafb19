/* A dlq's file with some letters in it, and any values in the place of its columns: it opens, or
 * says why not; what is read of it keeps within its bounds; no original is given whose sum is
 * wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "services/dlq/browse.h"
#include "services/dlq/verify.h"
#include "tests/fuzz/damage.h"
#include "tests/unit/dlq/fixture.h"

enum { LETTERS_BYTES_MAX = 1 << 20 };

static const char *const letters_ids[] = {ID_1, ID_2, ID_3};
static const char *const letters_originals[] = {"evidence", "more of it", "third"};

static void letters_first(void)
{
    static bool made;
    struct ald_err err = {0};
    if (made)
        return;
    made = true;
    struct fixture fixture = {.shelf = shelf_new(damage_path("letters.db"))};
    enum ald_rc rc = shelf_open(fixture.shelf, &err);
    ALD_ASSERT(rc == ALD_OK);
    for (size_t i = 0; i < ALD_COUNT(letters_ids); i++) {
        struct offer offer = unknown;
        offer.id = letters_ids[i];
        offer.num = 7 + i;
        offer.original = letters_originals[i];
        (void)fixture_take(&fixture, &offer);
    }
    fixture_drop(&fixture, ID_2);
    damage_learn(shelf_store(fixture.shelf));
    shelf_destroy(&fixture.shelf);
    damage_remember(damage_path("letters.db"));
}

static void letters_row(void *context, const struct shelf_row *row)
{
    (void)context;
    ALD_ASSERT(strnlen(row->id, sizeof row->id) < sizeof row->id);
    ALD_ASSERT(strnlen(row->cause, sizeof row->cause) < sizeof row->cause);
    ALD_ASSERT(strnlen(row->provider, sizeof row->provider) < sizeof row->provider);
}

static void letters_attempt(void *context, const struct shelf_attempt *attempt)
{
    (void)context;
    ALD_ASSERT(attempt->by && attempt->outcome && attempt->detail && attempt->replay);
}

static void letters_one(shelf_t *shelf, size_t which)
{
    struct shelf_row row;
    struct ald_buf original;
    int64_t at_ms = 0;
    if (browse_find(shelf, letters_ids[which], &row) == ALD_OK)
        letters_row(NULL, &row);
    ald_buf_init(&original, LETTERS_BYTES_MAX);
    if (browse_original(shelf, letters_ids[which], 1, &original) == ALD_OK)
        ALD_ASSERT(ald_span_eq_str(ald_buf_span(&original), letters_originals[which]));
    ald_buf_free(&original);
    (void)!browse_attempt_at(shelf, letters_ids[which], 1, &at_ms);
    (void)!browse_history(shelf, letters_ids[which], NULL, letters_attempt);
}

static void letters_lists(shelf_t *shelf)
{
    static struct browse_ids ids;
    static struct browse_excess excess;
    struct msg_letters ask = {.limit = 10};
    char cursor[ALD_ULID_MAX] = "";
    uint64_t floor = 0;
    int64_t made_ms = 0;
    unsigned count = 0;
    (void)!browse_list(shelf, &ask, NULL, letters_row, cursor);
    (void)!browse_due(shelf, NOW + 100000, 10, &ids);
    (void)!browse_sending(shelf, &ids);
    (void)!browse_closing(shelf, &ids);
    (void)!browse_excess(shelf, 0, 0, &excess);
    (void)!browse_floor(shelf, &floor);
    (void)!browse_oldest(shelf, &made_ms);
    if (shelf_begin(shelf) != ALD_OK)
        return;
    if (shelf_due_clamp(shelf, NOW) == ALD_OK &&
        shelf_purge(shelf, NOW + 1000, 10, &count) == ALD_OK && shelf_commit(shelf) == ALD_OK)
        return;
    shelf_rollback(shelf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.left = ald_span_of(data, size)};
    struct ald_err err = {0};
    uint8_t how = input_byte(&in);
    letters_first();
    damage_restore(damage_path("letters.db"));
    shelf_t *shelf = shelf_new(damage_path("letters.db"));
    enum ald_rc rc = shelf_open(shelf, &err);
    ALD_ASSERT(rc == ALD_OK);
    bool damaged = damage_do(shelf_store(shelf), &in);
    shelf_destroy(&shelf);
    if ((how & 1) != 0)
        damage_look(verify_look);
    shelf = shelf_new(damage_path("letters.db"));
    rc = shelf_open(shelf, &err);
    ALD_ASSERT(rc == ALD_OK || damaged);
    for (size_t i = 0; i < ALD_COUNT(letters_ids) && rc == ALD_OK; i++)
        letters_one(shelf, i);
    if (rc == ALD_OK)
        letters_lists(shelf);
    shelf_destroy(&shelf);
    return 0;
}
