/* What waits, what rides, and in which order. */
#include "common/net/parcels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add(struct ald_parcels *self, uint64_t num, size_t len, int64_t now_ms)
{
    static const uint8_t bytes[4096];
    ald_parcels_add(self, num, ald_span_of(bytes, len), NULL, now_ms);
}

/* The numbers of a list, such as "1 2 3". */
static const char *numbers(const struct ald_parcel_list *list)
{
    static char text[256];
    size_t at = 0;
    size_t items = 0;
    size_t bytes = 0;
    text[0] = '\0';
    for (const struct ald_parcel *p = list->first; p; p = p->next) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d", at ? " " : "", (int)p->num);
        items++;
        bytes += p->len;
        assert_ptr_equal(p->next ? p->next->prev : list->last, p);
    }
    assert_int_equal(list->items, items);
    assert_int_equal(list->bytes, bytes);
    return text;
}

static size_t load(struct ald_parcels *self, uint64_t batch, size_t items, size_t bytes,
                   int64_t now_ms)
{
    const struct ald_load_limit limit = {.items = items, .bytes = bytes, .any_one = true};
    size_t loaded = 0;
    return ald_parcels_load(self, batch, &limit, now_ms, &loaded);
}

static void test_example(void **state)
{
    (void)state;
    struct ald_parcels parcels = {0};
    int tag = 0;
    ald_parcels_add(&parcels, 1, ald_span_str("one"), &tag, 100);
    assert_int_equal(load(&parcels, 1, 10, 1000, 100), 1);
    struct ald_parcel *parcel = ald_parcels_take(&parcels, 1);
    assert_non_null(parcel);
    assert_ptr_equal(parcel->tag, &tag);
    assert_memory_equal(parcel->bytes, "one", 3);
    free(parcel);
    assert_null(ald_parcels_take(&parcels, 1));
    ald_parcels_free(&parcels);
}

static void test_a_load_is_bounded(void **state)
{
    (void)state;
    static const struct {
        size_t len[4];
        size_t items, bytes;
        const char *riding;
        const char *waiting;
    } cases[] = {
        {{10, 10, 10, 10}, 10, 1000, "0 1 2 3", ""},  {{10, 10, 10, 10}, 2, 1000, "0 1", "2 3"},
        {{10, 10, 10, 10}, 10, 30, "0 1 2", "3"},     {{10, 10, 10, 10}, 10, 29, "0 1", "2 3"},
        {{2000, 10, 10, 10}, 10, 1000, "0", "1 2 3"}, /* one item whatever its size */
        {{10, 2000, 10, 10}, 10, 1000, "0", "1 2 3"}, /* nobody overtakes a big one */
        {{0, 0, 0, 0}, 10, 0, "0 1 2 3", ""},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_parcels parcels = {0};
        for (size_t j = 0; j < 4; j++)
            add(&parcels, j, cases[i].len[j], 0);
        (void)load(&parcels, 1, cases[i].items, cases[i].bytes, 0);
        assert_string_equal(numbers(&parcels.riding), cases[i].riding);
        assert_string_equal(numbers(&parcels.waiting), cases[i].waiting);
        ald_parcels_free(&parcels);
    }
}

/* Behind another batch not even one item may be larger than the room that is left. */
static void test_no_exception_behind_another_batch(void **state)
{
    (void)state;
    struct ald_parcels parcels = {0};
    const struct ald_load_limit limit = {.items = 10, .bytes = 30};
    size_t bytes = 7;
    add(&parcels, 1, 31, 0);
    add(&parcels, 2, 1, 0);
    assert_int_equal(ald_parcels_load(&parcels, 1, &limit, 0, &bytes), 0);
    assert_int_equal(bytes, 0);
    free(ald_parcels_take(&parcels, 1));
    assert_int_equal(ald_parcels_load(&parcels, 1, &limit, 0, &bytes), 1);
    assert_int_equal(bytes, 1);
    ald_parcels_free(&parcels);
}

static void test_unload_keeps_the_order(void **state)
{
    (void)state;
    struct ald_parcels parcels = {0};
    for (uint64_t num = 1; num <= 3; num++)
        add(&parcels, num, 1, 0);
    assert_int_equal(load(&parcels, 1, 10, 100, 0), 3);
    add(&parcels, 4, 1, 0);
    free(ald_parcels_take(&parcels, 2));
    ald_parcels_unload(&parcels, 0);
    assert_string_equal(numbers(&parcels.waiting), "1 3 4");
    assert_string_equal(numbers(&parcels.riding), "");
    ald_parcels_free(&parcels);
}

