#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/store/disk.h"
#include "tests/unit/store/folder.h"
#include "tests/unit/store/schema.h"

static enum ald_rc open_fails(const char *path, size_t versions, struct ald_err *err)
{
    struct ald_store_options options = schema_options(path, versions);
    ald_store_t *store = NULL;
    enum ald_rc rc = ald_store_open(&options, &store, err);
    assert_true((store == NULL) == (rc != ALD_OK));
    ald_store_destroy(&store);
    return rc;
}

static void test_example(void **state)
{
    const char *path = folder_file(*state, "a.db");
    struct ald_store_options options = schema_options(path, SCHEMA_VERSIONS);
    struct ald_err err = {0};
    ald_store_t *store = NULL;
    assert_int_equal(ald_store_open(&options, &store, &err), ALD_OK);
    assert_int_equal(ald_store_version(store), SCHEMA_VERSIONS);
    assert_int_equal(schema_commit(store, 1, 10), ALD_OK);
    ald_store_destroy(&store);
    assert_null(store);

    store = schema_open(path, SCHEMA_VERSIONS);
    assert_int_equal(schema_missing(store, 10), 0);
    ald_store_destroy(&store);
}

static void test_folder_and_files_are_private(void **state)
{
    struct stat st;
    ald_store_t *store = schema_open(folder_file(*state, "deep/er/a.db"), 1);
    assert_int_equal(schema_commit(store, 1, 1), ALD_OK);
    const struct {
        const char *name;
        mode_t want;
    } cases[] = {
        {"deep", 0700},
        {"deep/er", 0700},
        {"deep/er/a.db", 0600},
        {"deep/er/a.db-wal", 0600},
        {"deep/er/a.db.lock", 0600},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        assert_int_equal(stat(folder_file(*state, cases[i].name), &st), 0);
        assert_int_equal(st.st_mode & 0777, cases[i].want);
    }
    ald_store_destroy(&store);
}

