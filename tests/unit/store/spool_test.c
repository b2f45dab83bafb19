#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/store/report.h"
#include "common/store/spool_self.h"
#include "tests/unit/store/fault_vfs.h"
#include "tests/unit/store/folder.h"

static int setup(void **state)
{
    static struct folder folder;
    folder_make(&folder);
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

static ald_spool_t *spool_open(const struct folder *folder)
{
    struct ald_spool_options options = {.dir = folder_file(folder, "spool"), .max_bytes = 100000};
    struct ald_err err = {0};
    ald_spool_t *spool = NULL;
    assert_int_equal(ald_spool_open(&options, &spool, &err), ALD_OK);
    return spool;
}

static struct ald_spool_item item_of(uint64_t num, const char *bytes)
{
    return (struct ald_spool_item){.num = num,
                                   .at_ms = 1000 + (int64_t)num,
                                   .provider = ald_span_str(num % 2 == 0 ? "even" : "odd"),
                                   .proof = ald_span_str("token"),
                                   .bytes = ald_span_str(bytes)};
}

static enum ald_rc put(ald_spool_t *spool, uint64_t num)
{
    char bytes[32];
    snprintf(bytes, sizeof bytes, "item %llu", (unsigned long long)num);
    struct ald_spool_item item = item_of(num, bytes);
    return ald_spool_put(spool, &item, 1);
}

/* The numbers that a walk hands out, as "1,2,3", after a look at what comes with them. */
struct listing {
    char text[256];
    size_t stop_after;
    size_t count;
};

static bool list_item(void *context, const struct ald_spool_item *item)
{
    struct listing *listing = context;
    char bytes[32];
    snprintf(bytes, sizeof bytes, "item %llu", (unsigned long long)item->num);
    assert_true(ald_span_eq_str(item->bytes, bytes));
    assert_int_equal(item->at_ms, 1000 + item->num);
    assert_true(ald_span_eq_str(item->provider, item->num % 2 == 0 ? "even" : "odd"));
    assert_true(ald_span_eq_str(item->proof, "token"));
    size_t len = strlen(listing->text);
    snprintf(listing->text + len, sizeof listing->text - len, "%s%llu", len == 0 ? "" : ",",
             (unsigned long long)item->num);
    return ++listing->count != listing->stop_after;
}

static void assert_list(ald_spool_t *spool, uint64_t after, size_t limit, uint64_t max_bytes,
                        const char *want)
{
    struct listing listing = {0};
    assert_int_equal(ald_spool_peek(spool, after, limit, max_bytes, list_item, &listing), ALD_OK);
    assert_string_equal(listing.text, want);
}

static void test_example(void **state)
{
    ald_spool_t *spool = spool_open(*state);
    struct ald_spool_stats stats;
    uint64_t first = 0;
    assert_int_equal(ald_spool_take_numbers(spool, 2, &first), ALD_OK);
    assert_int_equal(first, 1);
    assert_int_equal(put(spool, first), ALD_OK);
    assert_int_equal(put(spool, first + 1), ALD_OK);
    ald_spool_destroy(&spool);

    spool = spool_open(*state);
    ald_spool_stats(spool, &stats);
    assert_int_equal(stats.items, 2);
    assert_int_equal(stats.bytes, 12);
    assert_int_equal(stats.oldest_at_ms, 1001);
    assert_int_equal(stats.lowest_num, 1);
    assert_list(spool, 0, 10, 1000, "1,2");
    assert_int_equal(ald_spool_remove(spool, (uint64_t[]){1, 2, 99}, 3), ALD_OK);
    ald_spool_stats(spool, &stats);
    assert_int_equal(stats.items, 0);
    assert_int_equal(stats.bytes, 0);
    assert_int_equal(stats.oldest_at_ms, 0);
    assert_int_equal(stats.lowest_num, 0);
    ald_spool_destroy(&spool);
}

static void test_walk_is_in_order_and_within_limits(void **state)
{
    static const struct {
        uint64_t after;
        size_t limit;
        uint64_t max_bytes;
        const char *want;
    } cases[] = {
        {0, 10, 1000, "1,2,3,5,8"}, {2, 10, 1000, "3,5,8"}, {0, 2, 1000, "1,2"}, {0, 10, 13, "1,2"},
        {0, 10, 12, "1,2"},         {0, 10, 1, "1"},        {0, 10, 0, "1"},     {8, 10, 1000, ""},
        {0, 0, 1000, ""},           {UINT64_MAX, 1, 1, ""},
    };
    static const uint64_t nums[] = {8, 3, 1, 5, 2};
    ald_spool_t *spool = spool_open(*state);
    for (size_t i = 0; i < ALD_COUNT(nums); i++)
        assert_int_equal(put(spool, nums[i]), ALD_OK);
    for (size_t i = 0; i < ALD_COUNT(cases); i++)
        assert_list(spool, cases[i].after, cases[i].limit, cases[i].max_bytes, cases[i].want);
    struct listing listing = {.stop_after = 2};
    assert_int_equal(ald_spool_peek(spool, 0, 10, 1000, list_item, &listing), ALD_OK);
    assert_string_equal(listing.text, "1,2");
    ald_spool_destroy(&spool);
}

static void test_put_again_changes_nothing(void **state)
{
    ald_spool_t *spool = spool_open(*state);
    struct ald_spool_stats stats;
    assert_int_equal(put(spool, 1), ALD_OK);
    struct ald_spool_item again = item_of(1, "something else");
    assert_int_equal(ald_spool_put(spool, &again, 1), ALD_OK);
    ald_spool_stats(spool, &stats);
    assert_int_equal(stats.items, 1);
    assert_int_equal(stats.bytes, 6);
    assert_list(spool, 0, 10, 1000, "1");
    ald_spool_destroy(&spool);
}

static void test_limit_of_bytes(void **state)
{
    static char bytes[60001];
    memset(bytes, 'x', 60000);
    ald_spool_t *spool = spool_open(*state);
    struct ald_spool_item items[] = {item_of(1, bytes), item_of(2, bytes)};
    assert_int_equal(ald_spool_put(spool, items, 2), ALD_FULL);
    assert_int_equal(ald_spool_put(spool, &items[0], 1), ALD_OK);
    assert_int_equal(ald_spool_put(spool, &items[1], 1), ALD_FULL);
    assert_int_equal(ald_spool_remove(spool, (uint64_t[]){1}, 1), ALD_OK);
    assert_int_equal(ald_spool_put(spool, &items[1], 1), ALD_OK);
    ald_spool_destroy(&spool);
}

static void test_items_that_do_not_fit_are_refused(void **state)
{
    static const char word[] = "12345678901234567890123456789012345678901234567890123456789012345";
    ald_spool_t *spool = spool_open(*state);
    struct ald_spool_item items[] = {item_of(0, "a"), item_of(UINT64_MAX, "a"), item_of(1, "a"),
                                     item_of(1, "a")};
    items[2].provider = ald_span_str(word);
    items[3].proof = ald_span_str(word);
    for (size_t i = 0; i < ALD_COUNT(items); i++)
        assert_int_equal(ald_spool_put(spool, &items[i], 1), ALD_INVALID);
    items[3].proof = ald_span_of(NULL, 0);
    items[3].bytes = ald_span_of(NULL, 0);
    assert_int_equal(ald_spool_put(spool, &items[3], 1), ALD_OK);
    ald_spool_destroy(&spool);
}

static void test_numbers_are_never_given_twice(void **state)
{
    uint64_t last = 0;
    uint64_t first = 0;
    char id[27] = "";
    for (int i = 0; i < 3; i++) {
        ald_spool_t *spool = spool_open(*state);
        if (i > 0)
            assert_string_equal(ald_spool_id(spool), id);
        snprintf(id, sizeof id, "%s", ald_spool_id(spool));
        assert_int_equal(strlen(id), 26);
        for (int n = 0; n < 1000; n++) {
            assert_int_equal(ald_spool_take_numbers(spool, 250, &first), ALD_OK);
            assert_true(first > last);
            last = first + 249;
        }
        assert_int_equal(ald_spool_next_number(spool), last + 1);
        assert_int_equal(ald_spool_take_numbers(spool, 1000000, &first), ALD_OK);
        assert_int_equal(first, last + 1);
        last = first + 999999;
        if (i == 1)
            assert_int_equal(ald_spool_reopen(spool, NULL), ALD_OK);
        ald_spool_destroy(&spool);
    }
}

static void take_and_tell(const struct folder *folder, int out)
{
    ald_spool_t *spool = spool_open(folder);
    uint64_t told[2];
    while (ald_spool_take_numbers(spool, 30000, &told[0]) == ALD_OK) {
        told[1] = told[0] + 29999;
        if (put(spool, told[0]) != ALD_OK || write(out, told, sizeof told) != sizeof told)
            break;
    }
    _exit(1);
}

static void test_killed_spool_keeps_items_and_numbers(void **state)
{
    uint64_t last = 0;
    uint64_t items = 0;
    for (int round = 0; round < 10; round++) {
        int ends[2];
        uint64_t told[2];
        int status = 0;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            take_and_tell(*state, ends[1]);
        close(ends[1]);
        for (int i = 0; read(ends[0], told, sizeof told) == (ssize_t)sizeof told; i++) {
            assert_true(told[0] > last);
            last = told[1];
            items++;
            if (i == round)
                kill(child, SIGKILL);
        }
        close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
    }
    struct ald_spool_stats stats;
    ald_spool_t *spool = spool_open(*state);
    ald_spool_stats(spool, &stats);
    assert_in_range(stats.items, items, items + 10);
    ald_spool_destroy(&spool);
}

static void test_second_owner_is_refused(void **state)
{
    struct ald_spool_options options = {.dir = folder_file(*state, "spool")};
    struct ald_err err = {0};
    ald_spool_t *spool = spool_open(*state);
    ald_spool_t *second = NULL;
    assert_int_equal(ald_spool_open(&options, &second, &err), ALD_EXISTS);
    assert_null(second);
    assert_non_null(strstr(err.text, "spool.db.lock"));
    ald_spool_destroy(&spool);
}

/* Looking makes nothing, and needs no lock: so it can be done before anything else is. */
static void test_find_looks_only(void **state)
{
    const char *dir = folder_file(*state, "spool");
    struct ald_err err = {0};
    assert_int_equal(ald_spool_find(dir, &err), ALD_NOTFOUND);
    assert_non_null(strstr(err.text, "spool.db"));
    assert_int_not_equal(access(dir, F_OK), 0);
    ald_spool_t *spool = spool_open(*state);
    assert_int_equal(put(spool, 7), ALD_OK);
    assert_int_equal(ald_spool_last_number(spool), 0);   /* that was not found */
    assert_int_equal(ald_spool_find(dir, &err), ALD_OK); /* what it is lies in the log so far */
    ald_spool_destroy(&spool);
    assert_int_equal(ald_spool_find(dir, &err), ALD_OK);
    spool = spool_open(*state);
    assert_int_equal(ald_spool_last_number(spool), 7);
    ald_spool_destroy(&spool);
    file_flip(folder_file(*state, "spool/spool.db"), 70); /* in the application id */
    assert_int_equal(ald_spool_find(dir, &err), ALD_VERSION);
    file_flip(folder_file(*state, "spool/spool.db"), 70);
    assert_int_equal(truncate(folder_file(*state, "spool/spool.db"), 99), 0);
    assert_int_equal(ald_spool_find(dir, &err), ALD_NOTFOUND);
}

/* The engine has no checksums: a flipped bit in a value changes it silently. */
static long find_text(const char *path, const char *text)
{
    static char data[1 << 20];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t len = fread(data, 1, sizeof data, file);
    fclose(file);
    char *at = memmem(data, len, text, strlen(text));
    assert_non_null(at);
    return (long)(at - data);
}

/* Sizes that were never written: their sum is beyond what a number holds. */
static void test_damaged_sizes(void **state)
{
    struct folder *folder = *state;
    struct ald_spool_stats stats;
    struct ald_err err = {0};
    struct listing listing = {.stop_after = 100};
    ald_spool_t *spool = spool_open(folder);
    for (uint64_t num = 1; num <= 3; num++)
        assert_int_equal(put(spool, num), ALD_OK);
    assert_int_equal(ald_store_exec(spool->store, "UPDATE spool SET size = 9223372036854775807"
                                                  " WHERE num <> 2"),
                     ALD_OK);
    ald_spool_destroy(&spool);
    FILE *nowhere = fopen("/dev/null", "w");
    struct ald_report report = {.to = nowhere};
    assert_int_equal(ald_spool_check(folder_file(folder, "spool"), &report, &err), ALD_OK);
    assert_int_equal(report.problems, 2);
    (void)fclose(nowhere);
    spool = spool_open(folder);
    assert_int_equal(ald_spool_peek(spool, 0, 100, 1 << 20, list_item, &listing), ALD_OK);
    ald_spool_stats(spool, &stats);
    assert_int_equal(stats.items, 1);
    assert_int_equal(stats.damaged, 2);
    assert_int_equal(stats.bytes, 6);
    ald_spool_destroy(&spool);
}

static void test_damaged_row_is_moved_aside(void **state)
{
    const char *path = folder_file(*state, "spool/spool.db");
    struct ald_spool_stats stats;
    ald_spool_t *spool = spool_open(*state);
    for (uint64_t num = 1; num <= 5; num++)
        assert_int_equal(put(spool, num), ALD_OK);
    ald_spool_destroy(&spool);
    file_flip(path, find_text(path, "item 1"));
    file_flip(path, find_text(path, "item 4"));

    spool = spool_open(*state);
    assert_list(spool, 0, 1, 1000, "2");
    assert_list(spool, 0, 10, 1000, "2,3,5");
    ald_spool_stats(spool, &stats);
    assert_int_equal(stats.items, 3);
    assert_int_equal(stats.damaged, 2);
    assert_int_equal(stats.bytes, 18);
    assert_int_equal(stats.lowest_num, 2);
    ald_spool_destroy(&spool);
    spool = spool_open(*state);
    ald_spool_stats(spool, &stats);
    assert_int_equal(stats.damaged, 2);
    ald_spool_destroy(&spool);
}

static bool add_share(void *context, struct ald_span provider, struct ald_span proof,
                      uint64_t items, uint64_t bytes)
{
    char *text = context;
    size_t len = strlen(text);
    snprintf(text + len, 128 - len, "%.*s/%.*s %llu %llu;", (int)provider.len,
             (const char *)provider.data, (int)proof.len, (const char *)proof.data,
             (unsigned long long)items, (unsigned long long)bytes);
    return true;
}

static void test_shares_are_counted(void **state)
{
    char text[128] = "";
    ald_spool_t *spool = spool_open(*state);
    for (uint64_t num = 1; num <= 3; num++)
        assert_int_equal(put(spool, num), ALD_OK);
    assert_int_equal(ald_spool_shares(spool, add_share, text), ALD_OK);
    assert_string_equal(text, "even/token 1 6;odd/token 2 12;");
    ald_spool_destroy(&spool);
}

/* An I/O error at each point of a put: nothing goes on before the spool was opened again. */
static void test_failed_spool_comes_back_by_reopening(void **state)
{
    fault_install();
    ald_spool_t *spool = spool_open(*state);
    uint64_t num = 1;
    bool reached = true;
    for (unsigned n = 1; reached; n++) {
        fault_plan(FAULT_IO, n, false);
        enum ald_rc rc = put(spool, num);
        reached = fault_heal();
        assert_int_equal(rc, reached ? ALD_IO : ALD_OK);
        assert_int_equal(ald_spool_failed(spool), reached);
        if (reached) {
            uint64_t first = 0;
            assert_int_equal(put(spool, num), ALD_IO);
            assert_int_equal(ald_spool_remove(spool, &num, 1), ALD_IO);
            assert_int_equal(ald_spool_take_numbers(spool, 10, &first), ALD_OK);
            fault_restart();
            assert_int_equal(ald_spool_reopen(spool, NULL), ALD_OK);
            assert_true(ald_spool_next_number(spool) >= first + 10);
        }
        assert_int_equal(put(spool, num++), ALD_OK);
        assert_in_range(n, 1, 100);
    }
    struct ald_spool_stats stats;
    ald_spool_stats(spool, &stats);
    assert_int_equal(stats.items, num - 1);
    assert_in_range(num, 4, 100);
    ald_spool_destroy(&spool);
}

static void test_reopen_that_fails_may_be_tried_again(void **state)
{
    fault_install();
    ald_spool_t *spool = spool_open(*state);
    struct ald_err err = {0};
    assert_int_equal(put(spool, 1), ALD_OK);
    fault_plan(FAULT_IO, 1, true);
    assert_int_equal(put(spool, 2), ALD_IO);
    assert_int_equal(ald_spool_reopen(spool, &err), ALD_IO);
    assert_true(ald_spool_failed(spool));
    assert_int_equal(put(spool, 2), ALD_IO);
    assert_string_equal(ald_spool_message(spool), "the spool is closed");
    (void)fault_heal();
    fault_restart();
    assert_int_equal(ald_spool_reopen(spool, &err), ALD_OK);
    assert_int_equal(put(spool, 2), ALD_OK);
    assert_list(spool, 0, 10, 1000, "1,2");
    ald_spool_destroy(&spool);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_example),
        T(test_walk_is_in_order_and_within_limits),
        T(test_put_again_changes_nothing),
        T(test_limit_of_bytes),
        T(test_items_that_do_not_fit_are_refused),
        T(test_numbers_are_never_given_twice),
        T(test_killed_spool_keeps_items_and_numbers),
        T(test_second_owner_is_refused),
        T(test_find_looks_only),
        T(test_damaged_sizes),
        T(test_damaged_row_is_moved_aside),
        T(test_shares_are_counted),
        T(test_failed_spool_comes_back_by_reopening),
        T(test_reopen_that_fails_may_be_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
