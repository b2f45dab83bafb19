/* A spool whose tree leads astray: a key of an inner page is wrong, and a search ends a page before
 * the place that it looks for. Every walk ends all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/store/spool_self.h"
#include "tests/unit/store/folder.h"

enum { PAGE = 4096, ITEMS = 100, ITEM_BYTES = 200, PAGES_ASKED_MAX = 1000 };

static ald_spool_t *spool_open(const struct folder *folder)
{
    struct ald_spool_options options = {.dir = folder_file(folder, "spool"), .max_bytes = 1 << 20};
    struct ald_err err = {0};
    ald_spool_t *spool = NULL;
    assert_int_equal(ald_spool_open(&options, &spool, &err), ALD_OK);
    return spool;
}

static ald_spool_t *spool_full(const struct folder *folder)
{
    static const uint8_t bytes[ITEM_BYTES];
    ald_spool_t *spool = spool_open(folder);
    for (uint64_t num = 1; num <= ITEMS; num++) {
        const struct ald_spool_item item = {
            .num = num, .at_ms = 1, .bytes = ald_span_of(bytes, sizeof bytes)};
        assert_int_equal(ald_spool_put(spool, &item, 1), ALD_OK);
    }
    return spool;
}

/* The highest key of the first leaf becomes 127: whatever is looked for is behind that leaf. An
 * inner page is a head of 12 bytes and the places of its cells; a cell is a page and a key. */
static void tree_lead_astray(const char *path)
{
    enum { INNER = 5, INNER_HEAD = 12, KEY_AT = 4, KEY = 127 };
    static const uint8_t wrong = KEY;
    uint8_t page[PAGE];
    unsigned found = 0;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    for (long at = PAGE; fseek(file, at, SEEK_SET) == 0 && fread(page, PAGE, 1, file) == 1;
         at += PAGE) {
        if (page[0] != INNER)
            continue;
        long cell = page[INNER_HEAD] << 8 | page[INNER_HEAD + 1];
        assert_in_range(page[cell + KEY_AT], 2, ITEMS / 2);
        assert_int_equal(fseek(file, at + cell + KEY_AT, SEEK_SET), 0);
        assert_int_equal(fwrite(&wrong, 1, 1, file), 1);
        found++;
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(found, 1);
}

struct walk {
    uint64_t after, highest;
    bool met[ITEMS + 1];
};

static bool walk_item(void *context, const struct ald_spool_item *item)
{
    struct walk *walk = context;
    assert_in_range(item->num, walk->after + 1, ITEMS);
    walk->met[item->num] = true;
    if (item->num > walk->highest)
        walk->highest = item->num;
    return true;
}

/* In pages of three, each behind the highest of the one before. */
static size_t walk_all(ald_spool_t *spool)
{
    struct walk walk = {0};
    size_t met = 0;
    unsigned pages = 0;
    do {
        walk.after = walk.highest;
        assert_int_equal(ald_spool_peek(spool, walk.after, 3, 1 << 20, walk_item, &walk), ALD_OK);
        assert_true(++pages < PAGES_ASKED_MAX);
    } while (walk.highest > walk.after);
    for (size_t i = 1; i <= ITEMS; i++)
        met += walk.met[i];
    return met;
}

static void test_whole_items(void **state)
{
    ald_spool_t *spool = spool_full(*state);
    assert_int_equal(walk_all(spool), ITEMS);
    ald_spool_destroy(&spool);
    tree_lead_astray(folder_file(*state, "spool/spool.db"));
    spool = spool_open(*state);
    assert_int_equal(walk_all(spool), ITEMS);
    ald_spool_destroy(&spool);
}

/* They can't be moved aside either, as a search does not find them. Some of the first leaf's are
 * whole: an empty leaf would be taken out, and the wrong key with it. */
static void test_damaged_items(void **state)
{
    ald_spool_t *spool = spool_full(*state);
    assert_int_equal(ald_store_exec(spool->store, "UPDATE spool SET at_ms = 2 WHERE num > 10"),
                     ALD_OK);
    ald_spool_destroy(&spool);
    tree_lead_astray(folder_file(*state, "spool/spool.db"));
    spool = spool_open(*state);
    assert_int_equal(walk_all(spool), 10);
    ald_spool_destroy(&spool);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {T(test_whole_items), T(test_damaged_items)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
