#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "services/poller/work.h"

static struct msg_lease lease_of(uint64_t number, int64_t lease_ms)
{
    return (struct msg_lease){.lease = number, .task = 1000 + number, .lease_ms = lease_ms};
}

static void add(work_t *work, uint64_t number, int64_t lease_ms, int64_t now_ms, enum ald_rc want)
{
    const struct msg_lease lease = lease_of(number, lease_ms);
    assert_int_equal(work_add(work, &lease, now_ms), want);
}

static void test_example(void **state)
{
    (void)state;
    work_t *work = work_new(8);
    add(work, 1, 30000, 0, ALD_OK);
    struct work_item *item = NULL;
    assert_int_equal(work_begin(work, 10, &item), ALD_OK);
    assert_int_equal(item->lease.task, 1001);
    work_end(work, &item);
    assert_null(item);
    work_destroy(&work);
    assert_null(work);
}

/* The lease's addresses are borrowed from a frame; the table keeps its own. */
static void test_what_a_lease_borrows_is_copied(void **state)
{
    (void)state;
    char address[] = "https://h.example/op/1";
    work_t *work = work_new(2);
    struct msg_lease lease = lease_of(1, 1000);
    lease.poll_url = ald_span_str(address);
    lease.params = ald_span_str("{}");
    assert_int_equal(work_add(work, &lease, 0), ALD_OK);
    address[0] = 'X';
    struct work_item *item = NULL;
    assert_int_equal(work_begin(work, 1, &item), ALD_OK);
    assert_string_equal(item->poll_url, "https://h.example/op/1");
    assert_null(item->result_url);
    assert_string_equal(item->params, "{}");
    assert_null(item->lease.poll_url.data);
    work_end(work, &item);
    assert_int_equal(work_add(work, &lease, 0), ALD_OK); /* and frees what is never begun */
    work_destroy(&work);
}

static void test_oldest_first_and_never_more_than_max(void **state)
{
    (void)state;
    work_t *work = work_new(2);
    struct work_item *item[3] = {0};
    for (uint64_t i = 1; i <= 4; i++)
        add(work, i, 1000, 0, ALD_OK);
    add(work, 5, 1000, 0, ALD_FULL);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(work_begin(work, 1, &item[i]), ALD_OK);
        assert_int_equal(item[i]->lease.lease, i + 1);
    }
    assert_int_equal(work_begin(work, 1, &item[2]), ALD_AGAIN);
    assert_null(item[2]);
    work_end(work, &item[0]);
    assert_int_equal(work_begin(work, 1, &item[2]), ALD_OK);
    assert_int_equal(item[2]->lease.lease, 3);
    add(work, 5, 1000, 0, ALD_OK);
    work_destroy(&work);
}

static void test_a_lease_whose_time_is_up_is_not_begun(void **state)
{
    (void)state;
    static const struct {
        int64_t lease_ms;
        int64_t now_ms;
        enum ald_rc want;
    } cases[] = {
        {1000, 1999, ALD_OK},   {1000, 2000, ALD_TIMEOUT}, {1000, 90000, ALD_TIMEOUT},
        {0, 1000, ALD_TIMEOUT}, {-5, 1000, ALD_TIMEOUT},
    };
    work_t *work = work_new(2);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct work_item *item = NULL;
        add(work, i, cases[i].lease_ms, 1000, ALD_OK);
        assert_int_equal(work_begin(work, cases[i].now_ms, &item), cases[i].want);
        assert_int_equal(item->lease.lease, i);
        work_end(work, &item);
    }
    struct work_item *item = NULL;
    assert_int_equal(work_begin(work, 0, &item), ALD_NOTFOUND);
    work_destroy(&work);
}

static void test_a_lease_twice(void **state)
{
    (void)state;
    work_t *work = work_new(4);
    add(work, 7, 1000, 0, ALD_OK);
    add(work, 7, 1000, 0, ALD_EXISTS);
    struct work_item *item = NULL;
    assert_int_equal(work_begin(work, 0, &item), ALD_OK);
    add(work, 7, 1000, 0, ALD_EXISTS);
    work_new_run(work); /* its numbers mean other leases */
    add(work, 7, 1000, 0, ALD_OK);
    add(work, 7, 1000, 0, ALD_EXISTS);
    work_end(work, &item);
    add(work, 7, 1000, 0, ALD_EXISTS);
    work_destroy(&work);
}

static void test_credit(void **state)
{
    (void)state;
    work_t *work = work_new(3);
    assert_int_equal(work_credit(work), 3);
    add(work, 1, 1000, 0, ALD_OK);
    add(work, 2, 1000, 0, ALD_OK);
    assert_int_equal(work_credit(work), 1);
    struct work_item *item = NULL;
    assert_int_equal(work_begin(work, 0, &item), ALD_OK);
    assert_int_equal(work_credit(work), 1);
    for (uint64_t i = 3; i <= 6; i++)
        add(work, i, 1000, 0, ALD_OK);
    assert_int_equal(work_credit(work), 0);
    assert_int_equal(work_queued(work), 5);
    assert_int_equal(work_under_way(work), 1);
    work_end(work, &item);
    work_destroy(&work);
}

