/* Looking at stores without writing: whole or not, still or at work, older than the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/store/disk.h"
#include "common/store/report.h"
#include "common/store/spool.h"
#include "tests/unit/store/folder.h"
#include "tests/unit/store/schema.h"

static bool beside(const char *path, const char *suffix)
{
    char other[FOLDER_PATH_MAX + 16];
    (void)snprintf(other, sizeof other, "%s%s", path, suffix);
    return access(other, F_OK) == 0;
}

static void test_example(void **state)
{
    const char *path = folder_file(*state, "a.db");
    ald_store_t *store = schema_open(path, SCHEMA_VERSIONS);
    assert_int_equal(schema_commit(store, 1, 500), ALD_OK);
    assert_int_equal(schema_faults(path, SCHEMA_VERSIONS, false), 0); /* while it is written */
    assert_true(ald_store_has_log(path));
    ald_store_destroy(&store);
    assert_false(ald_store_has_log(path));
    assert_int_equal(schema_faults(path, SCHEMA_VERSIONS, true), 0);
}

/* A copy in a folder that is to stay as it is, whatever its name. */
static void test_a_still_one_is_not_touched(void **state)
{
    const char *path = folder_file(*state, "a ?%41#b.db");
    ald_store_t *store = schema_open(path, SCHEMA_VERSIONS);
    assert_int_equal(schema_commit(store, 1, 500), ALD_OK);
    ald_store_destroy(&store);
    (void)unlink(folder_file(*state, "a ?%41#b.db.lock"));
    assert_int_equal(schema_faults(path, SCHEMA_VERSIONS, true), 0);
    assert_false(beside(path, "-wal") || beside(path, "-shm") || beside(path, ".lock"));
}

static void test_an_older_one_is_read(void **state)
{
    const char *path = folder_file(*state, "a.db");
    struct ald_err err = {0};
    ald_store_t *store = schema_open(path, 1);
    assert_int_equal(schema_commit(store, 1, 10), ALD_OK);
    ald_store_destroy(&store);
    assert_int_equal(schema_faults(path, SCHEMA_VERSIONS, true), 0);
    struct ald_store_options options = schema_options(path, SCHEMA_VERSIONS);
    options.read_only = true;
    assert_int_equal(ald_store_open(&options, &store, &err), ALD_VERSION);
    options.older = true;
    assert_int_equal(ald_store_open(&options, &store, &err), ALD_OK);
    assert_int_equal(ald_store_version(store), 1);
    ald_store_destroy(&store);
}

static void test_a_damaged_one(void **state)
{
    const char *path = folder_file(*state, "a.db");
    unsigned found = 0;
    unsigned tried = 0;
    ald_store_t *store = schema_open(path, SCHEMA_VERSIONS);
    assert_int_equal(schema_commit(store, 1, 2000), ALD_OK);
    ald_store_destroy(&store);
    for (long at = 4096 + 1; at < file_bytes(path); at += 4096, tried++) {
        file_flip(path, at); /* the head of a page */
        found += schema_faults(path, SCHEMA_VERSIONS, true) > 0;
        file_flip(path, at);
    }
    assert_true(tried > 3);
    assert_int_equal(found, tried);
    assert_int_equal(schema_faults(path, SCHEMA_VERSIONS, true), 0);
    file_cut(path, file_bytes(path) - 4096);
    assert_true(schema_faults(path, SCHEMA_VERSIONS, true) > 0);
}

static void test_who_holds_a_lock(void **state)
{
    const char *path = folder_file(*state, "a.lock");
    struct ald_err err = {0};
    int fd = -1;
    assert_false(ald_disk_locked(path));
    assert_int_not_equal(access(path, F_OK), 0); /* looking makes nothing */
    assert_int_equal(ald_disk_lock(path, &fd, &err), ALD_OK);
    assert_true(ald_disk_locked(path));
    close(fd);
    assert_false(ald_disk_locked(path));
}

/* ---- the spool ---- */

/* What a look says; freed by the next. */
static const char *look(const char *dir, unsigned *problems)
{
    static char *text;
    static size_t len;
    struct ald_report report = {0};
    struct ald_err err = {0};
    free(text);
    text = NULL;
    report.to = open_memstream(&text, &len);
    assert_non_null(report.to);
    if (ald_spool_check(dir, &report, &err) != ALD_OK)
        ald_report_problem(&report, "%s", err.text);
    (void)fclose(report.to);
    *problems = report.problems;
    return text;
}

