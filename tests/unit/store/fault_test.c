#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/store/fault_vfs.h"
#include "tests/unit/store/folder.h"
#include "tests/unit/store/schema.h"

enum { BATCHES = 6, BATCH = 7, LARGE = 1000, POINTS_MAX = 2000, KILLS = 50 };

static int setup(void **state)
{
    static struct folder folder;
    folder_make(&folder);
    *state = &folder;
    return 0;
}

/* The same disk under a store that checkpoints on a thread of its own. */
static bool beside;

static int setup_beside(void **state)
{
    beside = true;
    return setup(state);
}

static int teardown(void **state)
{
    beside = false;
    (void)fault_heal();
    fault_forget();
    folder_remove(*state);
    return 0;
}

/* A store whose log is moved into the file every few commits, so that checkpoints are hit too. */
static enum ald_rc open_busy(const char *path, ald_store_t **out)
{
    struct ald_store_options options = schema_options(path, SCHEMA_VERSIONS);
    options.wal_autocheckpoint = 6;
    options.checkpoint_beside = beside;
    return ald_store_open(&options, out, NULL);
}

/* Commit batches from `next` on until one fails or all are done. Returns the last row acknowledged.
 */
static int64_t work(ald_store_t *store, int64_t next, enum ald_rc *rc)
{
    *rc = ALD_OK;
    for (int i = 0; i < BATCHES; i++) {
        *rc = schema_commit(store, next, BATCH);
        if (*rc != ALD_OK)
            break;
        next += BATCH;
    }
    return next - 1;
}

