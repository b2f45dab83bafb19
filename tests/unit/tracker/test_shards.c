/* One table to its users, whatever it is made of. */
#include "services/tracker/shards.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const void *itself(const void *item)
{
    return item;
}

static void test_example(void **state)
{
    (void)state;
    uint64_t one = 1;
    uint64_t same = 1;
    uint64_t other = 2;
    shards_t *shards = shards_new(SHARDS_NUMBERS, itself);
    assert_true(shards_insert(shards, &one));
    assert_false(shards_insert(shards, &same));
    assert_ptr_equal(shards_lookup(shards, &same), &one);
    assert_null(shards_lookup(shards, &other));
    assert_int_equal(shards_count(shards), 1);
    shards_remove(shards, &other);
    shards_remove(shards, &same);
    assert_null(shards_lookup(shards, &one));
    assert_int_equal(shards_count(shards), 0);
    shards_destroy(&shards);
    assert_null(shards);
}

enum { MANY = 10000 };

struct item {
    uint64_t number;
    char text[24];
    unsigned seen;
};

static void see(void *context, void *item)
{
    struct item *one = item;
    one->seen++;
    ++*(size_t *)context;
}

static struct item items[MANY];

static const void *item_number(const void *item)
{
    const struct item *one = item;
    return &one->number;
}

static const void *item_text(const void *item)
{
    const struct item *one = item;
    return one->text;
}

static void many(enum shards_keys keys)
{
    shards_t *shards = shards_new(keys, keys == SHARDS_NUMBERS ? item_number : item_text);
    size_t seen = 0;
    for (size_t i = 0; i < MANY; i++) {
        items[i] = (struct item){.number = i * 32};
        (void)snprintf(items[i].text, sizeof items[i].text, "two/%zu", i);
        assert_true(shards_insert(shards, &items[i]));
    }
    shards_each(shards, see, &seen);
    assert_int_equal(seen, MANY);
    for (size_t i = 0; i < MANY; i++) {
        const void *key = keys == SHARDS_NUMBERS ? (void *)&items[i].number : items[i].text;
        assert_int_equal(items[i].seen, 1);
        assert_ptr_equal(shards_lookup(shards, key), &items[i]);
        if (i % 2 == 0)
            shards_remove(shards, key);
    }
    assert_int_equal(shards_count(shards), MANY / 2);
    seen = 0;
    shards_each(shards, see, &seen);
    assert_int_equal(seen, MANY / 2);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(items[i].seen, 1 + i % 2);
    shards_destroy(&shards);
}

static void test_numbers(void **state)
{
    (void)state;
    many(SHARDS_NUMBERS);
}

static void test_texts(void **state)
{
    (void)state;
    char same[] = "two/77";
    struct item item = {.text = "two/77"};
    shards_t *shards = shards_new(SHARDS_TEXTS, item_text);
    assert_true(shards_insert(shards, &item));
    assert_ptr_equal(shards_lookup(shards, same), &item);
    assert_null(shards_lookup(shards, "two/7"));
    shards_destroy(&shards);
    many(SHARDS_TEXTS);
}

static void see_number(void *context, void *item)
{
    const struct item *one = item;
    *(uint64_t *)context += one->number;
}

/* Comes and goes, as tasks do: held against what is said to be inside. The table is never much
 * larger than what it has, so marks of those that have left must not add up. */
static void test_comes_and_goes(void **state)
{
    (void)state;
    static bool inside[MANY];
    shards_t *shards = shards_new(SHARDS_NUMBERS, item_number);
    uint64_t random = 20261201;
    uint64_t sum = 0;
    size_t count = 0;
    memset(inside, 0, sizeof inside);
    for (size_t i = 0; i < MANY; i++)
        items[i] = (struct item){.number = i << 22}; /* as ids are: the low bits are few */
    for (size_t step = 0; step < 200 * (size_t)MANY; step++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        /* Now a tenth of all, now nearly all of them. */
        bool most = step / (20 * (size_t)MANY) % 2 == 1;
        size_t i = random % (most ? MANY : MANY / 10);
        assert_ptr_equal(shards_lookup(shards, &items[i].number), inside[i] ? &items[i] : NULL);
        if (inside[i]) {
            assert_false(shards_insert(shards, &items[i]));
            shards_remove(shards, &items[i].number);
        } else {
            assert_true(shards_insert(shards, &items[i]));
        }
        inside[i] = !inside[i];
        count += inside[i] ? (size_t)1 : (size_t)-1;
        sum += inside[i] ? items[i].number : (uint64_t)0 - items[i].number;
        assert_int_equal(shards_count(shards), count);
    }
    uint64_t seen = 0;
    shards_each(shards, see_number, &seen);
    assert_true(seen == sum);
    shards_destroy(&shards);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_comes_and_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