static void test_a_spool(void **state)
{
    const char *dir = folder_file(*state, "spool");
    const struct ald_spool_options options = {.dir = dir, .max_bytes = 100000};
    struct ald_err err = {0};
    ald_spool_t *spool = NULL;
    unsigned problems = 0;
    assert_non_null(strstr(look(dir, &problems), "There is no spool"));
    assert_int_equal(ald_spool_open(&options, &spool, &err), ALD_OK);
    for (uint64_t num = 1; num <= 3; num++) {
        const struct ald_spool_item item = {
            .num = num, .at_ms = 1, .bytes = ald_span_str("an item that is to stay as it is")};
        assert_int_equal(ald_spool_put(spool, &item, 1), ALD_OK);
    }
    const char *said = look(dir, &problems); /* while a gateway has it */
    assert_true(problems == 0 && strstr(said, "fact spool.items 3\n") != NULL);
    ald_spool_destroy(&spool);
    said = look(dir, &problems);
    assert_true(problems == 0 && strstr(said, "fact spool.items 3\n") != NULL);
    /* A byte of an item: the engine sees nothing wrong with it, the sums of the page and of the row
     * do. */
    const char *path = folder_file(*state, "spool/spool.db");
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static char bytes[1 << 20];
    size_t got = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    const char *at = memmem(bytes, got, "an item", 7);
    assert_non_null(at);
    file_flip(path, (long)(at - bytes));
    said = look(dir, &problems);
    assert_true(problems == 2 && strstr(said, "callback 3 is not as it was written") != NULL);
}

/* In the first inner page of a table's tree: where the key is that a search looks at first. */
static long middle_key(const char *path)
{
    unsigned char page[4096];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    long at = 0;
    while (fread(page, 1, sizeof page, file) == sizeof page && page[0] != 5)
        at += (long)sizeof page;
    (void)fclose(file);
    assert_int_equal(page[0], 5);
    const unsigned char *cell = page + 12 + 2 * (((page[3] << 8 | page[4]) - 1) / 2);
    return at + (cell[0] << 8 | cell[1]) + 4;
}

/* A key that is too large sends a search for what comes next back to rows that were seen. */
static void test_a_look_at_a_damaged_tree_ends(void **state)
{
    const char *dir = folder_file(*state, "spool");
    const char *path = folder_file(*state, "spool/spool.db");
    const struct ald_spool_options options = {.dir = dir, .max_bytes = 1 << 20};
    static const uint8_t bytes[2000];
    ald_spool_t *spool = NULL;
    unsigned problems = 0;
    assert_int_equal(ald_spool_open(&options, &spool, NULL), ALD_OK);
    for (uint64_t num = 1; num <= 60; num++) {
        const struct ald_spool_item item = {
            .num = num, .at_ms = 1, .bytes = ald_span_of(bytes, sizeof bytes)};
        assert_int_equal(ald_spool_put(spool, &item, 1), ALD_OK);
    }
    ald_spool_destroy(&spool);
    (void)look(dir, &problems);
    assert_int_equal(problems, 0);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, middle_key(path), SEEK_SET), 0);
    assert_int_equal(fputc(100, file), 100);
    (void)fclose(file);
    assert_non_null(strstr(look(dir, &problems), "fact spool.items"));
    assert_true(problems > 0);
}

static void test_texts_stay_on_their_line(void **state)
{
    char *text = NULL;
    size_t len = 0;
    (void)state;
    struct ald_report report = {.to = open_memstream(&text, &len)};
    assert_non_null(report.to);
    ald_report_problem(&report, "%s", "two\nfact x 1");
    ald_report_letter(&report, ald_span_str("A\nB"), "open");
    (void)fclose(report.to);
    assert_string_equal(text, "problem two\\nfact x 1\nletter A\\nB open\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_example, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_still_one_is_not_touched, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_an_older_one_is_read, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_damaged_one, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_who_holds_a_lock, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_spool, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_a_look_at_a_damaged_tree_ends, folder_setup,
                                        folder_teardown),
        cmocka_unit_test(test_texts_stay_on_their_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
