/* Commits whose sync goes on beside: what has settled survives a cut of power, in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <stdio.h>

#include "tests/unit/store/fault_vfs.h"
#include "tests/unit/store/folder.h"
#include "tests/unit/store/schema.h"

enum { BATCHES = 9, BATCH = 7, BUSY = 6, CALM = 1000, POINTS_MAX = 2000, PATIENCE_MS = 10000 };

static int setup(void **state)
{
    static struct folder folder;
    folder_make(&folder);
    fault_install();
    *state = &folder;
    return 0;
}

static int teardown(void **state)
{
    (void)fault_heal();
    fault_forget();
    folder_remove(*state);
    return 0;
}

/* BUSY: the log moves into the file every few commits, and begins anew. */
static ald_store_t *opened(const char *path, int64_t pages)
{
    struct ald_store_options options = schema_options(path, SCHEMA_VERSIONS);
    ald_store_t *store = NULL;
    options.wal_autocheckpoint = pages;
    options.sync_beside = true;
    assert_int_equal(ald_store_open(&options, &store, NULL), ALD_OK);
    return store;
}

static void test_example(void **state)
{
    ald_store_t *store = opened(folder_file(*state, "a.db"), BUSY);
    assert_int_equal(ald_store_written(store), 0);
    assert_int_equal(schema_commit(store, 1, 5), ALD_OK);
    assert_int_equal(ald_store_written(store), 1);
    struct pollfd item = {.fd = ald_store_settle_fd(store), .events = POLLIN};
    assert_int_equal(poll(&item, 1, PATIENCE_MS), 1);
    ald_store_settle_heard(store);
    assert_int_equal(ald_store_settled(store), 1);
    assert_int_equal(poll(&item, 1, 0), 0);

    assert_int_equal(schema_commit(store, 6, 5), ALD_OK);
    assert_int_equal(ald_store_settle(store), ALD_OK);
    fault_powercut();
    assert_int_equal(ald_store_settled(store), 2);
    ald_store_destroy(&store);
}

/* What changes nothing owes no sync. */
static void test_an_empty_transaction_settles_nothing(void **state)
{
    ald_store_t *store = opened(folder_file(*state, "a.db"), BUSY);
    assert_int_equal(ald_store_begin(store), ALD_OK);
    assert_int_equal(ald_store_commit(store), ALD_OK);
    assert_int_equal(ald_store_written(store), 0);
    assert_int_equal(ald_store_settle(store), ALD_OK);
    ald_store_destroy(&store);
}

static void test_without_a_syncer_commits_are_on_disk(void **state)
{
    ald_store_t *store = schema_open(folder_file(*state, "a.db"), 1);
    assert_int_equal(schema_commit(store, 1, 1), ALD_OK);
    assert_int_equal(ald_store_written(store), ald_store_settled(store));
    assert_int_equal(ald_store_settle(store), ALD_OK);
    assert_int_equal(ald_store_settle_fd(store), -1);
    ald_store_settle_heard(store);
    ald_store_destroy(&store);
}

/* A sync that fails is told, and the store is not written again. */
static void test_a_failed_sync_fails_the_store(void **state)
{
    ald_store_t *store = opened(folder_file(*state, "a.db"), CALM);
    assert_int_equal(schema_commit(store, 1, 1), ALD_OK); /* begins the log */
    assert_int_equal(ald_store_settle(store), ALD_OK);
    fault_plan(FAULT_IO, 2, false); /* the write, and then the sync beside */
    assert_int_equal(schema_commit(store, 2, 1), ALD_OK);
    assert_int_equal(ald_store_settle(store), ALD_IO);
    assert_true(fault_heal());
    assert_true(ald_store_failed(store));
    assert_int_equal(ald_store_settled(store), 1);
    assert_int_equal(ald_store_written(store), 2);
    assert_int_equal(schema_commit(store, 3, 1), ALD_IO);
    ald_store_destroy(&store);
    fault_restart();
    store = opened(folder_file(*state, "a.db"), CALM);
    assert_int_equal(schema_missing(store, 1), 0);
    ald_store_destroy(&store);
}

/* Commit until one fails or all are done. Returns the last row that has settled. */
static int64_t work(ald_store_t *store, int64_t first)
{
    uint64_t before = ald_store_written(store);
    int64_t next = first;
    for (int i = 0; i < BATCHES && schema_commit(store, next, BATCH) == ALD_OK; i++)
        next += BATCH;
    (void)!ald_store_settle(store);
    return first - 1 + (int64_t)(ald_store_settled(store) - before) * BATCH;
}

/* All rows up to `acked`, whole batches and no gap after them. */
static void assert_a_prefix(ald_store_t *store, int64_t acked)
{
    int64_t last = schema_get(store, "SELECT coalesce(max(n), 0) FROM rows");
    assert_true(last >= acked);
    assert_int_equal(last % BATCH, 0);
    assert_int_equal(schema_missing(store, last), 0);
    assert_int_equal(schema_get(store, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
                     1);
}

/* The n-th write or sync fails, and then the plug is pulled. True: it was reached. */
static bool fail_at(const char *path, unsigned n)
{
    ald_store_t *store = opened(path, BUSY);
    fault_plan(FAULT_IO, n, false);
    int64_t acked = work(store, 1);
    bool reached = fault_heal();
    assert_true(reached || acked == BATCHES * BATCH);
    ald_store_destroy(&store);
    fault_powercut();
    store = opened(path, BUSY);
    assert_a_prefix(store, acked);
    int64_t last = schema_get(store, "SELECT coalesce(max(n), 0) FROM rows");
    int64_t more = work(store, last + 1);
    assert_int_equal(more, last + BATCHES * BATCH);
    ald_store_destroy(&store);
    fault_powercut();
    store = opened(path, BUSY);
    assert_a_prefix(store, more);
    ald_store_destroy(&store);
    return reached;
}

static void test_every_write_and_sync_fails(void **state)
{
    unsigned n = 1;
    char name[32] = "1.db";
    while (fail_at(folder_file(*state, name), n)) {
        n++;
        snprintf(name, sizeof name, "%u.db", n);
        assert_in_range(n, 1, POINTS_MAX);
    }
    assert_in_range(n, BATCHES * 2, POINTS_MAX);
    print_message("%u points of failure\n", n - 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_example),
        T(test_an_empty_transaction_settles_nothing),
        T(test_without_a_syncer_commits_are_on_disk),
        T(test_a_failed_sync_fails_the_store),
        T(test_every_write_and_sync_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
