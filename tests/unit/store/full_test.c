#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/store/disk.h"
#include "common/store/spool.h"
#include "tests/unit/store/folder.h"
#include "tests/unit/store/schema.h"

enum { ITEM_BYTES = 1000, RESERVE_BYTES = 128 << 10 };

struct context {
    struct folder folder;
    const char *disk; /* a file system of 1 MiB, NULL when it can't be made */
    int why;
};

static int setup(void **state)
{
    static struct context context;
    static char disk[FOLDER_PATH_MAX + 64];
    folder_make(&context.folder);
    snprintf(disk, sizeof disk, "%s", folder_file(&context.folder, "disk"));
    context.disk = NULL;
    if (mkdir(disk, 0700) == 0 && mount("tmpfs", disk, "tmpfs", 0, "size=1m,mode=700") == 0)
        context.disk = disk;
    context.why = errno;
    *state = &context;
    return 0;
}

static int teardown(void **state)
{
    struct context *context = *state;
    int failed = context->disk == NULL ? 0 : umount2(context->disk, MNT_DETACH);
    folder_remove(&context->folder);
    return failed;
}

static const char *disk_or_skip(void **state)
{
    struct context *context = *state;
    if (context->disk == NULL) {
        print_message("A small tmpfs can't be mounted (%s): this test needs root.\n",
                      strerror(context->why));
        skip();
    }
    return context->disk;
}

static void disk_grow(const char *disk)
{
    assert_int_equal(mount("tmpfs", disk, "tmpfs", MS_REMOUNT, "size=8m,mode=700"), 0);
}

/* Commit until the disk is full; returns the last row acknowledged. */
static int64_t fill(ald_store_t *store, int64_t next)
{
    enum ald_rc rc = schema_commit(store, next, 20);
    for (; rc == ALD_OK; rc = schema_commit(store, next, 20)) {
        next += 20;
        assert_in_range(next, 1, 100000);
    }
    assert_int_equal(rc, ALD_FULL);
    return next - 1;
}