static void test_queued_leases_are_taken_back_in_order(void **state)
{
    (void)state;
    work_t *work = work_new(4);
    struct work_item *begun = NULL;
    for (uint64_t i = 1; i <= 4; i++)
        add(work, i, 1000, 0, ALD_OK);
    assert_int_equal(work_begin(work, 0, &begun), ALD_OK);
    for (uint64_t i = 2; i <= 4; i++) {
        struct work_item *item = work_take_back(work);
        assert_int_equal(item->lease.lease, i);
        work_end(work, &item);
    }
    assert_null(work_take_back(work));
    assert_int_equal(work_under_way(work), 1);
    work_destroy(&work);
}

/* Numbers in no order, held and ended again and again. */
static void test_many(void **state)
{
    (void)state;
    enum { MAX = 500, ROUNDS = 20 };
    work_t *work = work_new(MAX);
    uint64_t number = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < MAX; i++) {
            number = number * 6364136223846793005u + 1442695040888963407u;
            add(work, number, 1000, 0, ALD_OK);
            add(work, number, 1000, 0, ALD_EXISTS);
        }
        assert_int_equal(work_credit(work), 0);
        struct work_item *item[MAX];
        for (unsigned i = 0; i < MAX; i++)
            assert_int_equal(work_begin(work, 0, &item[i]), ALD_OK);
        for (unsigned i = 0; i < MAX; i++)
            work_end(work, &item[(i * 7) % MAX]);
        assert_int_equal(work_credit(work), MAX);
    }
    work_destroy(&work);
}

/* Leases of one batch go together, and with nobody else's. */
static void test_a_batch_is_gathered(void **state)
{
    (void)state;
    static const uint64_t batches[] = {0, 7, 7, 7, 9, 0, 0};
    static const size_t most = 2, want[] = {1, 2, 1, 1, 1, 1};
    work_t *work = work_new(8);
    for (uint64_t i = 0; i < ALD_COUNT(batches); i++) {
        struct msg_lease lease = lease_of(i + 1, 1000);
        lease.batch = batches[i];
        assert_int_equal(work_add(work, &lease, 0), ALD_OK);
    }
    for (size_t i = 0; i < ALD_COUNT(want); i++) {
        struct work_item *item = NULL;
        assert_int_equal(work_begin(work, 1, &item), ALD_OK);
        assert_int_equal(work_gather(work, item, most), want[i]);
        while (item) {
            struct work_item *next = item->with;
            work_end(work, &item);
            item = next;
        }
    }
    assert_int_equal(work_queued(work), 0);
    assert_int_equal(work_credit(work), 8);
    work_destroy(&work);
}

/* Another run of the tracker may use a number again. */
static void test_a_batch_is_of_one_run(void **state)
{
    (void)state;
    work_t *work = work_new(4);
    struct msg_lease lease = lease_of(1, 1000);
    lease.batch = 1;
    assert_int_equal(work_add(work, &lease, 0), ALD_OK);
    work_new_run(work);
    lease.lease = 2;
    assert_int_equal(work_add(work, &lease, 0), ALD_OK);
    struct work_item *item = NULL;
    assert_int_equal(work_begin(work, 1, &item), ALD_OK);
    assert_int_equal(work_gather(work, item, 64), 1);
    work_end(work, &item);
    work_destroy(&work);
}

/* What is to be submitted is copied, bounded in all, and gone with its lease. */
static void test_submissions(void **state)
{
    (void)state;
    enum { BIG = WORK_SUBMISSIONS_MAX / 2 };
    static uint8_t bytes[BIG];
    work_t *work = work_new(8);
    struct msg_submit submit = {.lease = 1, .task = 7, .attempt = 3, .lease_ms = 30000};
    submit.submission = ald_span_of(bytes, BIG);
    bytes[0] = 'a';
    assert_int_equal(work_add_submit(work, &submit, 0), ALD_OK);
    bytes[0] = 'b';
    assert_int_equal(work_add_submit(work, &submit, 0), ALD_EXISTS);
    submit.lease = 2;
    assert_int_equal(work_add_submit(work, &submit, 0), ALD_OK);
    submit.lease = 3;
    assert_int_equal(work_add_submit(work, &submit, 0), ALD_FULL);
    add(work, 4, 30000, 0, ALD_OK);
    struct work_item *item = NULL;
    assert_int_equal(work_begin(work, 10, &item), ALD_OK);
    assert_int_equal(item->lease.task, 7);
    assert_int_equal(item->submit->attempt, 3);
    assert_int_equal(item->submit->len, BIG);
    assert_int_equal(item->submit->submission[0], 'a');
    work_end(work, &item);
    assert_int_equal(work_add_submit(work, &submit, 0), ALD_OK);
    submit.lease = 5;
    submit.submission = ald_span_of(NULL, 0);
    assert_int_equal(work_add_submit(work, &submit, 0), ALD_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(work_begin(work, 10, &item), ALD_OK);
    assert_null(item->submit); /* the poll in between */
    work_destroy(&work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_what_a_lease_borrows_is_copied),
        cmocka_unit_test(test_oldest_first_and_never_more_than_max),
        cmocka_unit_test(test_a_lease_whose_time_is_up_is_not_begun),
        cmocka_unit_test(test_a_lease_twice),
        cmocka_unit_test(test_credit),
        cmocka_unit_test(test_queued_leases_are_taken_back_in_order),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_a_batch_is_gathered),
        cmocka_unit_test(test_a_batch_is_of_one_run),
        cmocka_unit_test(test_submissions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
