#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/store/folder.h"
#include "tests/unit/store/schema.h"

struct context {
    struct folder folder;
    ald_store_t *store;
};

static int setup(void **state)
{
    static struct context context;
    folder_make(&context.folder);
    context.store = schema_open(folder_file(&context.folder, "a.db"), 1);
    *state = &context;
    return 0;
}

static int teardown(void **state)
{
    struct context *context = *state;
    ald_store_destroy(&context->store);
    folder_remove(&context->folder);
    return 0;
}

static void test_example(void **state)
{
    ald_store_t *store = ((struct context *)*state)->store;
    ald_stmt_t *stmt = NULL;

    assert_int_equal(ald_store_begin(store), ALD_OK);
    assert_int_equal(ald_store_prepare(store, "INSERT INTO rows(n, body) VALUES(?, ?)", &stmt),
                     ALD_OK);
    ald_stmt_bind_i64(stmt, 1, 7);
    ald_stmt_bind_blob(stmt, 2, ald_span_str("seven"));
    assert_int_equal(ald_stmt_run(stmt), ALD_OK);
    assert_int_equal(ald_store_commit(store), ALD_OK);

    assert_int_equal(ald_store_prepare(store, "SELECT n, body FROM rows", &stmt), ALD_OK);
    assert_int_equal(ald_stmt_step(stmt), ALD_OK);
    assert_int_equal(ald_stmt_i64(stmt, 0), 7);
    assert_true(ald_span_eq_str(ald_stmt_blob(stmt, 1), "seven"));
    assert_int_equal(ald_stmt_step(stmt), ALD_NOTFOUND);
    ald_stmt_reset(stmt);
}

static void test_unique_conflict_is_exists_and_changes_nothing(void **state)
{
    ald_store_t *store = ((struct context *)*state)->store;
    assert_int_equal(schema_commit(store, 1, 3), ALD_OK);
    assert_int_equal(schema_commit(store, 3, 3), ALD_EXISTS);
    assert_int_equal(schema_get(store, "SELECT count(*) FROM rows"), 3);
    assert_false(ald_store_failed(store));
    assert_int_equal(schema_commit(store, 4, 3), ALD_OK);
}

static void test_other_constraint_is_invalid(void **state)
{
    ald_store_t *store = ((struct context *)*state)->store;
    ald_stmt_t *stmt = NULL;
    assert_int_equal(ald_store_prepare(store, "INSERT INTO rows(n, body) VALUES(?, ?)", &stmt),
                     ALD_OK);
    ald_stmt_bind_i64(stmt, 1, 1);
    ald_stmt_bind_null(stmt, 2);
    assert_int_equal(ald_stmt_run(stmt), ALD_INVALID);
    assert_int_equal(ald_store_prepare(store, "INSERT INTO nowhere VALUES(1)", &stmt), ALD_INVALID);
    assert_null(stmt);
    assert_false(ald_store_failed(store));
}

static void test_values_come_back(void **state)
{
    static const char *const texts[] = {"", "a", "\xc3\xa9", "a\nb"};
    ald_store_t *store = ((struct context *)*state)->store;
    assert_int_equal(ald_store_exec(store, "CREATE TABLE t(i BIGINT, s TEXT NOT NULL, b BLOB)"),
                     ALD_OK);
    for (size_t i = 0; i < ALD_COUNT(texts); i++) {
        ald_stmt_t *stmt = NULL;
        assert_int_equal(
            ald_store_prepare(store, "INSERT INTO t VALUES(?, ?, ?) RETURNING i, s, b", &stmt),
            ALD_OK);
        ald_stmt_bind_i64(stmt, 1, INT64_MIN);
        ald_stmt_bind_text(stmt, 2,
                           texts[i][0] == '\0' ? ald_span_of(NULL, 0) : ald_span_str(texts[i]));
        ald_stmt_bind_null(stmt, 3);
        assert_int_equal(ald_stmt_step(stmt), ALD_OK);
        assert_int_equal(ald_stmt_i64(stmt, 0), INT64_MIN);
        assert_true(ald_span_eq_str(ald_stmt_text(stmt, 1), texts[i]));
        assert_false(ald_stmt_is_null(stmt, 1));
        assert_true(ald_stmt_is_null(stmt, 2));
        assert_int_equal(ald_stmt_blob(stmt, 2).len, 0);
        ald_stmt_reset(stmt);
    }
}