static void test_example(void **state)
{
    const char *disk = disk_or_skip(state);
    char path[FOLDER_PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/a.db", disk);
    ald_store_t *store = schema_open(path, 1);
    int64_t acked = fill(store, 1);
    assert_in_range(acked, 100, 10000);
    assert_false(ald_store_failed(store));
    assert_int_equal(schema_missing(store, acked), 0);
    assert_int_equal(schema_commit(store, acked + 1, 20), ALD_FULL);

    disk_grow(disk);
    assert_int_equal(schema_commit(store, acked + 1, 20), ALD_OK);
    ald_store_destroy(&store);
    store = schema_open(path, 1);
    assert_int_equal(schema_missing(store, acked + 20), 0);
    ald_store_destroy(&store);
}

static void test_opening_on_a_full_disk_loses_nothing(void **state)
{
    const char *disk = disk_or_skip(state);
    char path[FOLDER_PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/a.db", disk);
    ald_store_t *store = schema_open(path, 1);
    int64_t acked = fill(store, 1);
    ald_store_destroy(&store);

    struct ald_store_options options = schema_options(path, 1);
    struct ald_err err = {0};
    enum ald_rc rc = ald_store_open(&options, &store, &err);
    assert_true(rc == ALD_OK || rc == ALD_FULL);
    ald_store_destroy(&store);
    disk_grow(disk);
    store = schema_open(path, 1);
    assert_int_equal(schema_missing(store, acked), 0);
    ald_store_destroy(&store);
}

static struct ald_spool_item item_of(uint64_t num)
{
    static const uint8_t bytes[ITEM_BYTES] = {7};
    return (struct ald_spool_item){.num = num,
                                   .at_ms = (int64_t)num,
                                   .provider = ald_span_str("example"),
                                   .proof = ald_span_str("none"),
                                   .bytes = ald_span_of(bytes, sizeof bytes)};
}

static uint64_t fill_spool(ald_spool_t *spool, uint64_t num)
{
    enum ald_rc rc = ALD_OK;
    for (; rc == ALD_OK; num++) {
        struct ald_spool_item item = item_of(num);
        rc = ald_spool_put(spool, &item, 1);
        assert_in_range(num, 1, 100000);
    }
    assert_int_equal(rc, ALD_FULL);
    return num - 2;
}

static bool count_item(void *context, const struct ald_spool_item *item)
{
    uint64_t *next = context;
    assert_int_equal(item->num, *next);
    (*next)++;
    return true;
}

static void test_spool_stops_at_its_limit_and_drains_on_a_full_disk(void **state)
{
    const char *disk = disk_or_skip(state);
    struct ald_spool_options options = {.dir = disk, .reserve_bytes = RESERVE_BYTES};
    char reserve[FOLDER_PATH_MAX + 64];
    snprintf(reserve, sizeof reserve, "%s/reserve", disk);
    ald_spool_t *spool = NULL;
    struct ald_spool_stats stats;
    assert_int_equal(ald_spool_open(&options, &spool, NULL), ALD_OK);
    assert_int_equal(file_bytes(reserve), RESERVE_BYTES);
    uint64_t acked = fill_spool(spool, 1);
    assert_in_range(acked, 50, 2000);

    uint64_t next = 1;
    assert_int_equal(ald_spool_peek(spool, 0, SIZE_MAX, UINT64_MAX, count_item, &next), ALD_OK);
    assert_int_equal(next, acked + 1);
    for (uint64_t num = 1; num <= acked; num++)
        assert_int_equal(ald_spool_remove(spool, &num, 1), ALD_OK);
    ald_spool_stats(spool, &stats);
    assert_int_equal(stats.items, 0);
    assert_int_equal(stats.bytes, 0);

    uint64_t again = fill_spool(spool, acked + 1) - acked;
    assert_in_range(again, acked / 2, 2 * acked);
    ald_spool_destroy(&spool);
    assert_int_equal(ald_spool_open(&options, &spool, NULL), ALD_OK);
    ald_spool_stats(spool, &stats);
    assert_int_equal(stats.items, again);
    ald_spool_destroy(&spool);
}

static void check_room_is_kept(const char *disk, struct ald_disk_limit room)
{
    struct ald_spool_options options = {.dir = disk, .room = room};
    ald_spool_t *spool = NULL;
    assert_int_equal(ald_spool_open(&options, &spool, NULL), ALD_OK);
    uint64_t acked = fill_spool(spool, 1);
    assert_in_range(acked, 10, 1000);
    assert_int_equal(ald_disk_room(disk, &(struct ald_disk_limit){.min_free_bytes = 350000}, 0),
                     ALD_OK);
    ald_spool_destroy(&spool);
}

static void test_spool_keeps_a_share_of_the_disk_free(void **state)
{
    check_room_is_kept(disk_or_skip(state), (struct ald_disk_limit){.min_free_percent = 40});
}

static void test_spool_keeps_bytes_of_the_disk_free(void **state)
{
    check_room_is_kept(disk_or_skip(state), (struct ald_disk_limit){.min_free_bytes = 400000});
}

static void test_reserve_needs_room(void **state)
{
    const char *disk = disk_or_skip(state);
    char path[FOLDER_PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/reserve", disk);
    assert_int_equal(ald_store_reserve(path, 4 << 20), ALD_FULL);
    assert_int_equal(file_bytes(path), -1);
    assert_int_equal(ald_store_reserve(path, 512 << 10), ALD_OK);
}

/* A file size limit is an I/O error for the engine: not survived by going on. */
static void commit_to_the_limit(const char *path, int out)
{
    struct rlimit limit = {200000, 200000};
    ald_store_t *store = schema_open(path, 1);
    (void)signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(2);
    enum ald_rc rc = ALD_OK;
    int64_t acked = 0;
    while (rc == ALD_OK) {
        rc = schema_commit(store, acked + 1, 10);
        acked += rc == ALD_OK ? 10 : 0;
    }
    if (write(out, &acked, sizeof acked) != (ssize_t)sizeof acked)
        _exit(3);
    _exit(rc == ALD_IO && ald_store_failed(store) ? 0 : 1);
}

static void test_file_size_limit_fails_the_store(void **state)
{
    struct context *context = *state;
    const char *path = folder_file(&context->folder, "a.db");
    int ends[2];
    int status = 1;
    int64_t acked = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        commit_to_the_limit(path, ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &acked, sizeof acked), sizeof acked);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_in_range(acked, 10, 1000);
    ald_store_t *store = schema_open(path, 1);
    assert_int_equal(schema_missing(store, acked), 0);
    ald_store_destroy(&store);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_example),
        T(test_opening_on_a_full_disk_loses_nothing),
        T(test_spool_stops_at_its_limit_and_drains_on_a_full_disk),
        T(test_spool_keeps_a_share_of_the_disk_free),
        T(test_spool_keeps_bytes_of_the_disk_free),
        T(test_reserve_needs_room),
        T(test_file_size_limit_fails_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
