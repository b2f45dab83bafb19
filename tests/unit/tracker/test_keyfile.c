/* The callback keys on disk, and what the store knows of them. */
#include "services/tracker/keyfile.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "tests/unit/store/folder.h"

static struct {
    struct folder folder;
    struct ald_settings settings;
    struct vault vault;
    struct ald_err err;
} w;

static int begin(void **state)
{
    (void)state;
    memset(&w, 0, sizeof w);
    folder_make(&w.folder);
    ald_text_cut(w.settings.store.data, sizeof w.settings.store.data, ald_span_str(w.folder.path));
    const struct vault_options options = {
        .data = w.folder.path, .wal_max_bytes = 1 << 20, .sync_beside = true};
    assert_int_equal(vault_open(&w.vault, &options, &w.err), ALD_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    vault_close(&w.vault);
    folder_remove(&w.folder);
    return 0;
}

/* What a start does. */
static enum ald_rc started(struct ald_keys *keys)
{
    bool made = false;
    w.err = (struct ald_err){0};
    enum ald_rc rc = keyfile_load(&w.settings, keys, &made, &w.err);
    return rc == ALD_OK ? keyfile_check(&w.settings, &w.vault, keys, made, &w.err) : rc;
}

static void put(const void *bytes, size_t len)
{
    int fd = open(folder_file(&w.folder, "callback.key"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

static void put_keys(const struct ald_keys *keys)
{
    put(keys->record, keys->count * ALD_KEY_RECORD);
}

static void test_example(void **state)
{
    (void)state;
    struct ald_keys keys = {0};
    struct ald_keys again = {0};
    assert_int_equal(started(&keys), ALD_OK);
    assert_int_equal(keys.count, 1);
    assert_int_equal(started(&again), ALD_OK);
    assert_memory_equal(&keys, &again, sizeof keys);
}

/* One bit anywhere, in the file of a store that was started with it. */
static void test_every_altered_byte(void **state)
{
    (void)state;
    struct ald_keys keys = {0};
    struct ald_keys bad = {0};
    assert_int_equal(started(&keys), ALD_OK);
    for (size_t i = 0; i < ALD_KEY_RECORD; i++) {
        struct ald_keys altered = keys;
        altered.record[0][i] ^= 0x10;
        put_keys(&altered);
        assert_int_equal(started(&bad), ALD_INVALID);
        assert_non_null(strstr(w.err.text, "callback.key"));
        assert_non_null(strstr(w.err.text, "a new key is made")); /* the whole sentence */
    }
    put_keys(&keys);
    assert_int_equal(started(&bad), ALD_OK);
}

static void test_changes_of_keys(void **state)
{
    (void)state;
    struct ald_keys first = {0};
    struct ald_keys got;
    assert_int_equal(started(&first), ALD_OK);
    struct ald_keys second = first;
    ald_keys_rotate(&second);
    put_keys(&second);
    assert_int_equal(started(&got), ALD_OK); /* a new key in front */
    struct ald_keys altered = second;
    altered.record[1][20] ^= 1;
    put_keys(&altered);
    assert_int_equal(started(&got), ALD_INVALID); /* the old one verifies still, so it counts */
    put_keys(&first);
    assert_int_equal(started(&got), ALD_INVALID); /* the one that signed is gone */
    second.count = 1;
    put_keys(&second);
    assert_int_equal(started(&got), ALD_OK); /* the old one is taken out */
    struct ald_keys other = {0};
    ald_keys_rotate(&other);
    put_keys(&other);
    assert_int_equal(started(&got), ALD_INVALID); /* swapped */
}

/* The way on when a key is lost for good. */
static void test_a_file_that_is_gone_is_made_anew(void **state)
{
    (void)state;
    struct ald_keys first = {0};
    struct ald_keys second = {0};
    assert_int_equal(started(&first), ALD_OK);
    assert_int_equal(remove(folder_file(&w.folder, "callback.key")), 0);
    assert_int_equal(started(&second), ALD_OK);
    assert_memory_not_equal(&first, &second, sizeof first);
    assert_int_equal(started(&second), ALD_OK);
}

static void test_what_is_no_key_file(void **state)
{
    (void)state;
    struct ald_keys keys;
    const char *path = folder_file(&w.folder, "callback.key");
    put("short", 5);
    assert_int_equal(started(&keys), ALD_INVALID);
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(started(&keys), ALD_IO);
    assert_non_null(strstr(w.err.text, "named pipe"));
}

static void test_a_copy_is_the_same_file(void **state)
{
    (void)state;
    struct ald_keys keys = {0};
    struct ald_keys copied = {0};
    struct stat facts;
    assert_int_equal(started(&keys), ALD_OK);
    const char *dir = folder_file(&w.folder, "copy");
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(keyfile_copy(&keys, dir, &w.err), ALD_OK);
    ald_text_cut(w.settings.security.callback_keys, sizeof w.settings.security.callback_keys,
                 ald_span_str(folder_file(&w.folder, "copy/callback.key")));
    assert_int_equal(started(&copied), ALD_OK);
    assert_memory_equal(&keys, &copied, sizeof keys);
    assert_int_equal(stat(w.settings.security.callback_keys, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
}

#define KEYFILE_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEYFILE_TEST(test_example),
        KEYFILE_TEST(test_every_altered_byte),
        KEYFILE_TEST(test_changes_of_keys),
        KEYFILE_TEST(test_a_file_that_is_gone_is_made_anew),
        KEYFILE_TEST(test_what_is_no_key_file),
        KEYFILE_TEST(test_a_copy_is_the_same_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