static void test_batches_are_unloaded_one_by_one(void **state)
{
    (void)state;
    struct ald_parcels parcels = {0};
    for (uint64_t num = 1; num <= 5; num++)
        add(&parcels, num, 1, 0);
    assert_int_equal(load(&parcels, 7, 2, 100, 0), 2);
    assert_int_equal(load(&parcels, 8, 2, 100, 0), 2);
    assert_string_equal(numbers(&parcels.riding), "1 2 3 4");
    ald_parcels_unload(&parcels, 8);
    assert_string_equal(numbers(&parcels.riding), "1 2");
    assert_string_equal(numbers(&parcels.waiting), "3 4 5");
    ald_parcels_unload(&parcels, 7);
    assert_string_equal(numbers(&parcels.waiting), "1 2 3 4 5");
    ald_parcels_free(&parcels);
}

static void test_busy_waits_and_holds_nobody_up(void **state)
{
    (void)state;
    struct ald_parcels parcels = {0};
    add(&parcels, 1, 1, 0);
    add(&parcels, 2, 1, 0);
    assert_int_equal(load(&parcels, 1, 10, 100, 0), 2);
    assert_true(ald_parcels_again(&parcels, 1, 50));
    assert_false(ald_parcels_again(&parcels, 9, 50));
    free(ald_parcels_take(&parcels, 2));
    add(&parcels, 3, 1, 0);
    assert_int_equal(load(&parcels, 1, 10, 100, 49), 1);
    assert_string_equal(numbers(&parcels.riding), "3");
    assert_true(ald_parcels_hold(&parcels, 1));
    assert_true(ald_parcels_hold(&parcels, 3));
    assert_false(ald_parcels_hold(&parcels, 2));
    free(ald_parcels_take(&parcels, 3));
    assert_int_equal(load(&parcels, 1, 10, 100, 50), 1);
    assert_string_equal(numbers(&parcels.riding), "1");
    ald_parcels_free(&parcels);
}

static void test_late_ones_are_found_wherever_they_are(void **state)
{
    (void)state;
    struct ald_parcels parcels = {0};
    for (uint64_t num = 1; num <= 4; num++)
        add(&parcels, num, 1, (int64_t)num * 10);
    assert_int_equal(load(&parcels, 1, 2, 100, 0), 2);
    assert_null(ald_parcels_late(&parcels, 9));
    const uint64_t want[] = {1, 2, 3};
    for (size_t i = 0; i < ALD_COUNT(want); i++) {
        struct ald_parcel *late = ald_parcels_late(&parcels, 30);
        assert_non_null(late);
        assert_int_equal(late->num, want[i]);
        free(late);
    }
    assert_null(ald_parcels_late(&parcels, 30));
    assert_string_equal(numbers(&parcels.waiting), "4");
    ald_parcels_free(&parcels);
}

static void test_large_ones_are_found_wherever_they_are(void **state)
{
    (void)state;
    struct ald_parcels parcels = {0};
    const size_t len[] = {9, 3, 8, 3, 9};
    for (size_t i = 0; i < ALD_COUNT(len); i++)
        add(&parcels, i + 1, len[i], 0);
    assert_int_equal(load(&parcels, 1, 3, 100, 0), 3);
    assert_null(ald_parcels_above(&parcels, 9));
    assert_null(ald_parcels_above(&parcels, UINT64_MAX));
    const uint64_t want[] = {1, 5, 3};
    for (size_t i = 0; i < ALD_COUNT(want); i++) {
        struct ald_parcel *large = ald_parcels_above(&parcels, i < 2 ? 8 : 7);
        assert_non_null(large);
        assert_int_equal(large->num, want[i]);
        free(large);
    }
    assert_null(ald_parcels_above(&parcels, 3));
    assert_string_equal(numbers(&parcels.riding), "2");
    assert_string_equal(numbers(&parcels.waiting), "4");
    assert_int_equal(parcels.riding.bytes + parcels.waiting.bytes, 6);
    ald_parcels_free(&parcels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_a_load_is_bounded),
        cmocka_unit_test(test_no_exception_behind_another_batch),
        cmocka_unit_test(test_unload_keeps_the_order),
        cmocka_unit_test(test_batches_are_unloaded_one_by_one),
        cmocka_unit_test(test_busy_waits_and_holds_nobody_up),
        cmocka_unit_test(test_late_ones_are_found_wherever_they_are),
        cmocka_unit_test(test_large_ones_are_found_wherever_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
