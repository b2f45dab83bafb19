/* Callbacks that wait for their task: the oldest first, each until its own time. */
#include "services/tracker/acts/park.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void add(park_t *park, const char *ref, int64_t no, int64_t until_ms)
{
    const struct park_item item = {.no = no, .until_ms = until_ms, .bytes = 10};
    park_add(park, ref, &item);
}

static void test_example(void **state)
{
    (void)state;
    park_t *park = park_new();
    struct park_item item;
    add(park, "two/77", 1, 1000);
    assert_int_equal(park_count(park), 1);
    assert_int_equal(park_take(park, "two/78", &item), 0);
    assert_int_equal(park_take(park, "two/77", &item), 1);
    assert_int_equal(item.bytes, 10);
    assert_int_equal(park_take(park, "two/77", &item), 0);
    park_destroy(&park);
}

static void test_the_oldest_first(void **state)
{
    (void)state;
    park_t *park = park_new();
    struct park_item item;
    char ref[64];
    add(park, "two/77", 1, 3000);
    add(park, "two/77", 2, 1000);
    add(park, "two/77", 3, 2000);
    add(park, "two/78", 4, 4000);
    assert_int_equal(park_take_due(park, 999, ref, sizeof ref), 0);
    assert_int_equal(park_take_due(park, 1000, ref, sizeof ref), 2); /* from the middle */
    assert_string_equal(ref, "two/77");
    assert_int_equal(park_take(park, "two/77", &item), 1);
    assert_int_equal(park_take(park, "two/77", &item), 3);
    assert_int_equal(park_take(park, "two/77", &item), 0);
    assert_int_equal(park_take_due(park, 3999, ref, sizeof ref), 0);
    assert_int_equal(park_take_due(park, 4000, ref, sizeof ref), 4);
    assert_int_equal(park_count(park), 0);
    park_destroy(&park);
}

/* Of one id by the hundred thousand: the first, the last and some between leave by their time, and
 * the others keep their order, as do those that come after them. */
static void test_very_many_of_one(void **state)
{
    (void)state;
    enum { MANY = 200000, LATE = 10 };
    park_t *park = park_new();
    struct park_item item;
    char ref[64];
    for (int64_t no = 1; no <= MANY; no++) {
        bool early = no == 1 || no == MANY || no % 3 == 0;
        add(park, "two/77", no, early ? 1000 : 5000);
    }
    while (park_take_due(park, 1000, ref, sizeof ref) != 0)
        ;
    for (int64_t no = MANY + 1; no <= MANY + LATE; no++)
        add(park, "two/77", no, 5000);
    for (int64_t no = 2; no <= MANY + LATE; no++)
        if (no > MANY || (no != MANY && no % 3 != 0))
            assert_int_equal(park_take(park, "two/77", &item), no);
    assert_int_equal(park_take(park, "two/77", &item), 0);
    assert_int_equal(park_count(park), 0);
    park_destroy(&park);
}

static void test_shares(void **state)
{
    (void)state;
    park_t *park = park_new();
    uint64_t count = 9;
    uint64_t bytes = 9;
    struct park_item item;
    park_share(park, "two", &count, &bytes);
    assert_int_equal(count + bytes, 0);
    add(park, "two/77", 1, 1);
    add(park, "two/78", 2, 1);
    add(park, "twofold/77", 3, 1);
    park_share(park, "two", &count, &bytes);
    assert_int_equal(count, 2);
    assert_int_equal(bytes, 20);
    assert_int_equal(park_take(park, "two/78", &item), 2);
    park_share(park, "two", &count, &bytes);
    assert_int_equal(count, 1);
    assert_int_equal(bytes, 10);
    park_destroy(&park); /* with what is in it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_the_oldest_first),
        cmocka_unit_test(test_very_many_of_one),
        cmocka_unit_test(test_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
