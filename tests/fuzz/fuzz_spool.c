/* A spool of some items, and any values in the place of its columns: what is handed out afterwards
 * is what was put in, to the byte, and what is not is counted as damaged. */
#include <stdio.h>

#include "common/store/report.h"
#include "common/store/spool_self.h"
#include "tests/fuzz/damage.h"

enum { SPOOL_ITEMS = 6 };

static const struct ald_spool_item spool_items[SPOOL_ITEMS] = {
    {1,
     1000,
     {(const uint8_t *)"two", 3},
     {(const uint8_t *)"token", 5},
     {(const uint8_t *)"a", 1}},
    {2, 1001, {(const uint8_t *)"two", 3}, {(const uint8_t *)"id", 2}, {(const uint8_t *)"bc", 2}},
    {3, 1002, {NULL, 0}, {NULL, 0}, {NULL, 0}},
    {7, -1, {(const uint8_t *)"x", 1}, {(const uint8_t *)"none", 4}, {(const uint8_t *)"\0\1", 2}},
    {8,
     1003,
     {(const uint8_t *)"two", 3},
     {(const uint8_t *)"token", 5},
     {(const uint8_t *)"a", 1}},
    {INT64_MAX, 2, {(const uint8_t *)"z", 1}, {(const uint8_t *)"", 0}, {(const uint8_t *)"q", 1}},
};

static ald_spool_t *spool_open(void)
{
    const struct ald_spool_options options = {.dir = damage_folder()};
    ald_spool_t *spool = NULL;
    struct ald_err err = {0};
    return ald_spool_open(&options, &spool, &err) == ALD_OK ? spool : NULL;
}

static bool spool_same(void *context, const struct ald_spool_item *item)
{
    size_t *count = context;
    (*count)++;
    for (size_t i = 0; i < SPOOL_ITEMS; i++)
        if (spool_items[i].num == item->num) {
            ALD_ASSERT(spool_items[i].at_ms == item->at_ms);
            ALD_ASSERT(ald_span_eq(spool_items[i].provider, item->provider));
            ALD_ASSERT(ald_span_eq(spool_items[i].proof, item->proof));
            ALD_ASSERT(ald_span_eq(spool_items[i].bytes, item->bytes));
            return true;
        }
    bool put = false;
    ALD_ASSERT(put);
    return put;
}

static bool spool_share(void *context, struct ald_span provider, struct ald_span proof,
                        uint64_t items, uint64_t bytes)
{
    (void)context;
    (void)provider;
    (void)proof;
    (void)bytes;
    return items > 0;
}

static void spool_first(void)
{
    static bool made;
    const char *path = damage_path("spool.db");
    if (made)
        return;
    made = true;
    ald_spool_t *spool = spool_open();
    ALD_ASSERT(spool && ald_spool_put(spool, spool_items, SPOOL_ITEMS) == ALD_OK);
    damage_learn(spool->store);
    ald_spool_destroy(&spool);
    damage_remember(path);
}

static void spool_drain(ald_spool_t *spool)
{
    size_t given = 0;
    struct ald_spool_stats stats;
    for (size_t i = 0; i < 4; i++) {
        given = 0;
        if (ald_spool_peek(spool, 0, 100, 1 << 20, spool_same, &given) != ALD_OK)
            return;
    }
    ald_spool_stats(spool, &stats);
    ALD_ASSERT(given <= SPOOL_ITEMS);
    (void)!ald_spool_shares(spool, spool_share, NULL);
    const uint64_t nums[] = {1, 2, 3, 7, 8, INT64_MAX};
    (void)!ald_spool_remove(spool, nums, ALD_COUNT(nums));
    uint64_t number = 0;
    (void)!ald_spool_take_numbers(spool, 3, &number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.left = ald_span_of(data, size)};
    uint8_t how = input_byte(&in);
    spool_first();
    damage_restore(damage_path("spool.db"));
    ald_spool_t *spool = spool_open();
    ALD_ASSERT(spool);
    bool damaged = damage_do(spool->store, &in);
    ald_spool_destroy(&spool);
    if ((how & 1) != 0)
        damage_look(ald_spool_check);
    spool = spool_open();
    ALD_ASSERT(spool || damaged);
    if (spool)
        spool_drain(spool);
    ald_spool_destroy(&spool);
    return 0;
}