static void test_blob_keeps_its_zero_bytes(void **state)
{
    static const uint8_t bytes[] = {0, 1, 0, 255, 0};
    ald_store_t *store = ((struct context *)*state)->store;
    ald_stmt_t *stmt = NULL;
    assert_int_equal(ald_store_prepare(store, "SELECT ?", &stmt), ALD_OK);
    ald_stmt_bind_blob(stmt, 1, ald_span_of(bytes, sizeof bytes));
    assert_int_equal(ald_stmt_step(stmt), ALD_OK);
    assert_true(ald_span_eq(ald_stmt_blob(stmt, 0), ald_span_of(bytes, sizeof bytes)));
    ald_stmt_reset(stmt);
}

static void test_statement_is_kept_and_comes_unbound(void **state)
{
    static const char sql[] = "SELECT ?";
    ald_store_t *store = ((struct context *)*state)->store;
    ald_stmt_t *first = NULL;
    ald_stmt_t *second = NULL;
    assert_int_equal(ald_store_prepare(store, sql, &first), ALD_OK);
    ald_stmt_bind_i64(first, 1, 5);
    assert_int_equal(ald_stmt_step(first), ALD_OK);
    assert_int_equal(ald_store_prepare(store, sql, &second), ALD_OK);
    assert_ptr_equal(first, second);
    assert_int_equal(ald_stmt_step(second), ALD_OK);
    assert_true(ald_stmt_is_null(second, 0));
    ald_stmt_reset(second);
}

static void test_rollback_undoes(void **state)
{
    ald_store_t *store = ((struct context *)*state)->store;
    assert_int_equal(ald_store_begin(store), ALD_OK);
    assert_int_equal(schema_insert(store, 1), ALD_OK);
    ald_store_rollback(store);
    assert_int_equal(schema_get(store, "SELECT count(*) FROM rows"), 0);
}

