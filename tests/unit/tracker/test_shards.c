/* One table to its users, whatever it is made of. */
#include "services/tracker/shards.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_example(void **state)
{
    (void)state;
    uint64_t one = 1;
    uint64_t same = 1;
    uint64_t other = 2;
    shards_t *shards = shards_new(SHARDS_NUMBERS);
    assert_true(shards_insert(shards, &one, &one));
    assert_false(shards_insert(shards, &same, &same));
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

static void many(enum shards_keys keys)
{
    shards_t *shards = shards_new(keys);
    size_t seen = 0;
    for (size_t i = 0; i < MANY; i++) {
        items[i] = (struct item){.number = i * 32};
        (void)snprintf(items[i].text, sizeof items[i].text, "two/%zu", i);
        const void *key = keys == SHARDS_NUMBERS ? (void *)&items[i].number : items[i].text;
        assert_true(shards_insert(shards, key, &items[i]));
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
    shards_t *shards = shards_new(SHARDS_TEXTS);
    assert_true(shards_insert(shards, item.text, &item));
    assert_ptr_equal(shards_lookup(shards, same), &item);
    assert_null(shards_lookup(shards, "two/7"));
    shards_destroy(&shards);
    many(SHARDS_TEXTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
