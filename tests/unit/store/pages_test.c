/* Sums of pages: whatever bit of a store is flipped, a look finds it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <string.h>

#include "common/store/sqlite.h"
#include "tests/unit/store/folder.h"
#include "tests/unit/store/schema.h"

enum { PAGE = 4096 };

static void filled(const char *path, int64_t rows)
{
    ald_store_t *store = schema_open(path, SCHEMA_VERSIONS);
    assert_int_equal(schema_commit(store, 1, rows), ALD_OK);
    assert_true(ald_store_summed(store));
    ald_store_destroy(&store);
}

static void plain(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_example(void **state)
{
    const char *path = folder_file(*state, "a.db");
    filled(path, 100);
    assert_int_equal(schema_faults(path, SCHEMA_VERSIONS, true), 0);
    file_flip(path, 2 * PAGE + 2000);
    assert_int_not_equal(schema_faults(path, SCHEMA_VERSIONS, true), 0);
}

/* Rows, indexes, the header, pages that hold nothing any more. */
static void test_every_byte(void **state)
{
    const char *path = folder_file(*state, "a.db");
    filled(path, 60);
    ald_store_t *store = schema_open(path, SCHEMA_VERSIONS);
    assert_int_equal(ald_store_exec(store, "DELETE FROM rows WHERE n > 30"), ALD_OK);
    assert_true(schema_get(store, "PRAGMA freelist_count") > 0);
    ald_store_destroy(&store);
    assert_int_equal(schema_faults(path, SCHEMA_VERSIONS, true), 0);
    for (long at = 0; at < file_bytes(path); at += at < 100 ? 1 : 17) {
        file_flip(path, at);
        if (schema_faults(path, SCHEMA_VERSIONS, true) == 0)
            fail_msg("byte %ld", at);
        file_flip(path, at);
    }
    assert_int_equal(schema_faults(path, SCHEMA_VERSIONS, true), 0);
}

/* While it is written, what is in use is looked at: here all that is in the file and not in the
 * log. */
static void test_at_work(void **state)
{
    const char *path = folder_file(*state, "a.db");
    filled(path, 100);
    ald_store_t *store = schema_open(path, SCHEMA_VERSIONS);
    assert_int_equal(schema_commit(store, 101, 1), ALD_OK);
    assert_int_equal(ald_store_checkpoint(store, ALD_CHECKPOINT_PASSIVE), ALD_OK);
    assert_int_equal(schema_faults(path, SCHEMA_VERSIONS, false), 0);
    for (long page = 1; page < file_bytes(path) / PAGE; page++) {
        file_flip(path, page * PAGE + PAGE - 1); /* the sum itself: the engine can't miss it */
        assert_int_not_equal(schema_faults(path, SCHEMA_VERSIONS, false), 0);
        file_flip(path, page * PAGE + PAGE - 1);
    }
    assert_int_equal(schema_faults(path, SCHEMA_VERSIONS, false), 0);
    ald_store_destroy(&store);
}

static void test_an_older_file_is_made_anew(void **state)
{
    const char *path = folder_file(*state, "a.db");
    plain(path, "PRAGMA application_id=0x74657374; CREATE TABLE old(x);"
                "INSERT INTO old VALUES (randomblob(3000)), (randomblob(9000))");
    ald_store_t *store = schema_open(path, SCHEMA_VERSIONS);
    assert_true(ald_store_summed(store));
    assert_int_equal(schema_get(store, "SELECT sum(length(x)) FROM old"), 12000);
    ald_store_destroy(&store);
    assert_int_equal(schema_faults(path, SCHEMA_VERSIONS, true), 0);
    file_flip(path, 3 * PAGE + 1000);
    assert_int_not_equal(schema_faults(path, SCHEMA_VERSIONS, true), 0);
}

