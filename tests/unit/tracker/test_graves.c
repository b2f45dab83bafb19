/* A heap is filled in the order of results and comes out in that of tasks. */
#include "services/tracker/vault/graves.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(graves_t *self, uint64_t task, uint64_t seq)
{
    const struct grave grave = {.task = task, .seq = seq};
    graves_add(self, &grave);
}

static void test_example(void **state)
{
    (void)state;
    struct grave out[4];
    graves_t *self = graves_new();
    add(self, 30, 5);
    add(self, 10, 6);
    add(self, 30, 8);
    add(self, 20, 9);
    assert_int_equal(graves_last(self), 9);
    assert_false(graves_closed(self) || graves_empty(self));
    graves_close(self);
    assert_true(graves_closed(self));
    assert_int_equal(graves_next(self, out, 3), 3);
    assert_int_equal(out[0].task, 10);
    assert_int_equal(out[1].task, 20);
    assert_int_equal(out[2].seq, 5); /* of one task: as they were published */
    assert_false(graves_empty(self));
    assert_int_equal(graves_next(self, out, 3), 1);
    assert_int_equal(out[0].seq, 8);
    assert_true(graves_empty(self));
    assert_int_equal(graves_next(self, out, 3), 0);
    graves_destroy(&self);
    assert_null(self);
}

static void test_a_new_heap(void **state)
{
    (void)state;
    struct grave out;
    graves_t *self = graves_new();
    assert_true(graves_empty(self));
    add(self, 1, 100);
    graves_reset(self);
    assert_int_equal(graves_last(self), 0);
    add(self, 2, 50); /* also of what was thrown away */
    graves_close(self);
    assert_int_equal(graves_next(self, &out, 1), 1);
    assert_int_equal(out.seq, 50);
    graves_reset(self);
    graves_close(self); /* of none */
    assert_int_equal(graves_next(self, &out, 1), 0);
    graves_destroy(&self);
}

static void test_it_is_full(void **state)
{
    (void)state;
    struct grave out[100];
    uint64_t before = 0;
    size_t all = 0;
    graves_t *self = graves_new();
    for (uint64_t i = 1; i <= GRAVES_MAX; i++) {
        assert_false(graves_full(self));
        add(self, 1 + i * UINT64_C(7919) % GRAVES_MAX, i); /* a prime: each task once */
    }
    assert_true(graves_full(self));
    graves_close(self);
    for (size_t count = 0; (count = graves_next(self, out, 100)) > 0; all += count)
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(out[i].task, before + 1);
            before = out[i].task;
        }
    assert_int_equal(all, GRAVES_MAX);
    graves_destroy(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_a_new_heap),
        cmocka_unit_test(test_it_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