static void assert_all_there(ald_store_t *store, int64_t acked)
{
    assert_int_equal(schema_missing(store, acked), 0);
    assert_int_equal(schema_get(store, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
                     1);
}

static int64_t last_row(ald_store_t *store)
{
    return schema_get(store, "SELECT coalesce(max(n), 0) FROM rows");
}

static void test_example(void **state)
{
    ald_store_t *store = NULL;
    fault_install();
    assert_int_equal(open_busy(folder_file(*state, "a.db"), &store), ALD_OK);
    assert_int_equal(schema_commit(store, 1, 1), ALD_OK);

    fault_plan(FAULT_IO, 1, false);
    assert_int_equal(schema_commit(store, 2, 1), ALD_IO);
    assert_true(fault_heal());
    assert_true(ald_store_failed(store));
    assert_int_equal(schema_commit(store, 2, 1), ALD_IO);
    assert_int_equal(schema_get(store, "SELECT count(*) FROM rows"), -1);
    assert_int_equal(ald_store_checkpoint(store, ALD_CHECKPOINT_TRUNCATE), ALD_IO);
    ald_store_destroy(&store);
    /* Its log is left for the next start, which reads what the disk has. */
    assert_true(file_bytes(folder_file(*state, "a.db-wal")) > 0);

    assert_int_equal(open_busy(folder_file(*state, "a.db"), &store), ALD_OK);
    assert_all_there(store, 1);
    assert_int_equal(schema_commit(store, 3, 1), ALD_OK);
    ald_store_destroy(&store);
}

/* All pages of a commit are written at once, and then synced. */
static void test_a_commit_is_a_write_and_a_sync(void **state)
{
    struct ald_store_options options = schema_options(folder_file(*state, "a.db"), 1);
    ald_store_t *store = NULL;
    fault_install();
    assert_int_equal(ald_store_open(&options, &store, NULL), ALD_OK);
    assert_int_equal(schema_commit(store, 1, 50), ALD_OK);
    fault_plan(FAULT_IO, 3, false);
    assert_int_equal(schema_commit(store, 51, 50), ALD_OK);
    assert_false(fault_heal());
    fault_plan(FAULT_IO, 2, false);
    assert_int_equal(schema_commit(store, 101, 50), ALD_IO);
    assert_true(fault_heal());
    ald_store_destroy(&store);
}

/* One point of failure: work until it strikes, start again on what the disk really has, go on,
 * pull the plug, and look for every acknowledged row. Returns whether the point was reached. */
static bool fail_at(const char *path, unsigned n, bool forever)
{
    enum ald_rc rc = ALD_OK;
    ald_store_t *store = NULL;
    assert_int_equal(open_busy(path, &store), ALD_OK);
    int64_t first = last_row(store) + 1;
    fault_plan(FAULT_IO, n, forever);
    int64_t acked = work(store, first, &rc);
    bool failed = ald_store_failed(store);
    assert_true(failed || rc == ALD_OK);
    if (failed)
        assert_int_equal(schema_commit(store, acked + 1, 1), ALD_IO);
    ald_store_destroy(&store);
    bool reached = fault_heal();
    fault_restart();

    assert_int_equal(open_busy(path, &store), ALD_OK);
    assert_all_there(store, acked);
    acked = work(store, last_row(store) + 1, &rc);
    assert_int_equal(rc, ALD_OK);
    ald_store_destroy(&store);
    fault_powercut();

    assert_int_equal(open_busy(path, &store), ALD_OK);
    assert_all_there(store, acked);
    ald_store_destroy(&store);
    return reached;
}

static void fail_everywhere(const struct folder *folder, bool forever)
{
    unsigned n = 1;
    fault_install();
    char name[32] = "1.db";
    while (fail_at(folder_file(folder, name), n, forever)) {
        n++;
        snprintf(name, sizeof name, "%u.db", n);
        assert_in_range(n, 1, POINTS_MAX);
    }
    assert_in_range(n, BATCHES * 2, POINTS_MAX);
    print_message("%u points of failure\n", n - 1);
}

static void test_every_write_and_sync_fails_once(void **state)
{
    fail_everywhere(*state, false);
}

static void test_every_write_and_sync_fails_for_ever(void **state)
{
    fail_everywhere(*state, true);
}

/* The commit is on disk and says so; that the checkpoint after it failed is not kept quiet. */
static void test_failed_checkpoint_fails_the_store_not_the_commit(void **state)
{
    struct ald_store_options options = schema_options(folder_file(*state, "a.db"), 1);
    options.wal_autocheckpoint = 1;
    unsigned commits_kept = 0;
    bool reached = true;
    fault_install();
    for (unsigned n = 1; reached; n++) {
        ald_store_t *store = NULL;
        assert_int_equal(ald_store_open(&options, &store, NULL), ALD_OK);
        int64_t next = last_row(store) + 1;
        fault_plan(FAULT_IO, n, false);
        enum ald_rc rc = schema_commit(store, next, 1);
        assert_true((rc == ALD_OK && !fault_heal()) || ald_store_failed(store));
        reached = fault_heal();
        commits_kept += rc == ALD_OK && reached ? 1 : 0;
        ald_store_destroy(&store);
        fault_restart();
        assert_int_equal(ald_store_open(&options, &store, NULL), ALD_OK);
        assert_all_there(store, rc == ALD_OK ? next : next - 1);
        ald_store_destroy(&store);
        assert_in_range(n, 1, 100);
    }
    assert_in_range(commits_kept, 3, 100);
}

/* An open that fails leaves a file that opens. */
static void test_every_point_of_an_open_fails(void **state)
{
    unsigned n = 1;
    bool reached = true;
    fault_install();
    for (; reached; n++) {
        char name[32];
        snprintf(name, sizeof name, "open-%u.db", n);
        const char *path = folder_file(*state, name);
        ald_store_t *store = NULL;
        fault_plan(FAULT_IO, n, false);
        enum ald_rc rc = open_busy(path, &store);
        assert_true((rc == ALD_OK) == (store != NULL));
        ald_store_destroy(&store);
        reached = fault_heal();
        fault_restart();
        assert_int_equal(open_busy(path, &store), ALD_OK);
        assert_int_equal(ald_store_version(store), SCHEMA_VERSIONS);
        assert_int_equal(schema_get(store, "SELECT count(*) FROM steps"), 2);
        ald_store_destroy(&store);
    }
    assert_in_range(n, 10, POINTS_MAX);
}

static void test_full_disk_undoes_the_batch_and_the_next_goes_on(void **state)
{
    enum ald_rc rc = ALD_OK;
    ald_store_t *store = NULL;
    fault_install();
    assert_int_equal(open_busy(folder_file(*state, "a.db"), &store), ALD_OK);
    int64_t acked = work(store, 1, &rc);
    for (unsigned n = 1; n < 4; n++) {
        int64_t count = n == 1 ? BATCH : LARGE; /* so many rows are several writes */
        fault_plan(FAULT_FULL, n, true);
        assert_int_equal(schema_commit(store, acked + 1, count), ALD_FULL);
        assert_false(ald_store_failed(store));
        assert_true(fault_heal());
        assert_int_equal(schema_commit(store, acked + 1, count), ALD_OK);
        acked += count;
    }
    assert_all_there(store, acked);
    assert_int_equal(last_row(store), acked);
    ald_store_destroy(&store);
}

/* A transaction larger than the cache meets the full disk before its commit; what its owner does
 * next must not run outside of it. */
static void test_full_disk_in_the_middle_of_a_transaction(void **state)
{
    struct ald_store_options options = schema_options(folder_file(*state, "a.db"), 1);
    ald_store_t *store = NULL;
    options.cache_bytes = 64 << 10;
    fault_install();
    assert_int_equal(ald_store_open(&options, &store, NULL), ALD_OK);
    assert_int_equal(ald_store_begin(store), ALD_OK);
    assert_int_equal(ald_store_savepoint(store), ALD_OK);
    fault_plan(FAULT_FULL, 1, true);
    int64_t n = 1;
    while (schema_insert(store, n) == ALD_OK)
        assert_in_range(n++, 1, 5000);
    assert_true(fault_heal());
    assert_int_equal(schema_insert(store, n + 1), ALD_FULL);
    assert_int_equal(ald_store_rollback_to(store), ALD_FULL);
    assert_int_equal(ald_store_commit(store), ALD_FULL);
    assert_int_equal(last_row(store), 0);
    assert_int_equal(schema_commit(store, 1, 3), ALD_OK);
    assert_int_equal(schema_missing(store, 3), 0);
    ald_store_destroy(&store);
}

static bool child_died(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        assert_int_equal(WTERMSIG(status), SIGKILL);
        return true;
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

static void migrate_and_exit(const char *path, unsigned n)
{
    struct ald_store_options options = schema_options(path, SCHEMA_VERSIONS);
    ald_store_t *store = NULL;
    fault_install();
    fault_plan(FAULT_KILL, n, false);
    enum ald_rc rc = ald_store_open(&options, &store, NULL);
    (void)fault_heal();
    _exit(rc == ALD_OK ? 0 : 1);
}

static bool migration_killed_at(const struct folder *folder, unsigned n)
{
    char name[32];
    snprintf(name, sizeof name, "kill-%u.db", n);
    const char *path = folder_file(folder, name);
    ald_store_t *store = schema_open(path, 1);
    assert_int_equal(schema_commit(store, 1, 20), ALD_OK);
    ald_store_destroy(&store);

    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        migrate_and_exit(path, n);
    bool died = child_died(child);

    store = schema_open(path, SCHEMA_VERSIONS);
    assert_all_there(store, 20);
    assert_int_equal(schema_get(store, "SELECT group_concat(name) = 'two,three' FROM steps"), 1);
    assert_int_equal(schema_get(store, "SELECT count(*) FROM rows WHERE note = 'x'"), 20);
    assert_int_equal(schema_get(store, "SELECT count(*) FROM more"), 20);
    ald_store_destroy(&store);
    return died;
}

static void test_migration_killed_at_every_write(void **state)
{
    unsigned n = 1;
    while (migration_killed_at(*state, n)) {
        n++;
        assert_in_range(n, 1, POINTS_MAX);
    }
    assert_in_range(n, 6, POINTS_MAX);
    print_message("%u kills\n", n - 1);
}

static void commit_and_tell(const char *path, int out)
{
    ald_store_t *store = NULL;
    if (open_busy(path, &store) != ALD_OK)
        _exit(1);
    for (int64_t next = last_row(store) + 1;; next += BATCH) {
        int64_t acked = next + BATCH - 1;
        if (schema_commit(store, next, BATCH) != ALD_OK ||
            write(out, &acked, sizeof acked) != (ssize_t)sizeof acked)
            _exit(1);
    }
}

/* Read acknowledgements until `enough` came, kill, and read what was still in the pipe. */
static int64_t kill_after(pid_t child, int in, unsigned enough)
{
    int64_t acked = 0;
    int64_t read_last = 0;
    for (unsigned i = 0; read(in, &read_last, sizeof read_last) == (ssize_t)sizeof read_last; i++) {
        acked = read_last;
        if (i == enough)
            kill(child, SIGKILL);
    }
    assert_true(child_died(child));
    return acked;
}

static void test_killed_at_random_keeps_what_it_told(void **state)
{
    const char *path = folder_file(*state, "a.db");
    unsigned seed = 20260501;
    int64_t acked = 0;
    for (int i = 0; i < KILLS; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            commit_and_tell(path, ends[1]);
        close(ends[1]);
        int64_t told = kill_after(child, ends[0], (unsigned)rand_r(&seed) % 40);
        close(ends[0]);
        assert_true(told > acked);
        acked = told;

        ald_store_t *store = NULL;
        assert_int_equal(open_busy(path, &store), ALD_OK);
        assert_int_equal(ald_store_wal_bytes(store), 0);
        assert_all_there(store, acked);
        ald_store_destroy(&store);
    }
    print_message("%d kills, %lld rows acknowledged, 0 lost\n", KILLS, (long long)acked);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_migration_killed_at_every_write), /* before the faulty disk stands in the parent */
        T(test_killed_at_random_keeps_what_it_told),
        cmocka_unit_test_setup_teardown(test_killed_at_random_keeps_what_it_told, setup_beside,
                                        teardown),
        T(test_example),
        T(test_a_commit_is_a_write_and_a_sync),
        T(test_every_write_and_sync_fails_once),
        T(test_every_write_and_sync_fails_for_ever),
        cmocka_unit_test_setup_teardown(test_every_write_and_sync_fails_once, setup_beside,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_every_write_and_sync_fails_for_ever, setup_beside,
                                        teardown),
        T(test_failed_checkpoint_fails_the_store_not_the_commit),
        T(test_every_point_of_an_open_fails),
        T(test_full_disk_undoes_the_batch_and_the_next_goes_on),
        T(test_full_disk_in_the_middle_of_a_transaction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