/* Pages of a copy are written before its first one, when there are more than fit into memory. */
static void test_a_copy(void **state)
{
    const char *path = folder_file(*state, "a.db");
    const char *copy = folder_file(*state, "copy.db");
    struct ald_err err = {0};
    ald_backup_t *backup = NULL;
    enum ald_rc rc;
    filled(path, 10);
    ald_store_t *store = schema_open(path, SCHEMA_VERSIONS);
    assert_int_equal(schema_commit(store, 11, 9000), ALD_OK);
    assert_int_equal(ald_store_backup_begin(store, copy, &backup, &err), ALD_OK);
    while ((rc = ald_store_backup_step(backup, 100)) == ALD_AGAIN)
        ;
    assert_int_equal(rc, ALD_OK);
    assert_int_equal(ald_store_backup_finish(&backup, &err), ALD_OK);
    ald_store_destroy(&store);
    assert_int_equal(schema_faults(copy, SCHEMA_VERSIONS, true), 0);
    file_flip(copy, 5 * PAGE + 77);
    assert_int_not_equal(schema_faults(copy, SCHEMA_VERSIONS, true), 0);
}

static void test_a_strange_hand(void **state)
{
    const char *path = folder_file(*state, "a.db");
    filled(path, 100);
    plain(path, "UPDATE rows SET note = 'other' WHERE n = 50");
    assert_int_not_equal(schema_faults(path, SCHEMA_VERSIONS, true), 0);
}

/* What is lost with a page of a log. */
static void test_a_log(void **state)
{
    const char *path = folder_file(*state, "a.db");
    const char *log = folder_file(*state, "a.db-wal");
    ald_store_t *store = schema_open(path, SCHEMA_VERSIONS);
    assert_int_equal(schema_commit(store, 1, 100), ALD_OK);
    assert_int_equal(schema_commit(store, 101, 100), ALD_OK);
    long bytes = file_bytes(log);
    assert_true(bytes > 20 * PAGE);
    assert_int_equal(store_log_lost(log), 0);
    file_flip(log, bytes / 2); /* in the file's memory: the writer does not read it again */
    int64_t lost = store_log_lost(log);
    assert_true(lost > 5 && lost < bytes / PAGE);
    file_flip(log, bytes / 2);
    file_flip(log, bytes - 10); /* the last page: nothing follows it */
    assert_int_equal(store_log_lost(log), 0);
    file_flip(log, bytes - 10);
    assert_int_equal(store_log_lost(log), 0);
    ald_store_destroy(&store);
    assert_int_equal(store_log_lost(log), 0); /* there is none */
}

/* A number that is none of its set fails the store: nobody goes on with it. */
static void test_a_strange_number(void **state)
{
    ald_stmt_t *stmt = NULL;
    ald_store_t *store = schema_open(folder_file(*state, "a.db"), SCHEMA_VERSIONS);
    assert_int_equal(ald_store_prepare(store, "SELECT 3, 4, -1", &stmt), ALD_OK);
    assert_int_equal(ald_stmt_step(stmt), ALD_OK);
    assert_int_equal(ald_stmt_index(stmt, 0, 4), 3);
    assert_false(ald_store_failed(store));
    assert_int_equal(ald_stmt_index(stmt, 1, 4), 0);
    assert_true(ald_store_failed(store));
    assert_int_equal(ald_stmt_step(stmt), ALD_IO);
    assert_int_equal(ald_stmt_index(stmt, 2, 4), 0);
    assert_int_equal(schema_commit(store, 1, 1), ALD_IO);
    ald_store_destroy(&store);
}

/* What the engine says of a rotten file is fit for a screen. */
static void test_a_name_that_rotted(void **state)
{
    const char *path = folder_file(*state, "a.db");
    struct ald_store_options options = schema_options(path, SCHEMA_VERSIONS);
    struct ald_err err = {0};
    ald_store_t *store = NULL;
    plain(path, "CREATE TABLE t(x); PRAGMA writable_schema=ON;"
                "UPDATE sqlite_schema SET name = 'a' || char(27) || 'b', sql = 'CREATE TABLE ('");
    options.read_only = true;
    options.older = true;
    assert_int_not_equal(ald_store_open(&options, &store, &err), ALD_OK);
    assert_null(store);
    assert_non_null(strstr(err.text, "a?b"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        T(test_example),
        T(test_every_byte),
        T(test_at_work),
        T(test_an_older_file_is_made_anew),
        T(test_a_copy),
        T(test_a_strange_hand),
        T(test_a_log),
        T(test_a_strange_number),
        T(test_a_name_that_rotted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