/* Its pages are in the log before its commit, and are read and written again from there. */
static void test_a_transaction_larger_than_the_cache(void **state)
{
    struct context *context = *state;
    struct ald_store_options options = schema_options(folder_file(&context->folder, "l.db"), 1);
    ald_store_t *store = NULL;
    options.cache_bytes = 64 << 10;
    assert_int_equal(ald_store_open(&options, &store, NULL), ALD_OK);
    assert_int_equal(schema_commit(store, 1, 10), ALD_OK);
    for (int round = 0; round < 2; round++) { /* undone, and then kept */
        assert_int_equal(ald_store_begin(store), ALD_OK);
        for (int64_t n = 11; n <= 2000; n++)
            assert_int_equal(schema_insert(store, n), ALD_OK);
        assert_int_equal(ald_store_exec(store, "UPDATE rows SET body = x'01' WHERE n % 2"), ALD_OK);
        assert_int_equal(schema_missing(store, 2000), 0);
        if (round == 0)
            ald_store_rollback(store);
        else
            assert_int_equal(ald_store_commit(store), ALD_OK);
        assert_int_equal(schema_get(store, "SELECT count(*) FROM rows"), round == 0 ? 10 : 2000);
    }
    ald_store_destroy(&store);
    assert_int_equal(ald_store_open(&options, &store, NULL), ALD_OK);
    assert_int_equal(schema_get(store, "SELECT count(*) FROM rows WHERE body = x'01'"), 1000);
    assert_int_equal(schema_get(store, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
                     1);
    ald_store_destroy(&store);
}

static void test_one_event_fails_the_batch_commits(void **state)
{
    ald_store_t *store = ((struct context *)*state)->store;
    assert_int_equal(ald_store_begin(store), ALD_OK);
    for (int64_t n = 1; n <= 3; n++) {
        assert_int_equal(ald_store_savepoint(store), ALD_OK);
        assert_int_equal(schema_insert(store, n), ALD_OK);
        if (n == 2)
            assert_int_equal(ald_store_rollback_to(store), ALD_OK);
        else
            assert_int_equal(ald_store_release(store), ALD_OK);
    }
    assert_int_equal(ald_store_commit(store), ALD_OK);
    assert_int_equal(schema_get(store, "SELECT group_concat(n) = '1,3' FROM rows"), 1);
}

static void test_savepoints_nest(void **state)
{
    ald_store_t *store = ((struct context *)*state)->store;
    assert_int_equal(ald_store_begin(store), ALD_OK);
    assert_int_equal(ald_store_savepoint(store), ALD_OK);
    assert_int_equal(schema_insert(store, 1), ALD_OK);
    assert_int_equal(ald_store_savepoint(store), ALD_OK);
    assert_int_equal(schema_insert(store, 2), ALD_OK);
    assert_int_equal(ald_store_rollback_to(store), ALD_OK);
    assert_int_equal(ald_store_savepoint(store), ALD_OK);
    assert_int_equal(schema_insert(store, 3), ALD_OK);
    assert_int_equal(ald_store_release(store), ALD_OK);
    assert_int_equal(ald_store_release(store), ALD_OK);
    assert_int_equal(ald_store_commit(store), ALD_OK);
    assert_int_equal(schema_get(store, "SELECT group_concat(n) = '1,3' FROM rows"), 1);
}

static void test_changes_counts_rows(void **state)
{
    ald_store_t *store = ((struct context *)*state)->store;
    assert_int_equal(schema_commit(store, 1, 5), ALD_OK);
    assert_int_equal(ald_store_exec(store, "DELETE FROM rows WHERE n > 2"), ALD_OK);
    assert_int_equal(ald_store_changes(store), 3);
}

static void test_log_stays_within_its_thresholds(void **state)
{
    struct context *context = *state;
    struct ald_store_options options =
        schema_options(folder_file(&context->folder, "small-log.db"), 1);
    ald_store_t *store = NULL;
    options.wal_autocheckpoint = 50;
    options.wal_max_bytes = 1 << 20;
    assert_int_equal(ald_store_open(&options, &store, NULL), ALD_OK);
    for (int64_t n = 1; n <= 2000; n += 20)
        assert_int_equal(schema_commit(store, n, 20), ALD_OK);
    assert_in_range(ald_store_wal_bytes(store), 1, (50 + 30) * 4200);
    assert_int_equal(ald_store_checkpoint(store, ALD_CHECKPOINT_TRUNCATE), ALD_OK);
    assert_int_equal(ald_store_wal_bytes(store), 0);
    assert_int_equal(schema_missing(store, 2000), 0);
    ald_store_destroy(&store);
}

/* On a thread beside the commits, which may be slow: sooner or later so many commits as would make
 * the log longer by 3,000 pages find room in it, since it has begun anew. */
static void test_log_begins_anew_when_checkpoints_run_beside(void **state)
{
    struct context *context = *state;
    struct ald_store_options options =
        schema_options(folder_file(&context->folder, "beside.db"), 1);
    ald_store_t *store = NULL;
    uint64_t before = 0;
    int64_t n = 1;
    options.wal_autocheckpoint = 50;
    options.checkpoint_beside = true;
    assert_int_equal(ald_store_open(&options, &store, NULL), ALD_OK);
    for (unsigned round = 0; round < 20; round++) {
        before = ald_store_wal_bytes(store);
        for (int64_t end = n + 20000; n < end; n += 20)
            assert_int_equal(schema_commit(store, n, 20), ALD_OK);
        if (ald_store_wal_bytes(store) < before + 1000 * UINT64_C(4096))
            break;
    }
    assert_in_range(ald_store_wal_bytes(store), 1, before + 1000 * UINT64_C(4096) - 1);
    assert_int_equal(ald_store_checkpoint(store, ALD_CHECKPOINT_TRUNCATE), ALD_OK);
    assert_int_equal(ald_store_wal_bytes(store), 0);
    assert_int_equal(schema_missing(store, n - 1), 0);
    ald_store_destroy(&store);
}

static void test_reader_keeps_its_snapshot_and_log_grows_until_it_ends(void **state)
{
    struct context *context = *state;
    struct ald_store_options options = schema_options(folder_file(&context->folder, "a.db"), 1);
    ald_store_t *reader = NULL;
    assert_int_equal(schema_commit(context->store, 1, 1), ALD_OK);
    options.read_only = true;
    assert_int_equal(ald_store_open(&options, &reader, NULL), ALD_OK);
    assert_int_equal(ald_store_begin(reader), ALD_OK);
    assert_int_equal(schema_get(reader, "SELECT count(*) FROM rows"), 1);

    assert_int_equal(schema_commit(context->store, 2, 1), ALD_OK);
    assert_int_equal(schema_get(reader, "SELECT count(*) FROM rows"), 1);
    assert_int_equal(ald_store_checkpoint(context->store, ALD_CHECKPOINT_PASSIVE), ALD_OK);
    assert_int_equal(ald_store_checkpoint(context->store, ALD_CHECKPOINT_TRUNCATE), ALD_AGAIN);
    assert_int_equal(schema_insert(reader, 3), ALD_INVALID);

    ald_store_destroy(&reader);
    assert_int_equal(ald_store_checkpoint(context->store, ALD_CHECKPOINT_TRUNCATE), ALD_OK);
    assert_int_equal(schema_missing(context->store, 2), 0);
}

static void test_deleted_rows_give_room_back(void **state)
{
    struct context *context = *state;
    struct ald_store_options options = schema_options(folder_file(&context->folder, "s.db"), 1);
    ald_store_t *store = NULL;
    options.shrink = true;
    assert_int_equal(ald_store_open(&options, &store, NULL), ALD_OK);
    assert_int_equal(schema_commit(store, 1, 2000), ALD_OK);
    assert_int_equal(ald_store_checkpoint(store, ALD_CHECKPOINT_TRUNCATE), ALD_OK);
    long before = file_bytes(folder_file(&context->folder, "s.db"));
    assert_int_equal(ald_store_exec(store, "DELETE FROM rows"), ALD_OK);
    assert_int_equal(ald_store_shrink(store, 100, 50), ALD_OK);
    assert_int_equal(ald_store_shrink(store, 100, 1000), ALD_OK);
    assert_int_equal(ald_store_checkpoint(store, ALD_CHECKPOINT_TRUNCATE), ALD_OK);
    assert_in_range(file_bytes(folder_file(&context->folder, "s.db")), 1, before - 50 * 4096);
    assert_in_range(schema_get(store, "PRAGMA freelist_count"), 1, 100);
    ald_store_destroy(&store);
}

static void test_backup_goes_on_under_commits(void **state)
{
    struct context *context = *state;
    const char *copy = folder_file(&context->folder, "copy.db");
    ald_backup_t *backup = NULL;
    assert_int_equal(schema_commit(context->store, 1, 2000), ALD_OK);
    assert_int_equal(ald_store_backup_begin(context->store, copy, &backup, NULL), ALD_OK);
    int64_t next = 2001;
    unsigned steps = 0;
    while (ald_store_backup_step(backup, 10) == ALD_AGAIN) {
        assert_int_equal(schema_commit(context->store, next, 5), ALD_OK);
        next += 5;
        assert_in_range(++steps, 1, 1000);
    }
    assert_in_range(steps, 10, 1000);
    assert_int_equal(file_bytes(copy), -1);
    assert_int_equal(ald_store_backup_finish(&backup, NULL), ALD_OK);

    ald_store_t *restored = schema_open(copy, 1);
    assert_int_equal(schema_missing(restored, next - 1), 0);
    assert_int_equal(schema_get(restored, "SELECT integrity_check = 'ok' "
                                          "FROM pragma_integrity_check"),
                     1);
    ald_store_destroy(&restored);
}

static void test_backup_never_overwrites_and_leaves_no_halves(void **state)
{
    struct context *context = *state;
    struct ald_err err = {0};
    ald_backup_t *backup = NULL;
    assert_int_equal(ald_store_backup_begin(context->store, folder_file(&context->folder, "a.db"),
                                            &backup, &err),
                     ALD_EXISTS);
    assert_null(backup);
    assert_int_equal(schema_commit(context->store, 1, 500), ALD_OK);
    const char *copy = folder_file(&context->folder, "half.db");
    assert_int_equal(ald_store_backup_begin(context->store, copy, &backup, &err), ALD_OK);
    assert_int_equal(ald_store_backup_step(backup, 1), ALD_AGAIN);
    assert_int_equal(ald_store_backup_finish(&backup, &err), ALD_AGAIN);
    assert_null(backup);
    assert_int_equal(file_bytes(copy), -1);
    assert_int_equal(file_bytes(folder_file(&context->folder, "half.db.partial")), -1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_example),
        T(test_unique_conflict_is_exists_and_changes_nothing),
        T(test_other_constraint_is_invalid),
        T(test_values_come_back),
        T(test_blob_keeps_its_zero_bytes),
        T(test_statement_is_kept_and_comes_unbound),
        T(test_rollback_undoes),
        T(test_a_transaction_larger_than_the_cache),
        T(test_one_event_fails_the_batch_commits),
        T(test_savepoints_nest),
        T(test_changes_counts_rows),
        T(test_log_stays_within_its_thresholds),
        T(test_log_begins_anew_when_checkpoints_run_beside),
        T(test_reader_keeps_its_snapshot_and_log_grows_until_it_ends),
        T(test_deleted_rows_give_room_back),
        T(test_backup_goes_on_under_commits),
        T(test_backup_never_overwrites_and_leaves_no_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