static void test_settings_that_durability_needs(void **state)
{
    ald_store_t *store = schema_open(folder_file(*state, "a.db"), 1);
    assert_int_equal(schema_get(store, "PRAGMA synchronous"), 2);
    assert_int_equal(schema_get(store, "PRAGMA foreign_keys"), 0);
    assert_int_equal(schema_get(store, "PRAGMA application_id"), SCHEMA_APPLICATION_ID);
    assert_int_equal(schema_get(store, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
    assert_int_equal(schema_get(store, "PRAGMA journal_size_limit"), 256 << 20);
    ald_store_destroy(&store);
}

static void test_second_writer_is_refused(void **state)
{
    const char *path = folder_file(*state, "a.db");
    struct ald_err err = {0};
    ald_store_t *store = schema_open(path, 1);
    assert_int_equal(open_fails(path, 1, &err), ALD_EXISTS);
    assert_non_null(strstr(err.text, "a.db.lock"));
    assert_non_null(strstr(err.text, "stop it first"));
    ald_store_destroy(&store);
    assert_int_equal(open_fails(path, 1, &err), ALD_OK);
}

static void test_second_process_is_refused(void **state)
{
    const char *path = folder_file(*state, "a.db");
    ald_store_t *store = schema_open(path, 1);
    for (unsigned swept = 0; swept < 2; swept++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct ald_store_options options = schema_options(path, 1);
            ald_store_t *second = NULL;
            _exit(ald_store_open(&options, &second, NULL) == ALD_EXISTS ? 0 : 1);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        /* Somebody takes the lock file for a stale one. */
        assert_int_equal(unlink(folder_file(*state, "a.db.lock")), 0);
    }
    assert_int_equal(schema_commit(store, 1, 1), ALD_OK);
    ald_store_destroy(&store);
}

static void test_schema_grows_and_keeps_rows(void **state)
{
    const char *path = folder_file(*state, "a.db");
    for (size_t versions = 1; versions <= SCHEMA_VERSIONS; versions++) {
        ald_store_t *store = schema_open(path, versions);
        assert_int_equal(ald_store_version(store), versions);
        assert_int_equal(schema_commit(store, (int64_t)versions, 1), ALD_OK);
        ald_store_destroy(&store);
    }
    ald_store_t *store = schema_open(path, SCHEMA_VERSIONS);
    assert_int_equal(schema_missing(store, 3), 0);
    assert_int_equal(schema_get(store, "SELECT count(*) FROM steps"), 2);
    assert_int_equal(schema_get(store, "SELECT group_concat(n) = '1,2' FROM more"), 1);
    assert_int_equal(schema_get(store, "SELECT count(*) FROM meta"), 1);
    ald_store_destroy(&store);
}

/* Step 2 may be read by version 1, step 3 by version 2 only. */
static void test_newer_file_is_refused_only_below_min_reader(void **state)
{
    static const struct {
        const char *name;
        size_t file, program;
        enum ald_rc want;
    } cases[] = {
        {"v21", 2, 1, ALD_OK},
        {"v32", 3, 2, ALD_OK},
        {"v31", 3, 1, ALD_VERSION},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const char *path = folder_file(*state, cases[i].name);
        struct ald_err err = {0};
        assert_int_equal(open_fails(path, cases[i].file, &err), ALD_OK);
        assert_int_equal(open_fails(path, cases[i].program, &err), cases[i].want);
        if (cases[i].want != ALD_OK)
            assert_non_null(strstr(err.text, "newer program (schema 3, readable from 2 on"));
        ald_store_t *store = schema_open(path, cases[i].file);
        assert_int_equal(ald_store_version(store), cases[i].file);
        ald_store_destroy(&store);
    }
}

static void test_other_files_are_refused_untouched(void **state)
{
    struct ald_err err = {0};
    const char *path = folder_file(*state, "other.db");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(open_fails(path, 1, &err), ALD_VERSION);
    assert_non_null(strstr(err.text, "another kind of file"));
    assert_int_equal(file_bytes(folder_file(*state, "other.db-wal")), -1);

    path = folder_file(*state, "text.db");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 1000; i++)
        fputs("not a store\n", file);
    fclose(file);
    assert_int_equal(open_fails(path, 1, &err), ALD_CORRUPT);
    assert_int_equal(file_bytes(path), 12000);
}

/* SQLite would take the empty file for a new one and delete its log. */
static void test_emptied_file_with_a_log_is_corrupt(void **state)
{
    const char *path = folder_file(*state, "a.db");
    struct ald_err err = {0};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        ald_store_t *store = schema_open(path, 1);
        _exit(schema_commit(store, 1, 1) == ALD_OK ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    file_cut(path, 0);
    assert_int_equal(open_fails(path, 1, &err), ALD_CORRUPT);
    assert_non_null(strstr(err.text, "restore a backup"));
    assert_true(file_bytes(folder_file(*state, "a.db-wal")) > 0);
}

/* A pipe would be waited for, a folder be a riddle of the engine's. */
static void test_only_a_file_is_opened(void **state)
{
    static const char *const names[] = {"a.db", "a.db.lock", "a.db-wal", "a.db-shm"};
    char path[FOLDER_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s", folder_file(*state, "a.db"));
    for (size_t i = 0; i < 2 * ALD_COUNT(names); i++) {
        const char *other = folder_file(*state, names[i / 2]);
        struct ald_err err = {0};
        (void)remove(path);
        (void)remove(other);
        assert_int_equal(i % 2 ? mkdir(other, 0700) : mkfifo(other, 0600), 0);
        assert_int_equal(open_fails(path, 1, &err), ALD_IO);
        if (strstr(err.text, other) == NULL ||
            strstr(err.text, i % 2 ? "it is a folder" : "it is a named pipe") == NULL)
            fail_msg("%s: %s", other, err.text);
        assert_int_equal(remove(other), 0);
    }
    ald_store_t *store = schema_open(path, 1);
    ald_store_destroy(&store);
}

static void test_reader_needs_a_migrated_file(void **state)
{
    const char *path = folder_file(*state, "a.db");
    struct ald_store_options options = schema_options(path, 2);
    struct ald_err err = {0};
    ald_store_t *reader = NULL;
    options.read_only = true;
    assert_int_equal(ald_store_open(&options, &reader, &err), ALD_NOTFOUND);
    ald_store_t *writer = schema_open(path, 1);
    assert_int_equal(ald_store_open(&options, &reader, &err), ALD_VERSION);
    assert_non_null(strstr(err.text, "start its owner first"));
    ald_store_destroy(&writer);
    writer = schema_open(path, 2);
    assert_int_equal(ald_store_open(&options, &reader, &err), ALD_OK);
    ald_store_destroy(&reader);
    ald_store_destroy(&writer);
}

static void test_opened_and_closed_without_a_leak(void **state)
{
    const char *path = folder_file(*state, "a.db");
    int before = dup(0);
    close(before);
    for (int i = 0; i < 50; i++) {
        ald_store_t *store = schema_open(path, 1);
        ald_store_destroy(&store);
    }
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

static void test_room_is_asked_for(void **state)
{
    const struct folder *folder = *state;
    static const struct {
        unsigned percent;
        uint64_t min_free, bytes;
        enum ald_rc want;
    } cases[] = {
        {0, 0, 0, ALD_OK},
        {0, 0, UINT64_MAX, ALD_FULL},
        {0, UINT64_MAX, 0, ALD_FULL},
        {101, 0, 0, ALD_FULL},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_disk_limit limit = {cases[i].percent, cases[i].min_free};
        assert_int_equal(ald_disk_room(folder->path, &limit, cases[i].bytes), cases[i].want);
    }
    struct ald_disk_limit none = {0, 0};
    assert_int_equal(ald_disk_room(folder_file(folder, "nowhere"), &none, 0), ALD_IO);
}

static void test_reserve_is_made_and_given_up(void **state)
{
    const char *path = folder_file(*state, "reserve");
    assert_int_equal(ald_store_reserve(path, 65536), ALD_OK);
    assert_int_equal(file_bytes(path), 65536);
    file_cut(path, 100); /* as a kill may leave it */
    assert_int_equal(ald_store_reserve(path, 65536), ALD_OK);
    assert_int_equal(file_bytes(path), 65536);
    assert_true(ald_store_unreserve(path));
    assert_false(ald_store_unreserve(path));
    assert_int_equal(file_bytes(path), -1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)
    const struct CMUnitTest tests[] = {
        T(test_example),
        T(test_folder_and_files_are_private),
        T(test_settings_that_durability_needs),
        T(test_second_writer_is_refused),
        T(test_second_process_is_refused),
        T(test_schema_grows_and_keeps_rows),
        T(test_newer_file_is_refused_only_below_min_reader),
        T(test_other_files_are_refused_untouched),
        T(test_emptied_file_with_a_log_is_corrupt),
        T(test_only_a_file_is_opened),
        T(test_reader_needs_a_migrated_file),
        T(test_opened_and_closed_without_a_leak),
        T(test_room_is_asked_for),
        T(test_reserve_is_made_and_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
