#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "common/base/heap.h"

enum { HEAP_MANY = 1000000, HEAP_SOME = 2000, HEAP_STEPS = 200000 };

static void test_example(void **state)
{
    (void)state;
    ald_heap_t *heap = ald_heap_new();
    struct ald_heap_node late = {.pos = SIZE_MAX};
    struct ald_heap_node soon = {.pos = SIZE_MAX};
    ald_heap_insert(heap, &late, 20);
    ald_heap_insert(heap, &soon, 10);
    assert_ptr_equal(ald_heap_first(heap), &soon);
    assert_int_equal(ald_heap_key(heap, &soon), 10);
    ald_heap_update(heap, &soon, 30);
    assert_ptr_equal(ald_heap_pop(heap), &late);
    assert_true(late.pos == SIZE_MAX);
    assert_int_equal(ald_heap_size(heap), 1);
    ald_heap_destroy(&heap);
    assert_null(heap);
}

static void test_empty(void **state)
{
    (void)state;
    ald_heap_t *heap = ald_heap_new();
    assert_null(ald_heap_first(heap));
    assert_null(ald_heap_pop(heap));
    assert_int_equal(ald_heap_size(heap), 0);
    ald_heap_destroy(&heap);
    ald_heap_destroy(&heap);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

struct keyed {
    struct ald_heap_node node; /* first: found from the heap's */
    int64_t key;
};

static int64_t least_of(const struct keyed *nodes, size_t *count)
{
    int64_t least = INT64_MAX;
    *count = 0;
    for (size_t i = 0; i < HEAP_SOME; i++) {
        if (nodes[i].node.pos == SIZE_MAX)
            continue;
        (*count)++;
        if (nodes[i].key < least)
            least = nodes[i].key;
    }
    return least;
}

/* Random changes, held against a plain search of all nodes. */
static void test_agrees_with_a_search(void **state)
{
    (void)state;
    static struct keyed nodes[HEAP_SOME];
    uint64_t seed = 20260101;
    ald_heap_t *heap = ald_heap_new();
    for (size_t i = 0; i < HEAP_SOME; i++)
        nodes[i].node.pos = SIZE_MAX;
    for (size_t step = 0; step < HEAP_STEPS; step++) {
        struct keyed *keyed = &nodes[next_random(&seed) % HEAP_SOME];
        struct ald_heap_node *node = &keyed->node;
        int64_t key = (int64_t)(next_random(&seed) % 1000) - 500; /* many are equal */
        if (node->pos == SIZE_MAX) {
            keyed->key = key;
            ald_heap_insert(heap, node, key);
        } else if (next_random(&seed) % 2 == 0) {
            keyed->key = key;
            ald_heap_update(heap, node, key);
            assert_int_equal(ald_heap_key(heap, node), key);
        } else {
            ald_heap_remove(heap, node);
            assert_true(node->pos == SIZE_MAX);
        }
        if (step % 100 != 0)
            continue;
        size_t count = 0;
        int64_t least = least_of(nodes, &count);
        assert_int_equal(ald_heap_size(heap), count);
        assert_true(count == 0 || ald_heap_key(heap, ald_heap_first(heap)) == least);
    }
    ald_heap_destroy(&heap);
}

static void test_a_million_come_in_order(void **state)
{
    (void)state;
    struct keyed *nodes = calloc(HEAP_MANY, sizeof *nodes);
    assert_non_null(nodes);
    uint64_t seed = 7;
    ald_heap_t *heap = ald_heap_new();
    for (size_t i = 0; i < HEAP_MANY; i++) {
        nodes[i] = (struct keyed){.node = {.pos = SIZE_MAX}, .key = (int64_t)next_random(&seed)};
        ald_heap_insert(heap, &nodes[i].node, nodes[i].key);
    }
    assert_int_equal(ald_heap_size(heap), HEAP_MANY);
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < HEAP_MANY; i++) {
        const struct keyed *node = (const struct keyed *)ald_heap_pop(heap);
        if (node->key < last)
            fail_msg("node %zu came too late", i);
        last = node->key;
    }
    assert_null(ald_heap_pop(heap));
    ald_heap_destroy(&heap);
    free(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_agrees_with_a_search),
        cmocka_unit_test(test_a_million_come_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
